// SPDX-License-Identifier: Apache-2.0
// The sending half of a UART: eight bits, no parity, one stop bit, DIVISOR cycles each. A byte is taken with
// valid_i and ready_o, and ready_o rises again after its stop bit.
`default_nettype none
module cm_soc_uart #(
    parameter integer DIVISOR = 16 // cycles of a bit, at least 2
) (
    input  wire       clk_i,
    input  wire       rst_i,
    input  wire       valid_i,
    output wire       ready_o,
    input  wire [7:0] byte_i,
    output wire       tx_o
);
    `include "cm_refuse.svh"
    generate
        `CM_REFUSE(g_bad_divisor, DIVISOR < 2 || DIVISOR > 65536,
                   "cm_soc_uart: DIVISOR must be from 2 to 65536.")
    endgenerate
    reg [9:0]  shift; // bits left to send, the next one lowest
    reg [3:0]  left;
    reg [15:0] wait_left;
    localparam [15:0] LAST = DIVISOR[15:0] - 16'd1;

    assign ready_o = left == 4'd0;
    assign tx_o = ready_o || shift[0];
    always_ff @(posedge clk_i) begin
        wait_left <= (wait_left == 16'd0) ? LAST : wait_left - 1'b1;
        if (ready_o) begin
            wait_left <= LAST;
            shift <= {1'b1, byte_i, 1'b0};
            if (valid_i) left <= 4'd10;
        end else if (wait_left == 16'd0) begin
            shift <= {1'b1, shift[9:1]};
            left <= left - 1'b1;
        end
        if (rst_i) left <= 4'd0;
    end
endmodule
`default_nettype wire
