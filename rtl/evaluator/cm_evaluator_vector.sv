// SPDX-License-Identifier: Apache-2.0
// The data of the evaluator: memories A and B, the transformer, weights, and a lane for each word of a
// row. A term enters in each cycle with issue_i; a row's result is written sum_latency() cycles after its
// last term (cm_evaluator_latency.svh).
//
// The memories have one port for reads and one for writes. What arrives is written, and what leaves is
// read, in the cycles in which the terms leave the port free: reads_o and writes_o say which memories they
// use, A in bit 0.
`default_nettype none
module cm_evaluator_vector #(
    parameter integer LOG2_N = 12,
    parameter integer WIDTH = 27,
    parameter integer LOG2_UNITS = 6,
    parameter integer LOG2_BEAT = 3,
    parameter integer LOG2_SLOTS_A = 6,
    parameter integer LOG2_SLOTS_B = 6,
    parameter integer LOG2_MODULI = 4,
    parameter integer LOG2_WEIGHTS = 12,
    parameter integer DEEP = 1,
    parameter integer FORWARD = 0,
    parameter integer MULTIPLIER_WIDTH = 24,
    parameter integer BLOCK = 1,
    parameter integer ROW_BITS = LOG2_N - LOG2_UNITS,    // These three follow and must not be set.
    parameter integer H_WIDTH = WIDTH - LOG2_N - 1,
    parameter integer NUMBER = (LOG2_MODULI > 0) ? LOG2_MODULI : 1
) (
    input  wire                             clk_i,
    input  wire                             rst_i,
    // A term, and the instruction that it belongs to.
    input  wire                             issue_i,
    input  wire [ROW_BITS-1:0]              row_i,
    input  wire                             first_i,     // the row's first term
    input  wire                             last_i,
    input  wire                             last_row_i,
    input  wire [1:0]                       source_i,
    input  wire [9:0]                       slot_i,
    input  wire                             product_i,   // The factor is a word of memory B, not a weight.
    input  wire [11:0]                      factor_i,
    input  wire [NUMBER-1:0]                modulus_i,
    input  wire                             shifts_i,
    input  wire [5:0]                       shift_i,
    input  wire [1:0]                       destination_i,
    input  wire [9:0]                       result_slot_i, // or the transformer's set and direction
    input  wire                             send_i,
    input  wire                             end_i,
    output wire [1:0]                       reads_o,
    output wire [1:0]                       writes_o,
    // High when the last row of an instruction's result is written.
    output wire                             written_o,
    output wire                             written_send_o,
    output wire                             written_end_o,
    output wire                             written_memory_o,
    output wire [9:0]                       written_slot_o,
    // The transformer's sets.
    input  wire                             claim_i,
    input  wire                             release_i,
    input  wire                             claim_set_i,
    output wire [1:0]                       set_busy_o,
    // What arrives.
    input  wire [1:0]                       arrival_write_i,
    input  wire [9:0]                       arrival_slot_i,
    input  wire [ROW_BITS-1:0]              arrival_row_i,
    input  wire [(WIDTH << LOG2_UNITS)-1:0] arrival_data_i,
    // What leaves: a row of each memory follows its number by two cycles.
    input  wire [1:0]                       leave_read_i,
    input  wire [9:0]                       leave_slot_i,
    input  wire [ROW_BITS-1:0]              leave_row_i,
    output wire [(WIDTH << LOG2_UNITS)-1:0] leave_a_o,
    output wire [(WIDTH << LOG2_UNITS)-1:0] leave_b_o,
    // Loads.
    input  wire                             weight_write_i,
    input  wire [LOG2_WEIGHTS-1:0]          weight_address_i,
    input  wire [30:0]                      weight_data_i,
    input  wire                             prime_write_i,
    input  wire [NUMBER-1:0]                load_modulus_i,
    input  wire [H_WIDTH-1:0]               load_h_i,
    input  wire                             table_write_i,
    input  wire [LOG2_N-1:0]                table_index_i,
    input  wire [(WIDTH << LOG2_BEAT)-1:0]  table_data_i,
    output wire [LOG2_BEAT:0]               table_step_o,
    input  wire                             wipe_i,
    input  wire [15:0]                      wipe_row_i
);
    `include "cm_latency.svh"
    `include "cm_evaluator_latency.svh"
    localparam integer LANES = 1 << LOG2_UNITS;
    localparam integer A_BITS = LOG2_SLOTS_A + ROW_BITS;
    localparam integer B_BITS = LOG2_SLOTS_B + ROW_BITS;
    localparam integer DEEP_UNITS = (DEEP == 1) ? 1 : 0;
    localparam integer REDUCTIONS = sum_reductions(LOG2_N);
    localparam integer STEP = sum_reduction_latency(DEEP_UNITS);
    // Cycles from a term's issue to its stages.
    localparam integer ADD = OPERAND_LATENCY + wide_product_latency(FACTOR_BITS, DEEP_UNITS);
    localparam integer SUM = ADD + 1;
    localparam integer REDUCED = SUM + REDUCTIONS * STEP;
    localparam integer WRITE = sum_latency(LOG2_N, DEEP_UNITS);

    // --- what accompanies a term ---------------------------------------------------------------------------

    reg [ADD:1]   adds;
    reg [WRITE:1] ends;
    always_ff @(posedge clk_i) begin
        adds <= {adds[ADD-1:1], issue_i};
        ends <= {ends[WRITE-1:1], issue_i && last_i};
        if (rst_i) begin
            adds <= {ADD{1'b0}};
            ends <= {WRITE{1'b0}};
        end
    end

    wire [1:0] source;
    wire       product;
    cm_delay #(.WIDTH(3), .CYCLES(OPERAND_LATENCY)) u_source (
        .clk_i(clk_i), .data_i({source_i, product_i}), .data_o({source, product})
    );

    wire       first;
    wire       rounds;
    wire [5:0] rounded_shift;
    reg  [SUM_WIDTH-1:0] round;
    cm_delay #(.WIDTH(1), .CYCLES(ADD)) u_first (.clk_i(clk_i), .data_i(first_i), .data_o(first));
    cm_delay #(.WIDTH(7), .CYCLES(ADD - 1)) u_round (
        .clk_i(clk_i), .data_i({shifts_i, shift_i}), .data_o({rounds, rounded_shift})
    );
    always_ff @(posedge clk_i) round <= {{(SUM_WIDTH - 1){1'b0}}, rounds} << (rounded_shift - 1'b1);

    wire [5:0] shift;
    wire       shifts;
    cm_delay #(.WIDTH(2), .CYCLES(SUM)) u_shift_high (
        .clk_i(clk_i), .data_i(shift_i[5:4]), .data_o(shift[5:4])
    );
    cm_delay #(.WIDTH(2), .CYCLES(SUM + 1)) u_shift_middle (
        .clk_i(clk_i), .data_i(shift_i[3:2]), .data_o(shift[3:2])
    );
    cm_delay #(.WIDTH(2), .CYCLES(SUM + 2)) u_shift_low (
        .clk_i(clk_i), .data_i(shift_i[1:0]), .data_o(shift[1:0])
    );
    cm_delay #(.WIDTH(1), .CYCLES(REDUCED)) u_shifts (.clk_i(clk_i), .data_i(shifts_i), .data_o(shifts));

    wire [ROW_BITS-1:0] write_row;
    wire                write_last_row, write_send, write_end;
    wire [1:0]          destination;
    wire [9:0]          result_slot;
    wire [NUMBER-1:0]   write_modulus;
    cm_delay #(.WIDTH(ROW_BITS + 15 + NUMBER), .CYCLES(WRITE)) u_write (
        .clk_i(clk_i),
        .data_i({row_i, last_row_i, send_i, end_i, destination_i, result_slot_i, modulus_i}),
        .data_o({write_row, write_last_row, write_send, write_end, destination, result_slot, write_modulus})
    );

    // --- primes --------------------------------------------------------------------------------------------

    reg  [H_WIDTH-1:0] primes [0:(1<<LOG2_MODULI)-1]; // (q - 1) / 2^(LOG2_N + 1)
    reg  [H_WIDTH-1:0] h;
    reg  [H_WIDTH:0]   minus_h;
    wire [NUMBER-1:0]  job_modulus;
    wire [H_WIDTH-1:0] result_h;
    wire [REDUCTIONS*(H_WIDTH+1)-1:0] reduction_h;
    always_ff @(posedge clk_i) begin
        if (wipe_i) primes[wipe_row_i[NUMBER-1:0]] <= {H_WIDTH{1'b0}};
        else if (prime_write_i) primes[load_modulus_i] <= load_h_i;
        h <= primes[modulus_i];
        minus_h <= -{1'b0, h};
    end
    cm_delay #(.WIDTH(H_WIDTH), .CYCLES(REDUCED - 1)) u_result_h (
        .clk_i(clk_i), .data_i(h), .data_o(result_h)
    );
    genvar i;
    generate
        for (i = 0; i < REDUCTIONS; i = i + 1) begin : g_reduction
            wire [H_WIDTH:0] h_here;
            if (i == 0) begin : g_first
                cm_delay #(.WIDTH(H_WIDTH + 1), .CYCLES(SUM - 2)) u_h (
                    .clk_i(clk_i), .data_i(minus_h), .data_o(h_here)
                );
            end else begin : g_next
                cm_delay #(.WIDTH(H_WIDTH + 1), .CYCLES(STEP)) u_h (
                    .clk_i(clk_i), .data_i(g_reduction[i-1].h_here), .data_o(h_here)
                );
            end
            assign reduction_h[(H_WIDTH+1)*i +: H_WIDTH+1] = h_here;
        end
    endgenerate

    // --- weights -------------------------------------------------------------------------------------------

    wire [30:0] weight_read;
    reg  [30:0] weight;
    cm_ram #(
        .WIDTH(31), .DEPTH(1 << LOG2_WEIGHTS), .ADDRESS_WIDTH(LOG2_WEIGHTS), .BLOCK(1)
    ) u_weights (
        .clk_i(clk_i), .write_i(weight_write_i || wipe_i),
        .write_address_i(wipe_i ? wipe_row_i[LOG2_WEIGHTS-1:0] : weight_address_i),
        .write_data_i(wipe_i ? 31'd0 : weight_data_i),
        .read_i(1'b1), .read_address_i(factor_i[LOG2_WEIGHTS-1:0]), .read_data_o(weight_read)
    );
    always_ff @(posedge clk_i) weight <= weight_read;

    // --- memories ------------------------------------------------------------------------------------------

    wire uses_a = source_i == 2'd0;
    wire uses_b = source_i == 2'd1 || product_i;
    assign reads_o = {issue_i && uses_b, issue_i && uses_a};
    assign writes_o = {ends[WRITE] && destination == 2'd1, ends[WRITE] && destination == 2'd0};

    wire [9:0] b_slot = product_i ? factor_i[9:0] : slot_i;
    wire [A_BITS-1:0] a_read = wipe_i ? {A_BITS{1'b0}}
        : reads_o[0] ? {slot_i[LOG2_SLOTS_A-1:0], row_i}
        : {leave_slot_i[LOG2_SLOTS_A-1:0], leave_row_i};
    wire [B_BITS-1:0] b_read = wipe_i ? {B_BITS{1'b0}}
        : reads_o[1] ? {b_slot[LOG2_SLOTS_B-1:0], row_i}
        : {leave_slot_i[LOG2_SLOTS_B-1:0], leave_row_i};
    wire [A_BITS-1:0] a_write = wipe_i ? wipe_row_i[A_BITS-1:0]
        : writes_o[0] ? {result_slot[LOG2_SLOTS_A-1:0], write_row}
        : {arrival_slot_i[LOG2_SLOTS_A-1:0], arrival_row_i};
    wire [B_BITS-1:0] b_write = wipe_i ? wipe_row_i[B_BITS-1:0]
        : writes_o[1] ? {result_slot[LOG2_SLOTS_B-1:0], write_row}
        : {arrival_slot_i[LOG2_SLOTS_B-1:0], arrival_row_i};

    wire [WIDTH*LANES-1:0] results;
    wire [WIDTH*LANES-1:0] set_row;
    genvar v;
    generate
        for (v = 0; v < LANES; v = v + 1) begin : g_lane
            wire [WIDTH-1:0] result = results[WIDTH*v +: WIDTH];
            wire [WIDTH-1:0] arrival = wipe_i ? {WIDTH{1'b0}} : arrival_data_i[WIDTH*v +: WIDTH];
            wire [WIDTH-1:0] a_word, b_word;
            reg  [WIDTH-1:0] a, b;
            cm_ram #(.WIDTH(WIDTH), .DEPTH(1 << A_BITS), .ADDRESS_WIDTH(A_BITS), .BLOCK(BLOCK)) u_a (
                .clk_i(clk_i), .write_i(wipe_i || writes_o[0] || arrival_write_i[0]),
                .write_address_i(a_write), .write_data_i(writes_o[0] ? result : arrival),
                .read_i(wipe_i || reads_o[0] || leave_read_i[0]), .read_address_i(a_read),
                .read_data_o(a_word)
            );
            cm_ram #(.WIDTH(WIDTH), .DEPTH(1 << B_BITS), .ADDRESS_WIDTH(B_BITS), .BLOCK(BLOCK)) u_b (
                .clk_i(clk_i), .write_i(wipe_i || writes_o[1] || arrival_write_i[1]),
                .write_address_i(b_write), .write_data_i(writes_o[1] ? result : arrival),
                .read_i(wipe_i || reads_o[1] || leave_read_i[1]), .read_address_i(b_read),
                .read_data_o(b_word)
            );
            always_ff @(posedge clk_i) begin
                a <= a_word;
                b <= b_word;
            end
            assign leave_a_o[WIDTH*v +: WIDTH] = a;
            assign leave_b_o[WIDTH*v +: WIDTH] = b;

            wire [WIDTH-1:0] word = (source == 2'd0) ? a : (source == 2'd1) ? b
                : (source == 2'd2) ? set_row[WIDTH*v +: WIDTH] : {{(WIDTH - 1){1'b0}}, 1'b1};
            cm_evaluator_lane #(
                .LOG2_N(LOG2_N), .WIDTH(WIDTH), .DEEP(DEEP_UNITS), .MULTIPLIER_WIDTH(MULTIPLIER_WIDTH),
                .REDUCTIONS(REDUCTIONS)
            ) u_lane (
                .clk_i(clk_i), .word_i(word),
                .factor_i(product ? {{(31 - WIDTH){1'b0}}, b} : weight),
                .adds_i(adds[ADD] || wipe_i), .first_i(first || wipe_i), .round_i(round),
                .minus_h_i(reduction_h), .h_i(result_h), .shift_i(shift), .shifts_i(shifts),
                .result_o(results[WIDTH*v +: WIDTH])
            );
        end
    endgenerate

    assign written_o = ends[WRITE] && write_last_row;
    assign written_send_o = write_send;
    assign written_end_o = write_end;
    assign written_memory_o = destination[0];
    assign written_slot_o = result_slot;

    // --- transformer ---------------------------------------------------------------------------------------

    cm_evaluator_transformer #(
        .LOG2_N(LOG2_N), .WIDTH(WIDTH), .LOG2_UNITS(LOG2_UNITS), .LOG2_BEAT(LOG2_BEAT),
        .LOG2_MODULI(LOG2_MODULI), .DEEP(DEEP), .FORWARD(FORWARD), .MULTIPLIER_WIDTH(MULTIPLIER_WIDTH),
        .BLOCK(BLOCK)
    ) u_transformer (
        .clk_i(clk_i), .rst_i(rst_i),
        .claim_i(claim_i), .release_i(release_i), .claim_set_i(claim_set_i), .busy_o(set_busy_o),
        .write_i(ends[WRITE] && destination == 2'd2), .write_set_i(result_slot[0]),
        .write_inverse_i(result_slot[1]), .write_modulus_i(write_modulus), .write_row_i(write_row),
        .write_last_i(write_last_row), .write_data_i(results),
        .modulus_o(job_modulus), .h_i(primes[job_modulus]),
        .read_set_i(slot_i[0]), .read_row_i(row_i), .read_data_o(set_row),
        .table_write_i(table_write_i), .table_modulus_i(load_modulus_i), .table_index_i(table_index_i),
        .table_data_i(table_data_i), .table_step_o(table_step_o),
        .wipe_i(wipe_i), .wipe_row_i(wipe_row_i)
    );
endmodule
`default_nettype wire
