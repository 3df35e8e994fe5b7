// SPDX-License-Identifier: Apache-2.0
// Gives C(t) and S(t) of docs/encoding.md, section 3, at 31 bits, for any angle t in units of pi / n, four
// steps later. At the multiples of pi / 2 they are 2^31, 0 and -2^31, with which products are exact. The
// table has the first eighth of a turn, and its mirror image is the second. An angle there is the sum of a
// coarse angle a and a fine angle b:
//
// cos (a + b) = cos a - cos a (1 - cos b) - sin a sin b
// sin (a + b) = sin a - sin a (1 - cos b) + cos a sin b
`default_nettype none
module cm_client_roots #(
    parameter integer LOG2_N = 12 // 10 .. 13
) (
    input  wire               clk_i,
    input  wire               rst_i,
    input  wire               enable_i, // A step ends; nothing moves without it.
    input  wire [LOG2_N:0]    angle_i,
    // Products for cm_client_products in the last cycle of a step but one, of what enable_i took two steps
    // ago.
    output wire [65:0]        coordinates_o,
    output wire [53:0]        first_digits_o,
    output wire [35:0]        second_digits_o,
    input  wire [127:0]       wide_i,
    input  wire [101:0]       second_i,
    output reg  signed [32:0] cosine_o,
    output reg  signed [32:0] sine_o
);
    localparam integer BITS = LOG2_N - 2;  // width of an angle in an eighth of a turn
    localparam integer UNIT = (LOG2_N < 13) ? 13 - LOG2_N : 0; // log2 of pi / n in the table's units
    // Stage 1 holds the angle.
    reg  [LOG2_N:0]   angle;
    wire [LOG2_N-2:0] inner = angle[LOG2_N-2:0]; // angle in its quarter turn
    wire [LOG2_N-2:0] mirrored = {(LOG2_N - 1){1'b0}} - inner;
    // The angle is beyond an eighth of a turn.
    wire              beyond = angle[LOG2_N-2] && angle[LOG2_N-3:0] != {BITS{1'b0}};
    // Stages 2 and 3 hold its place in the eighth.
    reg  [BITS-1:0]   place2, place3; // place in the eighth; 0 is the whole eighth, unless the root is exact
    reg               exact2, swapped2, exact3, swapped3;
    reg  [1:0]        quarter2, quarter3;
    wire [10:0]       whole2 = {{UNIT{1'b0}}, place2} << UNIT; // place in units of the table's angles
    reg  [6:0]        coarse;
    reg  [4:0]        fine;
    reg               back; // The fine angle is negative.
    wire [35:0]       coarse_cosine, coarse_sine;
    wire [26:0]       fine_sine;
    wire [16:0]       versed;
    wire [1:0]        missing;
    cm_client_root_table u_table (
        .coarse_i(coarse), .fine_i(fine), .angle_i({{UNIT{1'b0}}, place3} << UNIT), .cosine_o(coarse_cosine),
        .sine_o(coarse_sine), .fine_o(fine_sine), .versed_o(versed), .missing_o(missing)
    );
    assign coordinates_o = {1'b0, coarse_sine[35:4], 1'b0, coarse_cosine[35:4]};
    assign first_digits_o = {2{fine_sine}};
    assign second_digits_o = {2{1'b0, versed}};
    // Stage 4 adds products of the same place.
    wire [35:0]       cosine_by_sine = {5'd0, wide_i[60:30]};
    wire [35:0]       sine_by_sine = {5'd0, wide_i[124:94]};
    wire [35:0]       less_cosine = coarse_cosine - {13'd0, second_i[50:28]};
    wire [35:0]       less_sine = coarse_sine - {13'd0, second_i[101:79]};
    wire [35:0]       sum_cosine = back ? less_cosine + sine_by_sine : less_cosine - sine_by_sine;
    wire [35:0]       sum_sine = back ? less_sine - cosine_by_sine : less_sine + cosine_by_sine;
    wire [32:0]       near = exact3 ? {32'h8000_0000, 1'b0} : {sum_cosine[35:4], missing[0]};
    wire [32:0]       far = exact3 ? 33'd0 : {sum_sine[35:4], missing[1]};
    wire [32:0]       cosine = swapped3 ? far : near;
    wire [32:0]       sine = swapped3 ? near : far;
    // Adds a number and the bit missing in it, or negates their sum.
    function automatic [32:0] completed(input [32:0] number, input negative);
        completed = ({1'b0, number[32:1]} ^ {33{negative}}) + {32'd0, number[0] ^ negative};
    endfunction
    always_ff @(posedge clk_i) begin
        if (enable_i) begin
            angle <= angle_i;
            place2 <= beyond ? mirrored[BITS-1:0] : inner[BITS-1:0];
            exact2 <= inner == {(LOG2_N - 1){1'b0}};
            // In the next quarter turn the sine is the cosine.
            swapped2 <= beyond ^ angle[LOG2_N-1];
            quarter2 <= angle[LOG2_N:LOG2_N-1];
            place3 <= place2;
            coarse <= (place2 == {BITS{1'b0}}) ? 7'd64 : {1'b0, whole2[10:5]} + {6'd0, whole2[4]};
            fine <= whole2[4] ? 5'd0 - whole2[4:0] : whole2[4:0];
            back <= whole2[4];
            exact3 <= exact2;
            swapped3 <= swapped2;
            quarter3 <= quarter2;
            cosine_o <= completed(cosine, quarter3[1] ^ quarter3[0]);
            sine_o <= completed(sine, quarter3[1]);
        end
        if (rst_i) begin
            cosine_o <= 33'd0;
            sine_o <= 33'd0;
        end
    end
endmodule
`default_nettype wire
