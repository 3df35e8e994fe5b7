// SPDX-License-Identifier: Apache-2.0
// A product of signed numbers, three cycles later, from four of at most 17 bits, unsigned but for the upper digits.
`default_nettype none
module cm_client_product (
    input  wire               clk_i,
    input  wire               enable_i,
    input  wire signed [33:0] a_i,
    input  wire signed [32:0] b_i,
    output reg  signed [66:0] product_o
);
    wire signed [17:0] a_low = {1'b0, a_i[16:0]};
    wire signed [17:0] a_high = {a_i[33], a_i[33:17]};
    wire signed [17:0] b_low = {1'b0, b_i[16:0]};
    wire signed [17:0] b_high = {{2{b_i[32]}}, b_i[32:17]};
    reg  signed [35:0] low, cross_a, cross_b, high;
    reg  signed [36:0] crossed;
    reg         [66:0] outer;
    always_ff @(posedge clk_i) begin
        if (enable_i) begin
            low <= a_low * b_low;
            cross_a <= a_high * b_low;
            cross_b <= a_low * b_high;
            high <= a_high * b_high;
            crossed <= {cross_a[35], cross_a} + {cross_b[35], cross_b};
            outer <= {high[32:0], low[33:0]};
            product_o <= outer + {{13{crossed[36]}}, crossed, 17'd0};
        end
    end
endmodule
`default_nettype wire
