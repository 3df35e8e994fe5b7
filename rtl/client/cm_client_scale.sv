// SPDX-License-Identifier: Apache-2.0
// Scales a value m of BFV, an integer modulo t, to r = (Q m + h) mod t with h = floor((t + 1) / 2). The
// scaled message floor((Q m + h) / t) is (h - r) / t modulo every prime (docs/encoding.md, section 7). One
// value a cycle can enter with valid_i, and r leaves five cycles later with valid_o.
//
// The quotient of (Q mod t) m by t comes from ratio = floor(2^32 (Q mod t) / t), and is at most one too
// small. The products are cm_client_products': of m with ratio and with Q mod t, and of the quotient with t.
`default_nettype none
module cm_client_scale #(
    parameter integer WIDTH = 27 // largest width of t
) (
    input  wire             clk_i,
    input  wire             rst_i,
    input  wire [WIDTH-1:0] t_i,
    input  wire [WIDTH-1:0] half_i,   // h
    input  wire             signed_i, // Values are above -t/2 and at most t/2, instead of 0 to t - 1.
    input  wire             valid_i,
    input  wire [31:0]      value_i,
    output reg  [WIDTH-1:0] m_o,
    input  wire [WIDTH:0]   product_i, // m (Q mod t), a cycle after m_o
    input  wire [WIDTH:0]   whole_i,   // t times the quotient, two cycles after m_o
    output wire             valid_o,    // r_o is there, five cycles after valid_i.
    output wire             wrong_o,    // The value was out of range; with valid_o.
    output reg  [WIDTH-1:0] r_o
);
    `include "cm_refuse.svh"
    generate
        `CM_REFUSE(g_bad_width, WIDTH < 17 || WIDTH > 27, "cm_client_scale: WIDTH must be from 17 to 27.")
    endgenerate
    wire               negative = signed_i && value_i[31];
    wire [33:0]        magnitude = negative ? 34'd0 - {2'b11, value_i} : {2'b00, value_i};
    wire [33:0]        limit = {{(34 - WIDTH){1'b0}}, t_i};
    // A signed value is in range if |x| < t / 2 or x = t / 2, and an unsigned one if x < t.
    wire               in_range = signed_i ? ({magnitude[32:0], 1'b0} < limit
                                              || (!negative && {magnitude[32:0], 1'b0} == limit))
                                           : magnitude < limit;
    reg  [5:1]         valid, wrong;
    // Stage 1 is m, stage 2 its products, and stage 3 the product of the quotient.
    reg  [WIDTH:0]     product3;
    // Stage 4 is the remainder, below 2 t.
    reg  [WIDTH:0]     rest;
    // Stage 5 is r.
    wire [WIDTH-1:0]   reduced = (rest >= {1'b0, t_i}) ? rest[WIDTH-1:0] - t_i : rest[WIDTH-1:0];
    wire [WIDTH:0]     sum = {1'b0, reduced} + {1'b0, half_i};
    always_ff @(posedge clk_i) begin
        valid <= rst_i ? 5'd0 : {valid[4:1], valid_i};
        wrong <= {wrong[4:1], !in_range};
        m_o <= !(valid_i && in_range) ? {WIDTH{1'b0}} : negative ? value_i[WIDTH-1:0] + t_i
            : value_i[WIDTH-1:0];
        product3 <= product_i;
        rest <= product3 - whole_i;
        r_o <= (sum >= {1'b0, t_i}) ? sum[WIDTH-1:0] - t_i : sum[WIDTH-1:0];
        if (rst_i) begin
            m_o <= {WIDTH{1'b0}};
            product3 <= {(WIDTH + 1){1'b0}};
            rest <= {(WIDTH + 1){1'b0}};
            r_o <= {WIDTH{1'b0}};
        end
    end
    assign valid_o = valid[5];
    assign wrong_o = wrong[5];
endmodule
`default_nettype wire
