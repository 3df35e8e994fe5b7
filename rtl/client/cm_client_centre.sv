// SPDX-License-Identifier: Apache-2.0
// Subtracts two residues modulo an odd q, centres the difference between -q/2 and q/2, and doubles it: the
// guard bit of docs/encoding.md, section 8. The difference of two residues is above -q and below q, so at
// most one q is missing or too many. The module is combinational.
`default_nettype none
module cm_client_centre #(
    parameter integer WIDTH = 27
) (
    input  wire [WIDTH-1:0] q_i,
    input  wire [WIDTH-1:0] a_i,
    input  wire [WIDTH-1:0] b_i,
    output wire [31:0]      twice_o // signed
);
    wire signed [WIDTH:0] q = $signed({1'b0, q_i});
    wire signed [WIDTH:0] half = $signed({2'b00, q_i[WIDTH-1:1]});
    wire signed [WIDTH:0] difference = $signed({1'b0, a_i}) - $signed({1'b0, b_i});
    wire signed [WIDTH:0] centred = (difference > half) ? difference - q
        : (difference <= ~half) ? difference + q : difference; // ~half is -half - 1
    assign twice_o = {{(30 - WIDTH){centred[WIDTH]}}, centred, 1'b0};
endmodule
`default_nettype wire
