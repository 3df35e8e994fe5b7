// SPDX-License-Identifier: Apache-2.0
// Reduces 64-bit words modulo q, one word every six cycles, by long division: each stage divides four bits in
// each of six cycles. A residue leaves with valid_o and must be accepted. q_i must not change while words are
// in the pipeline. Zeros that follow the last word clear it.
`default_nettype none
module cm_client_modulo #(
    parameter integer WIDTH = 27 // bits of the widest q; it has 22 or more
) (
    input  wire             clk_i,
    input  wire             rst_i,
    output wire             ready_o,
    input  wire             valid_i,  // enters a word; only while ready_o
    input  wire [63:0]      x_i,
    input  wire [WIDTH-1:0] q_i,
    output wire             busy_o,   // A residue is in the pipeline or at its output.
    output wire             valid_o,  // A residue is there, and must be accepted.
    output wire [WIDTH-1:0] residue_o
);
    `include "cm_refuse.svh"
    generate
        `CM_REFUSE(g_bad_width, WIDTH < 22 || WIDTH > 62, "cm_client_modulo: WIDTH must be from 22 to 62.")
    endgenerate
    localparam integer STAGES = 2, TURNS = 6, STEP = 4;
    // Bits of x to divide; the bits above them are less than q.
    localparam integer BITS = STEP * (TURNS * STAGES - 1);

    function automatic [WIDTH-1:0] divided(input [WIDTH-1:0] from, input [STEP-1:0] bits,
                                           input [WIDTH-1:0] q);
        reg [WIDTH-1:0] rest;
        reg [WIDTH:0]   doubled;
        reg [WIDTH+1:0] less;
        integer         b;
        begin
            rest = from;
            for (b = STEP - 1; b >= 0; b = b - 1) begin
                doubled = {rest, bits[b]};
                less = {1'b0, doubled} - {2'b00, q};
                rest = less[WIDTH+1] ? doubled[WIDTH-1:0] : less[WIDTH-1:0];
            end
            divided = rest;
        end
    endfunction

    reg [2:0]        turn;
    // Each stage takes over from the one before it in this cycle.
    wire             hands_on = turn == TURNS[2:0] - 3'd1;
    reg [STAGES-1:0] valid;
    always_ff @(posedge clk_i) begin
        turn <= hands_on ? 3'd0 : turn + 1'b1;
        if (hands_on) valid <= {valid[STAGES-2:0], valid_i};
        if (rst_i) begin
            turn <= TURNS[2:0] - 3'd1; // The present word leaves.
            valid <= {STAGES{1'b0}};
        end
    end
    assign ready_o = hands_on;
    assign busy_o = valid != {STAGES{1'b0}};
    assign valid_o = hands_on && valid[STAGES-1];

    genvar s;
    generate
        for (s = 0; s < STAGES; s = s + 1) begin : g_stage
            // Number of bits not yet divided, the next ones highest.
            localparam integer LEFT = BITS - TURNS * STEP * s;
            reg [WIDTH-1:0] rest;
            reg [LEFT-1:0]  left;
            if (s == 0) begin : g_first
                always_ff @(posedge clk_i) begin
                    rest <= hands_on ? {{(WIDTH - 64 + BITS){1'b0}}, x_i[63:BITS]}
                                     : divided(rest, left[LEFT-1 -: STEP], q_i);
                    left <= hands_on ? x_i[BITS-1:0] : left << STEP;
                end
            end else begin : g_next
                wire [WIDTH-1:0] from = hands_on ? g_stage[s-1].rest : rest;
                wire [STEP-1:0]  bits = hands_on ? g_stage[s-1].left[LEFT+TURNS*STEP-1 -: STEP]
                    : left[LEFT-1 -: STEP];
                always_ff @(posedge clk_i) begin
                    rest <= divided(from, bits, q_i);
                    left <= hands_on ? g_stage[s-1].left[LEFT+(TURNS-1)*STEP-1 -: LEFT] : left << STEP;
                end
            end
        end
    endgenerate
    assign residue_o = g_stage[STAGES-1].rest;
endmodule
`default_nettype wire
