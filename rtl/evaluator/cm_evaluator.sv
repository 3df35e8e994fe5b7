// SPDX-License-Identifier: Apache-2.0
// The evaluator: a vector machine over residues around cm_ntt_engine, which runs programs on polynomials.
// Commands come through AXI4-Lite (evaluator_registers.md), polynomials through AXI4-Streams.
//
// It holds polynomials of n words in two memories, A and B, in rows of a word for each butterfly. Everything
// but a transform is a sum of products: for each index, words of polynomials times weights or times words of
// memory B, divided by R modulo a prime, or shifted to the right with rounding. The README has the words of
// programs.
//
// Three things go on at a time, each in the order of the commands: the packets of a run arrive; the
// instructions of the run before it are carried out; and the results of earlier ones leave. A run's
// instructions begin when those of the run before have ended and the results of the one before that have been
// read, and its packets are taken when the run two before it has ended.
`default_nettype none
module cm_evaluator #(
    parameter integer LOG2_N = 12,
    parameter integer WIDTH = 27,       // bits of a prime and of a polynomial's words
    parameter integer LOG2_UNITS = 6,   // log2 of the butterflies and of the lanes
    parameter integer LOG2_BEAT = 3,    // log2 of the words in a beat, of 32 bits each
    parameter integer LOG2_SLOTS_A = 6, // log2 of the polynomials in each memory
    parameter integer LOG2_SLOTS_B = 6,
    parameter integer LOG2_MODULI = 4,
    parameter integer LOG2_WEIGHTS = 12,
    parameter integer LOG2_PROGRAM = 13,
    parameter integer DEEP = 1,         // as in cm_ntt_engine
    parameter integer FORWARD = 0,
    parameter integer MULTIPLIER_WIDTH = 24,
    parameter integer BLOCK = 1
) (
    input  wire                         aclk,
    input  wire                         aresetn, // synchronous
    output wire                         irq,     // level: evaluator_registers.md
    output wire                         restart, // CONTROL.RESET was written.
    // Commands wait, as during a wipe; tie it to 0 if nothing else wipes.
    input  wire                         hold,
    input  wire [7:0]                   s_axil_awaddr,
    input  wire                         s_axil_awvalid,
    output wire                         s_axil_awready,
    input  wire [31:0]                  s_axil_wdata,
    input  wire [3:0]                   s_axil_wstrb,
    input  wire                         s_axil_wvalid,
    output wire                         s_axil_wready,
    output wire [1:0]                   s_axil_bresp,
    output wire                         s_axil_bvalid,
    input  wire                         s_axil_bready,
    input  wire [7:0]                   s_axil_araddr,
    input  wire                         s_axil_arvalid,
    output wire                         s_axil_arready,
    output wire [31:0]                  s_axil_rdata,
    output wire [1:0]                   s_axil_rresp,
    output wire                         s_axil_rvalid,
    input  wire                         s_axil_rready,
    input  wire [(32 << LOG2_BEAT)-1:0] s_axis_tdata,
    // Must be all ones; else the packet has the wrong length.
    input  wire [(4 << LOG2_BEAT)-1:0]  s_axis_tkeep,
    input  wire                         s_axis_tvalid,
    input  wire                         s_axis_tlast,
    output wire                         s_axis_tready,
    output wire [(32 << LOG2_BEAT)-1:0] m_axis_tdata,
    output wire [(4 << LOG2_BEAT)-1:0]  m_axis_tkeep,
    output wire                         m_axis_tvalid,
    output wire                         m_axis_tlast,
    input  wire                         m_axis_tready
);
    `include "cm_latency.svh"
    `include "cm_refuse.svh"
    `include "cm_evaluator_latency.svh"
    `include "cm_evaluator_registers.svh"
    generate // The engine checks the other parameters.
        `CM_REFUSE(g_bad_log2_n, LOG2_N < 5 || LOG2_N > 13,
                   "cm_evaluator: LOG2_N must be from 5 to 13.")
        `CM_REFUSE(g_bad_width, WIDTH < 20 || WIDTH > 27,
                   "cm_evaluator: WIDTH must be from 20 to 27.")
        `CM_REFUSE(g_bad_width_b, WIDTH < LOG2_N + 5 || WIDTH - LOG2_N - 1 > MULTIPLIER_WIDTH,
                   "cm_evaluator: WIDTH must be from LOG2_N + 5 to LOG2_N + 1 + MULTIPLIER_WIDTH.")
        `CM_REFUSE(g_bad_log2_beat, LOG2_BEAT < 0 || LOG2_BEAT > 5 || LOG2_BEAT > LOG2_UNITS,
                   "cm_evaluator: LOG2_BEAT must be from 0 to 5, and at most LOG2_UNITS.")
        `CM_REFUSE(g_bad_slots_a, LOG2_SLOTS_A < 1 || LOG2_SLOTS_A > 10,
                   "cm_evaluator: LOG2_SLOTS_A must be from 1 to 10.")
        `CM_REFUSE(g_bad_slots_b, LOG2_SLOTS_B < 1 || LOG2_SLOTS_B > 10,
                   "cm_evaluator: LOG2_SLOTS_B must be from 1 to 10.")
        `CM_REFUSE(g_bad_weights, LOG2_WEIGHTS < 1 || LOG2_WEIGHTS > 12,
                   "cm_evaluator: LOG2_WEIGHTS must be from 1 to 12.")
        `CM_REFUSE(g_bad_program, LOG2_PROGRAM < 4 || LOG2_PROGRAM > 15,
                   "cm_evaluator: LOG2_PROGRAM must be from 4 to 15.")
    endgenerate
    localparam integer ROW_BITS = LOG2_N - LOG2_UNITS;
    localparam integer NUMBER = (LOG2_MODULI > 0) ? LOG2_MODULI : 1;
    localparam integer ROW = WIDTH << LOG2_UNITS;
    localparam integer DEEP_UNITS = (DEEP == 1) ? 1 : 0;
    localparam integer LATENCY = sum_latency(LOG2_N, DEEP_UNITS) + 1;
    localparam integer TWIDDLE_BITS = montgomery_words(WIDTH, LOG2_N) * montgomery_word_bits(WIDTH, LOG2_N);
    localparam integer MONTGOMERY_BITS = sum_reductions(LOG2_N) * (LOG2_N + 1);
    localparam [31:0] SHAPE = (LOG2_N << CM_EVALUATOR_SHAPE_LOG2_N_LOW)
        | (WIDTH << CM_EVALUATOR_SHAPE_WIDTH_LOW) | (LOG2_UNITS << CM_EVALUATOR_SHAPE_LOG2_UNITS_LOW)
        | (LOG2_BEAT << CM_EVALUATOR_SHAPE_LOG2_BEAT_LOW)
        | (TWIDDLE_BITS << CM_EVALUATOR_SHAPE_TWIDDLE_BITS_LOW)
        | (MONTGOMERY_BITS << CM_EVALUATOR_SHAPE_MONTGOMERY_BITS_LOW);
    localparam [31:0] SIZES = (LOG2_SLOTS_A << CM_EVALUATOR_SIZES_LOG2_SLOTS_A_LOW)
        | (LOG2_SLOTS_B << CM_EVALUATOR_SIZES_LOG2_SLOTS_B_LOW)
        | (LOG2_MODULI << CM_EVALUATOR_SIZES_LOG2_MODULI_LOW)
        | (LOG2_WEIGHTS << CM_EVALUATOR_SIZES_LOG2_WEIGHTS_LOW)
        | (LOG2_PROGRAM << CM_EVALUATOR_SIZES_LOG2_PROGRAM_LOW);

    // --- registers -----------------------------------------------------------------------------------------

    wire             software_reset;
    wire             command_valid;
    wire [23:0]      command;
    wire             prime_valid;
    wire [63:0]      new_prime;
    reg  [WIDTH-1:0] prime;
    wire [31:0]      status;
    wire [7:0]       errors;
    wire             job_done;

    cm_axil_registers #(
        .WIDTH(WIDTH), .IDENTITY(32'h434D4556), .SHAPE(SHAPE), .SIZES(SIZES), .COMMAND_BITS(24),
        .ERROR_BITS(8)
    ) u_registers (
        .clk_i(aclk), .rst_i(!aresetn),
        .s_axil_awaddr_i(s_axil_awaddr), .s_axil_awvalid_i(s_axil_awvalid), .s_axil_awready_o(s_axil_awready),
        .s_axil_wdata_i(s_axil_wdata), .s_axil_wstrb_i(s_axil_wstrb), .s_axil_wvalid_i(s_axil_wvalid),
        .s_axil_wready_o(s_axil_wready),
        .s_axil_bresp_o(s_axil_bresp), .s_axil_bvalid_o(s_axil_bvalid), .s_axil_bready_i(s_axil_bready),
        .s_axil_araddr_i(s_axil_araddr), .s_axil_arvalid_i(s_axil_arvalid), .s_axil_arready_o(s_axil_arready),
        .s_axil_rdata_o(s_axil_rdata), .s_axil_rresp_o(s_axil_rresp), .s_axil_rvalid_o(s_axil_rvalid),
        .s_axil_rready_i(s_axil_rready),
        .reset_o(software_reset), .command_valid_o(command_valid), .command_o(command),
        .prime_valid_o(prime_valid), .prime_o(new_prime), .prime_i(prime), .status_i(status),
        .errors_i(errors), .job_done_i(job_done), .irq_o(irq)
    );
    wire reset = !aresetn || software_reset;
    assign restart = software_reset;
    assign m_axis_tkeep = {(4 << LOG2_BEAT){1'b1}};

    // After a reset, zeros go to every row of every memory, then through the pipelines. No command starts
    // meanwhile.
    function automatic integer larger(input integer a, input integer b);
        larger = (a > b) ? a : b;
    endfunction
    localparam integer WIPE_LOG2 = larger(
        larger(larger(LOG2_SLOTS_A, LOG2_SLOTS_B) + ROW_BITS, larger(LOG2_WEIGHTS, LOG2_PROGRAM)),
        LOG2_MODULI + $clog2((LOG2_UNITS + 2) << (ROW_BITS - 1)));
    localparam integer WIPE_LAST = (1 << WIPE_LOG2) + 4 * LATENCY;
    localparam integer WIPE_BITS = $clog2(WIPE_LAST + 1);
    reg                 wiping;
    reg [WIPE_BITS-1:0] wipe_row;
    wire [15:0]         wipe_place = {{(16 - WIPE_LOG2){1'b0}}, wipe_row[WIPE_LOG2-1:0]};
    always_ff @(posedge aclk) begin
        wipe_row <= wipe_row + 1'b1;
        if (wipe_row == WIPE_LAST[WIPE_BITS-1:0]) wiping <= 1'b0;
        if (reset) begin
            wiping <= 1'b1;
            wipe_row <= {WIPE_BITS{1'b0}};
        end
    end

    // --- primes --------------------------------------------------------------------------------------------

    localparam integer MODULI = 1 << LOG2_MODULI;
    reg  [MODULI-1:0] loaded;
    reg               prime_set;
    wire              idle;
    wire              good_prime = new_prime >> WIDTH == 64'd0
        && new_prime[LOG2_N:0] == {{LOG2_N{1'b0}}, 1'b1} && new_prime >> (LOG2_N + 1) != 64'd0;
    wire              bad_prime_error = prime_valid && idle && !good_prime;
    wire              busy_error = prime_valid && !idle;
    wire              modulus_begins, modulus_loaded;
    wire [NUMBER-1:0] load_modulus;
    always_ff @(posedge aclk) begin
        if (prime_valid && idle) begin
            prime_set <= good_prime;
            prime <= good_prime ? new_prime[WIDTH-1:0] : {WIDTH{1'b0}};
        end
        if (modulus_begins) loaded[load_modulus] <= 1'b0;
        if (modulus_loaded) loaded[load_modulus] <= 1'b1;
        if (reset) begin
            prime_set <= 1'b0;
            prime <= {WIDTH{1'b0}};
            loaded <= {MODULI{1'b0}};
        end
    end

    // --- queue of commands ---------------------------------------------------------------------------------

    localparam integer LOG2_DEPTH = 3;
    localparam integer DEPTH = 1 << LOG2_DEPTH;
    reg [23:0]           queue [0:DEPTH-1];
    reg [LOG2_DEPTH-1:0] head;
    reg [LOG2_DEPTH-1:0] tail;
    reg [LOG2_DEPTH:0]   queued;
    wire [31:0] code = {28'd0, command[CM_EVALUATOR_COMMAND_CODE_LOW +: CM_EVALUATOR_COMMAND_CODE_BITS]};
    wire        of_b = command[CM_EVALUATOR_COMMAND_MEMORY_LOW];
    wire [15:0] argument = command[CM_EVALUATOR_COMMAND_ARGUMENT_LOW +: CM_EVALUATOR_COMMAND_ARGUMENT_BITS];
    localparam integer WEIGHT_BLOCKS = larger(LOG2_WEIGHTS - LOG2_N, 0);      // log2 of them
    localparam integer PROGRAM_BLOCKS = larger(LOG2_PROGRAM + 1 - LOG2_N, 0);
    wire        known = code == CM_EVALUATOR_CODE_LOAD_MODULUS ? argument >> LOG2_MODULI == 16'd0
        : code == CM_EVALUATOR_CODE_LOAD_WEIGHTS ? argument >> WEIGHT_BLOCKS == 16'd0
        : code == CM_EVALUATOR_CODE_LOAD_PROGRAM ? argument >> PROGRAM_BLOCKS == 16'd0
        : code == CM_EVALUATOR_CODE_LOAD_POLYNOMIAL
            ? (of_b ? argument >> LOG2_SLOTS_B == 16'd0 : argument >> LOG2_SLOTS_A == 16'd0)
        : code == CM_EVALUATOR_CODE_RUN && argument >> LOG2_PROGRAM == 16'd0;
    wire full = queued == DEPTH[LOG2_DEPTH:0];
    wire push = command_valid && known && !full;
    wire pop;
    wire command_error = command_valid && !known;
    wire overflow_error = command_valid && known && full;
    always_ff @(posedge aclk) begin
        if (push) begin
            queue[tail] <= command;
            tail <= tail + 1'b1;
        end
        if (pop) head <= head + 1'b1;
        queued <= queued + {{LOG2_DEPTH{1'b0}}, push} - {{LOG2_DEPTH{1'b0}}, pop};
        if (reset) begin
            head <= {LOG2_DEPTH{1'b0}};
            tail <= {LOG2_DEPTH{1'b0}};
            queued <= {(LOG2_DEPTH + 1){1'b0}};
        end
    end

    // --- runs ----------------------------------------------------------------------------------------------

    // Runs have numbers of two bits: at most two are accepted and have not ended, and at most two have ended
    // and not left.
    reg  [1:0]              open;      // accepted and not ended
    reg  [1:0]              leaving;   // ended and not left
    reg  [1:0]              accepted;  // number of the run that is accepted next,
    reg  [1:0]              next_run;  // number of the run that begins next,
    reg  [1:0]              executing; // number of the run whose instructions are carried out,
    reg  [1:0]              departing; // number of the run whose results leave
    reg  [3:0]              failed;
    reg  [LOG2_PROGRAM-1:0] addresses [0:1];
    wire                    accepts, begins, ends, aborts;
    wire [LOG2_PROGRAM-1:0] new_address;
    wire [7:0]              arrived;
    wire                    arrived_all, arrival_failed, bad_instruction, unset_instruction;
    wire [1:0]              newest = accepted - 1'b1;

    always_ff @(posedge aclk) begin
        open <= open + {1'b0, accepts} - {1'b0, ends};
        leaving <= leaving + {1'b0, ends} - {1'b0, job_done};
        if (accepts) begin
            accepted <= accepted + 1'b1;
            addresses[accepted[0]] <= new_address;
            failed[accepted] <= 1'b0;
        end
        if (begins) begin
            next_run <= next_run + 1'b1;
            executing <= next_run;
        end
        if (job_done) departing <= departing + 1'b1;
        if (arrival_failed) failed[newest] <= 1'b1;
        if (bad_instruction || unset_instruction) failed[executing] <= 1'b1;
        if (reset) begin
            open <= 2'd0;
            leaving <= 2'd0;
            accepted <= 2'd0;
            next_run <= 2'd0;
            departing <= 2'd0;
        end
    end

    // --- arrival -------------------------------------------------------------------------------------------

    wire                        arrival_busy;
    wire [LOG2_N-1:0]           words_index;
    wire [(32 << LOG2_BEAT)-1:0] words;
    wire [LOG2_BEAT:0]          table_step;
    wire                        table_write, weight_write, program_write;
    wire [LOG2_WEIGHTS-1:0]     weight_address;
    wire [LOG2_PROGRAM-1:0]     program_address;
    wire [63:0]                 program_data;
    wire [LOG2_PROGRAM-1:0]     receive_address;
    wire [12:0]                 receive;
    wire [1:0]                  reads, writes, arrival_write, gap_wanted, gap_given;
    wire [9:0]                  arrival_slot;
    wire [ROW_BITS-1:0]         arrival_row;
    wire [ROW-1:0]              arrival_data;
    wire                        length_error, range_error, unset_load, bad_receive;

    cm_evaluator_arrival #(
        .LOG2_N(LOG2_N), .WIDTH(WIDTH), .LOG2_UNITS(LOG2_UNITS), .LOG2_BEAT(LOG2_BEAT),
        .LOG2_SLOTS_A(LOG2_SLOTS_A), .LOG2_SLOTS_B(LOG2_SLOTS_B), .LOG2_MODULI(LOG2_MODULI),
        .LOG2_WEIGHTS(LOG2_WEIGHTS), .LOG2_PROGRAM(LOG2_PROGRAM)
    ) u_arrival (
        .clk_i(aclk), .rst_i(reset),
        .command_i(queued != {(LOG2_DEPTH + 1){1'b0}} && !wiping && !hold), .command_fields_i(queue[head]),
        .pop_o(pop), .busy_o(arrival_busy), .quiet_i(open == 2'd0 && leaving == 2'd0), .room_i(!open[1]),
        .run_o(accepts), .address_o(new_address), .arrived_o(arrived), .arrived_all_o(arrived_all),
        .receive_address_o(receive_address), .receive_i(receive),
        .prime_set_i(prime_set), .prime_i(prime),
        .s_axis_tdata_i(s_axis_tdata), .s_axis_tkeep_i(s_axis_tkeep),
        .s_axis_tvalid_i(s_axis_tvalid), .s_axis_tlast_i(s_axis_tlast), .s_axis_tready_o(s_axis_tready),
        .index_o(words_index), .data_o(words), .table_step_i(table_step),
        .table_write_o(table_write),
        .weight_write_o(weight_write), .weight_address_o(weight_address),
        .program_write_o(program_write), .program_address_o(program_address), .program_data_o(program_data),
        .modulus_o(load_modulus), .modulus_begins_o(modulus_begins), .modulus_loaded_o(modulus_loaded),
        .blocked_i(writes), .write_o(arrival_write), .slot_o(arrival_slot), .row_o(arrival_row),
        .row_data_o(arrival_data), .gap_wanted_o(gap_wanted), .gap_given_i(gap_given),
        .failed_o(arrival_failed), .length_o(length_error), .range_o(range_error), .unset_o(unset_load),
        .bad_word_o(bad_receive)
    );

    // --- programs ------------------------------------------------------------------------------------------

    wire                    fetch;
    wire [LOG2_PROGRAM-1:0] fetch_address;
    wire [63:0]             fetched;
    wire [LOG2_PROGRAM-1:0] program_place = wiping ? wipe_place[LOG2_PROGRAM-1:0] : program_address;
    wire [63:0]             program_word = wiping ? 64'd0 : program_data;
    cm_ram #(.WIDTH(64), .DEPTH(1 << LOG2_PROGRAM), .ADDRESS_WIDTH(LOG2_PROGRAM), .BLOCK(1)) u_program (
        .clk_i(aclk), .write_i(program_write || wiping), .write_address_i(program_place),
        .write_data_i(program_word), .read_i(fetch), .read_address_i(fetch_address), .read_data_o(fetched)
    );
    // What arrivals need of it, on a port of their own.
    cm_ram #(.WIDTH(13), .DEPTH(1 << LOG2_PROGRAM), .ADDRESS_WIDTH(LOG2_PROGRAM), .BLOCK(1)) u_receives (
        .clk_i(aclk), .write_i(program_write || wiping), .write_address_i(program_place),
        .write_data_i({program_word[63:62], program_word[11:2], program_word[0]}),
        .read_i(1'b1), .read_address_i(receive_address), .read_data_o(receive)
    );

    wire                issue, row_first, row_last, last_row, multiplies, shifts, sends, is_end;
    wire [ROW_BITS-1:0] row;
    wire [1:0]          source, destination, set_busy;
    wire [9:0]          slot, result_slot;
    wire [11:0]         factor;
    wire [NUMBER-1:0]   modulus;
    wire [5:0]          shift;
    wire                claim, release_claim, claim_set, reserve, room, written, written_send, written_end,
        written_memory;
    wire [9:0]          written_slot;
    wire [1:0]          leave_wanted, leave_read;
    assign ends = (written && written_end) || aborts;

    cm_evaluator_sequencer #(
        .ROW_BITS(ROW_BITS), .LOG2_SLOTS_A(LOG2_SLOTS_A), .LOG2_SLOTS_B(LOG2_SLOTS_B),
        .LOG2_MODULI(LOG2_MODULI), .LOG2_WEIGHTS(LOG2_WEIGHTS), .LOG2_PROGRAM(LOG2_PROGRAM),
        .LATENCY(LATENCY)
    ) u_sequencer (
        .clk_i(aclk), .rst_i(reset),
        .start_i(open != 2'd0 && !leaving[1]), .address_i(addresses[next_run[0]]), .starts_o(begins),
        .arrived_all_i(open[1] || arrived_all), .arrived_i(arrived),
        .fetch_o(fetch), .fetch_address_o(fetch_address), .word_i(fetched),
        .room_i(room), .reserve_o(reserve), .set_busy_i(set_busy),
        .read_wanted_i(leave_wanted & ~leave_read), .gap_wanted_i(gap_wanted), .gap_given_o(gap_given),
        .loaded_i(loaded), .claim_o(claim), .release_o(release_claim), .claim_set_o(claim_set),
        .issue_o(issue), .row_o(row), .first_o(row_first), .last_o(row_last), .last_row_o(last_row),
        .source_o(source), .slot_o(slot), .product_o(multiplies), .factor_o(factor), .modulus_o(modulus),
        .shifts_o(shifts), .shift_o(shift), .destination_o(destination), .result_slot_o(result_slot),
        .send_o(sends), .end_o(is_end),
        .written_end_i(written && written_end), .abort_o(aborts), .bad_word_o(bad_instruction),
        .unset_o(unset_instruction)
    );

    // --- data ----------------------------------------------------------------------------------------------

    wire [9:0]          leave_slot;
    wire [ROW_BITS-1:0] leave_row;
    wire [ROW-1:0]      leave_a, leave_b;
    wire [(WIDTH << LOG2_BEAT)-1:0] table_data;
    genvar w;
    generate
        for (w = 0; w < 1 << LOG2_BEAT; w = w + 1) begin : g_twiddle
            assign table_data[WIDTH*w +: WIDTH] = words[32*w +: WIDTH];
        end
    endgenerate

    cm_evaluator_vector #(
        .LOG2_N(LOG2_N), .WIDTH(WIDTH), .LOG2_UNITS(LOG2_UNITS), .LOG2_BEAT(LOG2_BEAT),
        .LOG2_SLOTS_A(LOG2_SLOTS_A), .LOG2_SLOTS_B(LOG2_SLOTS_B), .LOG2_MODULI(LOG2_MODULI),
        .LOG2_WEIGHTS(LOG2_WEIGHTS), .DEEP(DEEP), .FORWARD(FORWARD), .MULTIPLIER_WIDTH(MULTIPLIER_WIDTH),
        .BLOCK(BLOCK)
    ) u_vector (
        .clk_i(aclk), .rst_i(reset),
        .issue_i(issue), .row_i(row), .first_i(row_first), .last_i(row_last), .last_row_i(last_row),
        .source_i(source), .slot_i(slot), .product_i(multiplies), .factor_i(factor), .modulus_i(modulus),
        .shifts_i(shifts), .shift_i(shift), .destination_i(destination), .result_slot_i(result_slot),
        .send_i(sends), .end_i(is_end), .reads_o(reads), .writes_o(writes),
        .written_o(written), .written_send_o(written_send), .written_end_o(written_end),
        .written_memory_o(written_memory), .written_slot_o(written_slot),
        .claim_i(claim), .release_i(release_claim), .claim_set_i(claim_set), .set_busy_o(set_busy),
        .arrival_write_i(arrival_write), .arrival_slot_i(arrival_slot), .arrival_row_i(arrival_row),
        .arrival_data_i(arrival_data),
        .leave_read_i(leave_read), .leave_slot_i(leave_slot), .leave_row_i(leave_row),
        .leave_a_o(leave_a), .leave_b_o(leave_b),
        .weight_write_i(weight_write), .weight_address_i(weight_address), .weight_data_i(words[30:0]),
        .prime_write_i(modulus_begins), .load_modulus_i(load_modulus), .load_h_i(prime[WIDTH-1:LOG2_N+1]),
        .table_write_i(table_write), .table_index_i(words_index), .table_data_i(table_data),
        .table_step_o(table_step), .wipe_i(wiping), .wipe_row_i(wipe_place)
    );

    // --- departure -----------------------------------------------------------------------------------------

    wire leave_empty;
    cm_evaluator_departure #(
        .LOG2_N(LOG2_N), .WIDTH(WIDTH), .LOG2_UNITS(LOG2_UNITS), .LOG2_BEAT(LOG2_BEAT)
    ) u_departure (
        .clk_i(aclk), .rst_i(reset),
        .reserve_i(reserve), .room_o(room),
        .queue_i((written && (written_send || written_end)) || aborts),
        .queue_packet_i(written && written_send), .queue_end_i(ends), .queue_memory_i(written_memory),
        .queue_slot_i(written_slot), .job_done_o(job_done), .zero_i(failed[departing]),
        .empty_o(leave_empty),
        .wanted_o(leave_wanted), .blocked_i(reads), .read_o(leave_read), .slot_o(leave_slot),
        .row_o(leave_row), .a_i(leave_a), .b_i(leave_b),
        .m_axis_tdata_o(m_axis_tdata), .m_axis_tvalid_o(m_axis_tvalid), .m_axis_tlast_o(m_axis_tlast),
        .m_axis_tready_i(m_axis_tready)
    );

    // --- status --------------------------------------------------------------------------------------------

    assign idle = queued == {(LOG2_DEPTH + 1){1'b0}} && !arrival_busy && open == 2'd0 && leaving == 2'd0
        && leave_empty && !command_valid && !wiping && !hold;
    wire [LOG2_DEPTH:0] room_left = DEPTH[LOG2_DEPTH:0] - queued;
    wire [15:0] all_loaded = {{(16 - MODULI){1'b0}}, loaded};
    assign status = {all_loaded, 4'd0, room_left, 7'd0, idle};
    assign errors = {bad_instruction || bad_receive, busy_error, bad_prime_error, command_error,
                     overflow_error, unset_instruction || unset_load, range_error, length_error};
endmodule
`default_nettype wire
