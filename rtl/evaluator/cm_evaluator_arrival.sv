// SPDX-License-Identifier: Apache-2.0
// Takes commands and their packets in order: loads, and what runs receive, ahead of their instructions. A
// run may be accepted while another one computes; a load waits until nothing runs or leaves.
//
// Words of a polynomial are gathered to rows, which wait for a memory's write port. If terms keep it from
// one, gap_wanted_o asks that a write be left out.
`default_nettype none
module cm_evaluator_arrival #(
    parameter integer LOG2_N = 12,
    parameter integer WIDTH = 27,
    parameter integer LOG2_UNITS = 6,
    parameter integer LOG2_BEAT = 3,
    parameter integer LOG2_SLOTS_A = 6,
    parameter integer LOG2_SLOTS_B = 6,
    parameter integer LOG2_MODULI = 4,
    parameter integer LOG2_WEIGHTS = 12,
    parameter integer LOG2_PROGRAM = 13,
    parameter integer ROW_BITS = LOG2_N - LOG2_UNITS,    // These two follow and must not be set.
    parameter integer NUMBER = (LOG2_MODULI > 0) ? LOG2_MODULI : 1
) (
    input  wire                             clk_i,
    input  wire                             rst_i,
    // The oldest command.
    input  wire                             command_i,
    input  wire [23:0]                      command_fields_i,
    output wire                             pop_o,
    output wire                             busy_o,
    input  wire                             quiet_i,     // Nothing runs or leaves,
    input  wire                             room_i,      // or there is room for another run.
    output wire                             run_o,       // A run is accepted.
    output wire [LOG2_PROGRAM-1:0]          address_o,   // where its program is
    output reg  [7:0]                       arrived_o,   // packets of the run that was accepted last
    output wire                             arrived_all_o,
    // Receive words: a word of the program without what other words have, a cycle after its address.
    output wire [LOG2_PROGRAM-1:0]          receive_address_o,
    input  wire [12:0]                      receive_i,   // kind, slot, memory
    input  wire                             prime_set_i,
    input  wire [WIDTH-1:0]                 prime_i,
    input  wire [(32 << LOG2_BEAT)-1:0]     s_axis_tdata_i,
    input  wire [(32 << LOG2_BEAT)/8-1:0]   s_axis_tkeep_i,
    input  wire                             s_axis_tvalid_i,
    input  wire                             s_axis_tlast_i,
    output wire                             s_axis_tready_o,
    // Loads.
    output wire [LOG2_N-1:0]                index_o,
    output wire [(32 << LOG2_BEAT)-1:0]     data_o,
    input  wire [LOG2_BEAT:0]               table_step_i,
    output wire                             table_write_o,
    output wire                             weight_write_o,
    output wire [LOG2_WEIGHTS-1:0]          weight_address_o,
    output wire                             program_write_o,
    output wire [LOG2_PROGRAM-1:0]          program_address_o,
    output wire [63:0]                      program_data_o,
    output wire [NUMBER-1:0]                modulus_o,
    output wire                             modulus_begins_o, // It is not loaded any more,
    output wire                             modulus_loaded_o, // and now it is.
    // Rows.
    input  wire [1:0]                       blocked_i,   // write ports in use, of memory A, B
    output wire [1:0]                       write_o,
    output wire [9:0]                       slot_o,
    output wire [ROW_BITS-1:0]              row_o,
    output wire [(WIDTH << LOG2_UNITS)-1:0] row_data_o,
    output wire [1:0]                       gap_wanted_o,
    input  wire [1:0]                       gap_given_i,
    // What went wrong.
    output wire                             failed_o,    // the run that was accepted last
    output wire                             length_o,
    output wire                             range_o,
    output wire                             unset_o,
    output wire                             bad_word_o
);
    `include "cm_evaluator_registers.svh"
    localparam integer LANES = 1 << LOG2_UNITS;
    localparam integer BEAT = 1 << LOG2_BEAT;
    localparam [1:0] RECEIVE_KIND = 2'd2;

    typedef enum logic [2:0] {
        IDLE = 3'd0,
        FETCH = 3'd1,  // the next word of the program
        DECODE = 3'd2,
        PACKET = 3'd3,
        LAST_ROW = 3'd4 // waits until it is written
    } state_t;
    state_t state;

    reg [3:0]              code;
    reg                    memory;
    reg [15:0]             argument;
    reg [LOG2_PROGRAM-1:0] at;
    reg [9:0]              slot;
    reg                    unset;

    wire [3:0]  next_code = command_fields_i[CM_EVALUATOR_COMMAND_CODE_LOW +: CM_EVALUATOR_COMMAND_CODE_BITS];
    wire        next_memory = command_fields_i[CM_EVALUATOR_COMMAND_MEMORY_LOW];
    wire [15:0] next_argument =
        command_fields_i[CM_EVALUATOR_COMMAND_ARGUMENT_LOW +: CM_EVALUATOR_COMMAND_ARGUMENT_BITS];
    wire        next_runs = {28'd0, next_code} == CM_EVALUATOR_CODE_RUN;
    wire        next_modulus = {28'd0, next_code} == CM_EVALUATOR_CODE_LOAD_MODULUS;
    wire        runs = {28'd0, code} == CM_EVALUATOR_CODE_RUN;
    wire        takes_modulus = {28'd0, code} == CM_EVALUATOR_CODE_LOAD_MODULUS;
    wire        takes_weights = {28'd0, code} == CM_EVALUATOR_CODE_LOAD_WEIGHTS;
    wire        takes_program = {28'd0, code} == CM_EVALUATOR_CODE_LOAD_PROGRAM;
    wire        takes_rows = !takes_modulus && !takes_weights && !takes_program;

    assign busy_o = state != IDLE;
    assign pop_o = command_i && state == IDLE && (next_runs ? room_i : quiet_i);
    assign run_o = pop_o && next_runs;
    assign address_o = next_argument[LOG2_PROGRAM-1:0];
    assign modulus_begins_o = pop_o && next_modulus;
    assign modulus_o = (state == IDLE) ? next_argument[NUMBER-1:0] : argument[NUMBER-1:0];
    assign receive_address_o = at;

    // --- the packet ----------------------------------------------------------------------------------------

    wire is_receive = receive_i[12:11] == RECEIVE_KIND;
    wire good_slot = receive_i[0] ? receive_i[10:1] >> LOG2_SLOTS_B == 10'd0
                                  : receive_i[10:1] >> LOG2_SLOTS_A == 10'd0;
    wire receives = state == DECODE && is_receive && good_slot;
    wire starts = receives || (pop_o && !next_runs);
    wire words_valid, packet_busy, packet_done, packet_length, packet_range;
    wire ready;
    // Words are below this.
    wire [31:0] bound = takes_modulus ? {{(32 - WIDTH){1'b0}}, prime_i} : takes_weights ? 32'h80000000
        : takes_program ? 32'hFFFFFFFF : 32'd1 << WIDTH;

    cm_word_input #(
        .LOG2_N(LOG2_N), .WIDTH(32), .LOG2_BEAT(LOG2_BEAT), .LOG2_LANES(LOG2_BEAT), .SLOT(32)
    ) u_words (
        .clk_i(clk_i), .rst_i(rst_i), .q_i(bound),
        .s_axis_tdata_i(s_axis_tdata_i), .s_axis_tkeep_i(s_axis_tkeep_i),
        .s_axis_tvalid_i(s_axis_tvalid_i), .s_axis_tlast_i(s_axis_tlast_i),
        .s_axis_tready_o(s_axis_tready_o),
        .start_i(starts),
        .table_i(!receives && {28'd0, next_code} != CM_EVALUATOR_CODE_LOAD_POLYNOMIAL),
        .busy_o(packet_busy), .valid_o(words_valid), .ready_i(ready), .index_o(index_o),
        .step_i(takes_modulus ? table_step_i : {{LOG2_BEAT{1'b0}}, 1'b1}), .words_o(data_o),
        .done_o(packet_done), .length_o(packet_length), .range_o(packet_range)
    );
    assign length_o = packet_done && packet_length;
    assign range_o = packet_done && packet_range && !unset;
    assign unset_o = modulus_begins_o && !prime_set_i;
    assign bad_word_o = state == DECODE && is_receive && !good_slot;
    assign failed_o = runs && (length_o || range_o || bad_word_o);
    assign modulus_loaded_o = takes_modulus && packet_done && !packet_length && !packet_range && !unset;
    assign table_write_o = words_valid && takes_modulus;

    // --- weights and programs ------------------------------------------------------------------------------

    reg  [31:0] low_half;
    wire [31:0] word = data_o[31:0];
    wire [LOG2_N+15:0] weight_place = {argument, index_o};
    assign weight_address_o = weight_place[LOG2_WEIGHTS-1:0];
    assign weight_write_o =
        words_valid && takes_weights && weight_place >> LOG2_WEIGHTS == {(LOG2_N + 16){1'b0}};
    wire [LOG2_N+14:0] program_place = {argument, index_o[LOG2_N-1:1]};
    assign program_address_o = program_place[LOG2_PROGRAM-1:0];
    assign program_write_o = words_valid && takes_program && index_o[0];
    assign program_data_o = {word, low_half};
    always_ff @(posedge clk_i) begin
        if (words_valid && takes_program) low_half <= word;
        if (rst_i) low_half <= 32'd0;
    end

    // --- rows ----------------------------------------------------------------------------------------------

    reg                             waiting; // A row waits,
    reg [ROW_BITS-1:0]              waiting_row;
    reg [(WIDTH << LOG2_UNITS)-1:0] waiting_data;
    reg                             gap_given;
    wire [1:0] to = {memory, !memory};
    wire       blocked = (to & blocked_i) != 2'b00;
    wire       leaves = waiting && !blocked;
    wire [LOG2_N-1:0] next_index = index_o + BEAT[LOG2_N-1:0];
    wire       row_ends = (next_index & {{ROW_BITS{1'b0}}, {LOG2_UNITS{1'b1}}}) == {LOG2_N{1'b0}};
    assign ready = !takes_rows || !row_ends || !waiting || leaves;
    wire       row_enters = words_valid && takes_rows && row_ends && ready;
    assign write_o = leaves ? to : 2'b00;
    assign slot_o = slot;
    assign row_o = waiting_row;
    assign row_data_o = waiting_data;
    assign gap_wanted_o = (waiting && blocked && !gap_given) ? to : 2'b00;

    wire [(WIDTH << LOG2_UNITS)-1:0] gathered;
    genvar v;
    generate
        for (v = 0; v < LANES; v = v + 1) begin : g_lane
            wire [WIDTH-1:0] here = data_o[32*(v%BEAT) +: WIDTH];
            if (v >= LANES - BEAT) begin : g_last
                assign gathered[WIDTH*v +: WIDTH] = here;
            end else begin : g_earlier
                reg [WIDTH-1:0] earlier;
                assign gathered[WIDTH*v +: WIDTH] = earlier;
                always_ff @(posedge clk_i) begin
                    if (words_valid && takes_rows
                        && index_o[LOG2_UNITS-1:0] >> LOG2_BEAT == v / BEAT) earlier <= here;
                    if (rst_i) earlier <= {WIDTH{1'b0}};
                end
            end
        end
    endgenerate

    assign arrived_all_o = state == IDLE || !runs;

    always_ff @(posedge clk_i) begin
        if (pop_o) begin
            code <= next_code;
            memory <= next_memory;
            argument <= next_argument;
            at <= next_argument[LOG2_PROGRAM-1:0];
            slot <= next_argument[9:0];
            unset <= next_modulus && !prime_set_i;
        end
        if (run_o) arrived_o <= 8'd0;
        if (receives) begin
            memory <= receive_i[0];
            slot <= receive_i[10:1];
        end
        case (state)
            IDLE: if (pop_o) state <= next_runs ? FETCH : PACKET;
            FETCH: state <= DECODE;
            DECODE: state <= receives ? PACKET : IDLE;
            PACKET: if (packet_done) state <= LAST_ROW;
            default: if (!waiting) begin // LAST_ROW
                state <= runs ? FETCH : IDLE;
                at <= at + 1'b1;
                arrived_o <= arrived_o + {7'd0, arrived_o != 8'hFF};
            end
        endcase
        if (leaves) waiting <= 1'b0;
        if (row_enters) begin
            waiting <= 1'b1;
            waiting_row <= index_o[LOG2_N-1 -: ROW_BITS];
            waiting_data <= gathered;
        end
        if (leaves) gap_given <= 1'b0;
        else if ((gap_given_i & to) != 2'b00) gap_given <= 1'b1;
        if (rst_i) begin
            state <= IDLE;
            code <= 4'd0;
            waiting <= 1'b0;
            gap_given <= 1'b0;
            waiting_data <= {(WIDTH << LOG2_UNITS){1'b0}};
        end
    end
endmodule
`default_nettype wire
