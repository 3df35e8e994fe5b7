// SPDX-License-Identifier: Apache-2.0
// Counts the items of one of the engine's machines. A ciphertext takes the kinds 0 to last_kind_i for each of
// its primes, one after the other; ends_i is high for a cycle as an item ends, and the next cycle shows the
// next one. Counts wrap (cm_client_items.svh).
`default_nettype none
module cm_client_item_counter #(
    parameter integer LOG2_PRIMES = 2
) (
    input  wire                   clk_i,
    input  wire                   rst_i,             // Reset, or a command begins: counts start at zero.
    input  wire                   ends_i,
    input  wire [1:0]             last_kind_i,
    input  wire [LOG2_PRIMES-1:0] last_prime_i,
    input  wire [7:0]             pieces_i,          // number of pieces of randomness in a ciphertext
    // The current item.
    output reg  [1:0]             kind_o,
    output reg  [LOG2_PRIMES-1:0] prime_o,
    output reg  [1:0]             turn_o,            // The three sets take turns, one prime each.
    output wire                   last_kind_o,       // It is the last item of its prime,
    output wire                   last_o,            // and of its ciphertext.
    // Counts of what has ended before it.
    output reg  [7:0]             items_done_o,
    output reg  [7:0]             primes_done_o,     // Its lowest bit is the parity of the current prime.
    output reg  [7:0]             ciphertexts_done_o,
    output reg  [7:0]             pieces_done_o      // number of pieces that these ciphertexts took
);
    `include "cm_client_items.svh"
    assign last_kind_o = kind_o == last_kind_i;
    assign last_o = last_kind_o && prime_o == last_prime_i;

    always_ff @(posedge clk_i) begin
        if (ends_i) begin
            items_done_o <= items_done_o + 1'b1;
            kind_o <= last_kind_o ? 2'd0 : kind_o + 1'b1;
            if (last_kind_o) begin
                turn_o <= (turn_o == 2'd2) ? 2'd0 : turn_o + 1'b1;
                primes_done_o <= primes_done_o + 1'b1;
                prime_o <= last_o ? {LOG2_PRIMES{1'b0}} : prime_o + 1'b1;
            end
            if (last_o) begin
                ciphertexts_done_o <= ciphertexts_done_o + 1'b1;
                pieces_done_o <= pieces_done_o + pieces_i;
            end
        end
        if (rst_i) begin
            kind_o <= 2'd0;
            prime_o <= {LOG2_PRIMES{1'b0}};
            turn_o <= 2'd0;
            items_done_o <= {COUNT{1'b0}};
            primes_done_o <= {COUNT{1'b0}};
            ciphertexts_done_o <= {COUNT{1'b0}};
            pieces_done_o <= {COUNT{1'b0}};
        end
    end
endmodule
`default_nettype wire
