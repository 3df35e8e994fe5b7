// SPDX-License-Identifier: Apache-2.0
// Packs pairs of residues into 32-bit words without gaps, low bits first. Each residue takes as many bits as
// q has. A pair enters with pair_i while ready_o, and its first word can leave in the next cycle, with
// valid_o and take_i.
`default_nettype none
module cm_client_packer #(
    parameter integer WIDTH = 27
) (
    input  wire               clk_i,
    input  wire               rst_i,
    input  wire [4:0]         bits_i, // width of q, at least 17, so that a pair is longer than a word
    input  wire               pair_i,
    output wire               ready_o,
    input  wire [2*WIDTH-1:0] pair_data_i,
    output wire               valid_o,
    input  wire               take_i, // takes word_o; only while valid_o
    output wire [31:0]        word_o
);
    `include "cm_refuse.svh"
    generate
        `CM_REFUSE(g_bad_width, WIDTH < 17 || WIDTH > 31, "cm_client_packer: WIDTH must be from 17 to 31.")
    endgenerate
    localparam integer HELD = 32 + 2 * WIDTH;
    reg  [HELD-1:0] held;
    reg  [6:0]      filled;
    assign valid_o = filled >= 7'd32;
    assign word_o = held[31:0];

    wire            leaves = valid_o && take_i;
    wire [6:0]      rest_filled = leaves ? filled - 7'd32 : filled;
    wire [HELD-1:0] rest = leaves ? held >> 32 : held;
    assign ready_o = rest_filled < 7'd32;

    wire                taken = pair_i && ready_o;
    localparam [4:0] LEAST = 5'd17; // smallest width of q
    localparam integer MORE = $clog2(WIDTH - 15);
    wire [3:0]          more = bits_i[3:0] - LEAST[3:0];
    wire [2*WIDTH-1:0]  second = {{WIDTH{1'b0}}, pair_data_i[2*WIDTH-1:WIDTH]} << more[MORE-1:0];
    wire [2*WIDTH-1:0]  pair = {{WIDTH{1'b0}}, pair_data_i[WIDTH-1:0]} | (second << LEAST);
    // Two residues have an even number of bits.
    wire [HELD-1:0]     added = {32'd0, pair} << {rest_filled[4:1], 1'b0};

    always_ff @(posedge clk_i) begin
        held <= rest | (taken ? added : {HELD{1'b0}});
        filled <= rest_filled + (taken ? {1'b0, bits_i, 1'b0} : 7'd0);
        if (rst_i) begin
            held <= {HELD{1'b0}};
            filled <= 7'd0;
        end
    end
endmodule
`default_nettype wire
