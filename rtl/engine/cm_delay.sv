// SPDX-License-Identifier: Apache-2.0
// Delays a word by some cycles. It has no reset, so that it may become a shift-register primitive.
`default_nettype none
module cm_delay #(
    parameter integer WIDTH = 32,
    parameter integer CYCLES = 1 // 0: a wire
) (
    input  wire             clk_i,
    input  wire [WIDTH-1:0] data_i,
    output wire [WIDTH-1:0] data_o
);
    generate
        if (CYCLES == 0) begin : g_wire
            assign data_o = data_i;
        end else begin : g_registers
            reg [WIDTH*CYCLES-1:0] words;
            if (CYCLES == 1) begin : g_one
                always_ff @(posedge clk_i) words <= data_i;
            end else begin : g_more
                always_ff @(posedge clk_i) words <= {words[WIDTH*(CYCLES-1)-1:0], data_i};
            end
            assign data_o = words[WIDTH*(CYCLES-1) +: WIDTH];
        end
    endgenerate
endmodule
`default_nettype wire
