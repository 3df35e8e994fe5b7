// SPDX-License-Identifier: Apache-2.0
// Converts a value to fixed point (docs/encoding.md, section 1, 31 bits): x = round(value 2^(s + 1)), with
// halves away from zero, and says whether x is in range. One value a cycle can enter, and x follows three
// cycles later.
`default_nettype none
module cm_client_value (
    input  wire               clk_i,
    input  wire               rst_i,
    input  wire               float_i, // The value is binary32 instead of a signed integer times 2^exponent.
    input  wire signed [9:0]  exponent_i,
    input  wire [5:0]         scale_log2_i, // s
    input  wire [5:0]         limit_log2_i, // L; at most 29 counts
    input  wire               valid_i,
    input  wire               negate_i,
    input  wire [31:0]        value_i,
    output reg                valid_o,
    // The value is not finite, or at least 2^(L + 1) in magnitude; with valid_o.
    output reg                wrong_o,
    output reg  signed [31:0] x_o
);
    wire               negative = value_i[31];
    wire signed [10:0] scale = {5'd0, scale_log2_i};
    // Stage 1: |value| is magnitude 2^(shift - s - 1).
    reg                valid1, negative1, infinite1;
    reg  [31:0]        magnitude1;
    reg  signed [10:0] shift1;
    // Stage 2: twice |x|, rounded down. What is shifted has 31 zeros below it.
    wire signed [10:0] right = 11'sd30 - shift1;
    wire [62:0]        shifted = (right[10:6] != 5'd0) ? 63'd0 : {magnitude1, 31'd0} >> right[5:0];
    reg                valid2, negative2, wrong2;
    reg  [30:0]        twice2;
    // Stage 3: x.
    wire [5:0]         limit = (limit_log2_i < 6'd29) ? limit_log2_i : 6'd29;
    wire [31:0]        sum = {1'b0, twice2} + 32'd1;
    wire [30:0]        magnitude = sum[31:1];
    wire [30:0]        above = magnitude[30:0] >> limit;
    always_ff @(posedge clk_i) begin
        valid1 <= valid_i && !rst_i;
        valid2 <= valid1 && !rst_i;
        valid_o <= valid2 && !rst_i;
        negative1 <= valid_i && (negative ^ negate_i);
        infinite1 <= float_i && value_i[30:23] == 8'hFF;
        magnitude1 <= !valid_i ? 32'd0 : float_i ? {8'd0, value_i[30:23] != 8'd0, value_i[22:0]}
                                       : negative ? 32'd0 - value_i : value_i;
        shift1 <= float_i ? {3'd0, value_i[30:23]} - 11'sd149 + scale
                          : {exponent_i[9], exponent_i} + 11'sd1 + scale;
        negative2 <= negative1;
        twice2 <= shifted[30:0];
        wrong2 <= infinite1 || shifted[62:31] != 32'd0 || (right[10] && magnitude1 != 32'd0);
        wrong_o <= wrong2 || above[30:1] != 30'd0;
        x_o <= negative2 ? 32'd0 - {1'b0, magnitude} : {1'b0, magnitude};
        if (rst_i) begin
            magnitude1 <= 32'd0;
            shift1 <= 11'sd0;
            twice2 <= 31'd0;
            x_o <= 32'd0;
        end
    end
endmodule
`default_nettype wire
