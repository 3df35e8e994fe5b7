// SPDX-License-Identifier: Apache-2.0
// Drains sets whose inverse transform is done: each residue adds to its coefficient's sum. The last prime's
// pass gives the message, as soon as the last frame is known to be right, and zeros for sums. CKKS keeps the
// first prime's residues, once the coefficients before them are used up, and decodes them as soon as the last
// frame is known to be right; the other primes' are only checked, as by the library at 31 bits.
//
// issue_o says that the pair index_o enters, one a cycle at most. SUMMED cycles later its new sums are
// written, and after ROUNDED cycles a message leaves, for which room was reserved with reserve_o. Each pair
// enters twice where sums times a wide t come one after the other.
`default_nettype none
module cm_client_drain #(
    parameter integer LOG2_N = 12,
    parameter integer WIDTH = 27,
    parameter integer LOG2_PRIMES = 2
) (
    input  wire                   clk_i,
    input  wire                   rst_i,
    input  wire                   begins_i,        // A command begins, and counts start at zero.
    input  wire                   decrypts_i,
    input  wire                   ckks_i,
    input  wire [WIDTH-1:0]       t_i,
    input  wire [LOG2_PRIMES-1:0] last_prime_i,
    // Available inputs.
    input  wire                   read_done_i,     // The last frame of a ciphertext was found right.
    input  wire [7:0]             lanes_done_i,
    input  wire [7:0]             finished_i,      // number of ciphertexts
    input  wire                   room_i,          // The queue of pairs that leave has room.
    // A pair of residues is read from a set.
    output wire                   issue_o,
    output reg  [LOG2_N-2:0]      index_o,
    output wire [1:0]             set_o,           // the set; the three take turns
    output wire [LOG2_PRIMES-1:0] prime_o,
    output wire                   upper_o,         // selects the upper sum in cm_client_products
    input  wire [127:0]           wide_i,          // products of cm_client_products, like the next two
    input  wire [101:0]           second_i,
    input  wire [60:0]            whole_i,
    // Sums in the message's memory.
    output wire                   sum_read_o,
    output wire [LOG2_N-2:0]      sum_read_index_o,
    input  wire [63:0]            sums_i,
    output wire                   sum_write_o,
    output wire [LOG2_N-2:0]      sum_index_o,
    output wire [63:0]            sums_made_o,
    output wire [63:0]            sums_o,          // the new sums, or zeros after the last prime
    // Pairs of the message.
    output reg                    two_a_word_o,    // t has at most 16 bits: two values leave in a word.
    output wire                   reserve_o,
    output wire                   message_write_o,
    output wire [2*WIDTH-1:0]     message_o,
    // Counts.
    output reg  [7:0]             read_o,          // number of ciphertexts whose every frame is right
    output wire [7:0]             drains_done_o,
    output wire [7:0]             drained_o        // number of ciphertexts
);
    `include "cm_client_items.svh"
    localparam integer PAIR_BITS = LOG2_N - 1;
    localparam [PAIR_BITS-1:0] LAST_PAIR = {PAIR_BITS{1'b1}};
    localparam integer SUMMED = 4;  // cycles from the number of a pair to its new sums
    localparam integer ROUNDED = 5; // cycles from the number of a pair to its message
    typedef enum logic [1:0] {
        IDLE = 2'd0,
        DRAIN = 2'd1,
        LEAVE = 2'd2 // until the last pair has left
    } state_t;
    state_t          state;
    reg [ROUNDED-1:0] valid; // pairs under way, [0] a cycle behind its number
    reg [ROUNDED:0]  again;  // the pair for the second time; [0] is the next one
    wire             ends = state == LEAVE && valid == {ROUNDED{1'b0}};
    wire             last, unused_last_kind;
    wire [1:0]       unused_kind;
    wire [COUNT-1:0] unused_primes, unused_pieces;
    cm_client_item_counter #(.LOG2_PRIMES(LOG2_PRIMES)) u_items (
        .clk_i(clk_i), .rst_i(rst_i || begins_i), .ends_i(ends), .last_kind_i(2'd0),
        .last_prime_i(last_prime_i), .pieces_i(8'd0), .kind_o(unused_kind), .prime_o(prime_o), .turn_o(set_o),
        .last_kind_o(unused_last_kind), .last_o(last), .items_done_o(drains_done_o),
        .primes_done_o(unused_primes), .ciphertexts_done_o(drained_o), .pieces_done_o(unused_pieces)
    );
    // COUNTERMEASURE: RESULT_HELD
    wire             start = decrypts_i && state == IDLE
        && reached(lanes_done_i, drains_done_o + 8'd1) && (!last || reached(read_o, drained_o + 8'd1))
        && (!ckks_i || prime_o != {LOG2_PRIMES{1'b0}} || drained_o == finished_i);
    wire             skips = ckks_i && prime_o != {LOG2_PRIMES{1'b0}};
    // A register, because t is set long before the multipliers are chosen by it.
    always_ff @(posedge clk_i) two_a_word_o <= !rst_i && t_i <= {{(WIDTH - 17){1'b0}}, 17'h10000};
    // Sums times a wide t come one after the other.
    wire             turns = last && !ckks_i && !two_a_word_o;
    wire             made = last && !ckks_i && !again[0]; // The pair is one of the message.
    assign           issue_o = state == DRAIN && (!made || room_i);
    assign           reserve_o = issue_o && made;
    assign           upper_o = again[SUMMED];
    always_ff @(posedge clk_i) begin
        valid <= {valid[ROUNDED-2:0], issue_o};
        again[ROUNDED:1] <= again[ROUNDED-1:0];
        if (issue_o) again[0] <= turns && !again[0];
        if (read_done_i) read_o <= read_o + 1'b1;
        case (state)
            IDLE: if (start) begin
                state <= skips ? LEAVE : DRAIN;
                index_o <= {PAIR_BITS{1'b0}};
            end
            DRAIN: if (issue_o && (!turns || again[0])) begin
                index_o <= index_o + 1'b1;
                if (index_o == LAST_PAIR) state <= LEAVE;
            end
            default: if (ends) state <= IDLE;
        endcase
        if (rst_i || begins_i) read_o <= {COUNT{1'b0}};
        if (rst_i) begin
            state <= IDLE;
            again <= {(ROUNDED + 1){1'b0}};
            valid <= {ROUNDED{1'b0}};
        end
    end
    cm_delay #(.WIDTH(PAIR_BITS), .CYCLES(SUMMED - 2)) u_sum_read_index (
        .clk_i(clk_i), .data_i(index_o), .data_o(sum_read_index_o)
    );
    cm_delay #(.WIDTH(PAIR_BITS), .CYCLES(2)) u_sum_index (
        .clk_i(clk_i), .data_i(sum_read_index_o), .data_o(sum_index_o)
    );

    wire [WIDTH+32:0]  by_t [0:1];
    wire [2*WIDTH-1:0] message_made;
    assign by_t[0] = whole_i[WIDTH+32:0];
    assign by_t[1] = {{(WIDTH - 18){second_i[101]}}, second_i[101:51]};
    genvar g;
    generate
        for (g = 0; g < 2; g = g + 1) begin : g_sum
            cm_client_sum #(.WIDTH(WIDTH)) u_sum (
                .clk_i(clk_i), .rst_i(rst_i), .t_i(t_i), .x_i(wide_i[64*g+31 +: 33]),
                .sum_i((prime_o == {LOG2_PRIMES{1'b0}}) ? 32'd0 : sums_i[32*g +: 32]),
                .sum_o(sums_made_o[32*g +: 32]), .product_i(by_t[g]),
                .message_o(message_made[WIDTH*g +: WIDTH])
            );
        end
    endgenerate
    assign sum_read_o = valid[SUMMED-3];
    assign sum_write_o = decrypts_i && valid[SUMMED-1];
    assign sums_o = (last && !ckks_i) ? 64'd0 : sums_made_o;

    reg [WIDTH-1:0] held; // lower value of a pair, with a wide t
    always_ff @(posedge clk_i) begin
        if (valid[ROUNDED-1] && !again[ROUNDED]) held <= message_made[WIDTH-1:0];
        if (rst_i) held <= {WIDTH{1'b0}};
    end
    assign message_write_o = valid[ROUNDED-1] && last && !ckks_i && (two_a_word_o || again[ROUNDED]);
    assign message_o = two_a_word_o ? message_made : {message_made[WIDTH-1:0], held};
endmodule
`default_nettype wire
