// SPDX-License-Identifier: Apache-2.0
// cm_ntt_control at a small degree, from reset through any job and into the next one: no row is read while
// its last result is in the pipeline, none is read and written in the same cycle, every pass reads every row,
// and a job starts when it is asked to, ends, says so once, and ends with the pipeline empty. All banks share
// the row's address, so this is all that freedom from conflicts requires.
//
// The proof's depth must be beyond LONGEST cycles, so that a job without an end is found; covers show that
// jobs of every kind end within it, and that the next one is under way.
`default_nettype none
module prove_control #(
    parameter integer LOG2_N = 3,
    parameter integer LOG2_UNITS = 0,
    parameter integer INPUT_LATENCY = 0,
    parameter integer ADD_LATENCY = 1,
    parameter integer MULTIPLY_LATENCY = 2,
    parameter integer FORWARDED = 0,
    parameter integer WHOLE = 0,   // 1: only the longest jobs, both transforms with two products or a pair
    parameter integer PAIR = 0,    // 1: jobs on pairs
    parameter integer LONGEST = 80 // most cycles of a job
) (
    input wire clk_i
);
    localparam integer ROW_BITS = LOG2_N - LOG2_UNITS - 1;
    localparam integer TABLE_BITS = ROW_BITS + 4;

    (* anyconst *) reg any_forward;
    (* anyconst *) reg [1:0] any_products;
    (* anyconst *) reg operand;
    (* anyconst *) reg any_inverse;
    (* anyconst *) reg any_first_done;
    wire       forward = WHOLE != 0 || any_forward;
    wire [1:0] products = (WHOLE != 0) ? (PAIR != 0 ? 2'd1 : 2'd2) : any_products;
    wire       inverse = WHOLE != 0 || any_inverse;
    wire       first_done = WHOLE == 0 && any_first_done;
    localparam [0:0] pair = PAIR[0];
    (* anyconst *) reg page;
    reg reset = 1'b1;
    always_ff @(posedge clk_i) reset <= 1'b0;

    wire busy, done, read, write;
    wire [ROW_BITS:0] read_address, write_address;
    cm_ntt_control #(
        .LOG2_N(LOG2_N), .LOG2_UNITS(LOG2_UNITS), .LOG2_PAGES(1),
        .INPUT_LATENCY(INPUT_LATENCY), .ADD_LATENCY(ADD_LATENCY), .MULTIPLY_LATENCY(MULTIPLY_LATENCY),
        .FORWARDED(FORWARDED), .TABLE_BITS(TABLE_BITS)
    ) u_control (
        .clk_i(clk_i), .rst_i(reset), .start_i(1'b1), .forward_i(forward), .first_done_i(first_done),
        .products_i(products), .operand_i(operand), .inverse_i(inverse), .pair_i(pair), .page_i(page),
        .busy_o(busy), .done_o(done),
        .read_o(read), .read_address_o(read_address), .table_address_o(),
        .sande_o(), .product_o(), .product_of_a_o(), .sande_multiply_o(), .sande_halve_o(),
        .sande_leave_o(), .swap_second_o(), .write_o(write), .write_address_o(write_address),
        .write_transform_o(), .next_write_o(), .next_write_address_o(),
        .rotate_left_o(), .rotate_right_o()
    );

    // Any one row, of either page. What is written comes from a read WRITE cycles before, and the row has not
    // been read since: except by a product, which reads it in two cycles and writes it once.
    localparam integer WRITE = 1 + INPUT_LATENCY + ADD_LATENCY + MULTIPLY_LATENCY + 1;
    (* anyconst *) reg [ROW_BITS:0] watched;
    reg [WRITE:1] has_read = {WRITE{1'b0}}; // bit c: read c cycles ago
    wire reads = read && read_address == watched;
    wire writes = write && write_address == watched;
    wire read_again = has_read[WRITE-1] && !has_read[WRITE];
    always_ff @(posedge clk_i) has_read <= reset ? {WRITE{1'b0}} : {has_read[WRITE-1:1], reads};

    // Writes of the watched row that a job owes: one a stage of a transform, one a product, of the pages that
    // it is of.
    wire nothing = !forward && products == 2'd0 && !inverse;
    wire double = products[1] && !pair;
    wire second = watched[ROW_BITS] != page; // The watched row is in the job's second page.
    wire [7:0] owed = (forward && (pair || !second) ? LOG2_N[7:0] - {7'd0, first_done} : 8'd0)
        + (products != 2'd0 && (pair || double || !second) ? 8'd1 : 8'd0)
        + (inverse && (pair || double || !second) ? LOG2_N[7:0] : 8'd0);

    reg [9:0] age = 10'd0;
    reg [7:0] written = 8'd0;
    reg       started = 1'b0; // A job was asked for while it was not busy.
    reg       done_late = 1'b0;
    reg       was_busy = 1'b0;
    reg [1:0] jobs = 2'd0; // number of jobs that ended
    always_ff @(posedge clk_i) begin
        assume (products != 2'd3);
        age <= busy ? age + 10'd1 : 10'd0;
        written <= busy ? written + {7'd0, writes} : 8'd0;
        started <= !reset && !busy;
        done_late <= done && !reset;
        was_busy <= busy && !reset;
        if (!reset && done && jobs != 2'd3) jobs <= jobs + 2'd1;
        if (!reset) begin
            // What is forwarded may be read in this cycle and the one before.
            if (writes) assert ((FORWARDED != 0 || (!reads && !has_read[1]))
                                && has_read[WRITE-2:2] == {(WRITE - 3){1'b0}} && !read_again);
            assert (age < LONGEST);
            if (!busy) assert (!read && !write && has_read == {WRITE{1'b0}});
            // A job starts at once, and only when asked; its end comes with its last cycle, and only then.
            if (started) assert (nothing ? done && !busy : busy);
            if (busy && !was_busy) assert (started);
            if (was_busy && !busy) assert (done_late);
            if (done) assert (busy || (nothing && started));
            if (done_late) assert (!busy || started);
            if (done && busy) assert (written == owed);
        end
        cover (!reset && forward && products != 2'd0 && inverse && jobs == 2'd1 && read);
        cover (!reset && (WHOLE != 0 || nothing) && done);
        cover (!reset && (WHOLE != 0 || (forward && first_done)) && done);
    end
endmodule
`default_nettype wire
