// SPDX-License-Identifier: Apache-2.0
// Unpacks pairs of residues from 32-bit words: the inverse of cm_client_packer. Words enter with valid_i and
// ready_o, and pairs leave with pair_o and take_i, the first one in the cycle after its last word.
`default_nettype none
module cm_client_unpacker #(
    parameter integer WIDTH = 27
) (
    input  wire               clk_i,
    input  wire               rst_i,
    input  wire [4:0]         bits_i, // width of q, at least 17
    input  wire [WIDTH-1:0]   q_i,
    input  wire               valid_i,
    output wire               ready_o,
    input  wire [31:0]        word_i,
    output wire               pair_o,
    input  wire               take_i, // takes pair_data_o; only while pair_o
    output wire [2*WIDTH-1:0] pair_data_o,
    output reg                wrong_o // A residue that left was not below q.
);
    `include "cm_refuse.svh"
    generate
        `CM_REFUSE(g_bad_width, WIDTH < 17 || WIDTH > 31, "cm_client_unpacker: WIDTH must be from 17 to 31.")
    endgenerate
    // The last words, the latest highest, of which bits from 2 at on have not left.
    localparam integer WORDS = 3, HELD = 32 * WORDS;
    localparam [5:0] EMPTY = 6'd48; // 16 WORDS, in units of two bits
    localparam [4:0] LEAST = 5'd17; // smallest width of q
    reg  [HELD-1:0]    held;
    reg  [5:0]         at;
    wire [6:0]         next_at = {1'b0, at} + {2'b00, bits_i};
    assign pair_o = next_at <= {1'b0, EMPTY} && at != EMPTY;
    // A pair ends with the words at the latest, so it begins before bit 64.
    wire [HELD-1:0]    rest = held >> {at[4:0], 1'b0};
    localparam integer MORE = $clog2(WIDTH - 15);
    localparam [WIDTH-1:0] LOW = ~({WIDTH{1'b1}} << LEAST);
    wire [WIDTH-1:0]   mask = ~({WIDTH{1'b1}} << bits_i) | LOW;
    wire [3:0]         more = bits_i[3:0] - LEAST[3:0];
    wire [WIDTH+13:0]  later = rest[LEAST +: WIDTH+14] >> more[MORE-1:0];
    wire [WIDTH-1:0]   first = rest[WIDTH-1:0] & mask;
    wire [WIDTH-1:0]   second = later[WIDTH-1:0] & mask;
    assign pair_data_o = {second, first};

    wire       leaves = pair_o && take_i;
    wire [5:0] rest_at = leaves ? next_at[5:0] : at;
    assign ready_o = rest_at >= 6'd16;
    wire       taken = valid_i && ready_o;

    always_ff @(posedge clk_i) begin
        if (taken) held <= {word_i, held[HELD-1:32]};
        at <= taken ? rest_at - 6'd16 : rest_at;
        // COUNTERMEASURE: RESIDUE_RANGE
        wrong_o <= leaves && (first >= q_i || second >= q_i);
        if (rst_i) begin
            held <= {HELD{1'b0}};
            at <= EMPTY;
            wrong_o <= 1'b0;
        end
    end
endmodule
`default_nettype wire
