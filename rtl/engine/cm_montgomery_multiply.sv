// SPDX-License-Identifier: Apache-2.0
// a b / R modulo q, one product a cycle, for any prime q = 1 modulo 2^(LOG2_N + 1) of at most WIDTH bits that is chosen
// at run time. R = 2^(iterations * word), the least such power that is not below 2^WIDTH.
//
// a < R and b < q, so a b / R < q, and after the last reduction the number is between -q and q:
// adding q to a negative one gives the residue. Its half modulo q costs the same: an odd number plus q is even and
// positive, and a negative even one takes 2 q.
`default_nettype none
module cm_montgomery_multiply #(
    parameter integer WIDTH = 32,
    parameter integer LOG2_N = 10,
    parameter integer DEEP = 0,             // more and shorter pipeline stages
    parameter integer MULTIPLIER_WIDTH = 24 // widest unsigned factor of a hardware multiplier: 24 or 17; 64 in silicon
) (
    input  wire             clk_i,
    input  wire [WIDTH-1:0] q_i,
    input  wire [WIDTH-1:0] a_i,
    input  wire [WIDTH-1:0] b_i,
    input  wire             halve_i,  // one cycle before the product comes out
    output reg  [WIDTH:0]   product_o // the residue; if halved, twice the half
);
    `include "cm_latency.svh"
    localparam integer WORDS = montgomery_words(WIDTH, LOG2_N);
    localparam integer WORD = montgomery_word_bits(WIDTH, LOG2_N);
    localparam integer PARTS = reduction_parts(WIDTH, LOG2_N, MULTIPLIER_WIDTH);
    localparam integer FACTOR_WIDTH = WIDTH - WORD + 1;

    // Signed bits of the number after some reductions.
    function automatic integer reduced_width(input integer words);
        reduced_width = (2 * WIDTH - words * WORD > WIDTH) ? 2 * WIDTH - words * WORD + 1 : WIDTH + 1;
    endfunction

    // - (q - 1) / 2^WORD, whose lowest bits are 0 for every such prime: so a step's multiplier need not have them.
    localparam integer ZEROS = LOG2_N + 1 - WORD;
    reg  [FACTOR_WIDTH-ZEROS-1:0] minus_h_high;
    wire [FACTOR_WIDTH-1:0]       minus_h = {{ZEROS{1'b0}}, minus_h_high} << ZEROS;
    always_ff @(posedge clk_i) minus_h_high <= -{1'b0, q_i[WIDTH-1:LOG2_N+1]};

    wire [2*WIDTH-1:0] product;
    cm_wide_multiply #(
        .WIDTH(WIDTH), .DEEP(DEEP), .WHOLE(in_silicon(MULTIPLIER_WIDTH, DEEP))
    ) u_product (
        .clk_i(clk_i), .a_i(a_i), .b_i(b_i), .product_o(product)
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
                    .FACTOR_WIDTH(FACTOR_WIDTH), .PARTS(PARTS), .MULTIPLIER_WIDTH(MULTIPLIER_WIDTH), .DEEP(DEEP),
                    // In silicon two steps share a cycle, the last one has its own with the correction.
                    .DIRECT((in_silicon(MULTIPLIER_WIDTH, DEEP) != 0 && (WORDS - i) % 2 == 0) ? 1 : 0)
                ) u_step (
                    .clk_i(clk_i), .minus_h_i(minus_h), .t_i(g_reduce[i-1].t), .t_o(t)
                );
            end
        end
    endgenerate

    wire [WIDTH:0] t = g_reduce[WORDS].t;
    wire add_one = halve_i ? t[0] : t[WIDTH];
    wire add_two = halve_i && !t[0] && t[WIDTH];
    wire [WIDTH:0] correction = add_one ? {1'b0, q_i} : add_two ? {q_i, 1'b0} : {(WIDTH + 1){1'b0}};
    always_ff @(posedge clk_i) product_o <= t + correction;
endmodule
`default_nettype wire
