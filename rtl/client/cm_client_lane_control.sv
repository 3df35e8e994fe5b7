// SPDX-License-Identifier: Apache-2.0
// The second of the engine's three machines: it has the lanes transform sets of residues, one after the
// other, and counts those that are done. start_o is high for a cycle, once the set is filled and the lanes
// are free; with it and until done_i, inverse_o, set_o and prime_o say what to transform.
`default_nettype none
module cm_client_lane_control #(
    parameter integer LOG2_PRIMES = 2
) (
    input  wire                   clk_i,
    input  wire                   rst_i,
    input  wire                   begins_i, // A command begins, and counts start at zero.
    // The command being executed.
    input  wire                   decrypts_i,
    input  wire                   public_key_i,
    input  wire                   in_coefficients_i,
    input  wire                   works_i,  // The command is not finished.
    input  wire [LOG2_PRIMES-1:0] last_prime_i,
    input  wire [7:0]             loads_done_i,
    input  wire [7:0]             streams_done_i,
    // The lanes.
    input  wire                   busy_i,
    input  wire                   done_i,
    output wire                   start_o,
    output wire                   inverse_o,
    output wire [1:0]             set_o,
    output wire [LOG2_PRIMES-1:0] prime_o,
    output wire [7:0]             lanes_done_o
);
    `include "cm_client_items.svh"
    reg              started;
    wire [1:0]       kind, turn;
    wire [COUNT-1:0] primes, unused_ciphertexts, unused_pieces;
    wire             unused_last_kind, unused_last;
    cm_client_item_counter #(.LOG2_PRIMES(LOG2_PRIMES)) u_items (
        .clk_i(clk_i), .rst_i(rst_i || begins_i), .ends_i(done_i),
        .last_kind_i(public_key_i ? 2'd2 : {1'b0, in_coefficients_i}), .last_prime_i(last_prime_i),
        .pieces_i(8'd0), .kind_o(kind), .prime_o(prime_o), .turn_o(turn), .last_kind_o(unused_last_kind),
        .last_o(unused_last), .items_done_o(lanes_done_o), .primes_done_o(primes),
        .ciphertexts_done_o(unused_ciphertexts), .pieces_done_o(unused_pieces)
    );
    wire [COUNT-1:0] two_primes = primes + primes;
    wire             there = decrypts_i ? reached(streams_done_i, two_primes + 8'd2)
        : !in_coefficients_i ? loads_done_i != lanes_done_o
        : (kind == 2'd0) ? reached(loads_done_i, primes + 8'd1)
        : !public_key_i ? reached(streams_done_i, two_primes + 8'd1)
        : reached(streams_done_i, two_primes + two_primes + ((kind == 2'd1) ? 8'd1 : 8'd3));
    assign inverse_o = decrypts_i || (in_coefficients_i && kind != 2'd0);
    assign set_o = !public_key_i ? turn
        : in_coefficients_i ? kind
        : (kind == LOAD_M) ? 2'd2 : {1'b0, primes[0] ^ (kind == LOAD_E1)};
    assign start_o = !busy_i && !started && there && works_i;

    always_ff @(posedge clk_i) begin
        started <= start_o && !rst_i;
    end
endmodule
`default_nettype wire
