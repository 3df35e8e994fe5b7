// SPDX-License-Identifier: Apache-2.0
// Multiplies residues in Montgomery's form: a b / R modulo q, one product a cycle, for any prime q = 1 modulo
// 2^(LOG2_N + 1) of at most WIDTH bits that is chosen at run time. R = 2^(iterations * word), the least such
// power that is not below 2^WIDTH. The product follows its operands by multiply_latency() cycles
// (cm_latency.svh).
//
// a < R and b < q, so a b / R < q, and after the last reduction the number is between -q and q: adding q to a
// negative one gives the residue. Its half modulo q costs the same: an odd number plus q is even and
// positive, and a negative even one takes 2 q.
`default_nettype none
module cm_montgomery_multiply #(
    parameter integer WIDTH = 32,
    parameter integer LOG2_N = 10,
    parameter integer DEEP = 0,              // 1: more and shorter pipeline stages
    parameter integer MULTIPLIER_WIDTH = 24, // 17 or 24: width of hardware multipliers; 64: standard cells
    parameter integer Q_WIDTH = WIDTH        // width of q and b, which may be less than that of a
) (
    input  wire               clk_i,
    input  wire [Q_WIDTH-1:0] q_i,
    input  wire [WIDTH-1:0]   a_i,
    input  wire [Q_WIDTH-1:0] b_i,
    input  wire               halve_i,  // halves the product that leaves in the next cycle
    output reg  [Q_WIDTH:0]   product_o // the residue; if halved, twice the half
);
    `include "cm_latency.svh"
    wire [Q_WIDTH:0] t; // between -q and q
    generate
        if (in_silicon(MULTIPLIER_WIDTH, DEEP) != 0) begin : g_whole
            cm_montgomery_whole #(.WIDTH(WIDTH), .Q_WIDTH(Q_WIDTH), .LOG2_N(LOG2_N)) u_whole (
                .clk_i(clk_i), .q_i(q_i), .a_i(a_i), .b_i(b_i), .t_o(t)
            );
        end else begin : g_words
            cm_montgomery_words #(
                .WIDTH(WIDTH), .Q_WIDTH(Q_WIDTH), .LOG2_N(LOG2_N), .DEEP(DEEP),
                .MULTIPLIER_WIDTH(MULTIPLIER_WIDTH)
            ) u_words (
                .clk_i(clk_i), .q_i(q_i), .a_i(a_i), .b_i(b_i), .t_o(t)
            );
        end
    endgenerate

    wire [Q_WIDTH-1:0] q = {q_i[Q_WIDTH-1:LOG2_N+1], {LOG2_N{1'b0}}, q_i[0]}; // q is 1 modulo 2^(LOG2_N + 1).
    wire add_one = halve_i ? t[0] : t[Q_WIDTH];
    wire add_two = halve_i && !t[0] && t[Q_WIDTH];
    wire [Q_WIDTH:0] correction = add_one ? {1'b0, q} : add_two ? {q, 1'b0} : {(Q_WIDTH + 1){1'b0}};
    always_ff @(posedge clk_i) product_o <= t + correction;
endmodule
`default_nettype wire
