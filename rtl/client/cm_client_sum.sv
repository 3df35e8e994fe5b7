// SPDX-License-Identifier: Apache-2.0
// BFV decryption of a coefficient: its residue x at a prime q adds x w / q, modulo 1 and in units of 2^-32, to its sum
// over the primes, and the message is the sum times t, rounded, modulo t (docs/encoding.md, section 8). fraction_i is
// floor(2^64 w / q).
//
// The sum so far is given two cycles after the residue, the new one is there a cycle later, and its message another two
// cycles later.
`default_nettype none
module cm_client_sum #(
    parameter integer WIDTH = 27
) (
    input  wire             clk_i,
    input  wire             rst_i,
    input  wire [63:0]      fraction_i,
    input  wire [WIDTH-1:0] t_i,
    input  wire [WIDTH-1:0] x_i,
    input  wire [31:0]      sum_i,
    output reg  [31:0]      sum_o,
    output reg  [WIDTH-1:0] message_o
);
    `include "cm_refuse.svh"
    generate
        `CM_REFUSE(g_bad_width, WIDTH < 17 || WIDTH > 27, "cm_client_sum: WIDTH must be from 17 to 27.")
    endgenerate
    reg  [WIDTH+31:0] low;
    reg  [31:0]       high;
    reg  [31:0]       term;
    wire [WIDTH+31:0] low_rounded = low + 59'h80000000;
    wire [31:0]       x = {{(32 - WIDTH){1'b0}}, x_i};

    // The sum as a signed number makes a result within t / 2 of 0.
    reg  signed [WIDTH+32:0] product;
    wire signed [WIDTH+32:0] product_rounded = product + 60'sh80000000;
    wire [WIDTH:0]           rounded = product_rounded[WIDTH+32:32];
    wire signed [31:0]       sum = sum_o;
    wire signed [WIDTH:0]    t = $signed({1'b0, t_i});
    always_ff @(posedge clk_i) begin
        low <= {{WIDTH{1'b0}}, fraction_i[31:0]} * {{32{1'b0}}, x_i};
        high <= fraction_i[63:32] * x;
        term <= high + {{(32 - WIDTH){1'b0}}, low_rounded[WIDTH+31:32]};
        sum_o <= sum_i + term;
        product <= sum * t;
        message_o <= rounded[WIDTH] ? rounded[WIDTH-1:0] + t_i : rounded[WIDTH-1:0];
        if (rst_i) begin
            low <= {(WIDTH + 32){1'b0}};
            high <= 32'd0;
            term <= 32'd0;
            sum_o <= 32'd0;
            product <= {(WIDTH + 33){1'b0}};
            message_o <= {WIDTH{1'b0}};
        end
    end
endmodule
`default_nettype wire
