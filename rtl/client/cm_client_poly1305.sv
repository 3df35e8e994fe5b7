// SPDX-License-Identifier: Apache-2.0
// The polynomial of Poly1305 (RFC 8439, without the addition at its end) over whole blocks of 16 bytes: h =
// (h + b + 2^128) r modulo 2^130 - 5. A block takes 128 / DIGIT + 5 cycles, four of them for its words. Time
// depends only on the number of blocks.
//
// Words are added to h as they arrive; h rotates by a word with each. The multiplier takes r in digits of
// DIGIT bits, the highest first. What reaches 2^130 is added again at the bottom, five times, because 2^130 =
// 5.
`default_nettype none
module cm_client_poly1305 #(
    parameter integer DIGIT = 4 // 4, 8, 16 or 32
) (
    input  wire         clk_i,
    input  wire         rst_i,
    input  wire         start_i,  // clears h, before the first word
    input  wire [127:0] r_i,      // r, already clamped
    output wire         ready_o,
    input  wire         absorb_i, // takes a word; only while ready_o
    input  wire [31:0]  word_i,
    input  wire         finish_i, // asks for the result; hold it after the last word
    output wire         done_o,   // hash_o is h modulo 2^130 - 5, and then modulo 2^128.
    output wire [127:0] hash_o
);
    `include "cm_refuse.svh"
    generate
        `CM_REFUSE(g_bad_digit, DIGIT != 4 && DIGIT != 8 && DIGIT != 16 && DIGIT != 32,
                   "cm_client_poly1305: DIGIT must be 4, 8, 16 or 32.")
    endgenerate
    localparam integer DIGITS = 128 / DIGIT;
    localparam integer COUNT = $clog2(DIGITS);
    localparam integer SUM = 132 + DIGIT; // h times a digit is below 2^(131 + DIGIT).
    localparam [COUNT-1:0] LAST_DIGIT = {COUNT{1'b1}};
    localparam [2:0] BLOCK = 3'd0, MULTIPLY = 3'd1, FOLD = 3'd2, FOLD_AGAIN = 3'd3, TEST = 3'd4, DONE = 3'd5;

    reg  [2:0]       state;
    reg  [1:0]       words; // words of the block that were added
    reg              carry; // carry of the last word added
    reg  [COUNT-1:0] digit; // number of digits multiplied
    reg  [130:0]     h;
    reg  [SUM-1:0]   sum;
    reg  [DIGIT-1:0] digit_of_r; // 0 unless multiplying; a register, because it drives many and r comes late
    wire [32:0]      added = {1'b0, h[31:0]} + {1'b0, word_i} + {32'd0, carry};
    wire [2:0]       top = h[130:128] + 3'd1 + {2'd0, added[32]}; // also adds the 2^128 of each block

    // sum 2^DIGIT + h times a digit or, without a shift, sum + 0; modulo 2^130 - 5 but not below.
    wire             shifts = state == MULTIPLY;
    wire [129:0]     below = shifts ? {sum[129-DIGIT:0], {DIGIT{1'b0}}} : sum[129:0];
    wire [2*DIGIT+1:0] above = shifts ? sum[SUM-1:130-DIGIT]
        : (state == TEST) ? {{(2 * DIGIT + 1){1'b0}}, 1'b1} : {{DIGIT{1'b0}}, sum[SUM-1:130]};
    // The product is a sum of rows, three at a time in carry-save adders: a multiplier would be larger.
    wire [SUM-1:0]   ones [0:DIGIT], twos [0:DIGIT];
    assign ones[0] = {{(SUM - 130){1'b0}}, below};
    assign twos[0] = {{(SUM - 2 * DIGIT - 5){1'b0}}, {1'b0, above, 2'b00} + {3'b000, above}};
    genvar i;
    generate
        for (i = 0; i < DIGIT; i = i + 1) begin : g_row
            wire [SUM-1:0] row = digit_of_r[i] ? {{(SUM - 131){1'b0}}, h} << i : {SUM{1'b0}};
            wire [SUM-1:0] carries = (ones[i] & twos[i]) | (row & (ones[i] ^ twos[i]));
            assign ones[i+1] = ones[i] ^ twos[i] ^ row;
            assign twos[i+1] = carries << 1;
        end
    endgenerate
    wire [SUM-1:0]   result = ones[DIGIT] + twos[DIGIT];

    wire             last_word = absorb_i && words == 2'd3;
    wire [COUNT-1:0] next_digit = shifts ? digit + 1'b1 : {COUNT{1'b0}};
    wire             multiplies_next = shifts ? digit != LAST_DIGIT : state == BLOCK && last_word;

    assign ready_o = state == BLOCK;
    assign done_o = state == DONE;
    assign hash_o = sum[130] ? sum[127:0] : h[127:0]; // The sum is h plus 5.

    always_ff @(posedge clk_i) begin
        if (state != BLOCK && !done_o) sum <= result;
        digit_of_r <= multiplies_next ? r_i[DIGIT*(DIGITS-1-next_digit) +: DIGIT] : {DIGIT{1'b0}};
        case (state)
            BLOCK: begin
                digit <= {COUNT{1'b0}};
                if (absorb_i) begin
                    h[127:0] <= {added[31:0], h[127:32]};
                    carry <= added[32];
                    words <= words + 1'b1;
                    if (last_word) begin
                        h[130:128] <= top;
                        carry <= 1'b0;
                        sum <= {SUM{1'b0}};
                        state <= MULTIPLY;
                    end
                end else if (finish_i) begin
                    state <= FOLD_AGAIN;
                end
            end
            MULTIPLY: begin
                digit <= digit + 1'b1;
                if (digit == LAST_DIGIT) state <= FOLD;
            end
            // The first fold leaves less than 2^130 + 2^(DIGIT + 5), the second less than 2^130.
            FOLD, FOLD_AGAIN: begin
                h <= result[130:0];
                state <= (state == FOLD) ? BLOCK : TEST;
            end
            TEST: state <= DONE;
            default: ;
        endcase
        if (rst_i || start_i) begin
            state <= BLOCK;
            words <= 2'd0;
            carry <= 1'b0;
            sum <= {SUM{1'b0}};
            h <= 131'd0;
            digit_of_r <= {DIGIT{1'b0}};
        end
    end
endmodule
`default_nettype wire
