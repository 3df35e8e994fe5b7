// SPDX-License-Identifier: Apache-2.0
// Takes pairs of residues out of 32-bit words: the inverse of cm_client_packer.
`default_nettype none
module cm_client_unpacker #(
    parameter integer WIDTH = 27
) (
    input  wire               clk_i,
    input  wire               rst_i,
    input  wire [4:0]         bits_i, // 17 or more
    input  wire [WIDTH-1:0]   q_i,
    input  wire               valid_i,
    output wire               ready_o,
    input  wire [31:0]        word_i,
    output wire               pair_o,
    input  wire               take_i, // while pair_o
    output wire [2*WIDTH-1:0] pair_data_o,
    output reg                wrong_o // a residue that left was not below q
);
    `include "cm_refuse.svh"
    generate
        `CM_REFUSE(g_bad_width, WIDTH < 17 || WIDTH > 31, "cm_client_unpacker: WIDTH must be from 17 to 31.")
    endgenerate
    localparam integer HELD = 32 + 2 * WIDTH;
    reg  [HELD-1:0]  held;
    reg  [6:0]       filled;
    wire [5:0]       two = {bits_i, 1'b0};
    wire [WIDTH-1:0] mask = ~({WIDTH{1'b1}} << bits_i);
    wire [HELD-1:0]  later = held >> bits_i;
    wire [WIDTH-1:0] first = held[WIDTH-1:0] & mask;
    wire [WIDTH-1:0] second = later[WIDTH-1:0] & mask;
    assign pair_o = filled != 7'd0 && filled >= {1'b0, two};
    assign pair_data_o = {second, first};

    wire            leaves = pair_o && take_i;
    wire [6:0]      rest_filled = leaves ? filled - {1'b0, two} : filled;
    wire [HELD-1:0] rest = leaves ? held >> two : held;
    assign ready_o = rest_filled < {1'b0, two};
    wire            taken = valid_i && ready_o;
    wire [HELD-1:0] added = {{(HELD - 32){1'b0}}, word_i} << rest_filled;

    always_ff @(posedge clk_i) begin
        held <= rest | (taken ? added : {HELD{1'b0}});
        filled <= rest_filled + (taken ? 7'd32 : 7'd0);
        wrong_o <= leaves && (first >= q_i || second >= q_i);
        if (rst_i) begin
            held <= {HELD{1'b0}};
            filled <= 7'd0;
            wrong_o <= 1'b0;
        end
    end
endmodule
`default_nettype wire
