// SPDX-License-Identifier: Apache-2.0
// The products that CKKS, the scaling of a BFV message and the sums of a BFV decryption need, none of them at the same
// time: each multiplier has one user at a time, and two settings say which, that stay while anyone works.
//
//              | first                         | short, modulo 2^32     | second
//     codec_i  | root (27 bits) by coordinate  |                        | root (upper bits) by coordinate
//     sums_i   | residue by fraction, low word | residue by high word   | sum by t
//     neither  | message by ratio              | message by factor      | quotient by t
//
// Scaling takes those of lane 0. The short ones are the sums' in every decryption: CKKS takes a residue as it is, times
// one. Operands come from registers; a product is there a cycle later.
`default_nettype none
module cm_client_products #(
    parameter integer WIDTH = 27 // of residues, messages and t
) (
    input  wire             clk_i,
    input  wire             rst_i,
    input  wire             codec_i, // CKKS
    input  wire             sums_i,  // decryption
    // The codec: two products of signed numbers.
    input  wire [65:0]      coordinates_i,
    input  wire [65:0]      roots_i,
    output wire [131:0]     rotated_o,
    // Sums.
    input  wire [63:0]      fraction_i,
    input  wire [2*WIDTH-1:0] residues_i,
    input  wire [63:0]      sums_so_far_i, // signed
    // Scaling.
    input  wire [WIDTH-1:0] message_i,
    input  wire [31:0]      ratio_i,
    input  wire [WIDTH-1:0] factor_i,
    input  wire [WIDTH-1:0] t_i,
    // For sums, of both lanes, and for scaling, of lane 0.
    output wire [2*WIDTH+63:0] first_o,
    output wire [63:0]      short_o,
    output wire [2*WIDTH+65:0] second_o // signed
);
    `include "cm_refuse.svh"
    localparam integer DIGIT = 27; // bits of a root's lower digit
    generate
        `CM_REFUSE(g_bad_width, WIDTH < 17 || WIDTH > DIGIT, "cm_client_products: WIDTH must be from 17 to 27.")
    endgenerate
    // Nobody's operand is zero, and so is the product: that clears it.
    wire by_codec = codec_i && !rst_i;
    wire by_sums = !codec_i && sums_i && !rst_i;
    wire by_scale = !codec_i && !sums_i && !rst_i;
    wire short_by_sums = sums_i && !rst_i;
    genvar g;
    generate
        for (g = 0; g < 2; g = g + 1) begin : g_lane
            reg signed [DIGIT+33:0] first, second;
            reg        [31:0]  short;
            wire [32:0]        coordinate = coordinates_i[33*g +: 33];
            wire [32:0]        root = roots_i[33*g +: 33];
            wire [WIDTH-1:0]   residue = residues_i[WIDTH*g +: WIDTH];
            wire [WIDTH-1:0]   number = sums_i ? residue : message_i;
            wire signed [32:0] first_a = ({33{by_codec}} & coordinate) | ({33{by_sums}} & {1'b0, fraction_i[31:0]})
                | ({33{by_scale && g == 0}} & {1'b0, ratio_i});
            wire signed [DIGIT:0] first_b = {1'b0, codec_i ? root[DIGIT-1:0] : {{(DIGIT - WIDTH){1'b0}}, number}};
            wire [32:0]        quotient = {{(33 - WIDTH){1'b0}}, first[WIDTH+31:32]};
            wire signed [32:0] second_a = ({33{by_codec}} & coordinate)
                | ({33{by_sums}} & {sums_so_far_i[32*g+31], sums_so_far_i[32*g +: 32]})
                | ({33{by_scale && g == 0}} & quotient);
            wire signed [DIGIT:0] second_b = codec_i ? {{(2 * DIGIT - 32){root[32]}}, root[32:DIGIT]}
                                                     : {{(DIGIT + 1 - WIDTH){1'b0}}, t_i};
            wire [31:0]        short_a = ({32{short_by_sums}} & fraction_i[63:32])
                | ({32{by_scale && g == 0}} & {{(32 - WIDTH){1'b0}}, factor_i});
            wire [31:0]        short_b = {{(32 - WIDTH){1'b0}}, number};
            always_ff @(posedge clk_i) begin
                first <= first_a * first_b;
                second <= second_a * second_b;
                short <= short_a * short_b;
            end
            assign rotated_o[66*g +: 66] = {second[38:0], {DIGIT{1'b0}}} + {{(32 - DIGIT){first[DIGIT+33]}}, first};
            assign first_o[(WIDTH+32)*g +: WIDTH + 32] = first[WIDTH+31:0];
            assign short_o[32*g +: 32] = short;
            assign second_o[(WIDTH+33)*g +: WIDTH + 33] = second[WIDTH+32:0];
        end
    endgenerate
endmodule
`default_nettype wire
