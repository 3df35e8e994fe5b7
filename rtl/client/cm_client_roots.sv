// SPDX-License-Identifier: Apache-2.0
// C(t) and S(t) of docs/encoding.md, section 3, at 31 bits, for any angle t in units of pi / n, four cycles later. At
// the multiples of pi / 2 they are 2^31, 0 and -2^31, with which products are exact. The table has the first eighth of
// a turn, and its mirror image is the second.
`default_nettype none
module cm_client_roots #(
    parameter integer LOG2_N = 12 // 10 .. 13
) (
    input  wire               clk_i,
    input  wire               enable_i, // else nothing moves
    input  wire [LOG2_N:0]    angle_i,
    output reg  signed [32:0] cosine_o,
    output reg  signed [32:0] sine_o
);
    localparam integer BITS = LOG2_N - 2; // of an address
    // Stage 1: the angle.
    reg  [LOG2_N:0]   angle;
    wire [LOG2_N-2:0] inner = angle[LOG2_N-2:0]; // its quarter turn
    wire [LOG2_N-2:0] mirrored = {(LOG2_N - 1){1'b0}} - inner;
    wire              beyond = angle[LOG2_N-2] && angle[LOG2_N-3:0] != {BITS{1'b0}}; // an eighth
    wire [BITS-1:0]   place = beyond ? mirrored[BITS-1:0] : inner[BITS-1:0];
    // Stage 2: where it is.
    reg  [BITS-1:0]   address;
    reg               exact2, swapped2;
    reg  [1:0]        quarter2;
    // Stage 3: what is there.
    wire [61:0]       word;
    cm_client_root_table #(.LOG2_N(LOG2_N)) u_table (
        .clk_i(clk_i), .enable_i(enable_i), .address_i(address), .word_o(word)
    );
    reg               exact3, swapped3;
    reg  [1:0]        quarter3;
    wire signed [32:0] near = exact3 ? 33'h080000000 : {2'b00, word[61:31]};
    wire signed [32:0] far = exact3 ? 33'd0 : {2'b00, word[30:0]};
    wire signed [32:0] cosine = swapped3 ? far : near;
    wire signed [32:0] sine = swapped3 ? near : far;
    integer i;
    always_ff @(posedge clk_i) begin
        if (enable_i) begin
            angle <= angle_i;
            for (i = 0; i < BITS; i = i + 1) address[i] <= place[BITS-1-i];
            exact2 <= inner == {(LOG2_N - 1){1'b0}};
            // A quarter turn further, the sine is the cosine.
            swapped2 <= beyond ^ angle[LOG2_N-1];
            quarter2 <= angle[LOG2_N:LOG2_N-1];
            exact3 <= exact2;
            swapped3 <= swapped2;
            quarter3 <= quarter2;
            cosine_o <= (quarter3[1] ^ quarter3[0]) ? -cosine : cosine;
            sine_o <= quarter3[1] ? -sine : sine;
        end
    end
endmodule
`default_nettype wire
