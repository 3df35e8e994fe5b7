// SPDX-License-Identifier: Apache-2.0
// Makes the public half of a ciphertext from ChaCha20's key stream, prime after prime. Blocks are asked for
// as long as the queue has room for what they can bring, and the polynomial lacks more than those under way
// are sure to bring.
//
// run_i starts it, and must stay high until all primes' residues have been used; a public half is made once
// for each time that it rises. Pairs leave with pair_o and must be accepted.
`default_nettype none
module cm_client_uniform_control #(
    parameter integer LOG2_N = 12,
    parameter integer WIDTH = 27,
    parameter integer LOG2_PRIMES = 2,
    parameter integer LOG2_DEPTH = 5   // log2 of the depth of the queue of pairs
) (
    input  wire                   clk_i,
    input  wire                   rst_i,
    input  wire                   run_i,
    input  wire [LOG2_PRIMES-1:0] last_prime_i,
    output reg  [LOG2_PRIMES-1:0] prime_o,
    input  wire [WIDTH-1:0]       q_i,      // the prime
    input  wire [4:0]             bits_i,   // width of the prime
    input  wire [LOG2_DEPTH:0]    level_i,  // pairs in the queue
    // Blocks of key stream, and their words.
    output wire                   request_o,
    input  wire                   granted_i,
    output reg  [11:0]            asked_o,  // number of blocks of this prime that were asked for
    output reg  [11:0]            left_o,   // number of blocks of this prime that left
    input  wire                   word_valid_i,
    output wire                   word_ready_o,
    input  wire                   word_last_i,
    input  wire [63:0]            word_i,
    output wire                   pair_o,
    output wire [2*WIDTH-1:0]     pair_data_o
);
    localparam [4:0] LEAST_OF_BLOCK = 5'd18; // residues: 512 bits have as many fields of 27
    localparam integer MOST_UNDER_WAY = 3;
    typedef enum logic [1:0] {
        IDLE = 2'd0,
        START = 2'd1, // starts a prime
        RUN = 2'd2
    } state_t;
    state_t        state;
    reg            done;      // The whole public half is made.
    reg [1:0]      under_way; // number of blocks under way
    reg [2:0]      words;     // number of words of the block that leaves
    wire [LOG2_N:0] residues;
    // Words that come, if another block is asked for; pairs that they can give, in fields of 22 bits or, as
    // most primes', of 26; and five more, of words that are cut or were.
    wire [5:0]      words_coming = {{1'b0, under_way} + 3'd1, 3'd0} - {3'd0, words};
    wire [6:0]      most_coming = {1'b0, words_coming} + 7'd5
        + ((bits_i < 5'd26) ? {2'd0, words_coming[5:1]} : {3'd0, words_coming[5:2]});
    wire [LOG2_N:0] least_coming = {{(LOG2_N - 6){1'b0}}, {5'd0, under_way} * LEAST_OF_BLOCK};
    wire [7:0]      most_level = {{(7 - LOG2_DEPTH){1'b0}}, level_i} + {1'b0, most_coming};
    wire            room = most_level <= 8'd1 << LOG2_DEPTH;
    wire            lacks = residues + least_coming < {1'b1, {LOG2_N{1'b0}}};
    wire            asks = granted_i && request_o;
    wire            taken = word_valid_i && word_ready_o;
    wire            block_leaves = taken && word_last_i;
    assign request_o = state == RUN && !residues[LOG2_N] && lacks && room && under_way != MOST_UNDER_WAY[1:0];
    cm_client_uniform #(.WIDTH(WIDTH), .LOG2_N(LOG2_N)) u_uniform (
        .clk_i(clk_i), .rst_i(rst_i), .start_i(state == START), .q_i(q_i), .bits_i(bits_i),
        .valid_i(word_valid_i), .ready_o(word_ready_o), .data_i(word_i), .pair_o(pair_o),
        .pair_data_o(pair_data_o), .residues_o(residues)
    );
    always_ff @(posedge clk_i) begin
        under_way <= under_way + {1'b0, asks} - {1'b0, block_leaves};
        if (asks) asked_o <= asked_o + 1'b1;
        if (block_leaves) left_o <= left_o + 1'b1;
        if (taken) words <= words + 1'b1;
        case (state)
            IDLE: begin
                prime_o <= {LOG2_PRIMES{1'b0}};
                asked_o <= 12'd0;
                left_o <= 12'd0;
                if (run_i && !done) state <= START;
            end
            START: state <= RUN;
            default: if (residues[LOG2_N] && under_way == 2'd0 && !pair_o) begin
                asked_o <= 12'd0;
                left_o <= 12'd0;
                prime_o <= prime_o + 1'b1;
                state <= (prime_o == last_prime_i) ? IDLE : START;
                if (prime_o == last_prime_i) done <= 1'b1;
            end
        endcase
        if (!run_i) done <= 1'b0;
        if (rst_i) begin
            state <= IDLE;
            done <= 1'b0;
            under_way <= 2'd0;
            words <= 3'd0;
        end
    end
endmodule
`default_nettype wire
