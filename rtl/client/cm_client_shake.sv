// SPDX-License-Identifier: Apache-2.0
// Uniform residues as Microsoft SEAL draws them (docs/wire-format.md): the words of 64 bits of SHAKE256(seed
// || c), 512 of each block c, modulo q, n for a prime. One that would make residues uneven is replaced by the
// first unused word behind those of all primes.
//
// The words leave from the sponge's state, one every six cycles, and the next permutation begins with the
// last of them: 17 words in 120 cycles. For a replacement, which one of 2^37 words needs, it makes that
// block, and then its own again up to where it was. Seed and primes are public.
`default_nettype none
module cm_client_shake #(
    parameter integer WIDTH = 27, // width of the widest q, which has at least 22 bits
    parameter integer LOG2_N = 12,
    parameter integer LOG2_PRIMES = 2,
    parameter integer ONE_BITS = 0 // q is 1 modulo 2^ONE_BITS, unless it is 0.
) (
    input  wire                   clk_i,
    input  wire                   rst_i,
    input  wire                   run_i, // Residues of a ciphertext are wanted; falls once they are there.
    input  wire [511:0]           seed_i,
    input  wire [LOG2_PRIMES-1:0] last_prime_i,
    output reg  [LOG2_PRIMES-1:0] prime_o,   // number of the prime whose residues are made
    input  wire [WIDTH-1:0]       q_i,       // that prime
    input  wire                   room_i,    // There is room for five pairs.
    output wire                   pair_o,    // two residues, which must be accepted
    output wire [2*WIDTH-1:0]     pair_data_o
);
    `include "cm_refuse.svh"
    generate
        `CM_REFUSE(g_bad_log2_n, LOG2_N < 9 || LOG2_N > 16, "cm_client_shake: LOG2_N must be from 9 to 16.")
        `CM_REFUSE(g_bad_one_bits, ONE_BITS < 0 || ONE_BITS >= WIDTH,
                   "cm_client_shake: ONE_BITS must be from 0 to WIDTH - 1.")
        `CM_REFUSE(g_bad_log2_primes, LOG2_PRIMES < 1 || LOG2_PRIMES > 7,
                   "cm_client_shake: LOG2_PRIMES must be from 1 to 7.")
    endgenerate
    localparam integer BLOCK_BITS = LOG2_N - 9 + LOG2_PRIMES + 1;
    // 17 words of 30 squeezes and 2 more are 512 words.
    localparam [4:0] LAST_LANE = 5'd16, LAST_SQUEEZE = 5'd30, LAST_LANE_OF_LAST = 5'd1;
    localparam integer PLACE = BLOCK_BITS + 10; // {block, squeeze, lane}

    // --- the sponge: one squeeze after another, from any on ------------------------------------------------

    reg  [PLACE-1:0]      place;     // place of the next word
    wire [BLOCK_BITS-1:0] block = place[PLACE-1:10];
    wire [4:0]            squeeze = place[9:5];
    wire [4:0]            lane = place[4:0];
    reg  [4:0]            made;      // squeezes of the block in the core, less one
    reg                   loads;     // The block has not begun.
    reg                   begins;    // Its first permutation has not begun.
    reg                   cleared;   // A reset came: the seed is zeros.
    wire                  seeks;
    wire [PLACE-1:0]      sought;
    wire                  core_ready;
    wire [1599:0]         core_state;
    wire                  squeezed = !loads && !begins && core_ready;
    wire                  whole = squeezed && made == squeeze;
    wire                  block_ends = squeeze == LAST_SQUEEZE;
    wire                  drops;     // The next word is not used.
    wire                  moves = drops && lane == (block_ends ? LAST_LANE_OF_LAST : LAST_LANE) && !seeks;
    wire [63:0]           word = core_state[64*lane +: 64];
    wire [1599:0]         absorbed = {
        512'd0, 64'h8000000000000000, 384'd0, 64'h1F, {(64 - BLOCK_BITS){1'b0}}, block, seed_i
    };
    cm_keccak u_keccak (
        .clk_i(clk_i), .rst_i(rst_i), .load_i(loads && (run_i || cleared)), .state_i(absorbed),
        .ready_o(core_ready), .start_i(begins || (squeezed && made != squeeze) || (moves && !block_ends)),
        .state_o(core_state)
    );
    always_ff @(posedge clk_i) begin
        loads <= 1'b0;
        begins <= loads;
        cleared <= rst_i;
        if (loads) made <= 5'd0;
        else if (squeezed && (made != squeeze || (moves && !block_ends))) made <= made + 1'b1;
        if (moves) begin
            place <= block_ends ? {block + 1'b1, 10'd0} : {block, squeeze + 1'b1, 5'd0};
            loads <= block_ends;
        end else if (drops) begin
            place <= {block, squeeze, lane + 1'b1};
        end
        if (seeks) begin
            place <= sought;
            loads <= 1'b1;
            begins <= 1'b0;
        end
        if (rst_i || !run_i) begin
            place <= {PLACE{1'b0}};
            loads <= 1'b1;
            begins <= 1'b0;
        end
    end

    // --- its words -----------------------------------------------------------------------------------------

    typedef enum logic [2:0] {
        IDLE = 3'd0,
        LIMIT = 3'd1,
        WAIT = 3'd2,
        WORDS = 3'd3,
        REPLACES = 3'd4,
        DRAINS = 3'd5,
        DONE = 3'd6
    } state_t;
    state_t               state;
    reg                   skips;       // A word that was replaced is skipped.
    reg  [PLACE-1:0]      stays;       // place of that word, to come back to
    // {squeeze, lane} of the next replacement in the block behind all primes'.
    reg  [9:0]            replacement;
    reg  [LOG2_N:0]       issued;      // words of the prime that were issued
    reg  [WIDTH:0]        uneven;      // a word is rejected if its complement is at most this: 2^64 mod q
    wire                  divider_ready, dividing, arrives;
    wire [WIDTH-1:0]      residue;
    wire [BLOCK_BITS-1:0] behind =
        ({{(BLOCK_BITS - LOG2_PRIMES){1'b0}}, last_prime_i} + 1'b1) << (LOG2_N - 9);
    wire [63:0]           missing = ~word;
    wire                  rejected = missing[63:WIDTH+1] == {(63 - WIDTH){1'b0}}
        && missing[WIDTH:0] <= uneven;
    wire                  reads = (state == WORDS || state == REPLACES) && whole && !issued[LOG2_N];
    wire                  offered = reads && !skips && room_i && divider_ready;
    wire                  issues = offered && !rejected;
    wire                  refuses = state == WORDS && offered && rejected;
    wire                  comes_back = state == REPLACES && issues;
    wire                  limits = state == LIMIT;
    assign drops = (reads && skips) || offered;
    assign seeks = refuses || comes_back;
    assign sought = refuses ? {behind, replacement} : stays;
    // A prime's first division needs it two cycles after prime_o has changed.
    localparam [WIDTH-1:0] LOW = ~({WIDTH{1'b1}} << ONE_BITS);
    reg  [WIDTH-1:0]      q_late;
    always_ff @(posedge clk_i) q_late <= q_i;
    wire [WIDTH-1:0]      q = (q_late & ~LOW) | {{(WIDTH - 1){1'b0}}, ONE_BITS != 0};
    cm_client_modulo #(.WIDTH(WIDTH)) u_modulo (
        .clk_i(clk_i), .rst_i(rst_i || !run_i), .ready_o(divider_ready), .valid_i(issues || limits),
        .x_i(limits ? {64{1'b1}} : word), .q_i(q), .busy_o(dividing), .valid_o(arrives), .residue_o(residue)
    );

    reg             waits; // A residue waits for its partner.
    reg [WIDTH-1:0] waiting;
    assign pair_o = arrives && state != WAIT && waits;
    assign pair_data_o = {residue, waiting};
    always_ff @(posedge clk_i) begin
        if (drops) skips <= 1'b0;
        if (issues) issued <= issued + 1'b1;
        // A rejected replacement is replaced by the next word, and all words of a squeeze follow each other.
        if (state == REPLACES && offered) begin
            replacement <= (lane == LAST_LANE) ? {squeeze + 1'b1, 5'd0} : {squeeze, lane + 1'b1};
        end
        case (state)
            IDLE: state <= LIMIT;
            LIMIT: begin
                issued <= {(LOG2_N + 1){1'b0}};
                if (divider_ready) state <= WAIT;
            end
            WAIT: if (arrives) begin
                uneven <= {1'b0, residue} + 1'b1; // (2^64 - 1) mod q, plus 1
                state <= WORDS;
            end
            WORDS: begin
                if (refuses) state <= REPLACES;
                if (issued[LOG2_N]) state <= DRAINS;
            end
            REPLACES: if (comes_back) state <= WORDS;
            DRAINS: if (!dividing) begin
                state <= (prime_o == last_prime_i) ? DONE : LIMIT;
                if (prime_o != last_prime_i) prime_o <= prime_o + 1'b1;
            end
            default: ;
        endcase
        if (refuses) stays <= place;
        if (comes_back) skips <= 1'b1;

        if (arrives && state != WAIT) begin
            waits <= !waits;
            waiting <= residue;
        end
        if (rst_i || !run_i) begin
            state <= IDLE;
            skips <= 1'b0;
            replacement <= 10'd0;
            prime_o <= {LOG2_PRIMES{1'b0}};
            waits <= 1'b0;
            waiting <= {WIDTH{1'b0}};
            uneven <= {(WIDTH + 1){1'b0}};
        end
    end
endmodule
`default_nettype wire
