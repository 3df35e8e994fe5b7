// SPDX-License-Identifier: Apache-2.0
// Adds and subtracts two residues below q, modulo q. Results follow the operands by one cycle, or by two with
// DEEP; a pair can enter in every cycle.
`default_nettype none
module cm_modular_add_subtract #(
    parameter integer WIDTH = 32,
    parameter integer DEEP = 0
) (
    input  wire             clk_i,
    input  wire [WIDTH-1:0] q_i,
    input  wire [WIDTH-1:0] a_i,
    input  wire [WIDTH-1:0] b_i,
    output reg  [WIDTH-1:0] sum_o,
    output reg  [WIDTH-1:0] difference_o
);
    wire [WIDTH:0] raw_sum = {1'b0, a_i} + {1'b0, b_i};
    wire [WIDTH:0] raw_difference = {1'b0, a_i} - {1'b0, b_i}; // The top bit is its sign.

    wire [WIDTH:0] sum;
    wire [WIDTH:0] difference;
    cm_delay #(.WIDTH(2 * WIDTH + 2), .CYCLES(DEEP != 0 ? 1 : 0)) u_raw (
        .clk_i(clk_i), .data_i({raw_sum, raw_difference}), .data_o({sum, difference})
    );

    // raw_sum - q is in -q .. q - 1, and its sign selects the residue of the two.
    wire [WIDTH+1:0]   reduced = {1'b0, sum} - {2'b00, q_i};
    wire [WIDTH-1:0] correction = difference[WIDTH] ? q_i : {WIDTH{1'b0}};
    always_ff @(posedge clk_i) begin
        sum_o <= reduced[WIDTH+1] ? sum[WIDTH-1:0] : reduced[WIDTH-1:0];
        difference_o <= difference[WIDTH-1:0] + correction;
    end
endmodule
`default_nettype wire
