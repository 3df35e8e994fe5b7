// SPDX-License-Identifier: Apache-2.0
// Does the first stage of the transform of a polynomial of -1, 0 and 1: x + w y or x - w y modulo q is one of
// nine residues that depend only on the prime, so it is selected. w is a square root of -1, hence neither 0,
// 1 nor -1, and w + 1, w - 1 and their negatives are residues as they are.
`default_nettype none
module cm_zero_start #(
    parameter integer WIDTH = 40,
    parameter integer COUNT = 4
) (
    input  wire                   clk_i,
    input  wire [WIDTH-1:0]       q_i,
    input  wire [WIDTH-1:0]       root_i,  // w
    input  wire                   minus_i, // selects x - w y
    input  wire [2*COUNT-1:0]     x_i,     // signed numbers of two bits each
    input  wire [2*COUNT-1:0]     y_i,
    output wire [WIDTH*COUNT-1:0] residues_o
);
    // These constants are there long before they are needed.
    reg [WIDTH-1:0] minus_one, plus, plus_more, plus_less, less, less_more, less_less;
    always_ff @(posedge clk_i) begin
        minus_one <= q_i - 1'b1;
        plus <= root_i;
        plus_more <= root_i + 1'b1;
        plus_less <= root_i - 1'b1;
        less <= q_i - root_i;
        less_more <= q_i - root_i + 1'b1;
        less_less <= q_i - root_i - 1'b1;
    end

    genvar i;
    generate
        for (i = 0; i < COUNT; i = i + 1) begin : g_residue
            wire [1:0] x = x_i[2*i +: 2];
            wire [1:0] y = y_i[2*i +: 2];
            wire       adds = y[0] && y[1] == minus_i;
            wire       takes = y[0] && y[1] != minus_i;
            wire [WIDTH-1:0] alone = adds ? plus : takes ? less : {WIDTH{1'b0}};
            wire [WIDTH-1:0] more = adds ? plus_more : takes ? less_more : {{(WIDTH - 1){1'b0}}, 1'b1};
            wire [WIDTH-1:0] fewer = adds ? plus_less : takes ? less_less : minus_one;
            assign residues_o[WIDTH*i +: WIDTH] = !x[0] ? alone : x[1] ? fewer : more;
        end
    endgenerate
endmodule
`default_nettype wire
