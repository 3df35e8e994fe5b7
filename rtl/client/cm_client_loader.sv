// SPDX-License-Identifier: Apache-2.0
// Prepares pairs of coefficients modulo a prime for a transform, or for the sum behind one: r f + d + e, or e
// alone. r is the message as it is stored, f and d scale it, and e is noise or a ternary coefficient. A pair
// can enter in every cycle, and leaves 1 + multiply_latency() + add_latency() cycles later.
//
// BFV's r is below t, and so below q. CKKS's coefficient m is a signed number of 32 bits, stored as r = m +
// 2^31; with f = 1 and d = -2^31 the sum is m + e. So r may be any number below 2^MESSAGE_WIDTH, which is at
// most R. That suffices for cm_montgomery_multiply: the other operand, f R mod q, is below q, so the product
// is below q R, and the reductions leave a number above -q and below q.
`default_nettype none
module cm_client_loader #(
    parameter integer LOG2_N = 12,
    parameter integer WIDTH = 27,
    parameter integer MESSAGE_WIDTH = 32,
    parameter integer DEEP = 1,
    parameter integer MULTIPLIER_WIDTH = 24
) (
    input  wire                       clk_i,
    input  wire [WIDTH-1:0]           q_i,
    input  wire [WIDTH-1:0]           factor_i, // f times the R of this width
    input  wire [WIDTH-1:0]           offset_i, // d
    input  wire                       message_i, // adds r f + d; it comes with its pair
    input  wire [2*MESSAGE_WIDTH-1:0] r_i,
    input  wire [11:0]                small_i, // two signed numbers of 6 bits
    output wire [2*WIDTH-1:0]         pair_o
);
    `include "cm_refuse.svh"
    generate
        `CM_REFUSE(g_bad_log2_n, LOG2_N < 5 || LOG2_N > 14, "cm_client_loader: LOG2_N must be from 5 to 14.")
        `CM_REFUSE(g_bad_width, WIDTH < 16 || WIDTH > 31, "cm_client_loader: WIDTH must be from 16 to 31.")
        `CM_REFUSE(g_bad_message_width, MESSAGE_WIDTH <= WIDTH || MESSAGE_WIDTH > 40,
                   "cm_client_loader: MESSAGE_WIDTH must be more than WIDTH, and at most 40.")
        `CM_REFUSE(g_bad_deep, DEEP < 0 || DEEP > 1, "cm_client_loader: DEEP must be 0 or 1.")
        `CM_REFUSE(g_bad_multiplier_width,
                   MULTIPLIER_WIDTH != 17 && MULTIPLIER_WIDTH != 24 && MULTIPLIER_WIDTH != 64,
                   "cm_client_loader: MULTIPLIER_WIDTH must be 17, 24 or 64.")
    endgenerate
    `include "cm_latency.svh"
    localparam integer MULTIPLY = multiply_latency(MESSAGE_WIDTH, LOG2_N, MULTIPLIER_WIDTH, DEEP);
    localparam integer ADD = add_latency(DEEP);

    reg  [WIDTH-1:0] q; // q, which changes only while nothing is in the pipeline
    always_ff @(posedge clk_i) q <= {q_i[WIDTH-1:LOG2_N+1], {LOG2_N{1'b0}}, 1'b1};

    wire message_late;
    cm_delay #(.WIDTH(1), .CYCLES(MULTIPLY - ADD)) u_message_late (
        .clk_i(clk_i), .data_i(message_i), .data_o(message_late)
    );
    genvar l;
    generate
        for (l = 0; l < 2; l = l + 1) begin : g_lane
            wire [5:0]             e_late; // e, as it entered, when its sum with d is needed
            cm_delay #(.WIDTH(6), .CYCLES(MULTIPLY - ADD)) u_small (
                .clk_i(clk_i), .data_i(small_i[6*l +: 6]), .data_o(e_late)
            );
            reg  [MESSAGE_WIDTH-1:0] r;
            reg  [WIDTH-1:0]       e;
            reg  [WIDTH-1:0]       d;
            always_ff @(posedge clk_i) begin
                r <= message_i ? r_i[MESSAGE_WIDTH*l +: MESSAGE_WIDTH] : {MESSAGE_WIDTH{1'b0}};
                d <= message_late ? offset_i : {WIDTH{1'b0}};
                e <= (e_late[5] ? q : {WIDTH{1'b0}}) + {{(WIDTH - 6){e_late[5]}}, e_late};
            end
            wire [WIDTH-1:0]       added, sum, unused_first, unused_second;
            wire [WIDTH:0]         product;
            cm_modular_add_subtract #(.WIDTH(WIDTH), .DEEP(DEEP)) u_first (
                .clk_i(clk_i), .q_i(q), .a_i(d), .b_i(e), .sum_o(added), .difference_o(unused_first)
            );
            cm_montgomery_multiply #(
                .WIDTH(MESSAGE_WIDTH), .LOG2_N(LOG2_N), .DEEP(DEEP), .MULTIPLIER_WIDTH(MULTIPLIER_WIDTH),
                .Q_WIDTH(WIDTH)
            ) u_product (
                .clk_i(clk_i), .q_i(q), .a_i(r), .b_i(factor_i), .halve_i(1'b0), .product_o(product)
            );
            cm_modular_add_subtract #(.WIDTH(WIDTH), .DEEP(DEEP)) u_second (
                .clk_i(clk_i), .q_i(q), .a_i(product[WIDTH-1:0]), .b_i(added), .sum_o(sum),
                .difference_o(unused_second)
            );
            assign pair_o[WIDTH*l +: WIDTH] = sum;
        end
    endgenerate
endmodule
`default_nettype wire
