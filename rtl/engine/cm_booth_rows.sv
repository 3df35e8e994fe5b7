// SPDX-License-Identifier: Apache-2.0
// Gives the rows of Booth's recoding, radix 4, whose sum is the product of two unsigned numbers, or minus it,
// modulo 2^ROW_WIDTH. It is for standard cells: its user can add the rows in the same tree as other numbers.
// The module is combinational.
//
// A digit of b is -2, -1, 0, 1 or 2. Where it may be negative, its row is that of its magnitude with every
// bit inverted from its lowest one up, and one more. What is above the magnitude's bits is all ones then,
// else all zeros: the inverse of the sign in the lowest of these places, minus one there, is the same. The
// ones make a row, the minus ones a constant.
`default_nettype none
module cm_booth_rows #(
    parameter integer A_WIDTH = 27,
    parameter integer B_WIDTH = 27,
    parameter integer ROW_WIDTH = 54,
    parameter integer NEGATE = 0, // 1: the rows of minus the product
    parameter integer ROWS = B_WIDTH / 2 + 3
) (
    input  wire [A_WIDTH-1:0]        a_i,
    input  wire [B_WIDTH-1:0]        b_i,
    output wire [ROW_WIDTH*ROWS-1:0] rows_o
);
    localparam integer DIGITS = B_WIDTH / 2 + 1;
    // The top digit is not negative.
    localparam integer SIGNED = (NEGATE != 0) ? DIGITS : DIGITS - 1;

    function automatic [ROW_WIDTH-1:0] constants();
        integer d;
        begin
            constants = {ROW_WIDTH{1'b0}};
            for (d = 0; d < SIGNED; d = d + 1) begin
                constants = constants - ({{(ROW_WIDTH - 1){1'b0}}, 1'b1} << (2 * d + A_WIDTH + 1));
            end
            if (NEGATE != 0) constants = constants + ({{(ROW_WIDTH - 1){1'b0}}, 1'b1} << (2 * DIGITS - 2));
        end
    endfunction
    localparam [ROW_WIDTH-1:0] CONSTANTS = constants();

    wire [2*DIGITS:0]   code = {{(2 * DIGITS - B_WIDTH){1'b0}}, b_i, 1'b0};
    wire [2*DIGITS-1:0] ones; // ones at the places of their digits
    genvar d, b;
    generate
        for (d = 0; d < DIGITS; d = d + 1) begin : g_digit
            wire one = code[2*d+1] ^ code[2*d];
            wire two = (code[2*d+2] ^ code[2*d+1]) & ~one;
            wire negative = code[2*d+2] ^ (NEGATE != 0);
            wire [A_WIDTH:0] magnitude = ({1'b0, a_i} & {(A_WIDTH + 1){one}})
                | ({a_i, 1'b0} & {(A_WIDTH + 1){two}});
            wire [A_WIDTH+1:0] row = {d < SIGNED && !negative, magnitude ^ {(A_WIDTH + 1){negative}}};
            for (b = 0; b < ROW_WIDTH; b = b + 1) begin : g_bit
                if (b >= 2 * d && b < 2 * d + A_WIDTH + 2) begin : g_row
                    assign rows_o[ROW_WIDTH*d+b] = row[b-2*d];
                end else begin : g_outside
                    assign rows_o[ROW_WIDTH*d+b] = 1'b0;
                end
            end
            // The top digit's one is among the constants.
            assign ones[2*d +: 2] = {1'b0, d < DIGITS - 1 && negative};
        end
    endgenerate
    assign rows_o[ROW_WIDTH*DIGITS +: ROW_WIDTH] = {{(ROW_WIDTH - 2 * DIGITS){1'b0}}, ones};
    assign rows_o[ROW_WIDTH*(DIGITS+1) +: ROW_WIDTH] = CONSTANTS;
endmodule
`default_nettype wire
