// SPDX-License-Identifier: Apache-2.0
// Multiplies two signed numbers, or gives minus their product, modulo 2^WIDTH. For standard cells it adds
// rows of Booth's recoding, radix 4, in one tree: what a tool would build has one row more and does not know
// that the minus may come with the digits. The module is combinational.
//
// A digit of b is -2, -1, 0, 1 or 2. The row of a negative one is that of its magnitude with every bit
// inverted, and one more. A row's sign counts minus its place, which is its inverse there and minus one: the
// ones and the minus ones of all rows are one more row, for they are at other places.
`default_nettype none
module cm_client_product #(
    parameter integer A_WIDTH = 33,
    parameter integer B_WIDTH = 18, // even
    parameter integer WIDTH = 51,
    parameter integer SILICON = 0   // 1: for standard cells; 0: for the multipliers of an FPGA
) (
    input  wire [A_WIDTH-1:0] a_i,
    input  wire [B_WIDTH-1:0] b_i,
    input  wire               minus_i,
    output wire [WIDTH-1:0]   product_o
);
    `include "cm_refuse.svh"
    localparam integer DIGITS = B_WIDTH / 2;
    generate
        `CM_REFUSE(g_bad_width, B_WIDTH % 2 != 0 || B_WIDTH > A_WIDTH || A_WIDTH > WIDTH,
            "cm_client_product: B_WIDTH must be even, and at most A_WIDTH, which must be at most WIDTH.")
    endgenerate

    function automatic [WIDTH-1:0] minus_ones();
        integer d;
        begin
            minus_ones = {WIDTH{1'b0}};
            for (d = 0; d < DIGITS; d = d + 1)
                minus_ones = minus_ones - ({{(WIDTH - 1){1'b0}}, 1'b1} << (2 * d + A_WIDTH));
        end
    endfunction
    localparam [WIDTH-1:0] MINUS_ONES = minus_ones();

    genvar d;
    generate
        if (SILICON != 0) begin : g_rows
            wire [B_WIDTH:0]          code = {b_i, 1'b0};
            wire [B_WIDTH-1:0]        ones;
            wire [WIDTH*DIGITS-1:0]   rows;
            for (d = 0; d < DIGITS; d = d + 1) begin : g_digit
                wire one = code[2*d+1] ^ code[2*d];
                wire two = (code[2*d+2] ^ code[2*d+1]) && !one;
                wire negative = code[2*d+2] ^ minus_i;
                wire [A_WIDTH:0] magnitude = ({a_i[A_WIDTH-1], a_i} & {(A_WIDTH + 1){one}})
                    | ({a_i, 1'b0} & {(A_WIDTH + 1){two}});
                wire [A_WIDTH+WIDTH:0] row = {{WIDTH{1'b0}}, magnitude ^ {!negative, {A_WIDTH{negative}}}};
                assign rows[WIDTH*d +: WIDTH] = row[WIDTH-1:0] << (2 * d);
                assign ones[2*d +: 2] = {1'b0, negative};
            end
            reg [WIDTH-1:0] sum;
            integer r;
            always_comb begin
                sum = MINUS_ONES | {{(WIDTH - B_WIDTH){1'b0}}, ones};
                for (r = 0; r < DIGITS; r = r + 1) sum = sum + rows[WIDTH*r +: WIDTH];
            end
            assign product_o = sum;
        end else begin : g_whole
            wire signed [A_WIDTH+B_WIDTH-1:0] product = $signed(a_i) * $signed(b_i);
            wire [WIDTH+A_WIDTH+B_WIDTH-1:0]  wide = {{WIDTH{product[A_WIDTH+B_WIDTH-1]}}, product};
            assign product_o = minus_i ? {WIDTH{1'b0}} - wide[WIDTH-1:0] : wide[WIDTH-1:0];
        end
    endgenerate
endmodule
`default_nettype wire
