// SPDX-License-Identifier: Apache-2.0
// Watches how keys are entered. A key that was never entered would be zero, and hide nothing: each word must
// come in order, for the primes as they are, and must not look like memory that was never written.
//
// The flags of complete keys follow a cycle behind what changes them; wrong_o refers to the same cycle as the
// write.
`default_nettype none
module cm_client_key_check #(
    parameter integer LOG2_N = 12,
    parameter integer LOG2_PRIMES = 2
) (
    input  wire                   clk_i,
    input  wire                   rst_i,       // forgets the coefficients and, unless keys_stay_i, the keys
    input  wire                   keys_stay_i,
    input  wire                   accepted_i,  // A command is accepted.
    input  wire [3:0]             code_i,      // code of the command
    input  wire                   secret_loaded_i, // The secret key's transform has been stored.
    input  wire [LOG2_PRIMES-1:0] last_prime_i,
    // The word written in this cycle.
    input  wire                   table_place_i,
    input  wire                   table_i,
    input  wire                   key_i,
    input  wire                   trits_i,
    input  wire                   replaces_primes_i,
    input  wire                   no_residue_i,
    input  wire [31:0]            data_i,
    input  wire [LOG2_PRIMES-1:0] table_prime_i,
    input  wire                   table_component_i,
    input  wire [LOG2_N-1:0]      table_index_i,
    output wire                   trits_there_o,  // The coefficients of a secret key were entered.
    output wire                   secret_there_o, // The secret key's transform is there, for all primes.
    output wire                   public_there_o, // The public key was entered, for all primes.
    output wire                   wrong_o         // A part of a key that no key has is written.
);
    `include "cm_client_map.svh"
    localparam integer KEY_WORD_BITS = LOG2_PRIMES + 1 + LOG2_N;
    reg                      trits_there, secret_there, public_there;
    reg  [LOG2_N-4:0]        next_trits;
    reg  [KEY_WORD_BITS-1:0] next_word; // {prime, component, number} of the public key's next word
    wire [KEY_WORD_BITS-1:0] this_word = {table_prime_i, table_component_i, table_index_i};
    // COUNTERMEASURE: KEY_WHOLE
    wire                     trits_follow = table_index_i[LOG2_N-4:0] == next_trits;
    wire                     word_follows = this_word == next_word;
    reg  [LOG2_PRIMES-1:0]   secret_last, public_last; // the last prime of each key
    wire                     enters_key = code_i == COMMAND_LOAD_KEY || code_i == COMMAND_GENERATE;
    wire                     replaces_tables = table_i || (accepted_i && code_i == COMMAND_TABLES);
    assign trits_there_o = trits_there;
    assign secret_there_o = secret_there && last_prime_i <= secret_last;
    assign public_there_o = public_there && last_prime_i <= public_last;

    // COUNTERMEASURE: KEY_NOT_ERASED
    // In memory that was never written, words in a row are alike, or residues are zero.
    localparam [1:0] MOST_ZEROS = 2'd3; // residues in a row: at most one key in 2^71 has more
    // Repeats of words of eight coefficients: at most one key in 2^78 has more.
    localparam [2:0] MOST_ALIKE = 3'd6;
    wire [15:0]              trits = data_i[15:0];
    reg  [15:0]              last_trits;
    reg  [2:0]               trits_alike;
    reg  [1:0]               zeros;
    wire                     trits_repeat = next_trits != {(LOG2_N - 3){1'b0}} && trits == last_trits;
    wire                     is_zero = data_i == 32'd0;
    wire                     wrong_trits = trits_i
        && ((trits[15:1] & trits[14:0] & 15'h5555) != 15'd0 || (trits_repeat && trits_alike == MOST_ALIKE));
    wire                     wrong_residue = key_i && (no_residue_i || (is_zero && zeros == MOST_ZEROS));
    assign wrong_o = wrong_trits || wrong_residue;
    always_ff @(posedge clk_i) begin
        if (trits_i) begin
            last_trits <= trits;
            trits_alike <= trits_repeat ? trits_alike + 1'b1 : 3'd0;
        end
        if (key_i) zeros <= is_zero ? zeros + 1'b1 : 2'd0;
        if (table_place_i) zeros <= 2'd0;
        if (rst_i) begin
            last_trits <= 16'd0;
            trits_alike <= 3'd0;
        end
    end
    always_ff @(posedge clk_i) begin
        if (trits_i) begin
            next_trits <= trits_follow ? next_trits + 1'b1 : {(LOG2_N - 3){1'b0}};
            trits_there <= trits_follow && next_trits == {(LOG2_N - 3){1'b1}};
        end
        if (key_i) begin
            next_word <= word_follows ? next_word + 1'b1 : {KEY_WORD_BITS{1'b0}};
            public_there <= word_follows && next_word == {last_prime_i, {(LOG2_N + 1){1'b1}}};
            public_last <= last_prime_i;
        end
        if (table_place_i) begin
            if (data_i[LOG2_N-1:0] == {LOG2_N{1'b0}}) next_trits <= {(LOG2_N - 3){1'b0}};
            if (data_i[24:0] == 25'd0) next_word <= {KEY_WORD_BITS{1'b0}};
        end
        if (secret_loaded_i) begin
            secret_there <= 1'b1;
            secret_last <= last_prime_i;
        end
        // Coefficients are among the small numbers: u takes their place, and every wipe clears them.
        if (rst_i || (accepted_i && (enters_key || code_i == COMMAND_PUBLIC))) begin
            trits_there <= 1'b0;
            next_trits <= {(LOG2_N - 3){1'b0}};
        end
        if ((accepted_i && enters_key) || replaces_primes_i || replaces_tables) secret_there <= 1'b0;
        if (replaces_primes_i || replaces_tables) begin
            public_there <= 1'b0;
            next_word <= {KEY_WORD_BITS{1'b0}};
        end
        if (rst_i && !keys_stay_i) begin
            secret_there <= 1'b0;
            public_there <= 1'b0;
        end
    end
endmodule
`default_nettype wire
