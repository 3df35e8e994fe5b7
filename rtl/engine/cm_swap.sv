// SPDX-License-Identifier: Apache-2.0
// Takes the pairs (a, b) of two rows in consecutive cycles. A cycle later, it returns the pair of both a and
// the pair of both b if second_i is set with the second row, else the pairs unchanged.
`default_nettype none
module cm_swap #(
    parameter integer WIDTH = 32
) (
    input  wire             clk_i,
    input  wire             second_i,
    input  wire [WIDTH-1:0] a_i,
    input  wire [WIDTH-1:0] b_i,
    output wire [WIDTH-1:0] a_o,
    output wire [WIDTH-1:0] b_o
);
    reg [WIDTH-1:0] a_late;
    reg [WIDTH-1:0] b_late;
    always_ff @(posedge clk_i) begin
        b_late <= b_i;
        a_late <= second_i ? b_late : a_i;
    end
    assign a_o = a_late;
    assign b_o = second_i ? a_i : b_late;
endmodule
`default_nettype wire
