// SPDX-License-Identifier: Apache-2.0
// Poly1305's polynomial (RFC 8439, without the final addition) of whole blocks of 16 bytes: h = (h + b + 2^128) r
// modulo 2^130 - 5, in 128 / DIGIT + 2 cycles a block; the words of the next one come meanwhile. Its time depends on
// lengths alone.
//
// r is taken DIGIT bits at a time, the highest first. What reaches 2^130 comes back five times below: 2^130 is 5.
`default_nettype none
module cm_client_poly1305 #(
    parameter integer DIGIT = 8 // 4, 8, 16 or 32
) (
    input  wire         clk_i,
    input  wire         rst_i,
    input  wire         start_i,  // h = 0; before the first word
    input  wire [127:0] r_i,      // clamped
    output wire         ready_o,
    input  wire         absorb_i, // while ready_o
    input  wire [31:0]  word_i,
    input  wire         finish_i, // held behind the last word
    output wire         done_o,   // then: h modulo 2^130 - 5, and 2^128
    output wire [127:0] hash_o
);
    `include "cm_refuse.svh"
    generate
        `CM_REFUSE(g_bad_digit, DIGIT != 4 && DIGIT != 8 && DIGIT != 16 && DIGIT != 32,
                   "cm_client_poly1305: DIGIT must be 4, 8, 16 or 32.")
    endgenerate
    localparam integer DIGITS = 128 / DIGIT;
    localparam integer COUNT = $clog2(DIGITS);
    localparam integer SUM = 132 + DIGIT; // h times a digit is below 2^(131 + DIGIT)
    localparam [COUNT-1:0] LAST_DIGIT = {COUNT{1'b1}};
    localparam [3:0] BLOCK = 4'd0, MULTIPLY = 4'd1, LAST = 4'd2, FOLD = 4'd3, SET = 4'd4, FOLD_AGAIN = 4'd5,
                     SET_AGAIN = 4'd6, TEST = 4'd7, DONE = 4'd8;

    reg  [3:0]           state;
    reg  [127:0]         block;
    reg  [2:0]           words;   // of it
    reg  [COUNT-1:0]     digit;   // the number of those done
    reg                  first;   // product
    reg                  added;   // a product waits to be added
    reg  [130:0]         h;
    reg  [DIGIT+130:0]   product; // of h and a digit of r
    reg  [SUM-1:0]       sum;
    wire                 taken = state == BLOCK && words[2];

    // A number below 2^SUM, and what is added to it, modulo 2^130 - 5 but not below.
    wire [128:0]         addend = taken ? {1'b1, block} : (state == TEST) ? 129'd5 : 129'd0;
    wire [SUM-131:0]     above = sum[SUM-1:130];
    wire [130:0]         folded = {1'b0, sum[129:0]} + {{(259 - SUM){1'b0}}, above, 2'b00}
        + {{(261 - SUM){1'b0}}, above}
        + {2'd0, addend};
    wire [2*DIGIT+1:0]   carried = sum[SUM-1:130-DIGIT]; // above 2^130 once it is shifted
    wire [SUM-1:0]       shifted = {{(SUM - 130){1'b0}}, sum[129-DIGIT:0], {DIGIT{1'b0}}}
        + {{(SUM - 2 * DIGIT - 4){1'b0}}, carried, 2'b00} + {{(SUM - 2 * DIGIT - 2){1'b0}}, carried};
    wire [DIGIT-1:0]     digit_of_r = r_i[DIGIT*(DIGITS-1-digit) +: DIGIT];

    assign ready_o = !words[2] || taken;
    assign done_o = state == DONE;
    assign hash_o = h[130] ? h[127:0] : sum[127:0]; // h is 5 more than the sum

    always_ff @(posedge clk_i) begin
        if (absorb_i) block <= {word_i, block[127:32]};
        words <= (taken ? 3'd0 : words) + {2'd0, absorb_i};
        product <= h * digit_of_r;
        added <= state == MULTIPLY;
        first <= digit == {COUNT{1'b0}};
        if (added) sum <= (first ? {SUM{1'b0}} : shifted) + {1'b0, product};
        case (state)
            BLOCK: begin
                digit <= {COUNT{1'b0}};
                if (taken) begin
                    h <= folded;
                    state <= MULTIPLY;
                end else if (finish_i) begin
                    state <= FOLD;
                end
            end
            MULTIPLY: begin
                digit <= digit + 1'b1;
                if (digit == LAST_DIGIT) state <= LAST;
            end
            LAST: state <= BLOCK;
            // The first fold leaves less than 2^130 + 2^(DIGIT + 5), the second less than 2^130.
            FOLD, FOLD_AGAIN, TEST: begin
                h <= folded;
                state <= state + 1'b1;
            end
            SET, SET_AGAIN: begin
                sum <= {{(SUM - 131){1'b0}}, h};
                state <= state + 1'b1;
            end
            default: ;
        endcase
        if (rst_i || start_i) begin
            state <= BLOCK;
            words <= 3'd0;
            added <= 1'b0;
            sum <= {SUM{1'b0}};
        end
        if (rst_i) begin
            block <= 128'd0;
            h <= 131'd0;
        end
    end
endmodule
`default_nettype wire
