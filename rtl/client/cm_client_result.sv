// SPDX-License-Identifier: Apache-2.0
// Converts a decoded number x 2^-(s + 1), |x| <= 2^29, to binary32 or to a multiple of 2^exponent: the
// nearest one, with halves away from zero (docs/encoding.md, section 8). One number a cycle can enter, and
// results follow four cycles later, counting only cycles with enable_i.
`default_nettype none
module cm_client_result (
    input  wire               clk_i,
    input  wire               rst_i,
    input  wire               enable_i,     // Nothing moves without it.
    input  wire               float_i,
    input  wire signed [9:0]  exponent_i,   // Integers count multiples of 2^exponent.
    input  wire [5:0]         scale_log2_i, // s
    input  wire               valid_i,
    input  wire               negate_i,
    input  wire signed [31:0] x_i,
    output reg                valid_o,
    output reg                wrong_o,      // The integer would be at least 2^31 in magnitude; with valid_o.
    output reg  [31:0]        result_o
);
    // Stage 1: the magnitude.
    reg                valid1, negative1;
    reg  [29:0]        magnitude1;
    wire [31:0]        magnitude = x_i[31] ? 32'd0 - x_i : x_i;
    // Stage 2: the magnitude, shifted left as far as it goes.
    wire [29:0]        step16 = (magnitude1[29:14] == 16'd0) ? {magnitude1[13:0], 16'd0} : magnitude1;
    wire [29:0]        step8 = (step16[29:22] == 8'd0) ? {step16[21:0], 8'd0} : step16;
    wire [29:0]        step4 = (step8[29:26] == 4'd0) ? {step8[25:0], 4'd0} : step8;
    wire [29:0]        step2 = (step4[29:28] == 2'd0) ? {step4[27:0], 2'd0} : step4;
    wire [29:0]        step1 = !step2[29] ? {step2[28:0], 1'd0} : step2;
    reg                valid2, negative2;
    reg  [29:0]        magnitude2; // 0, or at least 2^29
    reg  [4:0]         zeros2;
    // Stage 3: twice the result's magnitude, rounded down. Four times magnitude2 is shifted to the right.
    wire signed [10:0] right = {6'd0, zeros2} + {5'd0, scale_log2_i} + {exponent_i[9], exponent_i} + 11'sd2;
    wire               none = !magnitude2[29];
    reg                valid3, negative3, wrong3;
    reg  [31:0]        twice3;
    reg  [7:0]         exponent3; // exponent of a float, less 1, for the leading bit is added to it
    // Stage 4.
    wire [32:0]        sum = {1'b0, twice3} + 33'd1;
    always_ff @(posedge clk_i) begin
        if (enable_i) begin
            valid1 <= valid_i;
            negative1 <= x_i[31] ^ negate_i;
            magnitude1 <= magnitude[29:0];
            valid2 <= valid1;
            negative2 <= negative1;
            magnitude2 <= step1;
            zeros2 <= {magnitude1[29:14] == 16'd0, step16[29:22] == 8'd0, step8[29:26] == 4'd0,
                step4[29:28] == 2'd0,
                       !step2[29]};
            valid3 <= valid2;
            negative3 <= negative2 && !none;
            wrong3 <= !float_i && right[10] && !none;
            twice3 <= float_i ? {7'd0, magnitude2[29:5]}
                              : (right[10:5] != 6'd0) ? 32'd0 : {magnitude2, 2'd0} >> right[4:0];
            exponent3 <= (float_i && !none) ? 8'd154 - {3'd0, zeros2} - {2'd0, scale_log2_i} : 8'd0;
            valid_o <= valid3;
            // COUNTERMEASURE: RESULT_RANGE
            wrong_o <= wrong3;
            if (float_i) result_o <= {negative3, {exponent3, 23'd0} + sum[31:1]};
            else result_o <= negative3 ? 32'd0 - sum[32:1] : sum[32:1];
        end
        if (rst_i) begin
            valid1 <= 1'b0;
            valid2 <= 1'b0;
            valid3 <= 1'b0;
            valid_o <= 1'b0;
            magnitude1 <= 30'd0;
            magnitude2 <= 30'd0;
            twice3 <= 32'd0;
            result_o <= 32'd0;
        end
    end
endmodule
`default_nettype wire
