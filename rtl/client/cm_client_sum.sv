// SPDX-License-Identifier: Apache-2.0
// Decrypts a coefficient of BFV: its residue x at a prime q adds x w / q, modulo 1 and in units of 2^-32, to
// its sum over the primes, and the message is the sum times t, rounded, modulo t (docs/encoding.md, section
// 8). The products are those of cm_client_products: x with floor(2^64 w / q), and the sum with t. sum_o
// follows x_i by a cycle; a coefficient can enter in every cycle.
`default_nettype none
module cm_client_sum #(
    parameter integer WIDTH = 27
) (
    input  wire              clk_i,
    input  wire              rst_i,
    input  wire [WIDTH-1:0]  t_i,
    input  wire [32:0]       x_i,       // x times the fraction, in units of 2^-33
    input  wire [31:0]       sum_i,     // the sum so far
    output reg  [31:0]       sum_o,     // the new sum, a cycle later
    input  wire [WIDTH+32:0] product_i, // signed product of sum_o and t
    output wire [WIDTH-1:0]  message_o
);
    `include "cm_refuse.svh"
    generate
        `CM_REFUSE(g_bad_width, WIDTH < 17 || WIDTH > 27, "cm_client_sum: WIDTH must be from 17 to 27.")
    endgenerate
    // The sum as a signed number makes a result within t / 2 of 0.
    wire [WIDTH:0] rounded = product_i[WIDTH+32:32] + {{WIDTH{1'b0}}, product_i[31]};
    assign message_o = rounded[WIDTH] ? rounded[WIDTH-1:0] + t_i : rounded[WIDTH-1:0];
    always_ff @(posedge clk_i) begin
        sum_o <= sum_i + x_i[32:1] + {31'd0, x_i[0]};
        if (rst_i) sum_o <= 32'd0;
    end
endmodule
`default_nettype wire
