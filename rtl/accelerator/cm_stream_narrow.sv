// SPDX-License-Identifier: Apache-2.0
// Sends each beat of an AXI4-Stream as 2^LOG2_RATIO beats, the lowest words first.
`default_nettype none
module cm_stream_narrow #(
    parameter integer WIDTH = 128,   // bits of a beat that leaves
    parameter integer LOG2_RATIO = 1 // at least 1
) (
    input  wire                             clk_i,
    input  wire                             rst_i,
    input  wire [(WIDTH << LOG2_RATIO)-1:0] in_data_i,
    input  wire                             in_last_i,
    input  wire                             in_valid_i,
    output wire                             in_ready_o,
    output wire [WIDTH-1:0]                 out_data_o,
    output wire                             out_last_o,
    output wire                             out_valid_o,
    input  wire                             out_ready_i
);
    reg [LOG2_RATIO-1:0] place; // number of the beat that leaves
    wire ends = place == {LOG2_RATIO{1'b1}};
    assign in_ready_o = ends && out_ready_i;
    assign out_data_o = in_data_i[WIDTH*place +: WIDTH];
    assign out_last_o = in_last_i && ends;
    assign out_valid_o = in_valid_i;
    always_ff @(posedge clk_i) begin
        if (out_valid_o && out_ready_i) place <= place + 1'b1;
        if (rst_i) place <= {LOG2_RATIO{1'b0}};
    end
endmodule
`default_nettype wire
