// SPDX-License-Identifier: Apache-2.0
// The accelerator: commands and a prime through AXI4-Lite (registers.md), residues through AXI4-Streams. The
// ports are named as tools expect that group them into interfaces.
//
// Commands are executed in order, each with its packet of n residues. A job goes through three stages: a set
// of pages receives its packet, the engine works on that set, and its result is sent. There are two sets, so
// one packet arrives and another is sent while the engine works; a set may be refilled behind the words that
// leave it. Where the engine's passes are shorter than its pipeline, two jobs of a kind that follow each
// other share a set and are computed as a pair, if the second one's packet comes while the first waits for
// the engine, which then waits for the whole of that packet. A job that fails (ERRORS says why) takes its
// packet and sends zeros of the right length: nothing waits forever. The time of a job never depends on data.
//
// With EARLY, a double product that finds the other set empty is computed as two jobs, so that its first
// result leaves while the second is computed: the forward transform is written to both sets, and the other
// set's job is the second product of it.
`default_nettype none
module cm_ntt_accelerator #(
    parameter integer LOG2_N = 10,
    parameter integer WIDTH = 32,
    parameter integer LOG2_UNITS = 0,
    // Log2 of residues in a beat of the streams, of 32 bits each or, above 32 bits, 64.
    parameter integer LOG2_BEAT = 2,
    parameter integer GENERATE = 0, // 1: twiddles are computed instead of stored
    parameter integer DEEP = 1,
    parameter integer MULTIPLIER_WIDTH = 24,
    parameter integer BLOCK = 1,
    parameter integer FORWARD = 0,
    parameter integer EARLY = 0,
    parameter integer SLOT = (WIDTH <= 32) ? 32 : 64 // follows from WIDTH and must not be set
) (
    input  wire                           aclk,
    input  wire                           aresetn, // synchronous
    output wire                           irq,     // level: registers.md
    output wire                           restart, // CONTROL.RESET was written.
    // Commands wait, as during a wipe; tie it to 0 if nothing else wipes.
    input  wire                           hold,
    input  wire [7:0]                     s_axil_awaddr,
    input  wire                           s_axil_awvalid,
    output wire                           s_axil_awready,
    input  wire [31:0]                    s_axil_wdata,
    input  wire [3:0]                     s_axil_wstrb,
    input  wire                           s_axil_wvalid,
    output wire                           s_axil_wready,
    output wire [1:0]                     s_axil_bresp,
    output wire                           s_axil_bvalid,
    input  wire                           s_axil_bready,
    input  wire [7:0]                     s_axil_araddr,
    input  wire                           s_axil_arvalid,
    output wire                           s_axil_arready,
    output wire [31:0]                    s_axil_rdata,
    output wire [1:0]                     s_axil_rresp,
    output wire                           s_axil_rvalid,
    input  wire                           s_axil_rready,
    input  wire [(SLOT << LOG2_BEAT)-1:0] s_axis_tdata,
    // Must be all ones; else the packet has the wrong length.
    input  wire [(SLOT << LOG2_BEAT)/8-1:0] s_axis_tkeep,
    input  wire                           s_axis_tvalid,
    input  wire                           s_axis_tlast,
    output wire                           s_axis_tready,
    output wire [(SLOT << LOG2_BEAT)-1:0] m_axis_tdata,
    output wire [(SLOT << LOG2_BEAT)/8-1:0] m_axis_tkeep,
    output wire                           m_axis_tvalid,
    output wire                           m_axis_tlast,
    input  wire                           m_axis_tready
);
    `include "cm_latency.svh"
    `include "cm_refuse.svh"
    `include "cm_registers.svh"
    generate // The engine checks the other parameters.
        `CM_REFUSE(g_bad_early, EARLY < 0 || EARLY > 1,
                   "cm_ntt_accelerator: EARLY must be 0 or 1.")
        `CM_REFUSE(g_bad_log2_beat, LOG2_BEAT < 0 || LOG2_BEAT > 5,
                   "cm_ntt_accelerator: LOG2_BEAT must be from 0 to 5.")
        `CM_REFUSE(g_bad_log2_beat_b, LOG2_BEAT >= LOG2_N,
                   "cm_ntt_accelerator: LOG2_BEAT must be below LOG2_N.")
        `CM_REFUSE(g_bad_slot, SLOT != ((WIDTH <= 32) ? 32 : 64),
                   "cm_ntt_accelerator: SLOT follows from WIDTH and must not be set.")
    endgenerate
    localparam integer LOG2_LANES = (LOG2_BEAT < LOG2_UNITS) ? LOG2_BEAT : LOG2_UNITS;
    localparam integer LOG2_R = montgomery_words(WIDTH, LOG2_N) * montgomery_word_bits(WIDTH, LOG2_N);
    localparam [31:0] SHAPE = (LOG2_N << CM_NTT_SHAPE_LOG2_N_LOW) | (WIDTH << CM_NTT_SHAPE_WIDTH_LOW)
        | (LOG2_UNITS << CM_NTT_SHAPE_LOG2_UNITS_LOW) | (LOG2_BEAT << CM_NTT_SHAPE_LOG2_BEAT_LOW)
        | (LOG2_R << CM_NTT_SHAPE_LOG2_R_LOW) | ((SLOT / 64) << CM_NTT_SHAPE_WIDE_LOW);

    // --- registers -----------------------------------------------------------------------------------------

    wire             software_reset;
    wire             command_valid;
    wire [5:0]       command;
    wire             prime_valid;
    wire [63:0]      new_prime;
    reg  [WIDTH-1:0] prime;
    wire [31:0]      status;
    wire [6:0]       errors;
    wire             job_done;

    cm_axil_registers #(.WIDTH(WIDTH), .SHAPE(SHAPE)) u_registers (
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
    assign m_axis_tkeep = {((SLOT << LOG2_BEAT) / 8){1'b1}};

    // After a reset, zeros go to every row of every memory, then through the pipeline, which passes on what
    // its memories say in every cycle. No command starts meanwhile.
    localparam integer DEEP_UNITS = (DEEP == 1) ? 1 : 0;
    localparam integer MULTIPLY_LATENCY = multiply_latency(WIDTH, LOG2_N, MULTIPLIER_WIDTH, DEEP_UNITS);
    localparam integer INPUT_LATENCY = (GENERATE != 0) ? MULTIPLY_LATENCY : input_latency(DEEP);
    localparam integer ROW_LATENCY = row_latency(INPUT_LATENCY, add_latency(DEEP_UNITS), MULTIPLY_LATENCY);
    localparam integer ROW_BITS = LOG2_N - LOG2_UNITS - 1;
    localparam integer BANK_ROWS = 2 << ROW_BITS;
    localparam integer TABLE_ROWS = (LOG2_UNITS + 2 + 4) << ROW_BITS;
    localparam integer MOST_ROWS = (BANK_ROWS > TABLE_ROWS) ? BANK_ROWS : TABLE_ROWS;
    // Enough for a queue of beats, and for zeros to pass the pipeline.
    localparam integer WIPE_LAST = MOST_ROWS + 2 * ROW_LATENCY + 16;
    localparam integer WIPE_BITS = $clog2(WIPE_LAST + 1);
    reg                 wiping;
    reg [WIPE_BITS-1:0] wipe_row;
    always_ff @(posedge aclk) begin
        wipe_row <= wipe_row + 1'b1;
        if (wipe_row == WIPE_LAST[WIPE_BITS-1:0]) wiping <= 1'b0;
        if (reset) begin
            wiping <= 1'b1;
            wipe_row <= {WIPE_BITS{1'b0}};
        end
    end

    // --- prime ---------------------------------------------------------------------------------------------

    reg        prime_set;
    reg        twiddles_loaded;
    reg [1:0]  operands_loaded;
    wire       idle;
    wire       good_prime = new_prime >> WIDTH == 64'd0 && new_prime[LOG2_N:0] == {{LOG2_N{1'b0}}, 1'b1}
        && new_prime >> (LOG2_N + 1) != 64'd0;
    wire       bad_prime_error = prime_valid && idle && !good_prime;
    wire       busy_error = prime_valid && !idle;

    // --- queue of commands ---------------------------------------------------------------------------------

    localparam integer LOG2_DEPTH = 3;
    localparam integer DEPTH = 1 << LOG2_DEPTH;
    reg [5:0]            queue [0:DEPTH-1];
    reg [LOG2_DEPTH-1:0] head;
    reg [LOG2_DEPTH-1:0] tail;
    reg [LOG2_DEPTH:0]   queued;
    wire [3:0] code = command[3:0];
    wire known = code != 4'd0 && {28'd0, code} <= CM_NTT_CODE_DOUBLE_PRODUCT;
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

    // The oldest command, and what it asks of the engine.
    wire [5:0]  next = queue[head];
    wire [31:0] next_code = {28'd0, next[3:0]};
    wire        next_operand = next[CM_NTT_COMMAND_OPERAND_LOW];
    wire        next_keeps = next[CM_NTT_COMMAND_TRANSFORMED_LOW];
    wire        next_is_twiddles = next_code == CM_NTT_CODE_LOAD_TWIDDLES;
    wire        next_is_table = next_is_twiddles || next_code == CM_NTT_CODE_LOAD_OPERAND;
    wire        next_double = next_code == CM_NTT_CODE_DOUBLE_PRODUCT;
    wire        next_product = next_double || next_code == CM_NTT_CODE_PRODUCT;
    wire        next_forward = next_product || next_code == CM_NTT_CODE_FORWARD;
    wire        next_inverse = (next_product && !next_keeps) || next_code == CM_NTT_CODE_INVERSE;
    wire        next_multiplies = next_product || next_code == CM_NTT_CODE_POINTWISE;
    wire [1:0]  next_operands = next_double ? 2'b11 : {next_operand, !next_operand};
    wire        next_unset = !prime_set || ((next_forward || next_inverse) && !twiddles_loaded)
        || (next_multiplies && (operands_loaded & next_operands) != next_operands);

    // --- arrival -------------------------------------------------------------------------------------------

    localparam integer PAIRS = ((1 << ROW_BITS) < ROW_LATENCY) ? 1 : 0;

    // State of each set: a job waits for the engine, the engine works on it, its result waits or is being
    // sent.
    reg [1:0] loaded;
    reg [1:0] working;
    reg [1:0] computed;
    reg       arrival_set;
    reg       work_set;
    reg       leave_set;

    reg       table_arrives;  // The current command loads a table.
    reg       twiddles_arrive;
    reg       arriving_operand;
    reg       job_unset;
    // The job of each set.
    reg [1:0] job_forward, job_inverse, job_multiplies, job_double, job_operand, job_failed;
    reg [1:0] job_page;       // page where its packet arrives and its first result is
    reg [1:0] job_pair;       // A second job is in the other page.
    reg [1:0] second_failed;
    reg [1:0] job_half;       // It is the first of the two jobs of a double product.
    reg       follows_two;    // The job that arrives has a set with two results.
    reg       second_arrives; // The packet that arrives is that of a second job, for the set loaded last.
    wire      last_set = !arrival_set;
    wire      packet_set = second_arrives ? last_set : arrival_set;

    wire arrival_busy, arrival_done, arrival_length, arrival_range;
    wire words_valid, words_ready;
    wire [LOG2_N-1:0] words_index;
    wire [LOG2_LANES:0] table_step;
    wire [(WIDTH << LOG2_LANES)-1:0] words;

    wire leave_busy, leave_empty, leave_page, leave_reads, leave_packet, leave_last;
    wire [LOG2_N-1:0] leave_index;
    reg  leave_transformed;
    reg  leave_first_page;
    reg  leave_pair;
    reg  leave_half;

    // A set may be refilled while its result is sent: into the page that holds no result, or, if there are
    // two results, into the first one's page once that has been sent.
    wire leaves_here = leave_busy && leave_set == arrival_set;
    wire arrives_transformed = !job_forward[packet_set];
    wire place_free = second_arrives || !computed[arrival_set] || !follows_two || (leaves_here && leave_page);

    wire arrival_free = !arrival_busy && !arrival_done;
    wire set_free = !loaded[arrival_set] && !working[arrival_set] && (!computed[arrival_set] || leaves_here);
    wire tables_free = loaded == 2'b00 && working == 2'b00;
    wire next_alike = job_forward[last_set] == next_forward && job_inverse[last_set] == next_inverse
        && job_multiplies[last_set] == next_multiplies
        && (job_operand[last_set] == next_operand || !next_multiplies);
    wire joins = PAIRS != 0 && s_axis_tvalid && !next_double && loaded[last_set] && !computed[last_set]
        && working != 2'b00 && !job_double[last_set] && !job_pair[last_set] && !job_failed[last_set]
        && next_alike;
    assign pop = queued != {(LOG2_DEPTH + 1){1'b0}} && arrival_free && !wiping && !hold
        && (next_is_table ? tables_free : set_free || joins);
    wire unset_error = pop && (next_is_table ? !prime_set : next_unset);

    cm_word_input #(
        .LOG2_N(LOG2_N), .WIDTH(WIDTH), .LOG2_BEAT(LOG2_BEAT), .LOG2_LANES(LOG2_LANES), .SLOT(SLOT)
    ) u_arrival (
        .clk_i(aclk), .rst_i(reset), .q_i(prime),
        .s_axis_tdata_i(s_axis_tdata), .s_axis_tkeep_i(s_axis_tkeep),
        .s_axis_tvalid_i(s_axis_tvalid), .s_axis_tlast_i(s_axis_tlast),
        .s_axis_tready_o(s_axis_tready),
        .start_i(pop), .table_i(next_is_table), .busy_o(arrival_busy),
        .valid_o(words_valid), .ready_i(words_ready), .index_o(words_index),
        .step_i(table_step), .words_o(words),
        .done_o(arrival_done), .length_o(arrival_length), .range_o(arrival_range)
    );
    assign words_ready = table_arrives || place_free;
    wire length_error = arrival_done && arrival_length;
    wire range_error = arrival_done && arrival_range && !job_unset;
    wire arrival_failed = arrival_length || arrival_range || job_unset;

    // --- work ----------------------------------------------------------------------------------------------

    wire engine_busy, engine_done;
    // A job whose last word has just arrived starts at once.
    wire arrived = arrival_done && !table_arrives && !second_arrives;
    wire work_ready = (loaded[work_set] || (arrived && arrival_set == work_set)) && !computed[work_set]
        && working == 2'b00 && !second_arrives;
    wire work_failed = loaded[work_set] ? job_failed[work_set] : arrival_failed;
    wire work_starts = work_ready && !work_failed;
    wire work_skips = work_ready && work_failed;
    wire other_set = !work_set;
    wire splits = EARLY != 0 && work_starts && job_double[work_set] && job_inverse[work_set]
        && !loaded[other_set] && !computed[other_set] && !arrival_busy && !pop
        && (arrived || arrival_set == other_set);

    always_ff @(posedge aclk) begin
        if (prime_valid && idle) begin
            prime_set <= good_prime;
            prime <= good_prime ? new_prime[WIDTH-1:0] : {WIDTH{1'b0}};
            twiddles_loaded <= 1'b0;
            operands_loaded <= 2'b00;
        end
        if (pop) begin
            table_arrives <= next_is_table;
            twiddles_arrive <= next_is_twiddles;
            arriving_operand <= next_operand;
            job_unset <= next_is_table ? !prime_set : next_unset;
            if (next_is_twiddles) twiddles_loaded <= 1'b0;
            else if (next_is_table) operands_loaded[next_operand] <= 1'b0;
            else if (joins) second_arrives <= 1'b1;
            else begin
                job_pair[arrival_set] <= 1'b0;
                job_forward[arrival_set] <= next_forward;
                job_inverse[arrival_set] <= next_inverse;
                job_multiplies[arrival_set] <= next_multiplies;
                job_double[arrival_set] <= next_double;
                job_operand[arrival_set] <= next_operand;
                job_page[arrival_set] <= job_page[arrival_set]
                    ^ !(job_double[arrival_set] || job_pair[arrival_set]);
                follows_two <= job_double[arrival_set] || job_pair[arrival_set];
            end
        end
        if (arrival_done && table_arrives && !arrival_failed) begin
            if (twiddles_arrive) twiddles_loaded <= 1'b1;
            else operands_loaded[arriving_operand] <= 1'b1;
        end
        if (arrived) begin
            loaded[arrival_set] <= 1'b1;
            job_failed[arrival_set] <= arrival_failed;
            arrival_set <= !arrival_set;
        end
        if (arrival_done && second_arrives) begin
            job_pair[last_set] <= 1'b1;
            second_failed[last_set] <= arrival_failed;
            second_arrives <= 1'b0;
        end
        if (work_ready) begin
            loaded[work_set] <= 1'b0;
            work_set <= !work_set;
        end
        if (work_starts) working[work_set] <= 1'b1;
        if (work_skips) computed[work_set] <= 1'b1;
        if (work_ready) job_half[work_set] <= splits;
        if (splits) begin
            job_double[work_set] <= 1'b0;
            job_operand[work_set] <= 1'b0;
            loaded[other_set] <= 1'b1;
            job_failed[other_set] <= 1'b0;
            job_forward[other_set] <= 1'b0;
            job_inverse[other_set] <= 1'b1;
            job_multiplies[other_set] <= 1'b1;
            job_double[other_set] <= 1'b0;
            job_pair[other_set] <= 1'b0;
            job_operand[other_set] <= 1'b1;
            job_page[other_set] <= job_page[work_set];
            arrival_set <= work_set;
        end
        if (engine_done) begin
            working <= 2'b00;
            computed <= computed | working;
        end
        if (leave_last) begin
            computed[leave_set] <= 1'b0;
            leave_set <= !leave_set;
        end
        if (reset) begin
            prime_set <= 1'b0;
            prime <= {WIDTH{1'b0}};
            twiddles_loaded <= 1'b0;
            operands_loaded <= 2'b00;
            loaded <= 2'b00;
            working <= 2'b00;
            computed <= 2'b00;
            job_failed <= 2'b00;
            job_double <= 2'b00;
            job_pair <= 2'b00;
            job_half <= 2'b00;
            second_arrives <= 1'b0;
            job_page <= 2'b00;
            arrival_set <= 1'b0;
            work_set <= 1'b0;
            leave_set <= 1'b0;
            table_arrives <= 1'b0;
        end
    end

    wire [(WIDTH << LOG2_LANES)-1:0] leaving_words;
    cm_ntt_engine #(
        .LOG2_N(LOG2_N), .WIDTH(WIDTH), .LOG2_UNITS(LOG2_UNITS), .LOG2_LANES(LOG2_LANES), .LOG2_PAGES(1),
        .LOG2_SETS(1), .OPERANDS(2), .GENERATE(GENERATE), .DEEP(DEEP), .MULTIPLIER_WIDTH(MULTIPLIER_WIDTH),
        .BLOCK(BLOCK), .FORWARD(FORWARD), .COPIES(EARLY)
    ) u_engine (
        .clk_i(aclk), .rst_i(reset), .q_i(prime),
        .start_i(work_starts), .set_i(work_set), .forward_i(job_forward[work_set]),
        .products_i(job_double[work_set] && !splits ? 2'd2 : {1'b0, job_multiplies[work_set]}),
        .operand_i(job_operand[work_set] && !splits), .inverse_i(job_inverse[work_set]),
        .pair_i(job_pair[work_set]), .page_i(job_page[work_set]), .copy_i(splits),
        .twiddles_i(1'b0),
        .busy_o(engine_busy), .done_o(engine_done),
        .host_write_i(words_valid && words_ready && !table_arrives),
        .host_write_set_i(packet_set), .host_write_page_i(job_page[packet_set] ^ second_arrives),
        .host_write_transformed_i(arrives_transformed),
        .host_write_index_i(words_index), .host_write_data_i(words),
        .host_read_set_i(leave_set), .host_read_page_i(leave_page ^ leave_first_page),
        .host_read_transformed_i(leave_transformed),
        .host_read_index_i(leave_index), .host_read_data_o(leaving_words),
        .table_write_i(words_valid && table_arrives), .table_is_operand_i(!twiddles_arrive),
        .table_operand_i(arriving_operand), .table_twiddles_i(1'b0),
        .table_index_i(words_index), .table_data_i(words),
        .table_step_o(table_step), .wipe_i(wiping), .wipe_row_i(wipe_row)
    );

    // --- departure -----------------------------------------------------------------------------------------

    // The next result is sent as soon as it is there, immediately after the previous one.
    wire result_ready = computed[leave_set] || (engine_done && working[leave_set]);
    wire leave_starts = result_ready && !leave_busy;
    always_ff @(posedge aclk) begin
        if (leave_starts) begin
            leave_transformed <= !job_inverse[leave_set];
            leave_first_page <= job_page[leave_set];
            leave_pair <= job_pair[leave_set];
            leave_half <= job_half[leave_set];
        end
        if (reset) begin
            leave_transformed <= 1'b0;
            leave_first_page <= 1'b0;
        end
    end

    cm_word_output #(
        .LOG2_N(LOG2_N), .WIDTH(WIDTH), .LOG2_BEAT(LOG2_BEAT), .LOG2_LANES(LOG2_LANES), .SLOT(SLOT)
    ) u_departure (
        .clk_i(aclk), .rst_i(reset),
        .start_i(leave_starts), .two_i(job_double[leave_set] || job_pair[leave_set]),
        .zero_i({job_pair[leave_set] ? second_failed[leave_set] : job_failed[leave_set],
                 job_failed[leave_set]}),
        .busy_o(leave_busy), .empty_o(leave_empty), .wipe_i(wiping), .wipe_beat_i(wipe_row[2:0]),
        .page_o(leave_page), .index_o(leave_index),
        .reads_o(leave_reads), .packet_o(leave_packet), .last_o(leave_last), .words_i(leaving_words),
        .m_axis_tdata_o(m_axis_tdata), .m_axis_tvalid_o(m_axis_tvalid), .m_axis_tlast_o(m_axis_tlast),
        .m_axis_tready_i(m_axis_tready)
    );

    // --- status --------------------------------------------------------------------------------------------

    assign job_done = leave_packet && (leave_pair || (leave_last && !leave_half));
    assign idle = queued == {(LOG2_DEPTH + 1){1'b0}} && arrival_free && loaded == 2'b00 && working == 2'b00
        && computed == 2'b00 && leave_empty && !command_valid && !wiping
        && !hold;
    wire [LOG2_DEPTH:0] room = DEPTH[LOG2_DEPTH:0] - queued;
    assign status = {20'd0, room, 5'd0, twiddles_loaded, prime_set, idle};
    assign errors = {busy_error, bad_prime_error, command_error, overflow_error, unset_error, range_error,
                     length_error};
endmodule
`default_nettype wire
