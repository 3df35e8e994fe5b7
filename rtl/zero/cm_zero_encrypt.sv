// SPDX-License-Identifier: Apache-2.0
// Encrypts zero under a public key, u p0 + e0 and u p1 + e1, in coefficients, for several primes at once,
// with the key, the errors and u given; and decrypts, c0 + c1 s. It is there to be compared with a published
// chip (docs/client-engine.md), so it has what that has: no sampler, no encoder, no bus, and nothing is
// wiped.
//
// Every prime has a layer of two butterflies, and all layers work in lockstep under one cm_ntt_control. A job
// is accepted in a cycle with start_i and without busy_o:
//   u in small form: stages 2 to LOG2_N of its transform, as a layer selects the first; times p1 into page 1,
//   times p0 in place; both back, and e added on the way to memory.
//   decrypt_i: page 0 is c1; its transform, times component 0 of the key; back, and page 1 added likewise.
// The result is in page 0 (and 1). Twiddles and the key are times R (cm_montgomery_multiply).
`default_nettype none
module cm_zero_encrypt #(
    parameter integer LOG2_N = 12,           // 5 .. 14
    parameter integer WIDTH = 40,            // 16 .. 40: largest width of a prime
    parameter integer PRIMES = 3,            // 1 .. 8
    parameter integer ERROR_BITS = 6, // 2 .. 12: width of a signed error; less than that of every prime
    parameter integer DEEP = 1,              // 1: a longer pipeline for a higher clock
    parameter integer MULTIPLIER_WIDTH = 24  // as in cm_montgomery_multiply
) (
    input  wire                    clk_i,
    input  wire                    rst_i,
    input  wire [PRIMES*WIDTH-1:0] q_i,    // must not change during a job
    // The root of the first stage, psi^(n/2), which must not change during a job.
    input  wire [PRIMES*WIDTH-1:0] root_i,
    input  wire                    start_i, // accepted in a cycle without busy_o
    input  wire                    decrypt_i,
    output wire                    busy_o,
    output wire                    done_o, // high in the last cycle of busy_o
    // A word that the host writes, while no job runs. By kind its address, and data from the lowest bit up:
    //   0  a         u of coefficients {x, h, a, v}, two bits each, in the order of {x, h, v}
    //   1  {p, r}    error p of coefficients {h, r, v}, in the order of {v, h}
    //   2  j         the layer's twiddle j: psi^bitrev(j)
    //   3  {p, i}    the layer's key: output i of the transform of component p
    //   4  {p, r}    the layer's page p, coefficients {h, r, v}, in the order of {v, h}
    input  wire                    write_i,
    input  wire [2:0]              write_kind_i,
    input  wire [2:0]              write_layer_i,
    input  wire [LOG2_N:0]         write_address_i,
    input  wire [4*WIDTH-1:0]      write_data_i,
    // A row of a result: coefficients {h, r, v} of page p at {p, r}, in the order of {v, h}, two cycles
    // later.
    input  wire [2:0]              read_layer_i,
    input  wire [LOG2_N-2:0]       read_address_i,
    output reg  [4*WIDTH-1:0]      read_data_o
);
    `include "cm_latency.svh"
    `include "cm_refuse.svh"
    generate
        `CM_REFUSE(g_bad_log2_n, LOG2_N < 5 || LOG2_N > 14,
                   "cm_zero_encrypt: LOG2_N must be from 5 to 14.")
        `CM_REFUSE(g_bad_width, WIDTH < 16 || WIDTH > 40,
                   "cm_zero_encrypt: WIDTH must be from 16 to 40.")
        `CM_REFUSE(g_bad_primes, PRIMES < 1 || PRIMES > 8,
                   "cm_zero_encrypt: PRIMES must be from 1 to 8.")
        `CM_REFUSE(g_bad_error_bits, ERROR_BITS < 2 || ERROR_BITS > 12,
                   "cm_zero_encrypt: ERROR_BITS must be from 2 to 12.")
        `CM_REFUSE(g_bad_deep, DEEP < 0 || DEEP > 1,
                   "cm_zero_encrypt: DEEP must be 0 or 1.")
        `CM_REFUSE(g_bad_multiplier_width, MULTIPLIER_WIDTH != 17 && MULTIPLIER_WIDTH != 24,
                   "cm_zero_encrypt: MULTIPLIER_WIDTH must be 17 or 24.")
    endgenerate
    localparam integer ROW_BITS = LOG2_N - 2;
    localparam integer TABLE_BITS = LOG2_N + 1;
    localparam integer ADD_LATENCY = add_latency(DEEP);
    localparam integer INPUT_LATENCY = input_latency(DEEP);
    // Cycles from a result to the write of its sum.
    localparam integer FINISH = 1 + INPUT_LATENCY + ADD_LATENCY;

    localparam [2:0] KIND_U = 3'd0, KIND_ERROR = 3'd1, KIND_TWIDDLE = 3'd2, KIND_KEY = 3'd3, KIND_ROW = 3'd4;

    // --- control -------------------------------------------------------------------------------------------

    wire                  start = start_i && !busy_o;
    wire                  control_busy, control_done;
    wire                  read;
    wire [ROW_BITS:0]     read_address;
    wire [TABLE_BITS-1:0] table_address;
    wire                  sande, product, product_of_a, sande_multiply, sande_halve, sande_leave, swap_second;
    wire                  write;
    wire [ROW_BITS:0]     write_address;
    wire                  rotate_left, rotate_right;

    wire              unused_transform, unused_write;
    wire [ROW_BITS:0] unused_address;
    cm_ntt_control #(
        .LOG2_N(LOG2_N), .LOG2_UNITS(1), .LOG2_PAGES(1), .INPUT_LATENCY(INPUT_LATENCY),
        .ADD_LATENCY(ADD_LATENCY), .MULTIPLY_LATENCY(multiply_latency(WIDTH, LOG2_N, MULTIPLIER_WIDTH, DEEP)),
        .TABLE_BITS(TABLE_BITS)
    ) u_control (
        .clk_i(clk_i), .rst_i(rst_i),
        .start_i(start), .forward_i(1'b1), .first_done_i(!decrypt_i), .products_i(decrypt_i ? 2'd1 : 2'd2),
        .operand_i(1'b0), .inverse_i(1'b1), .pair_i(1'b0), .page_i(1'b0),
        .busy_o(control_busy), .done_o(control_done),
        .read_o(read), .read_address_o(read_address), .table_address_o(table_address),
        .sande_o(sande), .product_o(product), .product_of_a_o(product_of_a),
        .sande_multiply_o(sande_multiply), .sande_halve_o(sande_halve), .sande_leave_o(sande_leave),
        .swap_second_o(swap_second),
        .write_o(write), .write_address_o(write_address),
        .write_transform_o(unused_transform), .next_write_o(unused_write),
        .next_write_address_o(unused_address),
        .rotate_left_o(rotate_left), .rotate_right_o(rotate_right)
    );

    // The rows of u are those of the first pass, whose last one is the last of all rows. What is added to
    // comes in the last pass, after LOG2_N or LOG2_N - 1 passes forward, one or two of products, and LOG2_N -
    // 1 back of one or two pages each.
    localparam integer PASS_BITS = 6;
    localparam integer ZERO_PASSES = (LOG2_N - 1) + 2 + 2 * (LOG2_N - 1);
    localparam integer DECRYPT_PASSES = LOG2_N + 1 + (LOG2_N - 1);
    reg                          decrypt;
    reg                          reads_u; // Rows of u are read.
    reg [PASS_BITS+ROW_BITS-1:0] written;
    wire last_pass = written[ROW_BITS +: PASS_BITS] >= (decrypt ? DECRYPT_PASSES[PASS_BITS-1:0]
                                                                : ZERO_PASSES[PASS_BITS-1:0]);
    reg [FINISH:1] sums;  // marks results on their way to memory
    reg [FINISH:1] dones;
    always_ff @(posedge clk_i) begin
        if (start) begin
            decrypt <= decrypt_i;
            reads_u <= !decrypt_i;
            written <= {(PASS_BITS + ROW_BITS){1'b0}};
        end else begin
            if (read && read_address[ROW_BITS-1:0] == {ROW_BITS{1'b1}}) reads_u <= 1'b0;
            if (write) written <= written + 1'b1;
        end
        sums <= {sums[FINISH-1:1], write && last_pass};
        dones <= {dones[FINISH-1:1], control_done};
        if (rst_i) begin
            sums <= {FINISH{1'b0}};
            dones <= {FINISH{1'b0}};
        end
    end
    assign done_o = dones[FINISH];
    assign busy_o = control_busy || dones != {FINISH{1'b0}};

    wire [ROW_BITS:0] sum_address;
    cm_delay #(.WIDTH(ROW_BITS + 1), .CYCLES(FINISH)) u_sum_address (
        .clk_i(clk_i), .data_i(write_address), .data_o(sum_address)
    );

    // --- u and errors, common to all primes ----------------------------------------------------------------

    wire [15:0]             u_word;
    wire [4*ERROR_BITS-1:0] errors;
    cm_ram #(.WIDTH(16), .DEPTH(1 << (ROW_BITS - 1)), .ADDRESS_WIDTH(ROW_BITS - 1), .BLOCK(1)) u_small (
        .clk_i(clk_i), .write_i(write_i && write_kind_i == KIND_U),
        .write_address_i(write_address_i[ROW_BITS-2:0]), .write_data_i(write_data_i[15:0]),
        .read_i(1'b1), .read_address_i(read_address[ROW_BITS-2:0]), .read_data_o(u_word)
    );
    cm_ram #(
        .WIDTH(4 * ERROR_BITS), .DEPTH(2 << ROW_BITS), .ADDRESS_WIDTH(ROW_BITS + 1), .BLOCK(1)
    ) u_errors (
        .clk_i(clk_i), .write_i(write_i && write_kind_i == KIND_ERROR),
        .write_address_i(write_address_i[ROW_BITS:0]), .write_data_i(write_data_i[4*ERROR_BITS-1:0]),
        .read_i(1'b1), .read_address_i(write_address), .read_data_o(errors)
    );

    // After the first stage, the lower half of the rows has the sums and the upper half the differences. Word
    // {h, v} of each half of u belongs to column {v, h}.
    reg  u_late, minus_late;
    wire [7:0] lower = {u_word[6 +: 2], u_word[2 +: 2], u_word[4 +: 2], u_word[0 +: 2]};
    wire [7:0] upper = {u_word[14 +: 2], u_word[10 +: 2], u_word[12 +: 2], u_word[8 +: 2]};
    always_ff @(posedge clk_i) begin
        u_late <= reads_u;
        minus_late <= read_address[ROW_BITS-1];
    end

    // --- layers --------------------------------------------------------------------------------------------

    wire [4*WIDTH*PRIMES-1:0] rows;
    genvar l;
    generate
        for (l = 0; l < PRIMES; l = l + 1) begin : g_layer
            wire here = write_i && write_layer_i == l;
            cm_zero_layer #(
                .LOG2_N(LOG2_N), .WIDTH(WIDTH), .ERROR_BITS(ERROR_BITS), .DEEP(DEEP),
                .MULTIPLIER_WIDTH(MULTIPLIER_WIDTH)
            ) u_layer (
                .clk_i(clk_i), .q_i(q_i[WIDTH*l +: WIDTH]), .root_i(root_i[WIDTH*l +: WIDTH]),
                .busy_i(busy_o), .read_address_i(read_address), .table_address_i(table_address),
                .sande_i(sande), .product_i(product), .product_of_a_i(product_of_a),
                .sande_multiply_i(sande_multiply), .sande_halve_i(sande_halve), .sande_leave_i(sande_leave),
                .swap_second_i(swap_second), .rotate_left_i(rotate_left), .rotate_right_i(rotate_right),
                .write_i(write && !last_pass), .write_address_i(write_address),
                .is_u_i(u_late), .minus_i(minus_late), .upper_i(upper), .lower_i(lower),
                .add_page_i(decrypt), .errors_i(errors),
                .sum_write_i(sums[FINISH]), .sum_address_i(sum_address),
                .row_write_i(here && write_kind_i == KIND_ROW),
                .twiddle_write_i(here && write_kind_i == KIND_TWIDDLE),
                .key_write_i(here && write_kind_i == KIND_KEY),
                .host_address_i(write_address_i), .host_data_i(write_data_i),
                .host_read_i(read_address_i), .host_row_o(rows[4*WIDTH*l +: 4*WIDTH])
            );
        end
    endgenerate
    reg [2:0] read_layer;
    always_ff @(posedge clk_i) begin
        read_layer <= read_layer_i;
        read_data_o <= rows[4*WIDTH*read_layer +: 4*WIDTH];
    end
endmodule
`default_nettype wire
