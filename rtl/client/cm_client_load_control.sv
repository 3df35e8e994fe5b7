// SPDX-License-Identifier: Apache-2.0
// The first of the engine's three machines: it fills sets of residues, one load after the other, and counts
// those that are done. A load begins once its set is free and what it needs is there, or follows close behind
// the stream that still reads the set, and the pieces that are still being sampled.
//
// issue_o says that the pair index_o enters; it takes one pair a cycle. What the loader makes of it is
// written LOADED cycles later, a public half already after two.
`default_nettype none
module cm_client_load_control #(
    parameter integer LOG2_N = 12,
    parameter integer LOG2_PRIMES = 2,
    parameter integer LOADED = 20 // cycles from the number of a pair to the loader's result
) (
    input  wire                   clk_i,
    input  wire                   rst_i,
    input  wire                   begins_i,       // A command begins, and counts start at zero.
    // The command being executed.
    input  wire                   decrypts_i,
    input  wire                   makes_tables_i,
    input  wire                   publishes_i,
    input  wire                   enters_i,       // LOAD_KEY, whose coefficients are there
    input  wire                   symmetric_i,
    input  wire                   public_key_i,
    input  wire                   in_coefficients_i,
    input  wire [7:0]             pieces_i,       // number of pieces of randomness that a ciphertext takes
    input  wire [7:0]             begun_i,
    input  wire [LOG2_PRIMES-1:0] last_prime_i,
    // Available inputs.
    input  wire [7:0]             pieces_done_i,
    input  wire                   sampling_i,     // A piece is being sampled.
    input  wire [LOG2_N-3:0]      groups_i,       // number of its groups of eight that are there
    input  wire [7:0]             fills_done_i,
    input  wire                   filling_i,      // A message is being entered.
    input  wire [LOG2_N:0]        filled_i,       // number of its values that are there
    input  wire                   uniform_valid_i,
    input  wire [7:0]             streams_done_i,
    input  wire                   streaming_i,    // A stream reads the pair stream_index_i.
    input  wire [LOG2_N-2:0]      stream_index_i,
    output wire                   issue_o,
    output wire [LOG2_N-2:0]      index_o,
    output wire                   busy_o,         // A load that has its set uses the loader.
    output wire [1:0]             kind_o,
    output wire                   natural_o,      // The load is of a public half, whose pairs are neighbours.
    output wire [LOG2_PRIMES-1:0] prime_o,
    output wire                   place_o,        // alternating place of the noise under the secret key
    output wire                   write_o,
    output wire [1:0]             set_o,
    output wire [LOG2_N-2:0]      write_index_o,
    output wire [7:0]             loads_done_o
);
    `include "cm_client_items.svh"
    localparam integer PAIR_BITS = LOG2_N - 1;
    wire             idle, running, ends, unused_last_kind, unused_last;
    wire [1:0]       kind, turn;
    wire [COUNT-1:0] primes, ciphertexts, pieces;
    cm_client_item_counter #(.LOG2_PRIMES(LOG2_PRIMES)) u_items (
        .clk_i(clk_i), .rst_i(rst_i || begins_i), .ends_i(ends),
        .last_kind_i((public_key_i && !in_coefficients_i) ? LOAD_M : LOAD_U), .last_prime_i(last_prime_i),
        .pieces_i(pieces_i), .kind_o(kind), .prime_o(prime_o), .turn_o(turn), .last_kind_o(unused_last_kind),
        .last_o(unused_last), .items_done_o(loads_done_o), .primes_done_o(primes),
        .ciphertexts_done_o(ciphertexts), .pieces_done_o(pieces)
    );
    assign kind_o = !symmetric_i ? kind : in_coefficients_i ? LOAD_A : LOAD_M;
    assign natural_o = kind_o == LOAD_A;
    assign place_o = ciphertexts[0];

    // Streams that must be done before the set is free, and none of those left writes a set.
    wire [COUNT-1:0] two_primes = primes + primes;
    wire [COUNT-1:0] needs = !public_key_i ? (in_coefficients_i ? two_primes - 8'd1 : loads_done_o - 8'd2)
        : in_coefficients_i ? two_primes + two_primes - 8'd1
        : (kind_o == LOAD_U) ? two_primes - 8'd1 : two_primes;
    wire set_free = reached(streams_done_i, needs);
    // The last of them reads the set in the order in which it is filled.
    wire set_trails = !in_coefficients_i && streaming_i && reached(streams_done_i + 8'd1, needs)
        && index_o < stream_index_i;

    // What a load needs: all of a piece, or as much as there is.
    wire [COUNT-1:0]  piece = pieces + (public_key_i ? {{(COUNT - 2){1'b0}}, kind_o} : {COUNT{1'b0}});
    wire [LOG2_N:0]   reach = {2'b01, index_o}; // the pair's number in the upper half
    wire              small_there = reached(pieces_done_i, piece + 8'd1)
        || (sampling_i && pieces_done_i == piece && {groups_i, 3'd0} > reach);
    wire              message_there = reached(fills_done_i, ciphertexts + 8'd1)
        || (filling_i && fills_done_i == ciphertexts && filled_i > reach);
    wire              source_there = enters_i || (natural_o ? uniform_valid_i
        : small_there && (kind_o != LOAD_M || publishes_i || message_there));
    assign            issue_o = running && (set_free || set_trails) && source_there;
    assign            busy_o = !idle && (!running || set_free);
    wire              starts = !decrypts_i && !makes_tables_i && begun_i != ciphertexts;
    cm_client_pair_counter #(.BITS(PAIR_BITS), .CYCLES(LOADED)) u_pairs (
        .clk_i(clk_i), .rst_i(rst_i), .start_i(starts), .issue_i(issue_o), .may_end_i(1'b1), .idle_o(idle),
        .running_o(running), .index_o(index_o), .ends_o(ends)
    );

    assign set_o = (public_key_i && in_coefficients_i) ? 2'd0
        : public_key_i ? ((kind_o == LOAD_M) ? 2'd2 : {1'b0, primes[0] ^ (kind_o == LOAD_E1)}) : turn;

    reg  [LOADED-1:0]    valid; // pairs under way, [0] a cycle behind its number
    wire [PAIR_BITS-1:0] entered_index, loaded_index;
    cm_delay #(.WIDTH(PAIR_BITS), .CYCLES(2)) u_entered_index (
        .clk_i(clk_i), .data_i(index_o), .data_o(entered_index)
    );
    cm_delay #(.WIDTH(PAIR_BITS), .CYCLES(LOADED - 2)) u_loaded_index (
        .clk_i(clk_i), .data_i(entered_index), .data_o(loaded_index)
    );
    assign write_o = natural_o ? valid[1] : valid[LOADED-1];
    assign write_index_o = natural_o ? entered_index : loaded_index;

    always_ff @(posedge clk_i) begin
        valid <= rst_i ? {LOADED{1'b0}} : {valid[LOADED-2:0], issue_o};
    end
endmodule
`default_nettype wire
