// SPDX-License-Identifier: Apache-2.0
// The products of CKKS, of scaling a BFV message and of the sums of a BFV decryption, which are never needed at once.
// Each multiplier has one user: the scheme and the command say which, at least a cycle before its first operand, and
// stay until all work is done. Whoever else gives operands changes nothing.
//
//              | first                         | short, modulo 2^32     | second
//     codec_i  | coordinate by digit           |                        | coordinate by upper digit, signed
//     sums_i   | residue by fraction, low word | residue by high word   | sum by t
//     neither  | message by ratio              | message by factor      | quotient by t
//
// There is a lane for each residue of a pair; scaling takes lane 0. Where t has two digits, lane 1 has the upper one's
// product, and the two sums of a pair come one after the other. The short ones are the sums' in every decryption: CKKS
// takes a residue times one. Operands come from registers; a product is there a cycle later.
`default_nettype none
module cm_client_products #(
    parameter integer WIDTH = 27 // of residues, messages and t
) (
    input  wire             clk_i,
    input  wire             rst_i,
    input  wire             codec_i, // the scheme is CKKS
    input  wire             sums_i,  // the command is a decryption
    // The codec.
    input  wire [65:0]      coordinates_i, // signed
    input  wire [53:0]      first_digits_i,
    input  wire [35:0]      second_digits_i, // signed
    // Sums.
    input  wire [63:0]      fraction_i,
    input  wire [2*WIDTH-1:0] residues_i,
    input  wire [63:0]      sums_so_far_i, // signed
    input  wire             by_turns_i,    // t may have two digits
    input  wire             upper_i,       // it is the upper sum's turn
    // Scaling.
    input  wire [WIDTH-1:0] message_i,
    input  wire [31:0]      ratio_i,
    input  wire [WIDTH-1:0] factor_i,
    input  wire [WIDTH-1:0] t_i,
    output wire [121:0]     first_o, // signed
    output wire [63:0]      short_o,
    output wire [101:0]     second_o, // signed
    output wire [60:0]      whole_o   // lane 0's, of both digits of t; signed
);
    `include "cm_refuse.svh"
    localparam integer DIGIT = 27, SECOND = 17; // bits of digits without a sign
    generate
        `CM_REFUSE(g_bad_width, WIDTH < 17 || WIDTH > DIGIT, "cm_client_products: WIDTH must be from 17 to 27.")
    endgenerate
    // The choice, in registers beside the multipliers: it was made long before the first operand.
    reg by_codec, by_sums, by_scale, short_by_sums, takes_two;
    always_ff @(posedge clk_i) begin
        by_codec <= codec_i;
        by_sums <= !codec_i && sums_i;
        by_scale <= !codec_i && !sums_i;
        short_by_sums <= sums_i;
        takes_two <= !sums_i || by_turns_i;
        if (rst_i) {by_codec, by_sums, by_scale, short_by_sums, takes_two} <= 5'd0;
    end
    wire [2*SECOND-1:0] t = {{(2 * SECOND - WIDTH){1'b0}}, t_i};
    wire [32:0] quotient = {{(33 - WIDTH){1'b0}}, first_o[WIDTH+31:32]};
    genvar g;
    generate
        for (g = 0; g < 2; g = g + 1) begin : g_lane
            reg signed [DIGIT+33:0] first;
            reg signed [SECOND+33:0] second;
            reg        [31:0]  short;
            wire [32:0]        coordinate = coordinates_i[33*g +: 33];
            wire [WIDTH-1:0]   residue = residues_i[WIDTH*g +: WIDTH];
            wire [WIDTH-1:0]   number = short_by_sums ? residue : message_i;
            wire signed [32:0] first_a = ({33{by_codec}} & coordinate) | ({33{by_sums}} & {1'b0, fraction_i[31:0]})
                | ({33{by_scale && g == 0}} & {1'b0, ratio_i});
            wire signed [DIGIT:0] first_b = {1'b0, by_codec ? first_digits_i[DIGIT*g +: DIGIT]
                                                          : {{(DIGIT - WIDTH){1'b0}}, number}};
            wire [31:0]        sum = (by_turns_i ? upper_i : g == 1) ? sums_so_far_i[63:32] : sums_so_far_i[31:0];
            wire signed [32:0] second_a = ({33{by_codec}} & coordinate)
                | ({33{by_sums}} & {sum[31], sum}) | ({33{by_scale}} & quotient);
            wire signed [SECOND:0] second_b = by_codec ? second_digits_i[(SECOND+1)*g +: SECOND + 1]
                : {1'b0, (g == 1 && takes_two) ? t[2*SECOND-1:SECOND] : t[SECOND-1:0]};
            wire [31:0]        short_a = ({32{short_by_sums}} & fraction_i[63:32])
                | ({32{by_scale && g == 0}} & {{(32 - WIDTH){1'b0}}, factor_i});
            wire [31:0]        short_b = {{(32 - WIDTH){1'b0}}, number};
            always_ff @(posedge clk_i) begin
                first <= first_a * first_b;
                second <= second_a * second_b;
                short <= short_a * short_b;
                if (rst_i) begin
                    first <= {(DIGIT + 34){1'b0}};
                    second <= {(SECOND + 34){1'b0}};
                    short <= 32'd0;
                end
            end
            assign first_o[61*g +: 61] = first;
            assign short_o[32*g +: 32] = short;
            assign second_o[51*g +: 51] = second;
        end
    endgenerate
    assign whole_o = {{10{second_o[50]}}, second_o[50:0]} + {second_o[94:51] & {44{takes_two}}, {SECOND{1'b0}}};
endmodule
`default_nettype wire
