// SPDX-License-Identifier: Apache-2.0
// A memory with one port, one cycle from address to data: a word is written, in the parts that write_i names,
// or read. Where a part is written nothing is read, and the output stays, as it does without read_i. On
// standard cells it takes half the area of a memory with two ports.
`default_nettype none
module cm_ram_single #(
    parameter integer WIDTH = 54,
    parameter integer PARTS = 2, // number of parts of a word, which have equal widths
    parameter integer DEPTH = 512,
    parameter integer ADDRESS_WIDTH = 9
) (
    input  wire                     clk_i,
    input  wire [ADDRESS_WIDTH-1:0] address_i,
    input  wire [PARTS-1:0]         write_i,
    input  wire [WIDTH-1:0]         write_data_i,
    input  wire                     read_i,
    output reg  [WIDTH-1:0]         read_data_o
);
    localparam integer PART = WIDTH / PARTS;
    (* ram_style = "block" *) reg [WIDTH-1:0] words [0:DEPTH-1];
    integer p;
    always_ff @(posedge clk_i) begin
        for (p = 0; p < PARTS; p = p + 1) begin
            if (write_i[p]) words[address_i][PART*p +: PART] <= write_data_i[PART*p +: PART];
        end
        if (read_i && write_i == {PARTS{1'b0}}) read_data_o <= words[address_i];
    end
endmodule
`default_nettype wire
