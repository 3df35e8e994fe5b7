// SPDX-License-Identifier: Apache-2.0
// Gives the states with which blocks of key stream begin: all of the state of a block that is asked for and,
// for the sum at the end of a block (cm_chacha20), two words at a time of the block that leaves. Users keep
// their keys until their blocks have left. Blocks leave in the order of their requests, so counting a user's
// blocks gives the position of the next. The module is combinational.
`default_nettype none
module cm_client_origins #(
    parameter integer LOG2_PRIMES = 2
) (
    input  wire [255:0]           tag_key_i,
    input  wire [127:0]           tag_position_i,
    input  wire [255:0]           seeds_key_i,
    input  wire [127:0]           seeds_position_i,
    input  wire [255:0]           uniform_key_i,
    input  wire [LOG2_PRIMES-1:0] uniform_prime_i,
    input  wire [11:0]            uniform_asked_i, // blocks of the prime that were asked for
    input  wire [11:0]            uniform_left_i,
    input  wire [255:0]           sample_key_i,
    input  wire                   sample_component_i,
    input  wire [9:0]             sample_asked_i,  // blocks of the piece that were asked for
    input  wire [9:0]             sample_left_i,
    input  wire [2:0]             asked_tag_i,
    output wire [255:0]           key_o,
    output wire [127:0]           position_o,
    input  wire [2:0]             tag_i,
    input  wire [2:0]             at_i,
    output wire [63:0]            words_o
);
    `include "cm_client_map.svh"
    `include "cm_client_users.svh"
    `include "cm_chacha20.svh"
    wire [31:0] uniform_prime = {{(32 - LOG2_PRIMES){1'b0}}, uniform_prime_i};
    wire [31:0] sample_component = {31'd0, sample_component_i};
    function automatic [31:0] label(input [2:0] tag);
        case (tag)
            FOR_UNIFORM: label = LABEL_UNIFORM;
            FOR_NOISE: label = LABEL_NOISE;
            FOR_TERNARY: label = LABEL_TERNARY;
            default: label = 32'd0; // Users of this tag give their position.
        endcase
    endfunction

    assign key_o = (asked_tag_i == FOR_TAG) ? tag_key_i : (asked_tag_i == FOR_SEEDS) ? seeds_key_i
        : (asked_tag_i == FOR_UNIFORM) ? uniform_key_i : sample_key_i;
    assign position_o = (asked_tag_i == FOR_TAG) ? tag_position_i
        : (asked_tag_i == FOR_SEEDS) ? seeds_position_i
        : (asked_tag_i == FOR_UNIFORM) ? {32'd0, uniform_prime, label(asked_tag_i), 20'd0, uniform_asked_i}
        : {32'd0, sample_component, label(asked_tag_i), 22'd0, sample_asked_i};

    function automatic [63:0] part(input [2:0] at, input [255:0] key, input [127:0] position);
        case (at)
            3'd0: part = CONSTANTS[63:0];
            3'd1: part = CONSTANTS[127:64];
            3'd2: part = key[63:0];
            3'd3: part = key[127:64];
            3'd4: part = key[191:128];
            3'd5: part = key[255:192];
            3'd6: part = position[63:0];
            default: part = position[127:64];
        endcase
    endfunction

    assign words_o = (tag_i == FOR_TAG) ? part(at_i, tag_key_i, tag_position_i)
        : (tag_i == FOR_SEEDS) ? part(at_i, seeds_key_i, seeds_position_i)
        : (tag_i == FOR_UNIFORM)
        ? part(at_i, uniform_key_i, {32'd0, uniform_prime, label(tag_i), 20'd0, uniform_left_i})
        : part(at_i, sample_key_i, {32'd0, sample_component, label(tag_i), 22'd0, sample_left_i});
endmodule
`default_nettype wire
