// SPDX-License-Identifier: Apache-2.0
// (x + i y) (c + i s), exactly, one a cycle, from three products:
//     x c - y s = (x + y) c - y (s + c),  x s + y c = (x + y) c + x (s - c).
`default_nettype none
module cm_client_rotate (
    input  wire               clk_i,
    input  wire               enable_i, // else nothing moves
    input  wire signed [32:0] x_i,
    input  wire signed [32:0] y_i,
    input  wire signed [32:0] cosine_i, // at most 2^31 in magnitude, as the sine is
    input  wire signed [32:0] sine_i,
    output reg  signed [66:0] re_o,     // five cycles later
    output reg  signed [66:0] im_o
);
    reg  signed [33:0] x, y, both;
    reg  signed [32:0] cosine, less, more;
    wire signed [66:0] common, from_x, from_y;
    cm_client_product u_common (.clk_i(clk_i), .enable_i(enable_i), .a_i(both), .b_i(cosine), .product_o(common));
    cm_client_product u_x (.clk_i(clk_i), .enable_i(enable_i), .a_i(x), .b_i(less), .product_o(from_x));
    cm_client_product u_y (.clk_i(clk_i), .enable_i(enable_i), .a_i(y), .b_i(more), .product_o(from_y));
    always_ff @(posedge clk_i) begin
        if (enable_i) begin
            x <= {x_i[32], x_i};
            y <= {y_i[32], y_i};
            both <= {x_i[32], x_i} + {y_i[32], y_i};
            cosine <= cosine_i;
            less <= sine_i - cosine_i;
            more <= sine_i + cosine_i;
            re_o <= common - from_y;
            im_o <= common + from_x;
        end
    end
endmodule

// A product of signed numbers, three cycles later, from four of at most 17 bits, unsigned but for the upper digits.
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
