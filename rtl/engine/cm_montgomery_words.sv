// SPDX-License-Identifier: Apache-2.0
// cm_montgomery_multiply for FPGAs, except for its correction: it gives a number between -q and q that is a b
// / R modulo q. It multiplies digits and then reduces by one word after another, in multiply_latency() - 1
// cycles, one product a cycle.
`default_nettype none
module cm_montgomery_words #(
    parameter integer WIDTH = 32,   // width of a, which gives R
    parameter integer Q_WIDTH = 32, // width of q and b
    parameter integer LOG2_N = 10,
    parameter integer DEEP = 0,
    parameter integer MULTIPLIER_WIDTH = 24
) (
    input  wire               clk_i,
    input  wire [Q_WIDTH-1:0] q_i,
    input  wire [WIDTH-1:0]   a_i,
    input  wire [Q_WIDTH-1:0] b_i,
    output wire [Q_WIDTH:0]   t_o
);
    `include "cm_latency.svh"
    localparam integer WORDS = montgomery_words(WIDTH, LOG2_N);
    localparam integer WORD = montgomery_word_bits(WIDTH, LOG2_N);
    localparam integer PARTS = reduction_parts(WIDTH, LOG2_N, MULTIPLIER_WIDTH);
    localparam integer FACTOR_WIDTH = WIDTH - WORD + 1;

    wire [WIDTH-1:0] q = {{(WIDTH - Q_WIDTH){1'b0}}, q_i};
    wire [WIDTH-1:0] b = {{(WIDTH - Q_WIDTH){1'b0}}, b_i};

    // Width of the signed number that is left after some reductions.
    function automatic integer reduced_width(input integer words);
        reduced_width = (2 * WIDTH - words * WORD > WIDTH) ? 2 * WIDTH - words * WORD + 1 : WIDTH + 1;
    endfunction

    // - (q - 1) / 2^WORD, whose lowest bits are 0 for every such prime: so a step's multiplier need not have
    // them.
    localparam integer ZEROS = LOG2_N + 1 - WORD;
    reg  [FACTOR_WIDTH-ZEROS-1:0] minus_h_high;
    wire [FACTOR_WIDTH-1:0]       minus_h = {{ZEROS{1'b0}}, minus_h_high} << ZEROS;
    always_ff @(posedge clk_i) minus_h_high <= -{1'b0, q[WIDTH-1:LOG2_N+1]};

    wire [2*WIDTH-1:0] product;
    cm_wide_multiply #(.WIDTH(WIDTH), .DEEP(DEEP)) u_product (
        .clk_i(clk_i), .a_i(a_i), .b_i(b), .product_o(product)
    );

    genvar i;
    generate
        for (i = 0; i <= WORDS; i = i + 1) begin : g_reduce
            wire [reduced_width(i)-1:0] t;
            if (i == 0) begin : g_product
                assign t = {1'b0, product};
            end else begin : g_step
                cm_montgomery_reduce #(
                    .INPUT_WIDTH(reduced_width(i - 1)), .OUTPUT_WIDTH(reduced_width(i)), .WORD(WORD),
                    .FACTOR_WIDTH(FACTOR_WIDTH), .PARTS(PARTS), .MULTIPLIER_WIDTH(MULTIPLIER_WIDTH),
                    .DEEP(DEEP)
                ) u_step (
                    .clk_i(clk_i), .minus_h_i(minus_h), .t_i(g_reduce[i-1].t), .t_o(t)
                );
            end
        end
    endgenerate
    assign t_o = g_reduce[WORDS].t[Q_WIDTH:0];
endmodule
`default_nettype wire
