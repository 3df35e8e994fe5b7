// SPDX-License-Identifier: Apache-2.0
// BFV's message, an integer modulo t, to r = (Q m + h) mod t with h = floor((t + 1) / 2), one a cycle. The scaled
// message floor((Q m + h) / t) is (h - r) / t modulo every prime (docs/encoding.md, section 7).
//
// The quotient of (Q mod t) m by t comes from ratio_i = floor(2^32 (Q mod t) / t), and is at most one too small.
`default_nettype none
module cm_client_scale #(
    parameter integer WIDTH = 27 // bits of t at most
) (
    input  wire             clk_i,
    input  wire             rst_i,
    input  wire [WIDTH-1:0] t_i,
    input  wire [WIDTH-1:0] factor_i, // Q mod t
    input  wire [31:0]      ratio_i,
    input  wire [WIDTH-1:0] half_i,   // h
    input  wire             signed_i, // values from above -t/2 to t/2, else from 0 to t - 1
    input  wire             valid_i,
    input  wire [31:0]      value_i,
    output wire             valid_o,  // four cycles later
    output wire             wrong_o,  // with valid_o: the value was out of range
    output reg  [WIDTH-1:0] r_o
);
    `include "cm_refuse.svh"
    generate
        `CM_REFUSE(g_bad_width, WIDTH < 17 || WIDTH > 31, "cm_client_scale: WIDTH must be from 17 to 31.")
    endgenerate
    wire               negative = signed_i && value_i[31];
    wire [33:0]        magnitude = negative ? 34'd0 - {2'b11, value_i} : {2'b00, value_i};
    wire [33:0]        limit = {{(34 - WIDTH){1'b0}}, t_i};
    // |x| < t / 2 or x = t / 2; or x < t.
    wire               in_range = signed_i ? ({magnitude[32:0], 1'b0} < limit
                                              || (!negative && {magnitude[32:0], 1'b0} == limit))
                                           : magnitude < limit;
    // Stage 1: m.
    reg                valid1, wrong1;
    reg [WIDTH-1:0]    m1;
    // Stage 2: products.
    reg                valid2, wrong2;
    reg [31:0]         quotient2;
    reg [WIDTH:0]      product2;
    // Stage 3: the remainder, below 2 t.
    reg                valid3, wrong3;
    reg [WIDTH:0]      rest3;
    wire [WIDTH+31:0]  estimate = {32'd0, m1} * {{WIDTH{1'b0}}, ratio_i};
    wire [2*WIDTH-1:0] product = {{WIDTH{1'b0}}, m1} * {{WIDTH{1'b0}}, factor_i};
    wire [31:0]        whole = {{(32 - WIDTH){1'b0}}, t_i} * quotient2;
    wire [WIDTH-1:0]   reduced = (rest3 >= {1'b0, t_i}) ? rest3[WIDTH-1:0] - t_i : rest3[WIDTH-1:0];
    wire [WIDTH:0]     sum = {1'b0, reduced} + {1'b0, half_i};
    // Stage 4.
    reg                valid4, wrong4;
    always_ff @(posedge clk_i) begin
        valid1 <= valid_i && !rst_i;
        valid2 <= valid1 && !rst_i;
        valid3 <= valid2 && !rst_i;
        valid4 <= valid3 && !rst_i;
        wrong1 <= !in_range;
        wrong2 <= wrong1;
        wrong3 <= wrong2;
        wrong4 <= wrong3;
        m1 <= !in_range ? {WIDTH{1'b0}} : negative ? value_i[WIDTH-1:0] + t_i : value_i[WIDTH-1:0];
        quotient2 <= {{(32 - WIDTH){1'b0}}, estimate[WIDTH+31:32]};
        product2 <= product[WIDTH:0];
        rest3 <= product2 - whole[WIDTH:0];
        r_o <= (sum >= {1'b0, t_i}) ? sum[WIDTH-1:0] - t_i : sum[WIDTH-1:0];
        if (rst_i) begin
            m1 <= {WIDTH{1'b0}};
            quotient2 <= 32'd0;
            product2 <= {(WIDTH + 1){1'b0}};
            rest3 <= {(WIDTH + 1){1'b0}};
            r_o <= {WIDTH{1'b0}};
        end
    end
    assign valid_o = valid4;
    assign wrong_o = wrong4;
endmodule
`default_nettype wire
