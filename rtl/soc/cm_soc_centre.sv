// SPDX-License-Identifier: Apache-2.0
// Two numbers below a modulus, in 16 bits each, to those within half of it of 0: a word on its way to the memory. 0: no
// modulus, and the word is left as it is.
`default_nettype none
module cm_soc_centre (
    input  wire [15:0] modulus_i,
    input  wire [31:0] word_i,
    output wire [31:0] word_o
);
    wire [15:0] low = word_i[15:0];
    wire [15:0] high = word_i[31:16];
    wire [15:0] half = {1'b0, modulus_i[15:1]};
    wire        centres = modulus_i != 16'd0;
    assign word_o[15:0] = (centres && low > half) ? low - modulus_i : low;
    assign word_o[31:16] = (centres && high > half) ? high - modulus_i : high;
endmodule
`default_nettype wire
