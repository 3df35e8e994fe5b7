// SPDX-License-Identifier: Apache-2.0
// Uniform residues by rejection: the key stream is cut into fields of as many bits as q has, the lowest first, and
// those that are not below q are skipped. Two fields a cycle; residues leave in pairs.
//
// Both the stream and q are public, so that the time of a rejection tells nothing.
`default_nettype none
module cm_client_uniform #(
    parameter integer WIDTH = 27, // bits of the widest q, 22 or more
    parameter integer LOG2_N = 12
) (
    input  wire               clk_i,
    input  wire               rst_i,
    input  wire               start_i, // a polynomial; drops what is left of the last
    input  wire [WIDTH-1:0]   q_i,
    input  wire [4:0]         bits_i,  // of q
    input  wire               valid_i,
    output wire               ready_o,
    input  wire [63:0]        data_i,
    output reg                pair_o,  // two residues, which must be taken
    output reg  [2*WIDTH-1:0] pair_data_o,
    output reg  [LOG2_N:0]    residues_o // of the polynomial that are accepted; after n of them, the rest is dropped
);
    `include "cm_refuse.svh"
    generate
        `CM_REFUSE(g_bad_width, WIDTH < 22 || WIDTH > 31, "cm_client_uniform: WIDTH must be from 22 to 31.")
        `CM_REFUSE(g_bad_log2_n, LOG2_N < 2 || LOG2_N > 16, "cm_client_uniform: LOG2_N must be from 2 to 16.")
    endgenerate
    // Key stream that has not been cut. There is none when the bits change.
    reg  [4:0]   bits;
    reg  [127:0] stream;
    reg  [7:0]   filled;
    wire [5:0]   two = {bits, 1'b0};
    wire         cut = filled >= {2'd0, two} && filled != 8'd0;
    wire [127:0] rest = cut ? stream >> two : stream;
    wire [7:0]   rest_filled = cut ? filled - {2'd0, two} : filled;
    assign ready_o = rest_filled <= 8'd64;
    wire         taken = valid_i && ready_o;
    wire [127:0] added = {64'd0, data_i} << rest_filled[6:0];

    // Its fields, and whether they are residues.
    wire [WIDTH-1:0] mask = ~({WIDTH{1'b1}} << bits);
    wire [63:0]      later = stream[63:0] >> bits;
    reg              fields;
    reg  [WIDTH-1:0] first;
    reg  [WIDTH-1:0] second;
    wire             first_good = fields && !residues_o[LOG2_N] && first < q_i;
    wire             second_good = fields && !residues_o[LOG2_N] && second < q_i;

    // One that waits for another.
    reg              waits;
    reg  [WIDTH-1:0] waiting;
    wire [1:0]       good = {1'b0, first_good} + {1'b0, second_good};
    wire [WIDTH-1:0] only = first_good ? first : second;

    always_ff @(posedge clk_i) begin
        bits <= bits_i;
        stream <= rest | (taken ? added : 128'd0);
        filled <= rest_filled + (taken ? 8'd64 : 8'd0);
        fields <= cut;
        first <= stream[WIDTH-1:0] & mask;
        second <= later[WIDTH-1:0] & mask;

        pair_o <= good == 2'd2 || (good == 2'd1 && waits);
        pair_data_o <= waits ? {only, waiting} : {second, first};
        if (good == 2'd1) begin
            waits <= !waits;
            waiting <= only;
        end else if (good == 2'd2) begin
            waiting <= second;
        end
        residues_o <= residues_o + {{(LOG2_N - 1){1'b0}}, good};
        if (rst_i || start_i) begin
            stream <= 128'd0;
            filled <= 8'd0;
            fields <= 1'b0;
            pair_o <= 1'b0;
            waits <= 1'b0;
            waiting <= {WIDTH{1'b0}};
            residues_o <= {(LOG2_N + 1){1'b0}};
        end
    end
endmodule
`default_nettype wire
