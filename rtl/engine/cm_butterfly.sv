// SPDX-License-Identifier: Apache-2.0
// A butterfly on a pair of residues, one a cycle: Cooley-Tukey (a + w b, a - w b), Gentleman-Sande with both
// results halved ((a + b) / 2, (b - a) w / 2), or the bare product w b or w a.
//
// All of them share one adder-subtractor, one multiplier and one delay line as long as the multiplier.
// Cooley-Tukey sends b through the multiplier and a along the line, then adds; Gentleman-Sande adds first. So
// a Cooley-Tukey pair must not enter add_latency after, nor a Gentleman-Sande pair multiply_latency after,
// one of the other kind. Results leave multiply_latency + add_latency after the pair entered. Its twiddle w
// enters with it, or with Gentleman-Sande add_latency later.
`default_nettype none
module cm_butterfly #(
    parameter integer WIDTH = 32,
    parameter integer LOG2_N = 10,
    parameter integer DEEP = 0,
    parameter integer MULTIPLIER_WIDTH = 24
) (
    input  wire             clk_i,
    input  wire [WIDTH-1:0] q_i,
    input  wire [WIDTH-1:0] a_i,
    input  wire [WIDTH-1:0] b_i,
    input  wire [WIDTH-1:0] w_i,
    // Signals of the cycle in which the pair enters:
    input  wire             sande_i,           // Gentleman-Sande
    input  wire             product_i,         // bare product
    input  wire             product_of_a_i,
    // The progress of a Gentleman-Sande pair:
    input  wire             sande_multiply_i,  // add_latency after it entered
    input  wire             sande_halve_i,     // one cycle before its results leave
    input  wire             sande_leave_i,     // when its results leave
    output wire [WIDTH-1:0] a_o,
    output wire [WIDTH-1:0] b_o
);
    `include "cm_latency.svh"
    localparam integer LATENCY = multiply_latency(WIDTH, LOG2_N, MULTIPLIER_WIDTH, DEEP);

    wire [WIDTH-1:0] q = {q_i[WIDTH-1:LOG2_N+1], {LOG2_N{1'b0}}, q_i[0]}; // q is 1 modulo 2^(LOG2_N + 1).
    wire [WIDTH-1:0] sum;
    wire [WIDTH-1:0] difference;
    wire [WIDTH:0]   product;
    reg  [WIDTH:0]   waited; // the end of the delay line; halved as the product is

    cm_modular_add_subtract #(.WIDTH(WIDTH), .DEEP(DEEP)) u_add_subtract (
        .clk_i(clk_i), .q_i(q),
        .a_i(sande_i ? b_i : waited[WIDTH-1:0]),
        .b_i(sande_i ? a_i : product[WIDTH-1:0]),
        .sum_o(sum), .difference_o(difference)
    );

    cm_montgomery_multiply #(
        .WIDTH(WIDTH), .LOG2_N(LOG2_N), .DEEP(DEEP), .MULTIPLIER_WIDTH(MULTIPLIER_WIDTH)
    ) u_multiply (
        .clk_i(clk_i), .q_i(q),
        .a_i(sande_multiply_i ? difference : product_of_a_i ? a_i : b_i), .b_i(w_i),
        .halve_i(sande_halve_i), .product_o(product)
    );

    wire [WIDTH-1:0] waiting;
    cm_delay #(.WIDTH(WIDTH), .CYCLES(LATENCY - 1)) u_wait (
        .clk_i(clk_i),
        .data_i(sande_multiply_i ? sum : product_i ? {WIDTH{1'b0}} : a_i),
        .data_o(waiting)
    );
    wire [WIDTH-1:0] to_even = (sande_halve_i && waiting[0]) ? q : {WIDTH{1'b0}};
    always_ff @(posedge clk_i) waited <= {1'b0, waiting} + {1'b0, to_even};

    assign a_o = sande_leave_i ? waited[WIDTH:1] : sum;
    assign b_o = sande_leave_i ? product[WIDTH:1] : difference;
endmodule
`default_nettype wire
