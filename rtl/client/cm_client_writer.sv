// SPDX-License-Identifier: Apache-2.0
// Writes the frames of ciphertexts and public keys: it packs pairs of residues, or takes the words of the
// public seed, and puts the header's fields in front of them (docs/wire-format.md).
//
// A frame starts with frame_start_i, while frame_ready_o. Pairs are taken with pair_valid_i and pair_ready_o,
// and words leave with valid_o and take_i. The item that is being streamed must not change before the frame
// has ended.
`default_nettype none
module cm_client_writer #(
    parameter integer LOG2_N = 12,
    parameter integer WIDTH = 27,
    parameter integer LOG2_PRIMES = 2
) (
    input  wire                   clk_i,
    input  wire                   rst_i,
    input  wire                   frame_start_i,
    input  wire                   seed_start_i,  // With frame_start_i: the frame has the public seed.
    output wire                   frame_ready_o,
    // The item.
    input  wire [LOG2_PRIMES-1:0] prime_i,
    input  wire [4:0]             bits_i,        // width of the prime
    input  wire                   component_i,
    input  wire                   last_item_i,   // The item is the last one of the ciphertext.
    // Fields of the header.
    input  wire [31:0]            params_id_i,
    input  wire [63:0]            key_id_i,
    input  wire [63:0]            scale_i,
    input  wire [7:0]             scheme_i,
    input  wire [7:0]             primes_i,      // number of primes
    input  wire                   shake_i,
    input  wire                   with_tags_i,
    input  wire                   symmetric_i,
    input  wire                   publishes_i,
    input  wire                   in_coefficients_i,
    input  wire [63:0]            counter_i,     // counter of the ciphertext that leaves
    input  wire [159:0]           tag_fields_i,
    input  wire [511:0]           seed_i,        // the public seed; ChaCha20's is in the upper half
    // Pairs of residues.
    input  wire                   pair_valid_i,
    output wire                   pair_ready_o,
    input  wire [2*WIDTH-1:0]     pair_i,
    // The hash of a tag (cm_client_tags).
    output wire                   hash_start_o,
    input  wire                   hash_ready_i,
    output wire                   hash_absorb_o,
    output wire                   hash_finish_o,
    input  wire                   tag_known_i,
    input  wire [63:0]            tag_i,
    output wire                   valid_o,
    input  wire                   take_i,
    output wire [31:0]            word_o,
    output wire                   last_o         // the last word of a ciphertext
);
    `include "cm_client_map.svh"
    localparam integer WORDS_BITS = LOG2_N + 1;
    localparam [WORDS_BITS-1:0] SEED_WORDS = 8, SHAKE_SEED_WORDS = 16;
    wire            packed_valid, payload_take, frame_end;
    wire [31:0]     packed_word;
    reg             is_seed;
    reg [3:0]       seed_at;
    // n / 32 bits words.
    wire [WORDS_BITS-1:0] payload_words = {{(WORDS_BITS - 5){1'b0}}, bits_i} << (LOG2_N - 5);
    wire [WORDS_BITS-1:0] words = seed_start_i ? (shake_i ? SHAKE_SEED_WORDS : SEED_WORDS) : payload_words;
    reg  [WORDS_BITS-1:0] sent_words;
    reg  [7:0]            sent_component, sent_prime;
    wire [511:0] header = {
        tag_fields_i,
        {{(30 - WORDS_BITS){1'b0}}, sent_words, 2'b00},
        8'd0, sent_prime, sent_component, !symmetric_i ? XOF_NONE : shake_i ? XOF_SHAKE256 : XOF_CHACHA20,
        publishes_i ? 64'd0 : scale_i, counter_i, key_id_i, params_id_i,
        primes_i, 8'd2, {7'd0, !in_coefficients_i}, publishes_i ? SCHEME_PUBLIC_KEY : scheme_i,
        {7'd0, is_seed}, with_tags_i ? 8'd2 : 8'd1, 8'h4D, 8'h43
    };
    wire [31:0] seed_word = seed_i[32*{seed_at[3] || !shake_i, seed_at[2:0]} +: 32];
    cm_client_packer #(.WIDTH(WIDTH)) u_packer (
        .clk_i(clk_i), .rst_i(rst_i), .bits_i(bits_i), .pair_i(pair_valid_i), .ready_o(pair_ready_o),
        .pair_data_i(pair_i), .valid_o(packed_valid), .take_i(payload_take && !is_seed), .word_o(packed_word)
    );
    cm_client_frames #(.COUNT_BITS(WORDS_BITS)) u_frames (
        .clk_i(clk_i), .rst_i(rst_i), .start_i(frame_start_i), .ready_o(frame_ready_o),
        .tagged_i(with_tags_i), .header_i(header), .hash_start_o(hash_start_o), .hash_ready_i(hash_ready_i),
        .hash_absorb_o(hash_absorb_o), .hash_finish_o(hash_finish_o), .tag_known_i(tag_known_i),
        .tag_i(tag_i), .words_i(words), .payload_valid_i(is_seed || packed_valid),
        .payload_take_o(payload_take), .payload_i(is_seed ? seed_word : packed_word),
        .valid_o(valid_o), .take_i(take_i), .word_o(word_o), .end_o(frame_end)
    );
    assign last_o = frame_end && !is_seed && last_item_i;
    always_ff @(posedge clk_i) begin
        if (frame_start_i) begin
            is_seed <= seed_start_i;
            seed_at <= 4'd0;
            sent_words <= words;
            sent_component <= {7'd0, seed_start_i || component_i};
            sent_prime <= seed_start_i ? 8'd0 : {{(8 - LOG2_PRIMES){1'b0}}, prime_i};
        end else if (is_seed && payload_take) begin
            seed_at <= seed_at + 1'b1;
        end
    end
endmodule
`default_nettype wire
