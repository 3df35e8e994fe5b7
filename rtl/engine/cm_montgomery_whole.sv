// SPDX-License-Identifier: Apache-2.0
// cm_montgomery_multiply for standard cells, except for its correction: it gives a number between -q and q
// that is a b / R modulo q, in fewer cycles, one product a cycle. The product and its first reduction take
// one cycle, and each other reduction one of the cycles after it, the last without a register.
//
// A reduction takes the lowest bits l of t, at most LOG2_N + 1 of them: with q = 1 + 2^(LOG2_N + 1) h, t - l
// q is divisible by their power of two, and needs only l h (cm_montgomery_reduce). All but the first take
// LOG2_N + 1. Where that leaves a single bit to the first, it is none: to an odd product, q is added in the
// tree of its rows. Together they are at most R (q - 1) + q - a, so what is left after all bits is below q.
`default_nettype none
module cm_montgomery_whole #(
    parameter integer WIDTH = 27,   // width of a, which gives R
    parameter integer Q_WIDTH = 27, // width of q and b
    parameter integer LOG2_N = 12
) (
    input  wire               clk_i,
    input  wire [Q_WIDTH-1:0] q_i,
    input  wire [WIDTH-1:0]   a_i,
    input  wire [Q_WIDTH-1:0] b_i,
    output wire [Q_WIDTH:0]   t_o
);
    `include "cm_latency.svh"
    localparam integer STEP = LOG2_N + 1;
    localparam integer FIRST = first_reduction(WIDTH, LOG2_N);
    localparam integer ODD = (FIRST == 1) ? 1 : 0;
    localparam integer STEPS = whole_reductions(WIDTH, LOG2_N);
    localparam integer H_WIDTH = Q_WIDTH - STEP;
    localparam integer PRODUCT_WIDTH = WIDTH + Q_WIDTH;

    // Bits that the first steps take, and the width of the signed number that is left.
    function automatic integer taken(input integer steps);
        taken = (ODD != 0) ? 1 + steps * STEP : (steps == 0) ? 0 : FIRST + (steps - 1) * STEP;
    endfunction

    function automatic integer left_width(input integer steps);
        left_width = (PRODUCT_WIDTH - taken(steps) > Q_WIDTH) ? PRODUCT_WIDTH - taken(steps) + 1
            : Q_WIDTH + 1;
    endfunction

    wire [H_WIDTH-1:0] h = q_i[Q_WIDTH-1:STEP];
    reg  [WIDTH-1:0]   a;
    reg  [Q_WIDTH-1:0] b;
    always_ff @(posedge clk_i) begin
        a <= a_i;
        b <= b_i;
    end

    localparam integer ROWS = Q_WIDTH / 2 + 3;
    wire [PRODUCT_WIDTH*ROWS-1:0] rows;
    cm_booth_rows #(.A_WIDTH(WIDTH), .B_WIDTH(Q_WIDTH), .ROW_WIDTH(PRODUCT_WIDTH)) u_product (
        .a_i(a), .b_i(b), .rows_o(rows)
    );
    reg  [PRODUCT_WIDTH-1:0] product;
    wire [PRODUCT_WIDTH-1:0] even = (ODD != 0 && a[0] && b[0])
        ? {{(PRODUCT_WIDTH - Q_WIDTH){1'b0}}, h, {(STEP - 1){1'b0}}, 1'b1} : {PRODUCT_WIDTH{1'b0}};
    integer r;
    always_comb begin
        product = even;
        for (r = 0; r < ROWS; r = r + 1) product = product + rows[PRODUCT_WIDTH*r +: PRODUCT_WIDTH];
    end

    genvar i;
    generate
        for (i = 0; i <= STEPS; i = i + 1) begin : g_reduce
            localparam integer LEFT = left_width(i);
            wire signed [LEFT-1:0] t;
            if (i == 0) begin : g_product
                assign t = {1'b0, product[PRODUCT_WIDTH-1:ODD]};
            end else begin : g_step
                localparam integer BITS = taken(i) - taken(i - 1);
                localparam integer STEP_ROWS = BITS / 2 + 3;
                wire [LEFT*STEP_ROWS-1:0] step_rows;
                cm_booth_rows #(
                    .A_WIDTH(H_WIDTH + STEP - BITS), .B_WIDTH(BITS), .ROW_WIDTH(LEFT), .NEGATE(1)
                ) u_rows (
                    .a_i({h, {(STEP - BITS){1'b0}}}), .b_i(g_reduce[i-1].t[BITS-1:0]), .rows_o(step_rows)
                );
                wire signed [left_width(i-1)-BITS-1:0] high = g_reduce[i-1].t[left_width(i-1)-1:BITS];
                reg  signed [LEFT-1:0] sum;
                integer s;
                always_comb begin
                    sum = high;
                    for (s = 0; s < STEP_ROWS; s = s + 1) sum = sum + step_rows[LEFT*s +: LEFT];
                end
                if (i == STEPS) begin : g_last
                    assign t = sum;
                end else begin : g_registered
                    reg signed [LEFT-1:0] held;
                    always_ff @(posedge clk_i) held <= sum;
                    assign t = held;
                end
            end
        end
    endgenerate

    assign t_o = g_reduce[STEPS].t;
endmodule
`default_nettype wire
