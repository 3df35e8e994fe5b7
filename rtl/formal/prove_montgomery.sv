// SPDX-License-Identifier: Apache-2.0
// cm_montgomery_multiply at a small width: for every q = 1 modulo 2^(LOG2_N + 1), all a, b < q, whatever
// enters before and after, the product is below q and equals a b / R, and the halved product is half of it
// modulo q. The pipeline only feeds forward and starts here with arbitrary contents, so its length bounds the
// proof.
`default_nettype none
module prove_montgomery #(
    parameter integer WIDTH = 8,
    parameter integer LOG2_N = 2,
    parameter integer DEEP = 0,
    parameter integer MULTIPLIER_WIDTH = 24
) (
    input wire clk_i
);
    `include "cm_latency.svh"
    localparam integer LATENCY = multiply_latency(WIDTH, LOG2_N, MULTIPLIER_WIDTH, DEEP);
    localparam integer LOG2_R = montgomery_words(WIDTH, LOG2_N) * montgomery_word_bits(WIDTH, LOG2_N);
    localparam integer START = 2; // -h follows q by a cycle.
    localparam integer WIDE = 2 * WIDTH + LOG2_R;

    (* anyconst *) reg [WIDTH-1:0] q;
    (* anyconst *) reg [WIDTH-1:0] a;
    (* anyconst *) reg [WIDTH-1:0] b;
    (* anyconst *) reg             halve;
    (* anyseq *) reg [WIDTH-1:0]   other_a;
    (* anyseq *) reg [WIDTH-1:0]   other_b;
    (* anyseq *) reg               other_halve;

    reg [7:0] cycle = 8'd0;
    always_ff @(posedge clk_i) cycle <= cycle + 8'd1;
    wire enters = cycle == START;
    wire leaves = cycle == START + LATENCY;
    wire nears = cycle == START + LATENCY - 1;

    wire [WIDTH:0] product;
    cm_montgomery_multiply #(
        .WIDTH(WIDTH), .LOG2_N(LOG2_N), .DEEP(DEEP), .MULTIPLIER_WIDTH(MULTIPLIER_WIDTH)
    ) u_multiply (
        .clk_i(clk_i), .q_i(q), .a_i(enters ? a : other_a), .b_i(enters ? b : other_b),
        .halve_i(nears ? halve : other_halve), .product_o(product)
    );

    // The output, times R and doubled if it is a half, must be a b modulo q: q divides their difference, to
    // which q q, more than a b, is added.
    wire [WIDTH-1:0] result = halve ? product[WIDTH:1] : product[WIDTH-1:0];
    wire [WIDE:0]    scaled = {{(WIDE - WIDTH + 1){1'b0}}, result} << (LOG2_R + halve);
    wire [2*WIDTH-1:0] product_of_q = q * q - a * b;
    wire [WIDE:0]      difference = scaled + product_of_q;
    always_ff @(posedge clk_i) begin
        assume (q[LOG2_N:0] == 1 && q != 1);
        assume (a < q && b < q);
        if (leaves) begin
            cover (halve && result == q - 1);
            cover (!halve && result == q - 1);
            assert (result < q);
            assert (difference % q == 0);
        end
    end
endmodule
`default_nettype wire
