// SPDX-License-Identifier: Apache-2.0
// Gives the exact product (x + i y) (c + i s) in three cycles, a step: x c and - y s are multiplied in the
// first cycle, x s and y c in the last, and each product is there a cycle later. sum_o is a part of the
// product plus another number, all in one tree.
`default_nettype none
module cm_client_rotate (
    input  wire               first_i,  // first cycle of the step
    input  wire               last_i,
    input  wire signed [32:0] x_i,      // x, y, c and s stay for a step.
    input  wire signed [32:0] y_i,
    input  wire signed [32:0] cosine_i, // at most 2^31 in magnitude, as is the sine
    input  wire signed [32:0] sine_i,
    output wire [65:0]        coordinates_o, // operands for cm_client_products: two digits of a root
    output wire [53:0]        first_digits_o,
    output wire [35:0]        second_digits_o,
    output wire               minus_o,
    input  wire [127:0]       wide_i,        // their products, a cycle later
    input  wire [101:0]       second_i,
    input  wire signed [67:0] plus_i,
    output wire signed [67:0] sum_o          // plus_i and the real part, or plus_i and the imaginary one
);
    localparam integer DIGIT = 27;
    wire [32:0] by_x = last_i ? sine_i : cosine_i;
    wire [32:0] by_y = last_i ? cosine_i : sine_i;
    assign coordinates_o = {y_i, x_i};
    assign first_digits_o = {by_y[DIGIT-1:0], by_x[DIGIT-1:0]};
    assign second_digits_o = {{12{by_y[32]}}, by_y[32:DIGIT], {12{by_x[32]}}, by_x[32:DIGIT]};
    assign minus_o = first_i;
    assign sum_o = plus_i + {{7{wide_i[60]}}, wide_i[60:0]} + {{7{wide_i[124]}}, wide_i[124:64]}
        + {second_i[39], second_i[39:0], 27'd0} + {second_i[90], second_i[90:51], 27'd0};
endmodule
`default_nettype wire
