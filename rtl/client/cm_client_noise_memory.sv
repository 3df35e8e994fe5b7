// SPDX-License-Identifier: Apache-2.0
// The memory of small numbers: noise in two places, and in a third one u, or the coefficients of a secret
// key. Eight numbers are in a word, and the halves of the polynomial in two memories.
//
// A group can be read in the cycle after it was written. pair_o, two signed numbers of 6 bits, follows read_i
// and the index by a cycle.
`default_nettype none
module cm_client_noise_memory #(
    parameter integer LOG2_N = 12
) (
    input  wire              clk_i,
    input  wire              wipe_i,
    input  wire [LOG2_N-1:0] wipe_address_i,
    // Groups of eight samples.
    input  wire [LOG2_N-3:0] groups_i,        // number of the group
    input  wire              noise_valid_i,
    input  wire              noise_place_i,
    input  wire [47:0]       noise_i,
    input  wire              ternary_valid_i,
    input  wire [15:0]       ternary_i,
    // Eight coefficients of a secret key that is entered.
    input  wire              trits_valid_i,
    input  wire [LOG2_N-4:0] trits_group_i,
    input  wire [15:0]       trits_i,
    input  wire              read_i,
    input  wire              natural_i,       // The pair's numbers are neighbours.
    input  wire [LOG2_N-2:0] index_i,
    input  wire              u_i,             // selects u, or the coefficients of a secret key
    input  wire              place_i,         // place of the noise, unless u_i
    output wire [11:0]       pair_o
);
    localparam integer PAIR_BITS = LOG2_N - 1;
    localparam integer GROUP_BITS = LOG2_N - 3;
    localparam integer EIGHT_BITS = LOG2_N - 4; // number of a group in its half
    wire [EIGHT_BITS-1:0] from = natural_i ? index_i[PAIR_BITS-2 -: EIGHT_BITS]
        : index_i[PAIR_BITS-1 -: EIGHT_BITS];
    wire [47:0]           words [0:1]; // the words of both halves
    wire [GROUP_BITS-1:0] ternary_group = trits_valid_i ? trits_group_i : groups_i[GROUP_BITS-1:0];
    // One memory holds noise and u, for one sampler works at a time, and one load.
    wire                  is_u = ternary_valid_i || trits_valid_i;
    wire [EIGHT_BITS+1:0] to = wipe_i ? wipe_address_i[EIGHT_BITS+1:0]
        : is_u ? {2'd2, ternary_group[EIGHT_BITS-1:0]} : {1'b0, noise_place_i, groups_i[EIGHT_BITS-1:0]};
    genvar g;
    generate
        for (g = 0; g < 2; g = g + 1) begin : g_small
            wire here = is_u ? ternary_group[GROUP_BITS-1] == g
                : noise_valid_i && groups_i[GROUP_BITS-1] == g;
            cm_ram #(.WIDTH(48), .DEPTH(3 << EIGHT_BITS), .ADDRESS_WIDTH(EIGHT_BITS + 2), .BLOCK(1)) u_words (
                .clk_i(clk_i), .write_i(wipe_i ? to < 3 << EIGHT_BITS : here), .write_address_i(to),
                .write_data_i(wipe_i ? 48'd0 : trits_valid_i ? {32'd0, trits_i}
                              : ternary_valid_i ? {32'd0, ternary_i} : noise_i),
                .read_i(wipe_i || read_i), .read_address_i(u_i ? {2'd2, from} : {1'b0, place_i, from}),
                .read_data_o(words[g])
            );
        end
    endgenerate

    reg       late_natural, late_half, late_u; // selection of the pair that is read, a cycle later
    reg [2:0] late_place; // place in a word of eight
    always_ff @(posedge clk_i) begin
        late_natural <= natural_i;
        late_half <= index_i[PAIR_BITS-1];
        late_place <= natural_i ? {index_i[1:0], 1'b0} : index_i[2:0];
        late_u <= u_i;
    end
    generate
        for (g = 0; g < 2; g = g + 1) begin : g_pick
            wire        half = late_natural ? late_half : g[0];
            wire [2:0]  place = late_natural ? {late_place[2:1], g[0]} : late_place;
            wire [47:0] word = words[half];
            wire [1:0]  digit = word[2*place +: 2];
            assign pair_o[6*g +: 6] = late_u ? {{5{digit == 2'd0}}, digit == 2'd0 || digit == 2'd2}
                                             : word[6*place +: 6];
        end
    endgenerate
endmodule
`default_nettype wire
