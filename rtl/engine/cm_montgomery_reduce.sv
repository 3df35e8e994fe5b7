// SPDX-License-Identifier: Apache-2.0
// One step of the word-level Montgomery reduction for a prime q = 1 modulo 2^WORD: t / 2^WORD modulo q. It
// takes reduction_latency() cycles (cm_latency.svh), and a number can enter in every cycle.
//
// With l the lowest word of t, t - l q is divisible by 2^WORD, and as q = 1 + 2^WORD h the quotient is
// floor(t / 2^WORD) - l h: one product and no carry from below. It stays above -q: floor(t / 2^WORD) >= -h
// for t > -q, and -h - (2^WORD - 1) h = -(q - 1). papers/003, Algorithm 5, adds l' h + carry for l' = -l
// instead.
`default_nettype none
module cm_montgomery_reduce #(
    parameter integer INPUT_WIDTH = 65,  // signed
    parameter integer OUTPUT_WIDTH = 54, // signed
    parameter integer WORD = 11,
    parameter integer FACTOR_WIDTH = 22, // width of -h, signed
    parameter integer PARTS = 1,         // number of parts of -h
    parameter integer MULTIPLIER_WIDTH = 24,
    parameter integer DEEP = 0
) (
    input  wire                    clk_i,
    input  wire [FACTOR_WIDTH-1:0] minus_h_i,
    input  wire [INPUT_WIDTH-1:0]  t_i,
    output wire [OUTPUT_WIDTH-1:0] t_o
);
    wire signed [WORD:0] low = $signed({1'b0, t_i[WORD-1:0]});
    wire signed [OUTPUT_WIDTH-1:0] high;
    generate
        if (OUTPUT_WIDTH > INPUT_WIDTH - WORD) begin : g_extend
            assign high = $signed({{(OUTPUT_WIDTH - INPUT_WIDTH + WORD){t_i[INPUT_WIDTH-1]}},
                                   t_i[INPUT_WIDTH-1:WORD]});
        end else begin : g_all
            assign high = $signed(t_i[WORD +: OUTPUT_WIDTH]);
        end

        if (DEEP == 0) begin : g_shallow
            reg signed [OUTPUT_WIDTH-1:0] t;
            always_ff @(posedge clk_i) t <= high + low * $signed(minus_h_i);
            assign t_o = t;
        end else begin : g_deep
            genvar p;
            for (p = 0; p < PARTS; p = p + 1) begin : g_part
                localparam integer PART_WIDTH = (p == PARTS - 1) ? FACTOR_WIDTH - p * MULTIPLIER_WIDTH
                                                                 : MULTIPLIER_WIDTH + 1;
                wire signed [PART_WIDTH-1:0] factor;
                wire signed [WORD:0] low_late;
                reg  signed [PART_WIDTH+WORD:0] part;
                reg  signed [OUTPUT_WIDTH-1:0] sum;
                if (p == PARTS - 1) begin : g_top
                    assign factor = $signed(minus_h_i[FACTOR_WIDTH-1 : p*MULTIPLIER_WIDTH]);
                end else begin : g_lower
                    assign factor = $signed({1'b0, minus_h_i[p*MULTIPLIER_WIDTH +: MULTIPLIER_WIDTH]});
                end
                cm_delay #(.WIDTH(WORD + 1), .CYCLES(p)) u_low (
                    .clk_i(clk_i), .data_i(low), .data_o(low_late)
                );
                always_ff @(posedge clk_i) part <= low_late * factor;
                // The part may have a bit more than the sum needs.
                localparam integer SUM_WIDTH = (OUTPUT_WIDTH > PART_WIDTH + WORD + 1) ? OUTPUT_WIDTH
                                                                                      : PART_WIDTH + WORD + 1;
                wire signed [SUM_WIDTH-1:0] wide_part = part;
                wire signed [SUM_WIDTH-1:0] next;
                if (p == 0) begin : g_first
                    reg signed [OUTPUT_WIDTH-1:0] high_late;
                    always_ff @(posedge clk_i) high_late <= high;
                    assign next = high_late + wide_part;
                end else begin : g_next
                    assign next = g_part[p-1].sum + (wide_part <<< (p * MULTIPLIER_WIDTH));
                end
                always_ff @(posedge clk_i) sum <= next[OUTPUT_WIDTH-1:0];
            end
            assign t_o = g_part[PARTS-1].sum;
        end
    endgenerate
endmodule
`default_nettype wire
