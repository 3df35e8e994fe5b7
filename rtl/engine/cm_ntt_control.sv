// SPDX-License-Identifier: Apache-2.0
// Sequences the engine's work: which row of the banks is read in which cycle, by which operation, and where
// the result is written LATENCY - 1 cycles later. A job is accepted in a cycle with
// start_i and without busy_o.
//
// A job is a forward transform, one or two pointwise products, an inverse transform, or some of these in this
// order, of one polynomial or of a pair of them, one a page: passes over both pages fill the gaps that short
// passes leave. Each of its passes reads every row once (a product twice, once for each half of the
// multipliers' pairs) and writes it back in place. Passes overlap: the next starts while the last results of
// the previous one are still in the pipeline.
//
// Rows and index bits. A row holds 2^(LOG2_UNITS + 1) residues, two for each unit. A coefficient's index has
// its top bit in the unit's half, the next ROW_BITS bits in the row and the rest in the unit's number. A pass
// works on the bit in the half. Then the next bit must get there: from the row by swapping halves between two
// rows that are read one after the other (cm_swap), from the unit's number by rotating it with the half
// (fixed wires). So after a forward transform index = {row, unit, half}, and an inverse one restores the
// original order.
//
// Order. A pass that swaps on bit j of the row must read pairs of rows that differ in j. Its order is that of
// the pass before with bit j moved from its place p in the counter to the lowest place, so a row comes at
// most 2^p - 1 cycles earlier in its pass than in the one before. A row read in cycle t can be read again
// from t + LATENCY on. So the start of a pass must follow that of the one before by LATENCY + 2^p - 1 cycles:
// where a pass is shorter than that, a gap follows it. With FORWARDED the engine passes on results that are
// not yet in their memory, and a row can be read again two cycles earlier.
`default_nettype none
module cm_ntt_control #(
    parameter integer LOG2_N = 10,
    parameter integer LOG2_UNITS = 0,
    parameter integer LOG2_PAGES = 0,       // 1: two pages, for two products at a time
    parameter integer INPUT_LATENCY = 1,    // cycles from a memory's output to the butterflies
    parameter integer ADD_LATENCY = 2,
    parameter integer MULTIPLY_LATENCY = 12,
    parameter integer FORWARDED = 0,
    parameter integer ROW_BITS = LOG2_N - LOG2_UNITS - 1,
    parameter integer TABLE_BITS = 11
) (
    input  wire                           clk_i,
    input  wire                           rst_i,
    // The job.
    input  wire                           start_i,
    input  wire                           forward_i,
    input  wire                           first_done_i, // the forward transform begins with its second stage
    // None, one, or two; of two, the first is page 0 times operand 1, into page 1.
    input  wire [1:0]                     products_i,
    input  wire                           operand_i,  // operand of a single product
    // Ends with an inverse transform, of both pages after two products.
    input  wire                           inverse_i,
    input  wire                           pair_i,     // works on both pages, with at most one product of each
    input  wire                           page_i, // page that is the job's page 0; the other one is page 1
    output wire                           busy_o,
    output reg                            done_o,     // high in the last cycle of busy_o
    // A read of the banks, and the address of the twiddle or operand that a multiplier needs together with
    // that read's row.
    output wire                           read_o,
    output wire [LOG2_PAGES+ROW_BITS-1:0] read_address_o,
    output wire [TABLE_BITS-1:0]          table_address_o,
    // Controls of the butterflies and of cm_swap, each in its cycle.
    output wire                           sande_o,
    output wire                           product_o,
    output wire                           product_of_a_o,
    output wire                           sande_multiply_o,
    output wire                           sande_halve_o,
    output wire                           sande_leave_o,
    output wire                           swap_second_o,
    // A write of the banks.
    output wire                           write_o,
    output wire [LOG2_PAGES+ROW_BITS-1:0] write_address_o,
    output wire                           write_transform_o, // It is of the last forward stage.
    // A write of the next cycle; only with FORWARDED.
    output wire                           next_write_o,
    output wire [LOG2_PAGES+ROW_BITS-1:0] next_write_address_o,
    output wire                           rotate_left_o,
    output wire                           rotate_right_o
);
    localparam integer ENTER = 1 + INPUT_LATENCY; // cycles from the read to the butterflies
    localparam integer LEAVE = ENTER + ADD_LATENCY + MULTIPLY_LATENCY;
    localparam integer WRITE = LEAVE + 1;
    localparam integer LATENCY = (FORWARDED != 0) ? WRITE - 1 : WRITE + 1; // from a read to the next one
    localparam integer ISSUE = 2; // cycles from the counters to the read, which the addresses take
    localparam integer ROWS = 1 << ROW_BITS;
    localparam integer COUNT_BITS = ROW_BITS + 1;
    localparam integer LAST_STAGE = LOG2_N - 1;
    localparam integer STAGE_BITS = 4;
    localparam integer GAP_BITS = 16;

    // --- gaps ----------------------------------------------------------------------------------------------

    function automatic integer at_least_zero(input integer value);
        at_least_zero = (value > 0) ? value : 0;
    endfunction

    // Gives the counter's place of the bit that moves after this pass, or 0.
    function automatic integer moved_place(input integer inverse, input integer stage);
        integer swap;
        begin
            swap = (inverse != 0) ? stage - LOG2_UNITS : stage; // number of the swap after this pass
            moved_place = (swap >= 0 && swap + 1 < ROW_BITS) ? swap + 1 : 0;
        end
    endfunction

    function automatic [GAP_BITS*LOG2_N-1:0] gaps(input integer inverse, input integer length);
        integer s;
        integer gap;
        begin
            for (s = 0; s < LOG2_N; s = s + 1) begin
                gap = at_least_zero(LATENCY + (1 << moved_place(inverse, s)) - 1 - length);
                gaps[GAP_BITS*s +: GAP_BITS] = gap[GAP_BITS-1:0];
            end
        end
    endfunction

    localparam [GAP_BITS*LOG2_N-1:0] FORWARD_GAPS = gaps(0, ROWS);
    localparam [GAP_BITS*LOG2_N-1:0] FORWARD_GAPS_OF_TWO = gaps(0, 2 * ROWS);
    localparam [GAP_BITS*LOG2_N-1:0] INVERSE_GAPS = gaps(1, ROWS);
    localparam [GAP_BITS*LOG2_N-1:0] INVERSE_GAPS_OF_TWO = gaps(1, 2 * ROWS);
    // The gap from Cooley-Tukey and products to Gentleman-Sande: the adders are free MULTIPLY_LATENCY later.
    // A product writes row r 2 r + 1 + LATENCY cycles after its start, and the inverse reads it 2 ROWS and
    // the gap later.
    localparam integer TURN_GAP = (LATENCY - ROWS > MULTIPLY_LATENCY) ? LATENCY - ROWS : MULTIPLY_LATENCY;

    localparam integer DRAIN_GAP = WRITE + 1 + ISSUE;

    // --- passes --------------------------------------------------------------------------------------------

    typedef enum logic [1:0] {
        IDLE = 2'd0,
        FORWARD = 2'd1,
        PRODUCT = 2'd2,
        INVERSE = 2'd3
    } state_t;
    state_t              state;
    // The stages of a forward transform go from the top index bit down, those of an inverse one up.
    reg [STAGE_BITS-1:0] stage;
    reg [COUNT_BITS-1:0] count;
    reg [GAP_BITS-1:0]   gap;
    reg                  draining; // Nothing is left to read.
    reg [1:0]            products; // number of products left
    reg                  operand;
    reg                  inverse;
    reg                  two_pages; // The inverse transform is of two pages.
    reg                  pair;
    reg                  first_page;

    wire reading = state != IDLE && !draining && gap == {GAP_BITS{1'b0}};
    wire long_pass = state == PRODUCT || pair || (state == INVERSE && two_pages);
    wire last_read = count[ROW_BITS-1:0] == {ROW_BITS{1'b1}} && (count[ROW_BITS] || !long_pass);
    wire last_stage = stage == LAST_STAGE[STAGE_BITS-1:0];
    wire [GAP_BITS-1:0] forward_gap = pair ? FORWARD_GAPS_OF_TWO[GAP_BITS*stage +: GAP_BITS]
                                           : FORWARD_GAPS[GAP_BITS*stage +: GAP_BITS];
    wire [GAP_BITS-1:0] inverse_gap = two_pages ? INVERSE_GAPS_OF_TWO[GAP_BITS*stage +: GAP_BITS]
                                                : INVERSE_GAPS[GAP_BITS*stage +: GAP_BITS];

    assign busy_o = state != IDLE;

    always_ff @(posedge clk_i) begin
        done_o <= 1'b0;
        if (state == IDLE) begin
            stage <= {{(STAGE_BITS - 1){1'b0}}, forward_i && first_done_i};
            count <= {COUNT_BITS{1'b0}};
            gap <= {GAP_BITS{1'b0}};
            draining <= 1'b0;
            // A pair has products of page 0, then of page 1.
            products <= (LOG2_PAGES != 0 && pair_i && products_i != 2'd0) ? 2'd2 : products_i;
            operand <= operand_i || (products_i[1] && !pair_i);
            inverse <= inverse_i;
            two_pages <= LOG2_PAGES != 0 && (products_i[1] || pair_i);
            pair <= LOG2_PAGES != 0 && pair_i;
            first_page <= LOG2_PAGES != 0 && page_i;
            if (start_i) begin
                if (forward_i) state <= FORWARD;
                else if (products_i != 2'd0) state <= PRODUCT;
                else if (inverse_i) state <= INVERSE;
                else done_o <= 1'b1;
            end
        end else if (gap != {GAP_BITS{1'b0}}) begin
            gap <= gap - 1'b1;
            if (draining && gap == {{(GAP_BITS - 1){1'b0}}, 1'b1}) state <= IDLE;
            done_o <= draining && gap == {{(GAP_BITS - 2){1'b0}}, 2'd2};
        end else if (!last_read) begin
            count <= count + 1'b1;
        end else begin
            count <= {COUNT_BITS{1'b0}};
            stage <= stage + 1'b1;
            if (state == FORWARD && !last_stage) begin
                gap <= forward_gap;
            end else if (state == INVERSE && !last_stage) begin
                gap <= inverse_gap;
            end else if (state == FORWARD && products != 2'd0) begin
                state <= PRODUCT;
                gap <= forward_gap;
            end else if (state == PRODUCT && products[1]) begin
                products <= 2'd1;
                operand <= operand && pair;
            end else if (state != INVERSE && inverse) begin
                state <= INVERSE;
                stage <= {STAGE_BITS{1'b0}};
                gap <= TURN_GAP[GAP_BITS-1:0];
            end else begin
                draining <= 1'b1;
                gap <= DRAIN_GAP[GAP_BITS-1:0];
            end
        end
        if (rst_i) begin
            state <= IDLE;
            done_o <= 1'b0;
        end
    end

    // --- rows ----------------------------------------------------------------------------------------------

    wire is_inverse = state == INVERSE;
    wire is_product = state == PRODUCT;
    wire swap = state == FORWARD ? stage < ROW_BITS[STAGE_BITS-1:0]
              : is_inverse && stage >= LOG2_UNITS[STAGE_BITS-1:0] && !last_stage;

    // Bit i of the row of a forward pass that swaps on bit ROW_BITS - 1 - s, then of an inverse one that
    // swaps on j.
    function automatic [ROW_BITS-1:0] forward_row(input [ROW_BITS-1:0] c, input integer s);
        integer i;
        for (i = 0; i < ROW_BITS; i = i + 1) begin
            forward_row[i] = (i >= ROW_BITS - 1 - s) ? c[i-(ROW_BITS-1-s)] : c[ROW_BITS-1-i];
        end
    endfunction

    function automatic [ROW_BITS-1:0] inverse_row(input [ROW_BITS-1:0] c, input integer j);
        integer i;
        for (i = 0; i < ROW_BITS; i = i + 1) inverse_row[i] = (i > j) ? c[i] : c[j-i];
    endfunction

    wire [ROW_BITS-1:0] rows_of_stage [0:2*LOG2_N-1];
    genvar g;
    generate
        for (g = 0; g < LOG2_N; g = g + 1) begin : g_row
            localparam integer FORWARD_SWAP = (g < ROW_BITS) ? g : ROW_BITS - 1;
            localparam integer INVERSE_SWAP = (g <= LOG2_UNITS) ? 0
                : (g - LOG2_UNITS < ROW_BITS) ? g - LOG2_UNITS : ROW_BITS - 1;
            assign rows_of_stage[g] = forward_row(count[ROW_BITS-1:0], FORWARD_SWAP);
            assign rows_of_stage[LOG2_N+g] = inverse_row(count[ROW_BITS-1:0], INVERSE_SWAP);
        end
    endgenerate
    localparam integer PASS_BITS = $clog2(2 * LOG2_N);
    wire [STAGE_BITS:0]   pass = {1'b0, stage}
        + (is_inverse ? LOG2_N[STAGE_BITS:0] : {(STAGE_BITS + 1){1'b0}});
    wire [ROW_BITS-1:0]   row = is_product ? count[ROW_BITS:1] : rows_of_stage[pass[PASS_BITS-1:0]];
    // A double product's inverse begins with page 1, whose product is ready first.
    wire page = LOG2_PAGES != 0 && (!pair ? is_inverse && two_pages && !count[ROW_BITS]
                                    : is_product ? !products[1] : count[ROW_BITS]);

    // The first of the ISSUE registers.
    reg                  issued;
    reg [ROW_BITS-1:0]   issued_row;
    reg                  issued_page;
    reg                  issued_write_page;
    reg [STAGE_BITS-1:0] issued_level; // the stage of the forward transform that this one is, or undoes
    reg                  issued_inverse;
    reg                  issued_product;
    reg                  issued_operand;
    reg                  issued_second;
    reg                  issued_swap;
    reg                  issued_rotation;
    reg                  issued_transform;
    always_ff @(posedge clk_i) begin
        issued <= reading && !rst_i;
        issued_row <= row;
        issued_page <= page ^ first_page;
        issued_write_page <= (page || (LOG2_PAGES != 0 && is_product && products[1] && !pair)) ^ first_page;
        issued_level <= is_inverse ? LAST_STAGE[STAGE_BITS-1:0] - stage : stage;
        issued_inverse <= is_inverse;
        issued_product <= is_product;
        issued_operand <= operand;
        issued_second <= count[0];
        issued_swap <= swap || is_product;
        issued_rotation <= !swap && !is_product && !last_stage;
        issued_transform <= state == FORWARD && last_stage;
    end

    // --- tables --------------------------------------------------------------------------------------------

    // Twiddle 2^s + i of stage s and block i is at 2^s + i, the same for all units, while i is within the
    // row's bits; then at {1 + s - ROW_BITS, row}, different by unit. The inverse of a block's twiddle is
    // minus that of the block whose number has every bit inverted: psi^-k = -psi^(n - k).
    wire [ROW_BITS-1:0]   twiddle_row = issued_inverse ? ~issued_row : issued_row;
    wire [ROW_BITS:0]     common_twiddle = {1'b1, twiddle_row} >> (ROW_BITS[STAGE_BITS-1:0] - issued_level);
    wire                  is_common = issued_level <= ROW_BITS[STAGE_BITS-1:0];
    wire [STAGE_BITS-1:0] own_level = issued_level - ROW_BITS[STAGE_BITS-1:0] + 1'b1;
    localparam integer OPERANDS_AT = (LOG2_UNITS + 2) * ROWS;
    wire [TABLE_BITS-1:0] twiddle_address;
    wire [TABLE_BITS-1:0] operand_address = OPERANDS_AT[TABLE_BITS-1:0]
        + (({{(TABLE_BITS - 1){1'b0}}, issued_operand} << (ROW_BITS + 1))
           | {{(TABLE_BITS - ROW_BITS - 1){1'b0}}, issued_row, issued_second});
    localparam integer OWN_BITS = TABLE_BITS - ROW_BITS;
    generate
        if (OWN_BITS >= STAGE_BITS) begin : g_wide
            assign twiddle_address = is_common ? {{(OWN_BITS - 1){1'b0}}, common_twiddle}
                : {{(OWN_BITS - STAGE_BITS){1'b0}}, own_level, twiddle_row};
        end else begin : g_narrow
            assign twiddle_address = is_common ? {{(OWN_BITS - 1){1'b0}}, common_twiddle}
                : {own_level[OWN_BITS-1:0], twiddle_row};
        end
    endgenerate

    // The second register: the read itself.
    reg                  read;
    reg [ROW_BITS-1:0]   read_row;
    reg                  read_page;
    reg                  write_page;
    reg [TABLE_BITS-1:0] read_table;
    reg                  read_inverse;
    reg                  read_product;
    reg                  read_second;
    reg                  read_swap;
    reg                  read_rotation;
    reg                  read_transform;
    always_ff @(posedge clk_i) begin
        read <= issued && !rst_i;
        read_row <= issued_row;
        read_page <= issued_page;
        write_page <= issued_write_page;
        read_table <= issued_product ? operand_address : twiddle_address;
        read_inverse <= issued_inverse;
        read_product <= issued_product;
        read_second <= issued_second;
        read_swap <= issued_swap;
        read_rotation <= issued_rotation;
        read_transform <= issued_transform;
    end
    wire [LOG2_PAGES+ROW_BITS-1:0] write_address;
    generate
        if (LOG2_PAGES == 0) begin : g_one_page
            assign read_address_o = read_row;
            assign write_address = read_row;
        end else begin : g_two_pages
            assign read_address_o = {read_page, read_row};
            assign write_address = {write_page, read_row};
        end
    endgenerate
    assign read_o = read;

    wire [TABLE_BITS-1:0] late_table; // Gentleman-Sande multiplies after it adds.
    wire                  late;
    cm_delay #(.WIDTH(TABLE_BITS), .CYCLES(ADD_LATENCY)) u_late_table (
        .clk_i(clk_i), .data_i(read_table), .data_o(late_table)
    );
    assign table_address_o = late ? late_table : read_table;

    // --- what accompanies a row through the pipeline -------------------------------------------------------

    reg [WRITE:1] sande;
    reg [WRITE:1] writes;
    reg [LEAVE:1] swaps;
    always_ff @(posedge clk_i) begin
        sande <= {sande[WRITE-1:1], read && read_inverse};
        writes <= {writes[WRITE-1:1], read && !(read_product && read_second)};
        swaps <= {swaps[LEAVE-1:1], read && read_second && read_swap};
        if (rst_i) begin
            sande <= {WRITE{1'b0}};
            writes <= {WRITE{1'b0}};
            swaps <= {LEAVE{1'b0}};
        end
    end
    assign late = sande[ADD_LATENCY];
    assign sande_o = sande[ENTER];
    assign sande_multiply_o = sande[ENTER+ADD_LATENCY];
    assign sande_halve_o = sande[LEAVE-1];
    assign sande_leave_o = sande[LEAVE];
    assign swap_second_o = swaps[LEAVE];
    assign write_o = writes[WRITE];
    cm_delay #(.WIDTH(2), .CYCLES(ENTER)) u_product (
        .clk_i(clk_i), .data_i({read_product, read_product && !read_second}),
        .data_o({product_o, product_of_a_o})
    );
    localparam integer WRITE_BITS = LOG2_PAGES + ROW_BITS + 3;
    wire [WRITE_BITS-1:0] read_write =
        {read_transform, read_rotation && !read_inverse, read_rotation && read_inverse, write_address};
    wire [WRITE_BITS-1:0] next_write;
    wire [WRITE_BITS-1:0] this_write;
    assign {write_transform_o, rotate_left_o, rotate_right_o, write_address_o} = this_write;
    generate
        if (FORWARDED == 0) begin : g_stored
            assign next_write = {WRITE_BITS{1'b0}};
            cm_delay #(.WIDTH(WRITE_BITS), .CYCLES(WRITE)) u_write (
                .clk_i(clk_i), .data_i(read_write), .data_o(this_write)
            );
        end else begin : g_forwarded
            cm_delay #(.WIDTH(WRITE_BITS), .CYCLES(WRITE - 1)) u_next_write (
                .clk_i(clk_i), .data_i(read_write), .data_o(next_write)
            );
            cm_delay #(.WIDTH(WRITE_BITS), .CYCLES(1)) u_write (
                .clk_i(clk_i), .data_i(next_write), .data_o(this_write)
            );
        end
    endgenerate
    assign next_write_o = FORWARDED != 0 && writes[WRITE-1];
    assign next_write_address_o = next_write[LOG2_PAGES+ROW_BITS-1:0];
endmodule
`default_nettype wire
