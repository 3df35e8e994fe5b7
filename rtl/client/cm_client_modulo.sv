// SPDX-License-Identifier: Apache-2.0
// x mod q of a word every two cycles, by long division: a stage divides four bits in each of two cycles. q must not
// change on the way. Zeros that follow clear it.
`default_nettype none
module cm_client_modulo #(
    parameter integer WIDTH = 27 // bits of the widest q; it has 22 or more
) (
    input  wire             clk_i,
    input  wire             rst_i,
    output wire             ready_o,
    input  wire             valid_i,  // while ready_o
    input  wire [63:0]      x_i,
    input  wire [WIDTH-1:0] q_i,
    output wire             busy_o,   // a residue is on its way, or there
    output wire             valid_o,  // which must be taken
    output wire [WIDTH-1:0] residue_o
);
    `include "cm_refuse.svh"
    generate
        `CM_REFUSE(g_bad_width, WIDTH < 22 || WIDTH > 62, "cm_client_modulo: WIDTH must be from 22 to 62.")
    endgenerate
    localparam integer STAGES = 6, STEP = 4;
    localparam integer BITS = STEP * (2 * STAGES - 1); // of x that are divided; the others are less than q

    function automatic [WIDTH-1:0] divided(input [WIDTH-1:0] from, input [STEP-1:0] bits, input [WIDTH-1:0] q);
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

    reg              hands_on; // in this cycle each stage takes from the one before it
    reg [STAGES-1:0] valid;
    always_ff @(posedge clk_i) begin
        hands_on <= !hands_on;
        if (hands_on) valid <= {valid[STAGES-2:0], valid_i};
        if (rst_i) begin
            hands_on <= 1'b1; // what is there leaves
            valid <= {STAGES{1'b0}};
        end
    end
    assign ready_o = hands_on;
    assign busy_o = valid != {STAGES{1'b0}};
    assign valid_o = hands_on && valid[STAGES-1];

    genvar s;
    generate
        for (s = 0; s < STAGES; s = s + 1) begin : g_stage
            localparam integer LEFT = BITS - 2 * STEP * s; // bits that are not yet divided, the next ones highest
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
                wire [STEP-1:0]  bits = hands_on ? g_stage[s-1].left[LEFT+2*STEP-1 -: STEP] : left[LEFT-1 -: STEP];
                always_ff @(posedge clk_i) begin
                    rest <= divided(from, bits, q_i);
                    left <= hands_on ? g_stage[s-1].left[LEFT+STEP-1 -: LEFT] : left << STEP;
                end
            end
        end
    endgenerate
    assign residue_o = g_stage[STAGES-1].rest;
endmodule
`default_nettype wire
