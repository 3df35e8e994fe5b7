// SPDX-License-Identifier: Apache-2.0
// The system's memory: a port for the core, which writes bytes, and one for transfers, which are whole words.
// A word that is read is there in the next cycle; neither port ever waits.
`default_nettype none
module cm_soc_ram #(
    parameter integer LOG2_WORDS = 18
) (
    input  wire                  clk_i,
    input  wire                  core_read_i,
    input  wire                  core_write_i,
    input  wire [LOG2_WORDS-1:0] core_address_i,
    input  wire [3:0]            core_strobe_i,
    input  wire [31:0]           core_data_i,
    output reg  [31:0]           core_data_o,
    input  wire                  transfer_write_i,
    input  wire [LOG2_WORDS-1:0] transfer_address_i,
    input  wire [31:0]           transfer_data_i,
    output reg  [31:0]           transfer_data_o
);
    `include "cm_refuse.svh"
    generate
        `CM_REFUSE(g_bad_log2_words, LOG2_WORDS < 10 || LOG2_WORDS > 26,
                   "cm_soc_ram: LOG2_WORDS must be from 10 to 26.")
    endgenerate
    reg [31:0] words [0:(1<<LOG2_WORDS)-1]; // The harness writes the program here.
    integer b;

    always_ff @(posedge clk_i) begin
        if (core_read_i) core_data_o <= words[core_address_i];
        for (b = 0; b < 4; b = b + 1) begin
            if (core_write_i && core_strobe_i[b]) words[core_address_i][8*b +: 8] <= core_data_i[8*b +: 8];
        end
    end

    always_ff @(posedge clk_i) begin
        transfer_data_o <= words[transfer_address_i];
        if (transfer_write_i) words[transfer_address_i] <= transfer_data_i;
    end
endmodule
`default_nettype wire
