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
`default_nettype wire
