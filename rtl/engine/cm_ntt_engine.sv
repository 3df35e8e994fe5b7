// SPDX-License-Identifier: Apache-2.0
// Negacyclic number-theoretic transforms and pointwise products modulo a prime chosen at run time, in place.
//
// 2^LOG2_UNITS butterflies, each with two banks of the data memory and its own table, work on a row at a
// time (cm_ntt_control has the order). Residues below q in, residues below q out. Conventions are those of
// the software: output i of the transform is a(psi^(2 bitrev(i) + 1)), and twiddle 2^s + i, of block i in
// stage s, is psi^bitrev(2^s + i). Twiddles are stored times R (cm_montgomery_multiply), or computed from a
// few (cm_twiddle_generator); a product is a b / R.
//
// The host reads and writes words of a page: LANES neighbours at a time, index of the first a multiple of
// LANES. With two sets of pages it has the one that no job works on; with one it must wait for the end of the
// job. It may read and write at the same time, in different rows. Data follow the index of a read by two
// cycles; a job has the handshake of cm_ntt_control.
//
// With LOG2_TABLES there are twiddles for as many primes: a job takes those of q_i, which twiddles_i names.
`default_nettype none
module cm_ntt_engine #(
    parameter integer LOG2_N = 10,            // 5 .. 14
    parameter integer WIDTH = 32,             // 16 .. 40: bits of q
    parameter integer LOG2_UNITS = 0,         // 0 .. 6; LOG2_N > LOG2_UNITS + 1
    parameter integer LOG2_LANES = 0,         // 0 .. LOG2_UNITS
    parameter integer LOG2_PAGES = 0, // 0: one polynomial in a set; 1: two, for double products and pairs
    parameter integer LOG2_SETS = 0,          // 1: two sets, one for the host while a job works on the other
    parameter integer OPERANDS = 1,           // 0, 1 or 2: stored factors of pointwise products
    // 1: twiddles are computed, with a multiplier per unit instead of block RAM.
    parameter integer GENERATE = 0,
    // 1: a longer pipeline for a higher clock; 2: the short one with a register behind its memories
    parameter integer DEEP = 1,
    // 1: that register also takes results that the memories do not have yet; not with DEEP 0 or GENERATE
    parameter integer FORWARD = 0,
    parameter integer MULTIPLIER_WIDTH = 24,  // as in cm_montgomery_multiply
    parameter integer BLOCK = 1,              // 1: data memory in block RAM
    parameter integer COPIES = 0,             // 1: copy_i counts, of two sets
    parameter integer LOG2_TABLES = 0,        // 0 .. 4: log2 of the primes whose twiddles are stored
    parameter integer LOG2_TABLE_LANES = LOG2_LANES, // log2 of the words at table_data_i; at most LOG2_LANES
    parameter integer TABLE_NUMBER = (LOG2_TABLES > 0) ? LOG2_TABLES : 1 // follows and must not be set
) (
    input  wire                              clk_i,
    input  wire                              rst_i,
    input  wire [WIDTH-1:0]                  q_i, // must not change during a job
    // The job, as cm_ntt_control takes it.
    input  wire                              start_i,
    input  wire                              set_i,
    input  wire                              forward_i,
    input  wire [1:0]                        products_i,
    input  wire                              operand_i,
    input  wire                              inverse_i,
    input  wire                              pair_i,
    input  wire                              page_i,
    input  wire                              copy_i, // writes the forward transform to the other set as well
    input  wire [TABLE_NUMBER-1:0]           twiddles_i, // number of the twiddles; with LOG2_TABLES
    output wire                              busy_o,
    output wire                              done_o,
    // The host's words, by index of coefficient or, with transformed_i, of transform output.
    input  wire                              host_write_i,
    input  wire                              host_write_set_i,
    input  wire                              host_write_page_i,
    input  wire                              host_write_transformed_i,
    input  wire [LOG2_N-1:0]                 host_write_index_i,
    input  wire [(WIDTH << LOG2_LANES)-1:0]  host_write_data_i,
    input  wire                              host_read_set_i,
    input  wire                              host_read_page_i,
    input  wire                              host_read_transformed_i,
    input  wire [LOG2_N-1:0]                 host_read_index_i,
    output wire [(WIDTH << LOG2_LANES)-1:0]  host_read_data_o, // two cycles after its index
    // Twiddles, or words of an operand in the transform's order: of 2^LOG2_TABLE_LANES neighbours, the first
    // table_step_o are taken.
    input  wire                              table_write_i,
    input  wire                              table_is_operand_i,
    input  wire                              table_operand_i,
    input  wire [TABLE_NUMBER-1:0]           table_twiddles_i, // number of the twiddles; with LOG2_TABLES
    input  wire [LOG2_N-1:0]                 table_index_i,
    input  wire [(WIDTH << LOG2_TABLE_LANES)-1:0] table_data_i,
    output wire [LOG2_TABLE_LANES:0]         table_step_o,
    // Overwrites the row of that number in all banks and tables with zeros; no job may run.
    input  wire                              wipe_i,
    input  wire [15:0]                       wipe_row_i
);
    `include "cm_latency.svh"
    `include "cm_refuse.svh"
    generate
        `CM_REFUSE(g_bad_log2_n, LOG2_N < 5 || LOG2_N > 14,
                   "cm_ntt_engine: LOG2_N must be from 5 to 14.")
        `CM_REFUSE(g_bad_width, WIDTH < 16 || WIDTH > 40,
                   "cm_ntt_engine: WIDTH must be from 16 to 40.")
        `CM_REFUSE(g_bad_log2_units, LOG2_UNITS < 0 || LOG2_UNITS > 6,
                   "cm_ntt_engine: LOG2_UNITS must be from 0 to 6.")
        `CM_REFUSE(g_bad_rows, LOG2_UNITS > LOG2_N - 2,
                   "cm_ntt_engine: LOG2_UNITS must be at most LOG2_N - 2.")
        `CM_REFUSE(g_bad_log2_lanes, LOG2_LANES < 0 || LOG2_LANES > LOG2_UNITS,
                   "cm_ntt_engine: LOG2_LANES must be from 0 to LOG2_UNITS.")
        `CM_REFUSE(g_bad_log2_pages, LOG2_PAGES < 0 || LOG2_PAGES > 1,
                   "cm_ntt_engine: LOG2_PAGES must be 0 or 1.")
        `CM_REFUSE(g_bad_log2_sets, LOG2_SETS < 0 || LOG2_SETS > 1,
                   "cm_ntt_engine: LOG2_SETS must be 0 or 1.")
        `CM_REFUSE(g_bad_operands, OPERANDS < 0 || OPERANDS > 2,
                   "cm_ntt_engine: OPERANDS must be 0, 1 or 2.")
        `CM_REFUSE(g_bad_generate, GENERATE < 0 || GENERATE > 1,
                   "cm_ntt_engine: GENERATE must be 0 or 1.")
        `CM_REFUSE(g_bad_deep, DEEP < 0 || DEEP > 2,
                   "cm_ntt_engine: DEEP must be 0, 1 or 2.")
        `CM_REFUSE(g_bad_multiplier_width, MULTIPLIER_WIDTH != 17 && MULTIPLIER_WIDTH != 24,
                   "cm_ntt_engine: MULTIPLIER_WIDTH must be 17 or 24.")
        `CM_REFUSE(g_bad_forward, FORWARD < 0 || FORWARD > ((DEEP != 0 && GENERATE == 0) ? 1 : 0),
                   "cm_ntt_engine: FORWARD must be 0, or 1 with DEEP 1 or 2 and GENERATE 0.")
        `CM_REFUSE(g_bad_copies, COPIES < 0 || COPIES > LOG2_SETS,
                   "cm_ntt_engine: COPIES must be 0, or 1 with two sets.")
        `CM_REFUSE(g_bad_block, BLOCK < 0 || BLOCK > 1,
                   "cm_ntt_engine: BLOCK must be 0 or 1.")
        `CM_REFUSE(g_bad_log2_tables,
                   LOG2_TABLES < 0 || LOG2_TABLES > ((OPERANDS == 0 && GENERATE == 0) ? 4 : 0),
                   "cm_ntt_engine: LOG2_TABLES must be 0, or up to 4 with OPERANDS 0 and GENERATE 0.")
        `CM_REFUSE(g_bad_table_lanes, LOG2_TABLE_LANES < 0 || LOG2_TABLE_LANES > LOG2_LANES,
                   "cm_ntt_engine: LOG2_TABLE_LANES must be from 0 to LOG2_LANES.")
        `CM_REFUSE(g_bad_table_number, TABLE_NUMBER != ((LOG2_TABLES > 0) ? LOG2_TABLES : 1),
                   "cm_ntt_engine: TABLE_NUMBER follows from LOG2_TABLES and must not be set.")
    endgenerate
    localparam integer UNITS = 1 << LOG2_UNITS;
    localparam integer LANES = (LOG2_LANES < 0) ? 1 : 1 << LOG2_LANES;
    localparam integer TABLE_LANES = (LOG2_TABLE_LANES < 0) ? 1 : 1 << LOG2_TABLE_LANES;
    localparam integer SETS = 1 << LOG2_SETS;
    localparam integer ROW_BITS = LOG2_N - LOG2_UNITS - 1;
    localparam integer ADDRESS_BITS = LOG2_PAGES + ROW_BITS;
    localparam integer TWIDDLE_WORDS = (LOG2_UNITS + 2) << ROW_BITS;
    localparam integer TABLE_BITS = $clog2(TWIDDLE_WORDS + (2 * OPERANDS << ROW_BITS));
    localparam integer DEEP_UNITS = (DEEP == 1) ? 1 : 0;
    // The rows wait for their factors.
    localparam integer INPUT_LATENCY = (GENERATE != 0)
        ? multiply_latency(WIDTH, LOG2_N, MULTIPLIER_WIDTH, DEEP_UNITS)
        : input_latency(DEEP);
    localparam integer COLUMNS = 2 * UNITS; // Column 2 v + h is half h of unit v.

    // --- control -------------------------------------------------------------------------------------------

    wire                    read;
    wire [ADDRESS_BITS-1:0] read_address;
    wire [TABLE_BITS-1:0]   table_address;
    wire                    sande, product, product_of_a, sande_multiply, sande_halve, sande_leave,
        swap_second;
    wire                    write;
    wire [ADDRESS_BITS-1:0] write_address;
    wire                    write_transform;
    wire                    next_write;
    wire [ADDRESS_BITS-1:0] next_write_address;
    wire                    rotate_left, rotate_right;

    cm_ntt_control #(
        .LOG2_N(LOG2_N), .LOG2_UNITS(LOG2_UNITS), .LOG2_PAGES(LOG2_PAGES), .INPUT_LATENCY(INPUT_LATENCY),
        .ADD_LATENCY(add_latency(DEEP_UNITS)),
        .MULTIPLY_LATENCY(multiply_latency(WIDTH, LOG2_N, MULTIPLIER_WIDTH, DEEP_UNITS)),
        .FORWARDED(FORWARD), .TABLE_BITS(TABLE_BITS)
    ) u_control (
        .clk_i(clk_i), .rst_i(rst_i),
        .start_i(start_i), .forward_i(forward_i), .first_done_i(1'b0), .products_i(products_i),
        .operand_i(operand_i), .inverse_i(inverse_i), .pair_i(pair_i), .page_i(page_i),
        .busy_o(busy_o), .done_o(done_o),
        .read_o(read), .read_address_o(read_address), .table_address_o(table_address),
        .sande_o(sande), .product_o(product), .product_of_a_o(product_of_a),
        .sande_multiply_o(sande_multiply), .sande_halve_o(sande_halve), .sande_leave_o(sande_leave),
        .swap_second_o(swap_second),
        .write_o(write), .write_address_o(write_address), .write_transform_o(write_transform),
        .next_write_o(next_write), .next_write_address_o(next_write_address),
        .rotate_left_o(rotate_left), .rotate_right_o(rotate_right)
    );

    reg job_set;
    reg job_copies;
    always_ff @(posedge clk_i) begin
        if (!busy_o) begin
            job_set <= set_i;
            job_copies <= copy_i;
        end
    end

    // --- the host's places ---------------------------------------------------------------------------------

    // The address of a word, and the column {unit, half} of its row.
    function automatic [ROW_BITS-1:0] row_of(input transformed, input [LOG2_N-1:0] index);
        row_of = transformed ? index[LOG2_N-1 -: ROW_BITS] : index[LOG2_N-2 -: ROW_BITS];
    endfunction

    function automatic [LOG2_UNITS:0] column_of(input transformed, input [LOG2_N-1:0] index);
        begin
            column_of = transformed ? index[LOG2_UNITS:0] : index[LOG2_UNITS:0] << 1;
            if (!transformed) column_of[0] = index[LOG2_N-1];
        end
    endfunction

    wire [ADDRESS_BITS-1:0] host_write_address;
    wire [ADDRESS_BITS-1:0] host_read_address;
    generate
        if (LOG2_PAGES == 0) begin : g_one_page
            assign host_write_address = wipe_i ? wipe_row_i[ADDRESS_BITS-1:0]
                : row_of(host_write_transformed_i, host_write_index_i);
            assign host_read_address = row_of(host_read_transformed_i, host_read_index_i);
        end else begin : g_two_pages
            assign host_write_address = wipe_i ? wipe_row_i[ADDRESS_BITS-1:0]
                : {host_write_page_i, row_of(host_write_transformed_i, host_write_index_i)};
            assign host_read_address = {host_read_page_i, row_of(host_read_transformed_i, host_read_index_i)};
        end
    endgenerate
    wire [LOG2_UNITS:0] host_write_column = column_of(host_write_transformed_i, host_write_index_i);
    wire [LOG2_UNITS:0] host_read_column = column_of(host_read_transformed_i, host_read_index_i);
    wire [(WIDTH << LOG2_LANES)-1:0] host_data = wipe_i ? {(WIDTH << LOG2_LANES){1'b0}} : host_write_data_i;

    // --- banks ---------------------------------------------------------------------------------------------

    wire [WIDTH*COLUMNS-1:0] result; // results of the butterflies, in the columns where they belong
    wire [WIDTH*COLUMNS-1:0] rows [0:SETS-1];

    genvar s, c, v;
    generate
        for (s = 0; s < SETS; s = s + 1) begin : g_set
            wire job_here = (SETS == 1) ? busy_o : busy_o && job_set == s;
            wire host_writes = wipe_i || (host_write_i && ((SETS == 1) || host_write_set_i == s));
            wire job_writes = job_here || (COPIES != 0 && job_copies && write && write_transform);
            for (c = 0; c < COLUMNS; c = c + 1) begin : g_column
                localparam integer UNIT = c >> 1;
                localparam integer HALF = c & 1;
                localparam integer WORD = UNIT % LANES; // the host's word with this column's coefficients
                // The host's word with this column's transform outputs.
                localparam integer TRANSFORMED_WORD = c % LANES;
                wire hit = wipe_i
                    || (host_write_transformed_i ? host_write_column >> LOG2_LANES == c >> LOG2_LANES
                        : host_write_column[0] == HALF
                          && host_write_column >> (LOG2_LANES + 1) == c >> (LOG2_LANES + 1));
                wire [WIDTH-1:0] host_word = host_write_transformed_i
                    ? host_data[WIDTH*TRANSFORMED_WORD +: WIDTH] : host_data[WIDTH*WORD +: WIDTH];
                cm_ram #(
                    .WIDTH(WIDTH), .DEPTH(1 << ADDRESS_BITS), .ADDRESS_WIDTH(ADDRESS_BITS), .BLOCK(BLOCK)
                ) u_bank (
                    .clk_i(clk_i),
                    .write_i(job_writes ? write : host_writes && hit),
                    .write_address_i(job_writes ? write_address : host_write_address),
                    .write_data_i(job_writes ? result[WIDTH*c +: WIDTH] : host_word),
                    .read_i(1'b1), .read_address_i(job_here ? read_address : host_read_address),
                    .read_data_o(rows[s][WIDTH*c +: WIDTH])
                );
            end
        end
    endgenerate

    wire [WIDTH*COLUMNS-1:0] job_row;
    wire [WIDTH*COLUMNS-1:0] host_columns;
    generate
        if (SETS == 1) begin : g_one_set
            assign job_row = rows[0];
            assign host_columns = rows[0];
        end else begin : g_two_sets
            reg host_set;
            always_ff @(posedge clk_i) host_set <= host_read_set_i;
            assign job_row = job_set ? rows[SETS-1] : rows[0];
            assign host_columns = host_set ? rows[SETS-1] : rows[0];
        end
    endgenerate

    // The host's words from a row, a cycle after it was read.
    reg                            was_transformed;
    reg [LOG2_UNITS:0]             was_column;
    reg [(WIDTH << LOG2_LANES)-1:0] host_words;
    always_ff @(posedge clk_i) begin
        was_transformed <= host_read_transformed_i;
        was_column <= host_read_column;
    end
    genvar w;
    generate
        for (w = 0; w < LANES; w = w + 1) begin : g_word
            // Lane w of each group of LANES columns; of each group of LANES units, the half requested.
            localparam integer GROUPS = COLUMNS >> LOG2_LANES;
            wire [WIDTH*GROUPS-1:0] outputs;
            wire [WIDTH*GROUPS-1:0] coefficients;
            for (v = 0; v < GROUPS; v = v + 1) begin : g_group
                assign outputs[WIDTH*v +: WIDTH] = host_columns[WIDTH*(v*LANES+w) +: WIDTH];
                assign coefficients[WIDTH*v +: WIDTH] =
                    host_columns[WIDTH*(2*((v>>1)*LANES+w)+(v&1)) +: WIDTH];
            end
            wire [LOG2_UNITS:0] group = was_transformed ? was_column >> LOG2_LANES
                : ((was_column >> (LOG2_LANES + 1)) << 1) | (was_column & ~(ONES << 1));
            always_ff @(posedge clk_i) begin
                host_words[WIDTH*w +: WIDTH] <= was_transformed ? outputs[WIDTH*group +: WIDTH]
                                                                : coefficients[WIDTH*group +: WIDTH];
            end
        end
    endgenerate
    assign host_read_data_o = host_words;

    // --- tables --------------------------------------------------------------------------------------------

    // Word 2^(ROW_BITS + e) + i, e > 0, is of block i, whose lowest e bits are the unit's and whose others
    // are the row.
    function automatic [TABLE_BITS-1:0] twiddle_place(input [LOG2_N-1:0] index);
        integer e;
        integer place;
        begin
            place = {{(32 - LOG2_N){1'b0}}, index};
            for (e = 1; e <= LOG2_UNITS; e = e + 1) begin
                if (index >> (ROW_BITS + e) == 1) begin
                    place = ((1 + e) << ROW_BITS)
                        + (({{(32 - LOG2_N){1'b0}}, index} >> e) & ((1 << ROW_BITS) - 1));
                end
            end
            twiddle_place = place[TABLE_BITS-1:0];
        end
    endfunction

    function automatic [LOG2_UNITS:0] twiddle_mask(input [LOG2_N-1:0] index);
        integer e;
        begin
            twiddle_mask = {(LOG2_UNITS + 1){1'b0}};
            for (e = 1; e <= LOG2_UNITS; e = e + 1) begin
                if (index >> (ROW_BITS + e) != 0) twiddle_mask[e-1] = 1'b1;
            end
        end
    endfunction

    function automatic [TABLE_BITS-1:0] operand_place(input operand, input [LOG2_N-1:0] index, input half);
        integer place;
        begin
            place = ((LOG2_UNITS + 2) << ROW_BITS) + ({31'b0, operand} << (ROW_BITS + 1))
                + {{(31 - ROW_BITS){1'b0}}, index[LOG2_N-1 -: ROW_BITS], half};
            operand_place = place[TABLE_BITS-1:0];
        end
    endfunction

    localparam integer GENERATED_LOW = (LOG2_N + 1) / 2; // as in cm_twiddle_generator

    // Words that go to one address of different units: 2^e of block i above. A twiddle generator takes those
    // that it does not store as they come.
    function automatic [LOG2_TABLE_LANES:0] step_of(input [LOG2_N-1:0] index);
        integer e;
        begin
            step_of = 1;
            for (e = 1; e <= LOG2_TABLE_LANES; e = e + 1) begin
                if (GENERATE != 0 ? index >> GENERATED_LOW != 0 && e <= GENERATED_LOW
                                  : index >> (ROW_BITS + e) != 0) step_of = 1 << e;
            end
        end
    endfunction
    assign table_step_o = table_is_operand_i ? TABLE_LANES[LOG2_TABLE_LANES:0] : step_of(table_index_i);

    // The second halves of an operand's words go to another address of their units than the first ones, so
    // they follow a cycle later, while other units, on the other side of the lanes, take the next words'
    // first halves.
    localparam integer SIDES = (TABLE_LANES > 1) ? 2 : 1;
    localparam integer SIDE = TABLE_LANES / SIDES; // number of lanes of a side
    localparam [LOG2_UNITS:0] ONES = '1;
    reg                        late;
    reg                        late_side;
    reg [TABLE_BITS-1:0]       late_address;
    reg [LOG2_UNITS:0]         late_units;
    reg [WIDTH*SIDE-1:0]       late_words;
    wire                       side = (SIDES == 2) && table_index_i[LOG2_TABLE_LANES];
    wire [WIDTH*TABLE_LANES-1:0] table_data;
    always_ff @(posedge clk_i) begin
        late <= SIDES == 2 && table_write_i && table_is_operand_i && !rst_i && !wipe_i;
        late_side <= side;
        late_address <= operand_place(table_operand_i, table_index_i, 1'b1);
        late_units <= table_index_i[LOG2_UNITS:0] >> 1;
    end
    generate
        for (w = 0; w < SIDE; w = w + 1) begin : g_late
            localparam integer SECOND = (SIDES == 2) ? 2 * w + 1 : 0;
            always_ff @(posedge clk_i) late_words[WIDTH*w +: WIDTH] <= table_data_i[WIDTH*SECOND +: WIDTH];
        end
        for (s = 0; s < SIDES; s = s + 1) begin : g_side
            // Where words go: an address, and the units whose bits are `unit_bits` as far as `mask` says.
            reg                  stores;
            reg [TABLE_BITS-1:0] address;
            reg [LOG2_UNITS:0]   unit_bits;
            reg [LOG2_UNITS:0]   mask;
            wire                 takes_late = late && late_side == s;
            always_ff @(posedge clk_i) begin
                stores <= wipe_i || takes_late
                    || (table_write_i && (!table_is_operand_i || SIDES == 1 || side == s));
                if (wipe_i) begin
                    address <= wipe_row_i[TABLE_BITS-1:0];
                    mask <= {(LOG2_UNITS + 1){1'b0}};
                end else if (takes_late) begin
                    address <= late_address;
                    unit_bits <= late_units;
                    mask <= (ONES >> 1) & (ONES << LOG2_TABLE_LANES);
                end else if (table_is_operand_i) begin
                    address <= operand_place(table_operand_i, table_index_i, SIDES == 1 && table_index_i[0]);
                    unit_bits <= table_index_i[LOG2_UNITS:0] >> 1;
                    mask <= (ONES >> 1) & (ONES << LOG2_TABLE_LANES);
                end else begin
                    address <= twiddle_place(table_index_i);
                    unit_bits <= table_index_i[LOG2_UNITS:0];
                    mask <= twiddle_mask(table_index_i) & ~(table_step_o - 1'b1);
                end
            end
            for (w = 0; w < SIDE; w = w + 1) begin : g_lane
                localparam integer LANE = s * SIDE + w;
                localparam integer FIRST = (SIDES == 2) ? 2 * w : 0;
                reg [WIDTH-1:0] repeated; // the words taken, over and over
                reg [WIDTH-1:0] word;
                integer e;
                always_comb begin
                    repeated = table_data_i[WIDTH-1:0];
                    for (e = 1; e <= LOG2_TABLE_LANES; e = e + 1) begin
                        if (table_step_o[e]) repeated = table_data_i[WIDTH*(LANE%(1<<e)) +: WIDTH];
                    end
                end
                always_ff @(posedge clk_i) begin
                    word <= wipe_i ? {WIDTH{1'b0}} : takes_late ? late_words[WIDTH*w +: WIDTH]
                        : table_is_operand_i ? table_data_i[WIDTH*FIRST +: WIDTH] : repeated;
                end
                assign table_data[WIDTH*LANE +: WIDTH] = word;
            end
        end
    endgenerate

    // With GENERATE, only operands are stored.
    localparam integer STORED_FROM = (GENERATE != 0) ? TWIDDLE_WORDS : 0;
    localparam integer TABLE_WORDS = (GENERATE != 0 && OPERANDS == 0) ? 1
        : TWIDDLE_WORDS + (2 * OPERANDS << ROW_BITS) - STORED_FROM;
    localparam integer STORED_BITS = (TABLE_WORDS > 1) ? $clog2(TABLE_WORDS) : 1;
    localparam [TABLE_BITS-1:0] FIRST_STORED = STORED_FROM[TABLE_BITS-1:0];
    wire [TABLE_BITS-1:0] stored_address = table_address - FIRST_STORED;
    wire [WIDTH*UNITS-1:0] table_words;
    // Each number's twiddles have 2^STORED_BITS words.
    localparam integer ALL_BITS = LOG2_TABLES + STORED_BITS;
    localparam integer ALL_WORDS = (LOG2_TABLES > 0) ? 1 << ALL_BITS : TABLE_WORDS;
    wire [TABLE_NUMBER-1:0] job_twiddles;
    wire [TABLE_NUMBER-1:0] load_twiddles;
    generate
        if (LOG2_TABLES > 0) begin : g_numbered
            reg [TABLE_NUMBER-1:0] of_job;
            reg [TABLE_NUMBER-1:0] of_load;
            always_ff @(posedge clk_i) begin
                if (!busy_o) of_job <= twiddles_i;
                of_load <= wipe_i ? wipe_row_i[STORED_BITS +: TABLE_NUMBER] : table_twiddles_i;
            end
            assign job_twiddles = of_job;
            assign load_twiddles = of_load;
        end else begin : g_one_table
            assign job_twiddles = {TABLE_NUMBER{1'b0}};
            assign load_twiddles = {TABLE_NUMBER{1'b0}};
        end
        for (v = 0; v < UNITS; v = v + 1) begin : g_table
            localparam integer LANE = v % TABLE_LANES;
            localparam integer UNIT_SIDE = LANE / SIDE;
            wire [TABLE_BITS-1:0] address = g_side[UNIT_SIDE].address - FIRST_STORED;
            wire [TABLE_NUMBER+STORED_BITS-1:0] write_at = {load_twiddles, address[STORED_BITS-1:0]};
            wire [TABLE_NUMBER+STORED_BITS-1:0] read_at = {job_twiddles, stored_address[STORED_BITS-1:0]};
            wire stored_write = g_side[UNIT_SIDE].stores && g_side[UNIT_SIDE].address >= FIRST_STORED
                && ((g_side[UNIT_SIDE].unit_bits ^ v) & g_side[UNIT_SIDE].mask) == 0;
            cm_ram #(
                .WIDTH(WIDTH), .DEPTH(ALL_WORDS), .ADDRESS_WIDTH(ALL_BITS), .BLOCK(1)
            ) u_table (
                .clk_i(clk_i),
                .write_i(stored_write),
                .write_address_i(write_at[ALL_BITS-1:0]), .write_data_i(table_data[WIDTH*LANE +: WIDTH]),
                .read_i(1'b1), .read_address_i(read_at[ALL_BITS-1:0]),
                .read_data_o(table_words[WIDTH*v +: WIDTH])
            );
        end
    endgenerate

    // --- units ---------------------------------------------------------------------------------------------

    wire [WIDTH*COLUMNS-1:0] row;
    wire [WIDTH*UNITS-1:0]   stored;
    wire [WIDTH*UNITS-1:0]   factors;
    generate
        if (FORWARD == 0) begin : g_from_memory
            cm_delay #(.WIDTH(WIDTH * COLUMNS), .CYCLES(INPUT_LATENCY)) u_row (
                .clk_i(clk_i), .data_i(job_row), .data_o(row)
            );
        end else begin : g_forwarded
            // The row that was read is written now, or was written when it was read.
            reg                      now;
            reg                      just;
            reg [WIDTH*COLUMNS-1:0]  result_late;
            reg [WIDTH*COLUMNS-1:0]  held;
            always_ff @(posedge clk_i) begin
                now <= next_write && next_write_address == read_address;
                just <= write && write_address == read_address;
                result_late <= result;
                held <= now ? result : just ? result_late : job_row;
            end
            assign row = held;
        end
    endgenerate
    cm_delay #(.WIDTH(WIDTH * UNITS), .CYCLES(INPUT_LATENCY)) u_factors (
        .clk_i(clk_i), .data_i(table_words), .data_o(stored)
    );
    generate
        if (GENERATE == 0) begin : g_stored
            assign factors = stored;
        end else begin : g_generate
            for (v = 0; v < UNITS; v = v + 1) begin : g_twiddle
                wire [WIDTH-1:0] twiddle;
                cm_twiddle_generator #(
                    .LOG2_N(LOG2_N), .LOG2_UNITS(LOG2_UNITS), .UNIT(v), .WIDTH(WIDTH), .DEEP(DEEP_UNITS),
                    .MULTIPLIER_WIDTH(MULTIPLIER_WIDTH), .TABLE_BITS(TABLE_BITS)
                ) u_twiddle (
                    .clk_i(clk_i), .q_i(q_i),
                    .write_i(table_write_i && !table_is_operand_i), .write_index_i(table_index_i),
                    .write_data_i(table_data_i[WIDTH-1:0]), .address_i(table_address), .twiddle_o(twiddle)
                );
                assign factors[WIDTH*v +: WIDTH] = product ? stored[WIDTH*v +: WIDTH] : twiddle;
            end
        end
    endgenerate

    cm_units #(
        .LOG2_UNITS(LOG2_UNITS), .WIDTH(WIDTH), .LOG2_N(LOG2_N), .DEEP(DEEP_UNITS),
        .MULTIPLIER_WIDTH(MULTIPLIER_WIDTH)
    ) u_units (
        .clk_i(clk_i), .q_i(q_i), .row_i(row), .factors_i(factors),
        .sande_i(sande), .product_i(product), .product_of_a_i(product_of_a),
        .sande_multiply_i(sande_multiply), .sande_halve_i(sande_halve), .sande_leave_i(sande_leave),
        .swap_second_i(swap_second), .rotate_left_i(rotate_left), .rotate_right_i(rotate_right),
        .result_o(result)
    );
endmodule
`default_nettype wire
