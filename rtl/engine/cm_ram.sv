// SPDX-License-Identifier: Apache-2.0
// A memory with one write port and one read port, one cycle from address to data. A word must not be read in
// the cycle in which it is written: the output is then undefined. Without read_i the output stays, and no
// energy is spent on it.
`default_nettype none
module cm_ram #(
    parameter integer WIDTH = 32,
    parameter integer DEPTH = 512,
    parameter integer ADDRESS_WIDTH = 9,
    parameter integer BLOCK = 1 // 1: block RAM, 0: look-up tables
) (
    input  wire                     clk_i,
    input  wire                     write_i,
    input  wire [ADDRESS_WIDTH-1:0] write_address_i,
    input  wire [WIDTH-1:0]         write_data_i,
    input  wire                     read_i,
    input  wire [ADDRESS_WIDTH-1:0] read_address_i,
    output reg  [WIDTH-1:0]         read_data_o
);
    generate
        if (BLOCK != 0) begin : g_block
            (* ram_style = "block", no_rw_check *) reg [WIDTH-1:0] words [0:DEPTH-1];
            always_ff @(posedge clk_i) begin
                if (write_i) words[write_address_i] <= write_data_i;
                if (read_i) read_data_o <= words[read_address_i];
            end
        end else begin : g_distributed
            (* ram_style = "distributed", no_rw_check *) reg [WIDTH-1:0] words [0:DEPTH-1];
            always_ff @(posedge clk_i) begin
                if (write_i) words[write_address_i] <= write_data_i;
                if (read_i) read_data_o <= words[read_address_i];
            end
        end
    endgenerate
endmodule
`default_nettype wire
