// SPDX-License-Identifier: Apache-2.0
// x mod q of a word a cycle, by long division: two bits of the quotient a stage. STAGES cycles; q must not change on
// the way. Zeros that follow clear it.
`default_nettype none
module cm_client_modulo #(
    parameter integer WIDTH = 27 // bits of the widest q; it has 22 or more
) (
    input  wire             clk_i,
    input  wire [WIDTH-1:0] q_i,
    input  wire [63:0]      x_i,
    output wire [WIDTH-1:0] residue_o
);
    `include "cm_refuse.svh"
    generate
        `CM_REFUSE(g_bad_width, WIDTH < 22 || WIDTH > 62, "cm_client_modulo: WIDTH must be from 22 to 62.")
    endgenerate
    `include "cm_client_modulo.svh"
    localparam integer BITS = 2 * MODULO_STAGES; // the others are less than q

    function automatic [WIDTH-1:0] step(input [WIDTH-1:0] rest, input next, input [WIDTH-1:0] q);
        reg [WIDTH:0]   doubled;
        reg [WIDTH+1:0] less;
        begin
            doubled = {rest, next};
            less = {1'b0, doubled} - {2'b00, q};
            step = less[WIDTH+1] ? doubled[WIDTH-1:0] : less[WIDTH-1:0];
        end
    endfunction

    genvar s;
    generate
        for (s = 0; s < MODULO_STAGES; s = s + 1) begin : g_stage
            localparam integer LEFT = BITS - 2 * s; // bits that are not yet divided
            reg  [WIDTH-1:0] rest;
            wire [WIDTH-1:0] from;
            wire [LEFT-1:0]  bits;
            if (s == 0) begin : g_first
                assign from = {{(WIDTH - 64 + BITS){1'b0}}, x_i[63:BITS]};
                assign bits = x_i[BITS-1:0];
            end else begin : g_next
                assign from = g_stage[s-1].rest;
                assign bits = g_stage[s-1].g_left.left;
            end
            always_ff @(posedge clk_i) rest <= step(step(from, bits[LEFT-1], q_i), bits[LEFT-2], q_i);
            if (s != MODULO_STAGES - 1) begin : g_left
                reg [LEFT-3:0] left;
                always_ff @(posedge clk_i) left <= bits[LEFT-3:0];
            end
        end
    endgenerate
    assign residue_o = g_stage[MODULO_STAGES-1].rest;
endmodule
`default_nettype wire
