// SPDX-License-Identifier: Apache-2.0
// Centres two numbers of 16 bits below a modulus around 0, on a word's way to the memory. A modulus of 0
// leaves the word as it is. The module is combinational.
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
