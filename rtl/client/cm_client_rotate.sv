// SPDX-License-Identifier: Apache-2.0
// (x + i y) (c + i s), exactly, from two products a cycle in a step of two cycles: x c and y s, then x s and y c.
`default_nettype none
module cm_client_rotate (
    input  wire               second_i, // cycle of the step
    input  wire signed [32:0] x_i,      // all four for a step
    input  wire signed [32:0] y_i,
    input  wire signed [32:0] cosine_i, // at most 2^31 in magnitude, as the sine is
    input  wire signed [32:0] sine_i,
    output wire [65:0]        coordinates_o, // for cm_client_products
    output wire [65:0]        roots_o,
    input  wire [131:0]       products_i,    // a cycle later
    output wire signed [66:0] part_o         // the real part in the second cycle, the imaginary one in the next
);
    wire signed [65:0] of_x = products_i[65:0];
    wire signed [65:0] of_y = products_i[131:66];
    assign coordinates_o = {y_i, x_i};
    assign roots_o = second_i ? {cosine_i, sine_i} : {sine_i, cosine_i};
    assign part_o = second_i ? of_x - of_y : of_x + of_y;
endmodule
`default_nettype wire
