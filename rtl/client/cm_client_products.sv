// SPDX-License-Identifier: Apache-2.0
// The products of CKKS, of scaling a BFV message and of the sums of a BFV decryption, which are never needed
// at once. Each multiplier has one user: whether the codec works and the command say which, at least a cycle
// before its first operand, and stay until all work is done. Whoever else gives operands changes nothing.
//
//              | wide, modulo 2^64            | second
//     codec_i  | coordinate by digit          | coordinate by upper digit, signed
//     sums_i   | fraction by residue          | sum by t
//     neither  | ratio and factor by message  | quotient by t
//
// There is a lane for each residue of a pair. Scaling takes the ratio's product in lane 0 and the factor's in
// lane 1. Where t has two digits, lane 1 has the upper one's product, and the two sums of a pair come one
// after the other. Operands come from registers; a product is there a cycle later.
`default_nettype none
module cm_client_products #(
    parameter integer WIDTH = 27, // width of residues, messages and t
    parameter integer SILICON = 0 // as in cm_client_product
) (
    input  wire             clk_i,
    input  wire             rst_i,
    input  wire             codec_i, // The codec works.
    input  wire             sums_i,  // The command is a decryption; ignored with codec_i.
    // Operands of the codec.
    input  wire [65:0]      coordinates_i, // signed
    input  wire [53:0]      first_digits_i,
    input  wire [35:0]      second_digits_i, // signed
    input  wire             minus_i,         // Lane 1 gives its products negated.
    // Operands of the sums of a decryption.
    input  wire [63:0]      fraction_i,
    input  wire [2*WIDTH-1:0] residues_i,
    input  wire [63:0]      sums_so_far_i, // signed
    input  wire             by_turns_i,    // t may have two digits.
    input  wire             upper_i,       // selects the upper sum
    // Operands of the scaling.
    input  wire [WIDTH-1:0] message_i,
    input  wire [31:0]      ratio_i,
    input  wire [WIDTH-1:0] factor_i,
    input  wire [WIDTH-1:0] t_i,
    output wire [127:0]     wide_o,
    output wire [101:0]     second_o, // signed
    output wire [60:0]      whole_o   // signed product of lane 0 with both digits of t
);
    `include "cm_refuse.svh"
    localparam integer DIGIT = 27, SECOND = 17; // widths of unsigned digits
    generate
        `CM_REFUSE(g_bad_width, WIDTH < 17 || WIDTH > DIGIT,
                   "cm_client_products: WIDTH must be from 17 to 27.")
    endgenerate
    // The choice, in registers beside the multipliers: it was made long before the first operand.
    reg by_codec, by_sums, by_scale, takes_two;
    always_ff @(posedge clk_i) begin
        by_codec <= codec_i;
        by_sums <= !codec_i && sums_i;
        by_scale <= !codec_i && !sums_i;
        takes_two <= !sums_i || by_turns_i;
        if (rst_i) {by_codec, by_sums, by_scale, takes_two} <= 4'd0;
    end
    localparam integer FILL = (WIDTH < DIGIT) ? DIGIT - WIDTH : 0;
    wire [2*SECOND-1:0] t = {{(2 * SECOND - WIDTH){1'b0}}, t_i};
    wire [32:0] quotient = {{(33 - WIDTH){1'b0}}, wide_o[WIDTH+31:32]};
    genvar g;
    generate
        for (g = 0; g < 2; g = g + 1) begin : g_lane
            reg  [63:0]        wide;
            reg  [SECOND+33:0] second;
            wire               minus = g == 1 && by_codec && minus_i;
            wire [32:0]        coordinate = {33{by_codec}} & coordinates_i[33*g +: 33];
            wire [31:0]        scaled_by = (g == 0) ? ratio_i : {{(32 - WIDTH){1'b0}}, factor_i};
            wire [63:0]        wide_a = {{31{coordinate[32]}}, coordinate} | ({64{by_sums}} & fraction_i)
                | {32'd0, {32{by_scale}} & scaled_by};
            wire [DIGIT-1:0]   wide_b = ({DIGIT{by_codec}} & first_digits_i[DIGIT*g +: DIGIT])
                | {{FILL{1'b0}}, ({WIDTH{by_sums}} & residues_i[WIDTH*g +: WIDTH])
                                            | ({WIDTH{by_scale}} & message_i)};
            wire [31:0]        sum = (by_turns_i ? upper_i : g == 1) ? sums_so_far_i[63:32]
                : sums_so_far_i[31:0];
            wire [32:0]        second_a = coordinate | ({33{by_sums}} & {sum[31], sum})
                | ({33{by_scale}} & quotient);
            wire [SECOND:0]    second_b = by_codec ? second_digits_i[(SECOND+1)*g +: SECOND + 1]
                : {1'b0, (g == 1 && takes_two) ? t[2*SECOND-1:SECOND] : t[SECOND-1:0]};
            wire [63:0]        wide_product;
            wire [SECOND+33:0] second_product;
            cm_client_product #(.A_WIDTH(64), .B_WIDTH(DIGIT + 1), .WIDTH(64), .SILICON(SILICON)) u_wide (
                .a_i(wide_a), .b_i({1'b0, wide_b}), .minus_i(minus), .product_o(wide_product)
            );
            cm_client_product #(
                .A_WIDTH(33), .B_WIDTH(SECOND + 1), .WIDTH(SECOND + 34), .SILICON(SILICON)
            ) u_second (
                .a_i(second_a), .b_i(second_b), .minus_i(minus), .product_o(second_product)
            );
            always_ff @(posedge clk_i) begin
                wide <= wide_product;
                second <= second_product;
                if (rst_i) begin
                    wide <= 64'd0;
                    second <= {(SECOND + 34){1'b0}};
                end
            end
            assign wide_o[64*g +: 64] = wide;
            assign second_o[51*g +: 51] = second;
        end
    endgenerate
    assign whole_o = {{10{second_o[50]}}, second_o[50:0]}
        + {second_o[94:51] & {44{takes_two}}, {SECOND{1'b0}}};
endmodule
`default_nettype wire
