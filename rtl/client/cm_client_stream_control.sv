// SPDX-License-Identifier: Apache-2.0
// The third of the engine's three machines: it streams pairs of residues through multiplication and addition
// (cm_client_multiply_add), one item after the other, and counts those that are done.
//
// The items: under the secret key, the product with its transform, plus the message's. Under a public key,
// for component 1, then 0, the product of u's transform with it, plus that of the noise. In coefficient form
// products go back to a set, whose inverse transform comes next, plus what the loader gives. Decryption puts
// - c1 s into a set and then takes it off c0.
//
// An item starts once what it needs is there. issue_o then says that the pair index_o enters, one a cycle at
// most, and add_o that the residues added to its product are read. Its sum is written STREAMED cycles after
// issue_o, and what the loader adds to LEFT cycles after it.
`default_nettype none
module cm_client_stream_control #(
    parameter integer LOG2_N = 12,
    parameter integer LOG2_PRIMES = 2,
    parameter integer PRODUCED = 12, // cycles from the number of a pair to its product
    parameter integer LOADED = 20,   // cycles from the number of a pair to the loader's result
    parameter integer ADD = 2        // cycles of the addition behind either
) (
    input  wire                   clk_i,
    input  wire                   rst_i,
    input  wire                   begins_i,       // A command begins, and counts start at zero.
    // The command being executed.
    input  wire                   decrypts_i,
    input  wire                   encrypts_i,
    input  wire                   loads_key_i,
    input  wire                   makes_tables_i,
    input  wire                   symmetric_i,
    input  wire                   public_key_i,
    input  wire                   in_coefficients_i,
    input  wire [7:0]             pieces_i,       // number of pieces of randomness that a ciphertext takes
    input  wire [7:0]             begun_i,
    input  wire [LOG2_PRIMES-1:0] last_prime_i,
    // Available inputs.
    input  wire [7:0]             pieces_done_i,
    input  wire [7:0]             fills_done_i,
    input  wire [7:0]             lanes_done_i,
    input  wire [7:0]             drains_done_i,
    input  wire [1:0]             drain_set_i,    // the set that is drained next
    input  wire                   load_busy_i,    // A load uses the loader.
    input  wire                   uniform_valid_i,
    input  wire                   read_known_i,   // A frame is being read, whose header is right.
    input  wire                   read_seeded_i,  // It has a seed instead of residues.
    input  wire                   read_valid_i,   // A pair of its residues is there.
    input  wire                   frame_ready_i,  // A frame may start.
    input  wire                   room_i,         // The queue out has room for a pair.
    input  wire                   table_ready_i,  // A pair of twiddles may enter.
    input  wire                   table_enters_i, // One enters that is not counted.
    input  wire                   result_ends_i,  // The last word of a decrypted message leaves.
    // The public seed of the next ciphertext.
    input  wire                   seeds_hold_i,   // It has been derived.
    input  wire                   seeds_published_i, // It is there to be used.
    output reg                    opens_o,        // asks for it
    output reg                    opened_o,
    // The item.
    output wire                   running_o,      // It issues pairs.
    output wire                   uses_loader_o,  // The loader's pairs are for the stream.
    output wire                   issue_o,
    output wire [LOG2_N-2:0]      index_o,
    output wire                   add_o,
    output wire [LOG2_PRIMES-1:0] prime_o,
    output wire                   place_o,        // alternating place of the noise under the secret key
    output wire                   component_o,
    output wire                   multiplies_o,   // The item is a product in coefficient form, back to a set.
    // The item is a sum with what the loader gives, in coefficient form.
    output wire                   leaves_o,
    output wire                   takes_off_o,    // The item takes the product off c0.
    output wire                   from_read_o,    // The item takes pairs of a frame.
    output wire                   needs_uniform_o, // The item takes pairs of a public half that is made.
    output wire [1:0]             a_set_o,
    output wire [1:0]             b_set_o,
    output wire [1:0]             to_set_o,
    output wire                   writes_set_o,
    output wire                   writes_key_o,
    output wire                   writes_table_o,
    output wire                   drained_o,      // No pair is under way.
    output wire                   writes_frame_o,
    output wire                   reserves_o,     // reserves room in the queue out for the pair that enters
    output wire                   seed_start_o,   // A frame with the public seed starts.
    output wire                   frame_start_o,  // A frame starts.
    output wire                   last_item_o,    // The item is the last one of the ciphertext.
    output wire                   key_loaded_o,
    // Counts.
    output wire [7:0]             streams_done_o,
    output wire [7:0]             streamed_o,     // number of ciphertexts whose items are done
    output reg  [7:0]             finished_o      // number of ciphertexts, or keys
);
    `include "cm_client_items.svh"
    localparam integer PAIR_BITS = LOG2_N - 1;
    localparam integer STREAMED = PRODUCED + ADD, LEFT = LOADED + ADD;
    localparam [1:0] NO_SET = 2'd3;
    localparam integer TAKEN_OFF = 2 + ADD; // What decryption takes off is no product.
    typedef enum logic [1:0] {
        SINK_FRAME = 2'd0,
        SINK_SET = 2'd1,
        SINK_KEY = 2'd2,
        SINK_TABLE = 2'd3
    } sink_t;
    reg              seed_sent;
    wire             idle, may_start, ends, unused_last_kind;
    wire [1:0]       kind, turn;
    wire [COUNT-1:0] primes, pieces;
    cm_client_item_counter #(.LOG2_PRIMES(LOG2_PRIMES)) u_items (
        .clk_i(clk_i), .rst_i(rst_i || begins_i), .ends_i(ends),
        .last_kind_i({public_key_i && in_coefficients_i, decrypts_i || in_coefficients_i || public_key_i}),
        .last_prime_i(last_prime_i), .pieces_i(pieces_i), .kind_o(kind), .prime_o(prime_o), .turn_o(turn),
        .last_kind_o(unused_last_kind), .last_o(last_item_o), .items_done_o(streams_done_o),
        .primes_done_o(primes), .ciphertexts_done_o(streamed_o), .pieces_done_o(pieces)
    );
    assign place_o = streamed_o[0];
    wire [COUNT-1:0] two_primes = primes + primes;

    assign multiplies_o = in_coefficients_i && !kind[0];
    assign leaves_o = in_coefficients_i && kind[0];
    assign component_o = public_key_i && (in_coefficients_i ? !kind[1] : !kind[0]);
    assign takes_off_o = decrypts_i && kind[0];
    assign uses_loader_o = leaves_o && !idle;
    sink_t sink;
    assign sink = loads_key_i ? SINK_KEY : makes_tables_i ? SINK_TABLE
        : (multiplies_o || decrypts_i) ? SINK_SET : SINK_FRAME;
    wire [1:0] coefficient_set = component_o ? 2'd1 : 2'd2;
    // A stream that waits for a set to be drained leaves it to the other port.
    wire [1:0] not_drained = (drain_set_i == 2'd0) ? 2'd1 : 2'd0;
    assign a_set_o = makes_tables_i ? NO_SET : (decrypts_i && !running_o) ? not_drained
        : !public_key_i ? turn
        : !in_coefficients_i ? {1'b0, primes[0]} : leaves_o ? coefficient_set : 2'd0;
    assign b_set_o = !public_key_i ? turn : component_o ? {1'b0, !primes[0]} : 2'd2;
    assign to_set_o = public_key_i ? coefficient_set : turn;

    wire there = makes_tables_i ? 1'b1
        : decrypts_i ? read_known_i && (takes_off_o || reached(drains_done_i + 8'd2, primes))
        : !in_coefficients_i ? (!public_key_i ? lanes_done_i != streams_done_o
           : reached(lanes_done_i, two_primes + primes + (component_o ? 8'd2 : 8'd3)))
        : !public_key_i ? reached(lanes_done_i, two_primes + (multiplies_o ? 8'd1 : 8'd2))
        : reached(lanes_done_i, two_primes + primes
                  + (multiplies_o ? 8'd1 : component_o ? 8'd2 : 8'd3));
    // In coefficient form, all noise and all of the message must be there.
    wire addend_there = !leaves_o
        || (reached(pieces_done_i, pieces + pieces_i) && reached(fills_done_i, finished_o + 8'd1));
    // Sixteen butterflies transform c0 back before u is loaded for the next prime, and both need the loader.
    wire loader_there = !(public_key_i && in_coefficients_i && kind == 2'd3 && load_busy_i);

    assign from_read_o = decrypts_i && (takes_off_o || !read_seeded_i);
    assign needs_uniform_o = (symmetric_i && !in_coefficients_i) || (decrypts_i && !from_read_o);
    assign issue_o = running_o && (sink != SINK_FRAME || room_i)
        && (!needs_uniform_o || uniform_valid_i) && (!from_read_o || read_valid_i)
        && (!makes_tables_i || table_ready_i);
    assign reserves_o = issue_o && sink == SINK_FRAME;
    assign may_start = begun_i != streamed_o && there && addend_there && loader_there
        && (!encrypts_i || opened_o)
        && (sink != SINK_FRAME || (frame_ready_i && !(symmetric_i && !seed_sent)));
    cm_client_pair_counter #(.BITS(PAIR_BITS), .CYCLES(LEFT)) u_pairs (
        .clk_i(clk_i), .rst_i(rst_i), .start_i(may_start), .issue_i(issue_o),
        .may_end_i(sink != SINK_FRAME || frame_ready_i), .idle_o(idle), .running_o(running_o),
        .index_o(index_o), .ends_o(ends)
    );
    wire   last_ends = ends && last_item_o;
    assign seed_start_o = opened_o && symmetric_i && !seed_sent && frame_ready_i && idle;
    assign frame_start_o = seed_start_o || (idle && may_start && sink == SINK_FRAME);
    assign key_loaded_o = last_ends && loads_key_i;

    reg [LEFT-1:0] valid; // pairs under way, [0] a cycle behind its number
    assign add_o = leaves_o ? valid[LOADED-3] : valid[PRODUCED-3];
    wire   done = leaves_o ? valid[LEFT-1] : valid[STREAMED-1];
    assign writes_set_o = sink == SINK_SET && (takes_off_o ? valid[TAKEN_OFF-1] : done);
    assign writes_key_o = done && sink == SINK_KEY;
    assign writes_table_o = done && sink == SINK_TABLE;
    assign drained_o = valid[STREAMED-1:0] == {STREAMED{1'b0}};
    assign writes_frame_o = done && sink == SINK_FRAME;

    always_ff @(posedge clk_i) begin
        valid <= {valid[LEFT-2:0], issue_o || table_enters_i};
        if (encrypts_i && begun_i != finished_o && !opened_o && !opens_o && seeds_hold_i) opens_o <= 1'b1;
        if (seeds_published_i) begin
            opens_o <= 1'b0;
            opened_o <= 1'b1;
        end
        if (seed_start_o) seed_sent <= 1'b1;
        if (decrypts_i ? result_ends_i : last_ends) finished_o <= finished_o + 1'b1;
        if (last_ends) begin
            opened_o <= 1'b0;
            seed_sent <= 1'b0;
        end
        if (rst_i || begins_i) finished_o <= {COUNT{1'b0}};
        if (rst_i) begin
            valid <= {LEFT{1'b0}};
            opened_o <= 1'b0;
            seed_sent <= 1'b0;
            opens_o <= 1'b0;
        end
    end
endmodule
`default_nettype wire
