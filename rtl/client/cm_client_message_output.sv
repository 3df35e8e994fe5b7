// SPDX-License-Identifier: Apache-2.0
// Gives decrypted messages: pairs of BFV's values from the queue, both in a word or one after the other, or
// the words that the decoder of CKKS has. Words leave with valid_o and take_i, in the cycle in which their
// pair is at the queue's output.
`default_nettype none
module cm_client_message_output #(
    parameter integer LOG2_N = 12,
    parameter integer WIDTH = 27
) (
    input  wire               clk_i,
    input  wire               rst_i,
    input  wire               ckks_i,
    input  wire               two_a_word_i,
    // The queue.
    input  wire               pair_valid_i,
    output wire               pair_taken_o,
    input  wire [2*WIDTH-1:0] pair_i,
    // The decoder of CKKS, which sees take_i, too.
    input  wire               decoded_valid_i,
    input  wire [31:0]        decoded_i,
    input  wire               decoded_last_i,
    output wire               valid_o,
    input  wire               take_i,
    output wire [31:0]        word_o,
    output wire               last_o,
    output wire               ends_o // The last word leaves.
);
    localparam integer PAIR = 2 * WIDTH;
    localparam integer PAIR_BITS = LOG2_N - 1;
    localparam [PAIR_BITS-1:0] LAST_PAIR = {PAIR_BITS{1'b1}};
    reg                 odd;   // The pair's second value is next.
    reg [PAIR_BITS-1:0] index; // number of the pair
    wire                moves = valid_o && take_i;
    assign pair_taken_o = !ckks_i && moves && (two_a_word_i || odd);
    assign valid_o = ckks_i ? decoded_valid_i : pair_valid_i;
    assign word_o = ckks_i ? decoded_i : two_a_word_i ? {pair_i[WIDTH+15:WIDTH], pair_i[15:0]}
        : {{(32 - WIDTH){1'b0}}, odd ? pair_i[PAIR-1:WIDTH] : pair_i[WIDTH-1:0]};
    assign last_o = ckks_i ? decoded_last_i : index == LAST_PAIR && (two_a_word_i || odd);
    assign ends_o = moves && last_o;
    always_ff @(posedge clk_i) begin
        if (moves && !ckks_i) odd <= !two_a_word_i && !odd;
        if (pair_taken_o) index <= index + 1'b1;
        if (rst_i) begin
            odd <= 1'b0;
            index <= {PAIR_BITS{1'b0}};
        end
    end
endmodule
`default_nettype wire
