// SPDX-License-Identifier: Apache-2.0
// Samples uniform residues by rejection: the key stream is cut into fields of as many bits as q has, the
// lowest first, and those that are not below q are skipped. Two fields are cut in a cycle. Words enter with
// valid_i and ready_o; pairs of residues leave two cycles after their last field came, or later, and must be
// taken.
//
// Both the stream and q are public, so that the time of a rejection tells nothing.
`default_nettype none
module cm_client_uniform #(
    parameter integer WIDTH = 27, // width of the widest q, at least 22
    parameter integer LOG2_N = 12
) (
    input  wire               clk_i,
    input  wire               rst_i,
    input  wire               start_i, // starts a polynomial and drops what is left of the last
    input  wire [WIDTH-1:0]   q_i,
    input  wire [4:0]         bits_i,  // width of q in bits
    input  wire               valid_i,
    output wire               ready_o,
    input  wire [63:0]        data_i,
    output wire               pair_o,  // Two residues leave and must be accepted.
    output wire [2*WIDTH-1:0] pair_data_o,
    // Residues of the polynomial accepted so far; after n of them, the rest is dropped.
    output reg  [LOG2_N:0]    residues_o
);
    `include "cm_refuse.svh"
    generate
        `CM_REFUSE(g_bad_width, WIDTH < 22 || WIDTH > 31, "cm_client_uniform: WIDTH must be from 22 to 31.")
        `CM_REFUSE(g_bad_log2_n, LOG2_N < 2 || LOG2_N > 16, "cm_client_uniform: LOG2_N must be from 2 to 16.")
    endgenerate
    // Key stream that has not been cut: what is left of a word, and the one that comes. It is taken when the
    // former is used up, and every place is even, as two fields are. There is none when the bits change.
    reg  [4:0]   bits;
    reg  [63:0]  word;
    reg          there; // A word is there.
    reg  [4:0]   at;    // place where its rest begins, in units of two bits
    wire [5:0]   next_at = {1'b0, at} + {1'b0, bits};
    wire         past = next_at[5];
    wire         cut = there && (!past || valid_i);
    assign ready_o = !there || past;
    wire         taken = valid_i && ready_o;
    wire [127:0] rest = {data_i, word} >> {at, 1'b0};

    // The two fields, and whether they are residues.
    localparam [4:0] LEAST = 5'd22; // smallest width of q
    localparam integer MORE = (WIDTH > 22) ? $clog2(WIDTH - 20) : 1;
    localparam [WIDTH-1:0] LOW = ~({WIDTH{1'b1}} << LEAST);
    wire [WIDTH-1:0] mask = ~({WIDTH{1'b1}} << bits) | LOW;
    wire [3:0]       more = bits[3:0] - LEAST[3:0];
    wire [WIDTH+8:0] later = rest[LEAST +: WIDTH+9] >> more[MORE-1:0];
    reg              fields;
    reg  [WIDTH-1:0] first;
    reg  [WIDTH-1:0] second;
    wire             first_good = fields && !residues_o[LOG2_N] && first < q_i;
    wire             second_good = fields && !residues_o[LOG2_N] && second < q_i;

    // A residue may wait for another one, so that pairs leave.
    reg              waits;
    reg  [WIDTH-1:0] waiting;
    wire [1:0]       good = {1'b0, first_good} + {1'b0, second_good};
    wire [WIDTH-1:0] only = first_good ? first : second;

    assign pair_o = good == 2'd2 || (good == 2'd1 && waits);
    assign pair_data_o = waits ? {only, waiting} : {second, first};

    always_ff @(posedge clk_i) begin
        bits <= bits_i;
        if (taken) word <= data_i;
        if (taken) there <= 1'b1;
        if (cut) at <= next_at[4:0];
        fields <= cut;
        first <= rest[WIDTH-1:0] & mask;
        second <= later[WIDTH-1:0] & mask;
        if (good == 2'd1) begin
            waits <= !waits;
            waiting <= only;
        end else if (good == 2'd2) begin
            waiting <= second;
        end
        residues_o <= residues_o + {{(LOG2_N - 1){1'b0}}, good};
        if (rst_i || start_i) begin
            word <= 64'd0;
            there <= 1'b0;
            at <= 5'd0;
            fields <= 1'b0;
            waits <= 1'b0;
            waiting <= {WIDTH{1'b0}};
            residues_o <= {(LOG2_N + 1){1'b0}};
        end
    end
endmodule
`default_nettype wire
