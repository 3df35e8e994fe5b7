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
    // The command that is taken in this cycle.
    input  wire                   begins_i,
    input  wire [3:0]             code_i,
    input  wire                   coefficients_i,
    // The command being executed.
    input  wire                   decrypts_i,
    input  wire                   publishes_i,
    input  wire                   enters_i,       // LOAD_KEY, whose coefficients are there
    input  wire                   symmetric_i,
    input  wire                   public_key_i,
    input  wire                   in_coefficients_i,
    input  wire [7:0]             pieces_i,       // number of pieces of randomness that a ciphertext takes
    input  wire [7:0]             begun_i,
    input  wire [LOG2_PRIMES-1:0] last_prime_i,
    // What is there.
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
    output reg  [LOG2_N-2:0]      index_o,
    output wire                   busy_o,         // A load that has its set uses the loader.
    output reg  [1:0]             kind_o,
    output wire                   natural_o,      // The load is of a public half, whose pairs are neighbours.
    output reg  [LOG2_PRIMES-1:0] prime_o,
    output reg                    place_o,        // place of the noise under the secret key, by turns
    output wire                   write_o,
    output wire [1:0]             set_o,
    output wire [LOG2_N-2:0]      write_index_o,
    output reg  [7:0]             loads_done_o
);
    `include "cm_client_map.svh"
    `include "cm_client_items.svh"
    localparam integer PAIR_BITS = LOG2_N - 1;
    localparam [PAIR_BITS-1:0] LAST_PAIR = {PAIR_BITS{1'b1}};
    localparam integer DRAIN_BITS = 6;
    typedef enum logic [1:0] {
        IDLE = 2'd0,
        LOAD = 2'd1,
        DRAIN = 2'd2 // until the last pair is written
    } state_t;
    state_t                state;
    reg [DRAIN_BITS-1:0]   left;
    reg [COUNT-1:0]        sets_done; // number of ciphertexts whose loads are all done
    reg [COUNT-1:0]        primes;    // number of primes that are all loaded
    reg [1:0]              turn;      // The set, by turns.
    reg                    parity;    // parity of the prime
    reg [COUNT-1:0]        pieces;    // number of pieces before this ciphertext's
    assign natural_o = kind_o == LOAD_A;
    wire [1:0]             first_kind = symmetric_i ? (in_coefficients_i ? LOAD_A : LOAD_M) : LOAD_U;
    wire                   last_kind = !(public_key_i && !in_coefficients_i) || kind_o == LOAD_M;

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
    wire              message_there = reached(fills_done_i, sets_done + 8'd1)
        || (filling_i && fills_done_i == sets_done && filled_i > reach);
    wire              source_there = enters_i || (natural_o ? uniform_valid_i
        : small_there && (kind_o != LOAD_M || publishes_i || message_there));
    wire              enabled = !decrypts_i && begun_i != sets_done;
    assign            issue_o = state == LOAD && (set_free || set_trails) && source_there;
    assign            busy_o = (state == LOAD && set_free) || state == DRAIN;

    assign set_o = (public_key_i && in_coefficients_i) ? 2'd0
        : public_key_i ? ((kind_o == LOAD_M) ? 2'd2 : {1'b0, parity ^ (kind_o == LOAD_E1)}) : turn;

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
        valid <= {valid[LOADED-2:0], issue_o};
        case (state)
            IDLE: begin
                index_o <= {PAIR_BITS{1'b0}};
                left <= LOADED[DRAIN_BITS-1:0];
                if (enabled) state <= LOAD;
            end
            LOAD: if (issue_o) begin
                index_o <= index_o + 1'b1;
                if (index_o == LAST_PAIR) state <= DRAIN;
            end
            default: begin
                left <= left - 1'b1;
                if (left == {DRAIN_BITS{1'b0}}) begin
                    state <= IDLE;
                    loads_done_o <= loads_done_o + 1'b1;
                    turn <= (turn == 2'd2) ? 2'd0 : turn + 1'b1;
                    kind_o <= last_kind ? first_kind : kind_o + 1'b1;
                    if (last_kind) begin
                        primes <= primes + 1'b1;
                        parity <= !parity;
                        prime_o <= (prime_o == last_prime_i) ? {LOG2_PRIMES{1'b0}} : prime_o + 1'b1;
                        if (prime_o == last_prime_i) begin
                            sets_done <= sets_done + 1'b1;
                            pieces <= pieces + pieces_i;
                            place_o <= !place_o;
                        end
                    end
                end
            end
        endcase
        if (begins_i) begin
            kind_o <= (code_i == COMMAND_PUBLISH) ? LOAD_M
                : (code_i == COMMAND_SYMMETRIC) ? (coefficients_i ? LOAD_A : LOAD_M) : LOAD_U;
        end
        if (rst_i || begins_i) begin
            turn <= 2'd0;
            parity <= 1'b0;
            place_o <= 1'b0;
            prime_o <= {LOG2_PRIMES{1'b0}};
            primes <= {COUNT{1'b0}};
            pieces <= {COUNT{1'b0}};
            sets_done <= {COUNT{1'b0}};
            loads_done_o <= {COUNT{1'b0}};
        end
        if (rst_i) begin
            state <= IDLE;
            valid <= {LOADED{1'b0}};
        end
    end
endmodule
`default_nettype wire
