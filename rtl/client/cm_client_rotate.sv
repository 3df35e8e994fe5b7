// SPDX-License-Identifier: Apache-2.0
// The exact product (x + i y) (c + i s), in three cycles: x c and y s in the first, x s and y c in the last.
`default_nettype none
module cm_client_rotate (
    input  wire               last_i,   // cycle of the step
    input  wire signed [32:0] x_i,      // all four for a step
    input  wire signed [32:0] y_i,
    input  wire signed [32:0] cosine_i, // at most 2^31 in magnitude, as the sine is
    input  wire signed [32:0] sine_i,
    output wire [65:0]        coordinates_o, // for cm_client_products, two digits of a root
    output wire [53:0]        first_digits_o,
    output wire [35:0]        second_digits_o,
    input  wire               real_i,        // the first cycle's products are there, else the last one's
    input  wire [121:0]       first_i,
    input  wire [101:0]       second_i,
    output wire signed [66:0] part_o         // the real part, or the imaginary one
);
    localparam integer DIGIT = 27;
    wire [32:0]        by_x = last_i ? sine_i : cosine_i;
    wire [32:0]        by_y = last_i ? cosine_i : sine_i;
    assign coordinates_o = {y_i, x_i};
    assign first_digits_o = {by_y[DIGIT-1:0], by_x[DIGIT-1:0]};
    assign second_digits_o = {{12{by_y[32]}}, by_y[32:DIGIT], {12{by_x[32]}}, by_x[32:DIGIT]};
    wire signed [66:0] of_x = {second_i[39:0], 27'd0} + {{6{first_i[60]}}, first_i[60:0]};
    wire signed [66:0] of_y = {second_i[90:51], 27'd0} + {{6{first_i[121]}}, first_i[121:61]};
    assign part_o = real_i ? of_x - of_y : of_x + of_y;
endmodule
`default_nettype wire
