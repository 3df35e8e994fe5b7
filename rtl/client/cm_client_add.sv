// SPDX-License-Identifier: Apache-2.0
// Adds or subtracts two residues below q, modulo q: cm_modular_add_subtract where only one of its two results
// is wanted.
//
// sum_o follows the operands by add_latency(DEEP) cycles, and a pair can enter in every cycle. subtract_i
// must be set a cycle before its residues and stay.
`default_nettype none
module cm_client_add #(
    parameter integer WIDTH = 27,
    parameter integer DEEP = 0
) (
    input  wire             clk_i,
    input  wire             subtract_i,
    input  wire [WIDTH-1:0] q_i,
    input  wire [WIDTH-1:0] a_i,
    input  wire [WIDTH-1:0] b_i,
    output reg  [WIDTH-1:0] sum_o
);
    localparam integer SUM = WIDTH + 2; // width of a signed sum
    wire [SUM-1:0] raw = {2'b00, a_i} + ({2'b00, b_i} ^ {SUM{subtract_i}}) + {{(SUM - 1){1'b0}}, subtract_i};
    wire [SUM-1:0] first;
    cm_delay #(.WIDTH(SUM), .CYCLES(DEEP != 0 ? 1 : 0)) u_raw (.clk_i(clk_i), .data_i(raw), .data_o(first));

    // A sum is below 2 q, and less q it may be negative; a difference is above -q, and may be negative
    // without q.
    wire [SUM-1:0] second = first + ({2'b00, q_i} ^ {SUM{!subtract_i}}) + {{(SUM - 1){1'b0}}, !subtract_i};
    wire           negative = subtract_i ? first[SUM-1] : second[SUM-1];
    always_ff @(posedge clk_i) sum_o <= (negative == subtract_i) ? second[WIDTH-1:0] : first[WIDTH-1:0];
endmodule
`default_nettype wire
