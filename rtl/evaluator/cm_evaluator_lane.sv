// SPDX-License-Identifier: Apache-2.0
// One lane of the vector unit: adds products and gives the sum divided by R modulo q, or shifted to the
// right, with rounding where round_i is half of what the shift divides by. Its controls are those of all
// lanes, each in the cycle of its stage (cm_evaluator_vector).
//
// A sum below q R becomes, by as many steps of cm_montgomery_reduce as R has words, a number between -q
// and q.
`default_nettype none
module cm_evaluator_lane #(
    parameter integer LOG2_N = 12,
    parameter integer WIDTH = 27,
    parameter integer DEEP = 1,
    parameter integer MULTIPLIER_WIDTH = 24,
    parameter integer REDUCTIONS = 4,              // These two follow from LOG2_N and WIDTH.
    parameter integer H_WIDTH = WIDTH - LOG2_N - 1
) (
    input  wire                              clk_i,
    input  wire [WIDTH-1:0]                  word_i,
    input  wire [30:0]                       factor_i,
    input  wire                              adds_i,    // The product enters the sum,
    input  wire                              first_i,   // as its first one,
    input  wire [61:0]                       round_i,   // to which this is added.
    input  wire [REDUCTIONS*(H_WIDTH+1)-1:0] minus_h_i, // -(q - 1) / 2^(LOG2_N + 1), by reduction
    input  wire [H_WIDTH-1:0]                h_i,       // (q - 1) / 2^(LOG2_N + 1)
    input  wire [5:0]                        shift_i,   // two bits a stage, the high ones first
    input  wire                              shifts_i,  // The result is the shifted sum.
    output reg  [WIDTH-1:0]                  result_o
);
    `include "cm_latency.svh"
    `include "cm_evaluator_latency.svh"
    localparam integer WORD = LOG2_N + 1;

    // --- the sum -------------------------------------------------------------------------------------------

    wire [2*FACTOR_BITS-1:0] product;
    cm_wide_multiply #(.WIDTH(FACTOR_BITS), .DEEP(DEEP)) u_product (
        .clk_i(clk_i), .a_i({{(FACTOR_BITS - WIDTH){1'b0}}, word_i}), .b_i(factor_i), .product_o(product)
    );
    reg [SUM_WIDTH-1:0] sum;
    always_ff @(posedge clk_i) if (adds_i) sum <= product + (first_i ? round_i : sum);

    // --- reduced -------------------------------------------------------------------------------------------

    // Width of the signed number that is left after some reductions.
    function automatic integer reduced_width(input integer steps);
        reduced_width = (SUM_WIDTH - steps * WORD > WIDTH) ? SUM_WIDTH - steps * WORD + 1 : WIDTH + 1;
    endfunction

    genvar i;
    generate
        for (i = 0; i <= REDUCTIONS; i = i + 1) begin : g_reduce
            wire [reduced_width(i)-1:0] t;
            if (i == 0) begin : g_sum
                assign t = {1'b0, sum};
            end else begin : g_step
                cm_montgomery_reduce #(
                    .INPUT_WIDTH(reduced_width(i - 1)), .OUTPUT_WIDTH(reduced_width(i)), .WORD(WORD),
                    .FACTOR_WIDTH(H_WIDTH + 1), .PARTS(1), .MULTIPLIER_WIDTH(MULTIPLIER_WIDTH), .DEEP(DEEP)
                ) u_step (
                    .clk_i(clk_i), .minus_h_i(minus_h_i[(H_WIDTH+1)*(i-1) +: H_WIDTH+1]),
                    .t_i(g_reduce[i-1].t), .t_o(t)
                );
            end
        end
    endgenerate
    wire [WIDTH:0] reduced = g_reduce[REDUCTIONS].t[WIDTH:0];

    // --- shifted -------------------------------------------------------------------------------------------

    localparam integer REDUCE_LATENCY = REDUCTIONS * sum_reduction_latency(DEEP);
    reg  [WIDTH+14:0] shifted_high;   // by 0, 16, 32 or 48
    reg  [WIDTH+2:0]  shifted_middle; // and 0, 4, 8 or 12
    reg  [WIDTH-1:0]  shifted_low;    // and 0, 1, 2 or 3
    wire [SUM_WIDTH+28:0] padded = {29'd0, sum};
    wire [WIDTH-1:0] shifted;
    always_ff @(posedge clk_i) begin
        case (shift_i[5:4])
            2'd0: shifted_high <= padded[0 +: WIDTH+15];
            2'd1: shifted_high <= padded[16 +: WIDTH+15];
            2'd2: shifted_high <= padded[32 +: WIDTH+15];
            default: shifted_high <= padded[48 +: WIDTH+15];
        endcase
        case (shift_i[3:2])
            2'd0: shifted_middle <= shifted_high[0 +: WIDTH+3];
            2'd1: shifted_middle <= shifted_high[4 +: WIDTH+3];
            2'd2: shifted_middle <= shifted_high[8 +: WIDTH+3];
            default: shifted_middle <= shifted_high[12 +: WIDTH+3];
        endcase
        case (shift_i[1:0])
            2'd0: shifted_low <= shifted_middle[0 +: WIDTH];
            2'd1: shifted_low <= shifted_middle[1 +: WIDTH];
            2'd2: shifted_low <= shifted_middle[2 +: WIDTH];
            default: shifted_low <= shifted_middle[3 +: WIDTH];
        endcase
    end
    cm_delay #(.WIDTH(WIDTH), .CYCLES(REDUCE_LATENCY - 3)) u_shifted (
        .clk_i(clk_i), .data_i(shifted_low), .data_o(shifted)
    );

    wire [WIDTH-1:0] q = {h_i, {LOG2_N{1'b0}}, 1'b1};
    wire [WIDTH:0]   corrected = reduced + (reduced[WIDTH] ? {1'b0, q} : {(WIDTH + 1){1'b0}});
    always_ff @(posedge clk_i) result_o <= shifts_i ? shifted : corrected[WIDTH-1:0];
endmodule
`default_nettype wire
