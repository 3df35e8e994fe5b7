// SPDX-License-Identifier: Apache-2.0
// The system's memory, in two banks: words with even and with odd addresses. Each bank has a port for the
// core, which writes bytes, and one for transfers, which are whole words: so two transfers fit in a cycle, a
// write and a read, if one of them is even and the other odd. A word that is read is there in the next cycle,
// and no port ever waits.
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
    output wire [31:0]           core_data_o,
    // What is written goes before what is read, if both are even or both are odd.
    input  wire                  transfer_write_i,
    input  wire [LOG2_WORDS-1:0] transfer_write_address_i,
    input  wire [31:0]           transfer_data_i,
    input  wire [LOG2_WORDS-1:0] transfer_read_address_i,
    output wire [31:0]           transfer_data_o
);
    `include "cm_refuse.svh"
    generate
        `CM_REFUSE(g_bad_log2_words, LOG2_WORDS < 10 || LOG2_WORDS > 26,
                   "cm_soc_ram: LOG2_WORDS must be from 10 to 26.")
    endgenerate
    reg  [31:0] core_data [0:1];
    reg  [31:0] transfer_data [0:1];
    reg         core_odd, transfer_odd;
    genvar g;
    generate
        for (g = 0; g < 2; g = g + 1) begin : g_bank
            reg [31:0] words [0:(1<<(LOG2_WORDS-1))-1]; // The harness writes the program here.
            wire       core_here = core_address_i[0] == g;
            wire       writes = transfer_write_i && transfer_write_address_i[0] == g;
            wire [LOG2_WORDS-2:0] transfer_at = writes ? transfer_write_address_i[LOG2_WORDS-1:1]
                : transfer_read_address_i[LOG2_WORDS-1:1];
            integer    b;
            always_ff @(posedge clk_i) begin
                if (core_read_i && core_here) core_data[g] <= words[core_address_i[LOG2_WORDS-1:1]];
                for (b = 0; b < 4; b = b + 1) begin
                    if (core_write_i && core_here && core_strobe_i[b])
                        words[core_address_i[LOG2_WORDS-1:1]][8*b +: 8] <= core_data_i[8*b +: 8];
                end
            end
            always_ff @(posedge clk_i) begin
                transfer_data[g] <= words[transfer_at];
                if (writes) words[transfer_at] <= transfer_data_i;
            end
        end
    endgenerate
    always_ff @(posedge clk_i) begin
        if (core_read_i) core_odd <= core_address_i[0];
        transfer_odd <= transfer_read_address_i[0];
    end
    assign core_data_o = core_data[core_odd];
    assign transfer_data_o = transfer_data[transfer_odd];
endmodule
`default_nettype wire
