// SPDX-License-Identifier: Apache-2.0
// Counts the pairs of an item into a pipeline. start_i begins an item while idle_o is high; from the next
// cycle on, each issue_i enters the pair index_o, until all have entered. Between the cycle in which the last
// pair enters and that of ends_o there are CYCLES others, and more until may_end_i is high.
`default_nettype none
module cm_client_pair_counter #(
    parameter integer BITS = 11,  // bits of a pair's number: every number is issued once
    parameter integer CYCLES = 22 // at most 63
) (
    input  wire            clk_i,
    input  wire            rst_i,
    input  wire            start_i,
    input  wire            issue_i,   // A pair enters; only while running_o is high.
    input  wire            may_end_i,
    output wire            idle_o,
    output wire            running_o, // Pairs are still to enter.
    output reg  [BITS-1:0] index_o,
    output wire            ends_o     // high for the last cycle of the item
);
    `include "cm_refuse.svh"
    generate
        `CM_REFUSE(g_refuse, CYCLES < 1 || CYCLES > 63, "CYCLES must be 1 to 63")
    endgenerate
    typedef enum logic [1:0] {
        IDLE = 2'd0,
        RUN = 2'd1,
        DRAIN = 2'd2 // until the last pair is written
    } state_t;
    state_t   state;
    reg [5:0] left;
    assign idle_o = state == IDLE;
    assign running_o = state == RUN;
    assign ends_o = state == DRAIN && left == 6'd0 && may_end_i;

    always_ff @(posedge clk_i) begin
        case (state)
            IDLE: begin
                index_o <= {BITS{1'b0}};
                left <= CYCLES[5:0];
                if (start_i) state <= RUN;
            end
            RUN: if (issue_i) begin
                index_o <= index_o + 1'b1;
                if (index_o == {BITS{1'b1}}) state <= DRAIN;
            end
            default: begin
                if (left != 6'd0) left <= left - 1'b1;
                if (ends_o) state <= IDLE;
            end
        endcase
        if (rst_i) state <= IDLE;
    end
endmodule
`default_nettype wire
