// SPDX-License-Identifier: Apache-2.0
// Chooses what is read from the memories of the message and of small numbers: pairs for a load, for a stream
// in coefficient form, or for the sums or the decoder of a decryption. Everything refers to the same cycle,
// except for message_o, which goes with the pair that is read, a cycle later.
`default_nettype none
module cm_client_source #(
    parameter integer LOG2_N = 12,
    parameter integer LOG2_PRIMES = 2
) (
    input  wire                   clk_i,
    // The command being executed.
    input  wire                   decrypts_i,
    input  wire                   publishes_i,
    input  wire                   public_key_i,
    input  wire                   ckks_i,
    // A load.
    input  wire                   load_issue_i,
    input  wire [LOG2_N-2:0]      load_index_i,
    input  wire [1:0]             load_kind_i,
    input  wire                   load_place_i,
    input  wire [LOG2_PRIMES-1:0] load_prime_i,
    // A stream.
    input  wire                   stream_uses_loader_i,
    input  wire                   stream_running_i,
    input  wire                   stream_issue_i,
    input  wire [LOG2_N-2:0]      stream_index_i,
    input  wire                   stream_component_i,
    input  wire                   stream_place_i,
    input  wire [LOG2_PRIMES-1:0] stream_prime_i,
    // A decryption.
    input  wire                   sum_read_i,
    input  wire [LOG2_N-2:0]      sum_index_i,
    input  wire [LOG2_N-2:0]      decoded_index_i,
    output wire                   natural_o,      // The pair's numbers are neighbours.
    output wire [LOG2_N-2:0]      index_o,
    output wire                   message_read_o,
    output wire                   small_read_o,
    output wire                   u_o,            // u, or the coefficients of a secret key
    output wire                   noise_place_o,
    output reg                    message_o,      // The pair has a message.
    output wire [LOG2_PRIMES-1:0] prime_o         // the loader's
);
    `include "cm_client_items.svh"
    wire for_stream = stream_uses_loader_i && stream_running_i;
    assign natural_o = for_stream || (decrypts_i && !ckks_i);
    assign index_o = decrypts_i ? (ckks_i ? decoded_index_i : sum_index_i)
        : natural_o ? stream_index_i : load_index_i;
    wire   has_message = natural_o ? !stream_component_i : load_kind_i == LOAD_M && !publishes_i;
    assign small_read_o = !decrypts_i && (natural_o ? stream_issue_i : load_issue_i);
    assign message_read_o = decrypts_i ? ckks_i || sum_read_i : small_read_o && has_message;
    assign u_o = !natural_o && load_kind_i == LOAD_U;
    assign noise_place_o = natural_o ? (public_key_i ? stream_component_i : stream_place_i)
                                     : (public_key_i ? load_kind_i == LOAD_E1 : load_place_i);
    assign prime_o = stream_uses_loader_i ? stream_prime_i : load_prime_i;
    always_ff @(posedge clk_i) message_o <= has_message;
endmodule
`default_nettype wire
