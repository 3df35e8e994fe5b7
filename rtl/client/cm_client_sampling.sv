// SPDX-License-Identifier: Apache-2.0
// The front of the engine: for each ciphertext or key it has seeds drawn, and then samples the pieces of
// randomness. The pieces of a ciphertext are, in this order, u, the noise of component 1, and that of
// component 0; under the secret key the last alone. Noise of consecutive ciphertexts under the secret key is
// in two alternating places.
//
// busy_o rises in the cycle after a command was accepted, and falls once all pieces are sampled and the
// message is in its memory. A piece waits until the loads of what was in its place are done. Blocks of key
// stream are asked for with request_o and granted_i, words enter with a handshake of valid and ready, and
// samples leave in groups of eight, which must be accepted.
`default_nettype none
module cm_client_sampling #(
    parameter integer LOG2_N = 12
) (
    input  wire              clk_i,
    input  wire              rst_i,
    // The command accepted in this cycle.
    input  wire              accepted_i,
    input  wire              begins_i,
    input  wire              draws_seeds_i,
    input  wire [3:0]        code_i,
    // The command being executed.
    input  wire              symmetric_i,
    input  wire              public_key_i,
    input  wire              generates_i,
    input  wire              in_coefficients_i,
    input  wire [7:0]        primes_i,      // number of primes
    input  wire [7:0]        loads_done_i,
    input  wire              fill_busy_i,   // The message is not yet in its memory.
    output wire              busy_o,
    output wire              message_free_o, // The message's memory may be filled.
    // Seeds.
    output reg               seeds_start_o,
    input  wire              seeds_free_i,
    input  wire              seeds_done_i,
    // Blocks of key stream, and their words.
    output wire              request_o,
    output wire [2:0]        tag_o,         // the user: noise or u
    input  wire              granted_i,
    output reg  [9:0]        asked_o,       // number of blocks of the piece that were asked for
    output reg  [9:0]        left_o,        // number of blocks of the piece that have left
    output wire              component_o,
    input  wire              word_valid_i,
    input  wire [2:0]        word_tag_i,
    input  wire [63:0]       word_i,
    output wire              noise_ready_o,
    output wire              ternary_ready_o,
    input  wire              block_leaves_i, // the last word of a block is accepted
    // Samples.
    output wire              noise_eight_o,
    output wire [47:0]       noise_o,
    output wire              ternary_eight_o,
    output wire [15:0]       ternary_o,
    output wire              place_o,       // place of the noise
    output reg  [LOG2_N-3:0] groups_o,      // number of groups of the piece that are there
    output wire              runs_o,        // A piece is being sampled.
    output reg  [7:0]        pieces_done_o
);
    `include "cm_client_map.svh"
    `include "cm_client_users.svh"
    `include "cm_client_items.svh"
    localparam integer GROUPS = 1 << (LOG2_N - 3); // number of groups of eight coefficients
    localparam integer GROUP_BITS = LOG2_N - 3;
    localparam integer NOISE_BLOCKS = 21 << (LOG2_N - 8); // n / 32 * 168 bytes
    localparam integer TERNARY_BLOCKS = 1 << (LOG2_N - 7); // n / 16 * 8 bytes

    typedef enum logic [1:0] {
        PIECE_U = 2'd0,
        PIECE_E1 = 2'd1,
        PIECE_E0 = 2'd2
    } piece_t;
    typedef enum logic [2:0] {
        IDLE = 3'd0,
        SEEDS = 3'd1,   // until the last seeds may be replaced
        DRAWING = 3'd2, // until the seeds are there
        WAIT = 3'd3,    // until the piece's place is free
        SAMPLE = 3'd4,
        FILL = 3'd5     // until the message is there
    } state_t;
    state_t         state;
    piece_t         piece;
    reg [COUNT-1:0] base_loads; // number of loads before this ciphertext's
    reg             parity;     // parity of the ciphertext

    wire [COUNT-1:0] loads_of_one = (public_key_i && !in_coefficients_i) ? primes_i + primes_i + primes_i
        : primes_i;
    wire [9:0]       blocks = (piece == PIECE_U) ? TERNARY_BLOCKS[9:0] : NOISE_BLOCKS[9:0];
    // When the last loads from the piece's place are done.
    wire [COUNT-1:0] needed_loads = symmetric_i ? base_loads - loads_of_one
        : (piece == PIECE_U) ? base_loads - 8'd2 : (piece == PIECE_E1) ? base_loads - 8'd1 : base_loads;
    assign busy_o = state != IDLE;
    assign runs_o = state == SAMPLE;
    assign component_o = piece == PIECE_E1;
    assign place_o = symmetric_i ? parity : component_o;
    assign message_free_o = busy_o && reached(loads_done_i, base_loads);
    assign request_o = runs_o && asked_o != blocks;
    assign tag_o = (piece == PIECE_U) ? FOR_TERNARY : FOR_NOISE;

    cm_client_noise u_noise (
        .clk_i(clk_i), .rst_i(rst_i), .valid_i(word_valid_i && word_tag_i == FOR_NOISE),
        .ready_o(noise_ready_o), .data_i(word_i), .eight_o(noise_eight_o), .eight_data_o(noise_o)
    );
    cm_client_ternary u_ternary (
        .clk_i(clk_i), .rst_i(rst_i), .valid_i(word_valid_i && word_tag_i == FOR_TERNARY),
        .ready_o(ternary_ready_o), .data_i(word_i), .eight_o(ternary_eight_o), .eight_data_o(ternary_o)
    );

    always_ff @(posedge clk_i) begin
        seeds_start_o <= 1'b0;
        case (state)
            IDLE: if (accepted_i) begin
                piece <= (code_i == COMMAND_PUBLIC || code_i == COMMAND_GENERATE) ? PIECE_U : PIECE_E0;
                if (draws_seeds_i || code_i == COMMAND_GENERATE) state <= SEEDS;
                if (begins_i) begin
                    base_loads <= {COUNT{1'b0}};
                    parity <= 1'b0;
                end
            end
            SEEDS: if (seeds_free_i) begin
                seeds_start_o <= 1'b1;
                state <= DRAWING;
            end
            DRAWING: if (seeds_done_i) state <= WAIT;
            WAIT: begin
                asked_o <= 10'd0;
                left_o <= 10'd0;
                groups_o <= {(GROUP_BITS + 1){1'b0}};
                if (reached(loads_done_i, needed_loads)) state <= SAMPLE;
            end
            SAMPLE: begin
                if (granted_i && request_o) asked_o <= asked_o + 1'b1;
                if (block_leaves_i && word_tag_i == tag_o) left_o <= left_o + 1'b1;
                if (noise_eight_o || ternary_eight_o) groups_o <= groups_o + 1'b1;
                if (groups_o == GROUPS[GROUP_BITS:0]) begin
                    pieces_done_o <= pieces_done_o + 1'b1;
                    piece <= (piece == PIECE_U) ? PIECE_E1 : PIECE_E0;
                    state <= (piece == PIECE_E0 || generates_i) ? FILL : WAIT;
                end
            end
            default: if (!fill_busy_i) begin
                base_loads <= base_loads + loads_of_one;
                parity <= !parity;
                state <= IDLE;
            end
        endcase
        if (rst_i) begin
            state <= IDLE;
            groups_o <= {(GROUP_BITS + 1){1'b0}};
        end
        if (rst_i || begins_i) pieces_done_o <= {COUNT{1'b0}};
    end
endmodule
`default_nettype wire
