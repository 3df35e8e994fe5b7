// SPDX-License-Identifier: Apache-2.0
// The transforms of the client engine: 2^LOG2_UNITS butterflies, which work on one of several sets of
// residues, in the order of cm_ntt_control, while pairs of residues enter and leave the other sets.
//
// A set holds a polynomial as cm_ntt_control orders it. Pair j of a set is outputs 2 j and 2 j + 1 of a
// transform or, where the set holds coefficients, numbers j and j + n/2; natural_i asks for coefficients 2 j
// and 2 j + 1 instead.
//
// Twiddles of every prime are stored, each once: what several units need in common, they read in common.
`default_nettype none
module cm_client_lanes #(
    parameter integer LOG2_N = 12,
    parameter integer WIDTH = 27,
    parameter integer LOG2_UNITS = 3, // 1 .. 6
    parameter integer PRIMES = 3,
    parameter integer LOG2_PRIMES = 2,
    parameter integer SETS = 3,
    parameter integer DEEP = 1,
    parameter integer MULTIPLIER_WIDTH = 24
) (
    input  wire                   clk_i,
    input  wire                   rst_i,
    // Control of a transform of one set.
    input  wire                   start_i,
    input  wire                   inverse_i,
    input  wire [1:0]             set_i,   // the set; hold it until done_o, as the next two
    input  wire [LOG2_PRIMES-1:0] prime_i, // number of the prime
    input  wire [WIDTH-1:0]       q_i,     // the prime
    output wire                   busy_o,
    output wire                   done_o,
    // Two read ports; pairs follow two cycles later. Without a read, no memory is accessed.
    input  wire                   a_read_i,
    input  wire                   a_natural_i,
    input  wire [1:0]             a_set_i,
    input  wire [LOG2_N-2:0]      a_index_i,
    output wire [2*WIDTH-1:0]     a_o,
    input  wire                   b_read_i,
    input  wire                   b_natural_i,
    input  wire [1:0]             b_set_i,
    input  wire [LOG2_N-2:0]      b_index_i,
    output wire [2*WIDTH-1:0]     b_o,
    // The write port.
    input  wire                   write_i,
    input  wire                   write_natural_i,
    input  wire [1:0]             write_set_i,
    input  wire [LOG2_N-2:0]      write_index_i,
    input  wire [2*WIDTH-1:0]     write_data_i,
    // Wiping writes zeros to a row of every set.
    input  wire                   wipe_i,
    input  wire [LOG2_N-1:0]      wipe_address_i,
    // Pairs of twiddles times R, numbers 2 j and 2 j + 1, enter and leave while no transform runs. What is
    // read leaves at a_o two cycles later, if no set is read there. A pair may be read while another one is
    // written, unless both numbers are below 2^ROW_BITS.
    input  wire [1:0]             table_write_i, // a bit for each twiddle of the pair
    input  wire                   table_read_i,
    input  wire [LOG2_PRIMES-1:0] table_prime_i,
    input  wire [LOG2_N-2:0]      table_index_i,
    input  wire [2*WIDTH-1:0]     table_data_i,
    input  wire [LOG2_N-2:0]      table_read_index_i
);
    `include "cm_refuse.svh"
    generate
        `CM_REFUSE(g_bad_log2_n, LOG2_N < 5 || LOG2_N > 14, "cm_client_lanes: LOG2_N must be from 5 to 14.")
        `CM_REFUSE(g_bad_width, WIDTH < 16 || WIDTH > 40, "cm_client_lanes: WIDTH must be from 16 to 40.")
        `CM_REFUSE(g_bad_log2_units, LOG2_UNITS < 1 || LOG2_UNITS > 6,
                   "cm_client_lanes: LOG2_UNITS must be from 1 to 6.")
        `CM_REFUSE(g_bad_rows, LOG2_UNITS > LOG2_N - 2,
                   "cm_client_lanes: LOG2_UNITS must be at most LOG2_N - 2.")
        `CM_REFUSE(g_bad_primes, PRIMES < 1 || PRIMES > (1 << LOG2_PRIMES),
                   "cm_client_lanes: PRIMES must be from 1 to 2 to the power of LOG2_PRIMES.")
        `CM_REFUSE(g_bad_log2_primes, LOG2_PRIMES < 1 || LOG2_PRIMES > 3,
                   "cm_client_lanes: LOG2_PRIMES must be from 1 to 3.")
        `CM_REFUSE(g_bad_sets, SETS < 2 || SETS > 4, "cm_client_lanes: SETS must be from 2 to 4.")
        `CM_REFUSE(g_bad_deep, DEEP < 0 || DEEP > 1, "cm_client_lanes: DEEP must be 0 or 1.")
        `CM_REFUSE(g_bad_multiplier_width,
                   MULTIPLIER_WIDTH != 17 && MULTIPLIER_WIDTH != 24 && MULTIPLIER_WIDTH != 64,
                   "cm_client_lanes: MULTIPLIER_WIDTH must be 17, 24 or 64.")
    endgenerate
    `include "cm_latency.svh"
    localparam integer UNITS = 1 << LOG2_UNITS;
    localparam integer COLUMNS = 2 * UNITS; // Column 2 v + h is half h of unit v.
    localparam integer ROW_BITS = LOG2_N - LOG2_UNITS - 1;
    localparam integer TABLE_BITS = $clog2((LOG2_UNITS + 2) << ROW_BITS);
    localparam integer INPUT_LATENCY = input_latency(DEEP);

    reg  [WIDTH-1:0]      q; // q of the running job, there before the job's first pair
    always_ff @(posedge clk_i) q <= {q_i[WIDTH-1:LOG2_N+1], {LOG2_N{1'b0}}, 1'b1};

    wire                  read;
    wire [ROW_BITS-1:0]   read_row;
    wire [TABLE_BITS-1:0] table_address;
    wire                  sande, product, product_of_a, sande_multiply, sande_halve, sande_leave, swap_second;
    wire                  write;
    wire [ROW_BITS-1:0]   write_row;
    wire                  rotate_left, rotate_right;

    wire                unused_transform, unused_write;
    wire [ROW_BITS-1:0] unused_address;
    cm_ntt_control #(
        .LOG2_N(LOG2_N), .LOG2_UNITS(LOG2_UNITS), .LOG2_PAGES(0), .INPUT_LATENCY(INPUT_LATENCY),
        .ADD_LATENCY(add_latency(DEEP)),
        .MULTIPLY_LATENCY(multiply_latency(WIDTH, LOG2_N, MULTIPLIER_WIDTH, DEEP)), .TABLE_BITS(TABLE_BITS)
    ) u_control (
        .clk_i(clk_i), .rst_i(rst_i),
        .start_i(start_i), .forward_i(!inverse_i), .first_done_i(1'b0), .products_i(2'd0), .operand_i(1'b0),
        .inverse_i(inverse_i), .pair_i(1'b0), .page_i(1'b0), .busy_o(busy_o), .done_o(done_o),
        .read_o(read), .read_address_o(read_row), .table_address_o(table_address),
        .sande_o(sande), .product_o(product), .product_of_a_o(product_of_a),
        .sande_multiply_o(sande_multiply), .sande_halve_o(sande_halve), .sande_leave_o(sande_leave),
        .swap_second_o(swap_second),
        .write_o(write), .write_address_o(write_row),
        .write_transform_o(unused_transform), .next_write_o(unused_write),
        .next_write_address_o(unused_address),
        .rotate_left_o(rotate_left), .rotate_right_o(rotate_right)
    );

    // --- sets ----------------------------------------------------------------------------------------------

    // A coefficient's index is {half, row, unit}, an output's {row, unit, half}.
    function automatic [ROW_BITS-1:0] row_of(input natural, input [LOG2_N-2:0] index);
        row_of = natural ? index[LOG2_N-3 -: ROW_BITS] : index[LOG2_N-2 -: ROW_BITS];
    endfunction

    // Selects the columns of a pair: both of a unit, or the same half of two neighbouring units.
    function automatic [COLUMNS-1:0] columns_of(input natural, input [LOG2_N-2:0] index);
        integer v;
        begin
            columns_of = {COLUMNS{1'b0}};
            for (v = 0; v < UNITS; v = v + 1) begin
                if (natural) begin
                    if (v >> 1 == (index & ((UNITS >> 1) - 1)))
                        columns_of[2*v+(index[LOG2_N-2] ? 1 : 0)] = 1'b1;
                end else if (v == (index & (UNITS - 1))) begin
                    columns_of[2*v +: 2] = 2'b11;
                end
            end
        end
    endfunction

    wire [WIDTH*COLUMNS-1:0] result;
    wire [WIDTH*COLUMNS-1:0] rows [0:SETS-1];
    wire [COLUMNS-1:0]       written = columns_of(write_natural_i, write_index_i);
    wire [COLUMNS-1:0]       a_wanted = columns_of(a_natural_i, a_index_i);
    wire [COLUMNS-1:0]       b_wanted = columns_of(b_natural_i, b_index_i);
    wire [2*WIDTH-1:0]       pair = wipe_i ? {(2 * WIDTH){1'b0}} : write_data_i;
    genvar s, c, v, e, k;
    generate
        for (s = 0; s < SETS; s = s + 1) begin : g_set
            wire                job_here = busy_o && set_i == s && !wipe_i;
            wire                writes = write_i && write_set_i == s;
            wire                a_here = a_set_i == s;
            wire                pairs = a_here ? a_read_i : b_read_i;
            wire [COLUMNS-1:0]  wanted = a_here ? a_wanted : b_wanted;
            wire [ROW_BITS-1:0] from = job_here ? read_row
                : a_here ? row_of(a_natural_i, a_index_i) : row_of(b_natural_i, b_index_i);
            wire [ROW_BITS-1:0] to = wipe_i ? wipe_address_i[ROW_BITS-1:0]
                : job_here ? write_row : row_of(write_natural_i, write_index_i);
            for (c = 0; c < COLUMNS; c = c + 1) begin : g_column
                wire [WIDTH-1:0] entered = (write_natural_i ? (c >> 1 & 1) : (c & 1)) != 0
                    ? pair[2*WIDTH-1:WIDTH] : pair[WIDTH-1:0];
                cm_ram #(.WIDTH(WIDTH), .DEPTH(1 << ROW_BITS), .ADDRESS_WIDTH(ROW_BITS), .BLOCK(1)) u_bank (
                    .clk_i(clk_i),
                    .write_i(wipe_i || (job_here ? write : writes && written[c])),
                    .write_address_i(to),
                    .write_data_i(job_here ? result[WIDTH*c +: WIDTH] : entered),
                    .read_i(wipe_i || (job_here ? read : pairs && wanted[c])), .read_address_i(from),
                    .read_data_o(rows[s][WIDTH*c +: WIDTH])
                );
            end
        end
    endgenerate

    // --- pairs that leave ----------------------------------------------------------------------------------

    // What the wanted columns of a set hold, by the last two bits of their numbers: words 0 and 3 are the
    // lower and the upper number of a pair, and so are 2 and 1 or, in natural order, 1 and 2.
    function automatic [4*WIDTH-1:0] wanted_of(input [WIDTH*COLUMNS-1:0] row, input [COLUMNS-1:0] columns);
        integer x;
        begin
            wanted_of = {(4 * WIDTH){1'b0}};
            for (x = 0; x < COLUMNS; x = x + 1) begin
                wanted_of[WIDTH*(x&3) +: WIDTH] = wanted_of[WIDTH*(x&3) +: WIDTH]
                    | (row[WIDTH*x +: WIDTH] & {WIDTH{columns[x]}});
            end
        end
    endfunction

    function automatic [2*WIDTH-1:0] paired(input [4*WIDTH-1:0] words, input natural);
        reg [2*WIDTH-1:0] inner;
        begin
            inner = natural ? words[WIDTH +: 2*WIDTH] : {words[WIDTH +: WIDTH], words[2*WIDTH +: WIDTH]};
            paired = {words[3*WIDTH +: WIDTH], words[0 +: WIDTH]} | inner;
        end
    endfunction

    reg  [COLUMNS*SETS-1:0] a_columns, b_columns; // selected columns of each set
    reg                     a_natural, b_natural;
    reg  [4*WIDTH-1:0]      a_words, b_words;
    reg  [2*WIDTH-1:0]      a_pair, b_pair;
    integer                 from_set, wanted_set;
    always_comb begin
        a_words = {(4 * WIDTH){1'b0}};
        b_words = {(4 * WIDTH){1'b0}};
        for (from_set = 0; from_set < SETS; from_set = from_set + 1) begin
            a_words = a_words | wanted_of(rows[from_set], a_columns[COLUMNS*from_set +: COLUMNS]);
            b_words = b_words | wanted_of(rows[from_set], b_columns[COLUMNS*from_set +: COLUMNS]);
        end
    end
    always_ff @(posedge clk_i) begin
        for (wanted_set = 0; wanted_set < SETS; wanted_set = wanted_set + 1) begin
            a_columns[COLUMNS*wanted_set +: COLUMNS] <= a_wanted & {COLUMNS{a_set_i == wanted_set}};
            b_columns[COLUMNS*wanted_set +: COLUMNS] <= b_wanted & {COLUMNS{b_set_i == wanted_set}};
        end
        a_natural <= a_natural_i;
        b_natural <= b_natural_i;
        a_pair <= paired(a_words, a_natural) | table_pair;
        b_pair <= paired(b_words, b_natural);
    end
    assign a_o = a_pair;
    assign b_o = b_pair;

    // --- twiddles ------------------------------------------------------------------------------------------

    // Twiddles below number 2^(ROW_BITS + 1) are common to all units. Behind them, 2^e of a row are read at a
    // time, each by the units whose numbers end in its own. Two neighbours are a word of a memory.
    localparam integer WORD_BITS = LOG2_PRIMES + ROW_BITS;
    wire                              table_here = table_write_i != 2'b00 || table_read_i;
    reg  [2*WIDTH-1:0]                table_pair; // the one that was read, or 0
    wire [2*WIDTH-1:0]                common_word;
    reg                               common_odd;
    wire [WIDTH-1:0]                  common = common_odd ? common_word[WIDTH +: WIDTH]
        : common_word[0 +: WIDTH];
    wire [WIDTH*UNITS*LOG2_UNITS-1:0] own; // {e, unit}
    reg  [TABLE_BITS-ROW_BITS-1:0]    level;
    always_ff @(posedge clk_i) begin
        level <= table_address[TABLE_BITS-1:ROW_BITS];
        common_odd <= table_address[0];
    end

    wire common_enters = table_index_i >> ROW_BITS == 0;
    wire common_leaves = table_read_i && table_read_index_i >> ROW_BITS == 0;
    wire [1:0] common_write = table_write_i & {2{common_enters}};
    cm_ram_single #(
        .WIDTH(2 * WIDTH), .PARTS(2), .DEPTH(PRIMES << ROW_BITS), .ADDRESS_WIDTH(WORD_BITS)
    ) u_common (
        .clk_i(clk_i),
        .address_i(!table_here ? {prime_i, table_address[ROW_BITS:1]}
            : {table_prime_i, (common_write != 2'b00) ? table_index_i[0 +: ROW_BITS]
                                                      : table_read_index_i[0 +: ROW_BITS]}),
        .write_i(common_write), .write_data_i(table_data_i),
        .read_i(common_leaves || (busy_o && table_address[TABLE_BITS-1:ROW_BITS] < 2)),
        .read_data_o(common_word)
    );
    reg common_left;
    always_ff @(posedge clk_i) common_left <= common_leaves;
    generate
        for (e = 1; e <= LOG2_UNITS; e = e + 1) begin : g_level
            wire enters = table_write_i != 2'b00 && table_index_i >> (ROW_BITS + e - 1) == 1;
            wire leaves = table_read_i && table_read_index_i >> (ROW_BITS + e - 1) == 1;
            wire [ROW_BITS-1:0] row = enters ? table_index_i[e-1 +: ROW_BITS]
                : table_read_index_i[e-1 +: ROW_BITS];
            wire [WIDTH*(1<<e)-1:0] words;
            for (k = 0; k < (1 << e); k = k + 2) begin : g_own
                wire leaves_here = leaves && (table_read_index_i & ((1 << (e - 1)) - 1)) == k >> 1;
                cm_ram_single #(
                    .WIDTH(2 * WIDTH), .PARTS(2), .DEPTH(PRIMES << ROW_BITS), .ADDRESS_WIDTH(WORD_BITS)
                ) u_table (
                    .clk_i(clk_i),
                    .address_i(table_here ? {table_prime_i, row} : {prime_i, table_address[ROW_BITS-1:0]}),
                    .write_i(table_write_i & {2{enters && (table_index_i & ((1 << (e - 1)) - 1)) == k >> 1}}),
                    .write_data_i(table_data_i),
                    .read_i(leaves_here || (busy_o && table_address[TABLE_BITS-1:ROW_BITS] == e + 1)),
                    .read_data_o(words[WIDTH*k +: 2*WIDTH])
                );
                // Only the first of the largest numbers is read, which is a factor of the others.
                if (e < LOG2_UNITS || k == 0) begin : g_leaves
                    reg left;
                    always_ff @(posedge clk_i) left <= leaves_here;
                    assign left_pairs[2*WIDTH*(((1<<e)+k)>>1) +: 2*WIDTH] = words[WIDTH*k +: 2*WIDTH]
                        & {(2 * WIDTH){left}};
                end else begin : g_stays
                    assign left_pairs[2*WIDTH*(((1<<e)+k)>>1) +: 2*WIDTH] = {(2 * WIDTH){1'b0}};
                end
            end
            for (k = 0; k < (1 << e); k = k + 1) begin : g_copies
                wire [WIDTH-1:0] word = words[WIDTH*k +: WIDTH];
                for (v = 0; v < (UNITS >> e); v = v + 1) begin : g_reader
                    assign own[WIDTH*((e-1)*UNITS+(v<<e)+k) +: WIDTH] = word;
                end
            end
        end
    endgenerate

    wire [2*WIDTH*UNITS-1:0] left_pairs; // pairs that were read, or 0: the common one, then {e, k / 2}
    assign left_pairs[0 +: 2*WIDTH] = common_word & {(2 * WIDTH){common_left}};
    integer left_from;
    always_comb begin
        table_pair = {(2 * WIDTH){1'b0}};
        for (left_from = 0; left_from < UNITS; left_from = left_from + 1) begin
            table_pair = table_pair | left_pairs[2*WIDTH*left_from +: 2*WIDTH];
        end
    end

    wire [WIDTH*UNITS-1:0] read_factors;
    wire [WIDTH*UNITS-1:0] factors;
    generate
        for (v = 0; v < UNITS; v = v + 1) begin : g_factor
            reg [WIDTH-1:0] factor;
            integer l;
            always_comb begin
                factor = common;
                for (l = 1; l <= LOG2_UNITS; l = l + 1) begin
                    if (level == l + 1) factor = own[WIDTH*((l-1)*UNITS+v) +: WIDTH];
                end
            end
            assign read_factors[WIDTH*v +: WIDTH] = factor;
        end
    endgenerate

    // --- units ---------------------------------------------------------------------------------------------

    wire [WIDTH*COLUMNS-1:0] row;
    cm_delay #(.WIDTH(WIDTH * COLUMNS), .CYCLES(INPUT_LATENCY)) u_row (
        .clk_i(clk_i), .data_i(rows[set_i]), .data_o(row)
    );
    cm_delay #(.WIDTH(WIDTH * UNITS), .CYCLES(INPUT_LATENCY)) u_factors (
        .clk_i(clk_i), .data_i(read_factors), .data_o(factors)
    );

    cm_units #(
        .LOG2_UNITS(LOG2_UNITS), .WIDTH(WIDTH), .LOG2_N(LOG2_N), .DEEP(DEEP),
        .MULTIPLIER_WIDTH(MULTIPLIER_WIDTH)
    ) u_units (
        .clk_i(clk_i), .q_i(q), .row_i(row), .factors_i(factors),
        .sande_i(sande), .product_i(product), .product_of_a_i(product_of_a),
        .sande_multiply_i(sande_multiply), .sande_halve_i(sande_halve), .sande_leave_i(sande_leave),
        .swap_second_i(swap_second), .rotate_left_i(rotate_left), .rotate_right_i(rotate_right),
        .result_o(result)
    );
endmodule
`default_nettype wire
