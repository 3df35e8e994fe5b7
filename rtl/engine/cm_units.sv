// SPDX-License-Identifier: Apache-2.0
// The butterflies of a row: each takes its pair and its twiddle, and the results go to the columns where the
// next pass needs them, by a swap with the row before or a rotation. The signals are those of cm_ntt_control.
// A row can enter in every cycle, and its results leave a cycle after those of the butterflies.
`default_nettype none
module cm_units #(
    parameter integer LOG2_UNITS = 1,
    parameter integer WIDTH = 32,
    parameter integer LOG2_N = 10,
    parameter integer DEEP = 0,
    parameter integer MULTIPLIER_WIDTH = 24
) (
    input  wire                               clk_i,
    input  wire [WIDTH-1:0]                   q_i,
    input  wire [(2*WIDTH << LOG2_UNITS)-1:0] row_i, // column 2 v + h: half h of unit v
    input  wire [(WIDTH << LOG2_UNITS)-1:0]   factors_i,
    input  wire                               sande_i,
    input  wire                               product_i,
    input  wire                               product_of_a_i,
    input  wire                               sande_multiply_i,
    input  wire                               sande_halve_i,
    input  wire                               sande_leave_i,
    input  wire                               swap_second_i,
    // Rotations come with the write, a cycle after the swap.
    input  wire                               rotate_left_i,
    input  wire                               rotate_right_i,
    output wire [(2*WIDTH << LOG2_UNITS)-1:0] result_o
);
    localparam integer UNITS = 1 << LOG2_UNITS;
    localparam integer COLUMNS = 2 * UNITS;

    wire [WIDTH*COLUMNS-1:0] swapped;
    genvar v, c;
    generate
        for (v = 0; v < UNITS; v = v + 1) begin : g_unit
            wire [WIDTH-1:0] a;
            wire [WIDTH-1:0] b;
            cm_butterfly #(
                .WIDTH(WIDTH), .LOG2_N(LOG2_N), .DEEP(DEEP), .MULTIPLIER_WIDTH(MULTIPLIER_WIDTH)
            ) u_butterfly (
                .clk_i(clk_i), .q_i(q_i),
                .a_i(row_i[WIDTH*(2*v) +: WIDTH]), .b_i(row_i[WIDTH*(2*v+1) +: WIDTH]),
                // The block whose number has every bit inverted belongs to the unit whose number has every
                // bit inverted.
                .w_i(sande_multiply_i ? factors_i[WIDTH*(UNITS-1-v) +: WIDTH] : factors_i[WIDTH*v +: WIDTH]),
                .sande_i(sande_i), .product_i(product_i), .product_of_a_i(product_of_a_i),
                .sande_multiply_i(sande_multiply_i), .sande_halve_i(sande_halve_i),
                .sande_leave_i(sande_leave_i), .a_o(a), .b_o(b)
            );
            cm_swap #(.WIDTH(WIDTH)) u_swap (
                .clk_i(clk_i), .second_i(swap_second_i), .a_i(a), .b_i(b),
                .a_o(swapped[WIDTH*(2*v) +: WIDTH]), .b_o(swapped[WIDTH*(2*v+1) +: WIDTH])
            );
        end
        for (c = 0; c < COLUMNS; c = c + 1) begin : g_rotate
            localparam integer FROM_RIGHT = (c >> 1) | ((c & 1) << LOG2_UNITS);
            localparam integer FROM_LEFT = ((c << 1) & (COLUMNS - 1)) | (c >> LOG2_UNITS);
            assign result_o[WIDTH*c +: WIDTH] = rotate_left_i ? swapped[WIDTH*FROM_RIGHT +: WIDTH]
                                              : rotate_right_i ? swapped[WIDTH*FROM_LEFT +: WIDTH]
                                              : swapped[WIDTH*c +: WIDTH];
        end
    endgenerate
endmodule
`default_nettype wire
