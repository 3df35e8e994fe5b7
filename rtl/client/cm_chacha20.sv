// SPDX-License-Identifier: Apache-2.0
// A ChaCha20 block (RFC 8439), one round a cycle: four quarter rounds side by side. A block is ready 20
// cycles after start_i. The next one can start in the cycle that takes it, so a block takes 21 cycles.
//
// RFC 8439 adds the state after the rounds, mixed_o, to the state before them, {position_i, key_i,
// CONSTANTS}. This module leaves that sum to its user, who still has the latter, and needs only as many
// adders as words leave in a cycle.
//
// Words are little-endian: word k of the state is bits 32 k and up. Diagonal rounds are column rounds between
// two rotations of the rows, which are wires.
`default_nettype none
module cm_chacha20 (
    input  wire         clk_i,
    input  wire         rst_i,
    output wire         ready_o,
    input  wire         start_i, // starts a block; only while ready_o
    input  wire [255:0] key_i,
    input  wire [127:0] position_i, // the block counter, and the nonce above it
    output wire         valid_o,
    input  wire         take_i, // takes the block and clears the state; only while valid_o
    output wire [511:0] mixed_o
);
    `include "cm_chacha20.svh"
    localparam [4:0] ROUNDS = 5'd20;

    function automatic [31:0] rotated(input [31:0] x, input integer by);
        rotated = (x << by) | (x >> (32 - by));
    endfunction

    function automatic [127:0] quarter(input [31:0] a0, input [31:0] b0, input [31:0] c0, input [31:0] d0);
        reg [31:0] a;
        reg [31:0] b;
        reg [31:0] c;
        reg [31:0] d;
        begin
            a = a0 + b0;
            d = rotated(d0 ^ a, 16);
            c = c0 + d;
            b = rotated(b0 ^ c, 12);
            a = a + b;
            d = rotated(d ^ a, 8);
            c = c + d;
            b = rotated(b ^ c, 7);
            quarter = {d, c, b, a};
        end
    endfunction

    reg [511:0] state;
    reg [4:0]   count; // rounds done
    reg         busy;

    wire [511:0] mixed;
    genvar i;
    generate
        for (i = 0; i < 4; i = i + 1) begin : g_column
            localparam integer NEXT = (i + 1) % 4;
            localparam integer AFTER = (i + 2) % 4;
            localparam integer LAST = (i + 3) % 4;
            wire [31:0] a, b, c, d;
            assign {d, c, b, a} = quarter(state[32*i +: 32], state[32*(4+i) +: 32], state[32*(8+i) +: 32],
                                          state[32*(12+i) +: 32]);
            // An even round is followed by rotating rows 1, 2, 3 by as many places to the left, an odd one
            // back.
            assign mixed[32*i +: 32] = a;
            assign mixed[32*(4+i) +: 32] = count[0] ? g_column[LAST].b : g_column[NEXT].b;
            assign mixed[32*(8+i) +: 32] = g_column[AFTER].c;
            assign mixed[32*(12+i) +: 32] = count[0] ? g_column[NEXT].d : g_column[LAST].d;
        end
    endgenerate

    assign mixed_o = state;
    assign valid_o = busy && count == ROUNDS;
    assign ready_o = !busy || take_i;

    always_ff @(posedge clk_i) begin
        if (start_i && ready_o && !rst_i) begin
            state <= {position_i, key_i, CONSTANTS};
            count <= 5'd0;
            busy <= 1'b1;
        end else if (take_i || rst_i) begin
            state <= 512'd0;
            count <= 5'd0;
            busy <= 1'b0;
        end else if (busy && count != ROUNDS) begin
            state <= mixed;
            count <= count + 1'b1;
        end
    end
endmodule
`default_nettype wire
