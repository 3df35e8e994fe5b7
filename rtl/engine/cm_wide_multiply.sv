// SPDX-License-Identifier: Apache-2.0
// Gives the whole product of two unsigned numbers from products of digits of at most 17 bits, as hardware
// multipliers take them, wide_product_latency() cycles later (cm_latency.svh). A pair can enter in every
// cycle.
//
// Shallow: digit products in one cycle, their sum in the next. DEEP: registered operands, then one digit
// product a cycle is added, lightest first; after the last of a weight the sum's lowest digit is final. Each
// step is a multiplier, a register, an adder and a register, which fit into one DSP block.
`default_nettype none
module cm_wide_multiply #(
    parameter integer WIDTH = 32,
    parameter integer DEEP = 0
) (
    input  wire               clk_i,
    input  wire [WIDTH-1:0]   a_i,
    input  wire [WIDTH-1:0]   b_i,
    output wire [2*WIDTH-1:0] product_o
);
    `include "cm_latency.svh"
    localparam integer DIGITS = digits_of(WIDTH);
    localparam integer DIGIT = (WIDTH + DIGITS - 1) / DIGITS;
    localparam integer PADDED = DIGIT * DIGITS;
    localparam integer PRODUCTS = DIGITS * DIGITS;

    // Digit product e is of digits i and weight - i of a and b: lightest first, in a weight by i.
    function automatic integer weight_of(input integer e);
        integer lighter;
        begin
            lighter = 0;
            weight_of = 0;
            while (lighter + products_of_weight(weight_of) <= e) begin
                lighter = lighter + products_of_weight(weight_of);
                weight_of = weight_of + 1;
            end
        end
    endfunction

    function automatic integer products_of_weight(input integer weight);
        products_of_weight = (weight < DIGITS) ? weight + 1 : 2 * DIGITS - 1 - weight;
    endfunction

    function automatic integer first_of_weight(input integer weight);
        integer w;
        begin
            first_of_weight = 0;
            for (w = 0; w < weight; w = w + 1) first_of_weight = first_of_weight + products_of_weight(w);
        end
    endfunction

    function automatic integer a_digit(input integer e);
        a_digit = e - first_of_weight(weight_of(e))
            + ((weight_of(e) < DIGITS) ? 0 : weight_of(e) - DIGITS + 1);
    endfunction

    function automatic integer b_digit(input integer e);
        b_digit = weight_of(e) - a_digit(e);
    endfunction

    wire [PADDED-1:0]   a = {{(PADDED - WIDTH){1'b0}}, a_i};
    wire [PADDED-1:0]   b = {{(PADDED - WIDTH){1'b0}}, b_i};
    wire [2*PADDED-1:0] product;
    assign product_o = product[2*WIDTH-1:0];

    genvar e;
    generate
        if (DEEP == 0) begin : g_shallow
            reg [2*DIGIT*PRODUCTS-1:0] parts;
            wire [2*PADDED*(PRODUCTS+1)-1:0] sums;
            reg [2*PADDED-1:0]         total;
            assign sums[2*PADDED-1:0] = {(2 * PADDED){1'b0}};
            for (e = 0; e < PRODUCTS; e = e + 1) begin : g_part
                localparam integer SHIFT = DIGIT * weight_of(e);
                always_ff @(posedge clk_i) begin
                    parts[2*DIGIT*e +: 2*DIGIT] <=
                        a[DIGIT*a_digit(e) +: DIGIT] * b[DIGIT*b_digit(e) +: DIGIT];
                end
                assign sums[2*PADDED*(e+1) +: 2*PADDED] = sums[2*PADDED*e +: 2*PADDED]
                    + ({{(2 * PADDED - 2 * DIGIT){1'b0}}, parts[2*DIGIT*e +: 2*DIGIT]} << SHIFT);
            end
            always_ff @(posedge clk_i) total <= sums[2*PADDED*PRODUCTS +: 2*PADDED];
            assign product = total;
        end else begin : g_deep
            localparam integer SUM = 2 * DIGIT + 4; // at most 9 digit products of a weight, and a carry
            for (e = 0; e < PRODUCTS; e = e + 1) begin : g_part
                localparam integer WEIGHT = weight_of(e);
                localparam integer START = (e == 0) ? 1 : e;
                wire [DIGIT-1:0] a_late;
                wire [DIGIT-1:0] b_late;
                reg  [2*DIGIT-1:0] part;
                wire [SUM-1:0] sum;
                cm_delay #(.WIDTH(DIGIT), .CYCLES(START)) u_a (
                    .clk_i(clk_i), .data_i(a[DIGIT*a_digit(e) +: DIGIT]), .data_o(a_late)
                );
                cm_delay #(.WIDTH(DIGIT), .CYCLES(START)) u_b (
                    .clk_i(clk_i), .data_i(b[DIGIT*b_digit(e) +: DIGIT]), .data_o(b_late)
                );
                always_ff @(posedge clk_i) part <= a_late * b_late;
                if (e == 0) begin : g_first
                    assign sum = {{(SUM - 2 * DIGIT){1'b0}}, part};
                end else begin : g_next
                    localparam integer SHIFT = (WEIGHT != weight_of(e - 1)) ? DIGIT : 0;
                    reg [SUM-1:0] accumulated;
                    always_ff @(posedge clk_i) begin
                        accumulated <= {{(SUM - 2 * DIGIT){1'b0}}, part} + (g_part[e-1].sum >> SHIFT);
                    end
                    assign sum = accumulated;
                end
                if (e == PRODUCTS - 1) begin : g_top
                    assign product[2*PADDED-1 : DIGIT*WEIGHT] = sum[2*DIGIT-1:0];
                end else if (weight_of(e + 1) != WEIGHT) begin : g_digit
                    cm_delay #(.WIDTH(DIGIT), .CYCLES(PRODUCTS - 1 - e)) u_digit (
                        .clk_i(clk_i), .data_i(sum[DIGIT-1:0]), .data_o(product[DIGIT*WEIGHT +: DIGIT])
                    );
                end
            end
        end
    endgenerate
endmodule
`default_nettype wire
