// SPDX-License-Identifier: Apache-2.0
// cm_client_noise is the library's sampler: of the 42 words that 32 coefficients take, coefficient j is the
// number of ones at bit j of the first 21 words less that of the other 21. By induction, for any words, any
// coefficient, any number of groups and any pauses.
`default_nettype none
module prove_client_noise (
    input wire clk_i
);
    localparam integer WORDS = 21; // number of words of 64 bits
    (* anyseq *) reg [63:0]  data;
    (* anyconst *) reg [4:0] j;
    (* anyseq *) reg         valid;
    reg       reset = 1'b1;
    reg [4:0] age = 5'd0; // counts words, then groups of eight
    wire [4:0] eights = age - WORDS;

    wire ready, eight;
    wire [47:0] eight_data;
    cm_client_noise u_noise (
        .clk_i(clk_i), .rst_i(reset), .valid_i(valid), .ready_o(ready), .data_i(data), .eight_o(eight),
        .eight_data_o(eight_data)
    );
    // What it holds, for the induction: rtl/tools/prove.py connects them.
    (* keep *) wire [191:0] sums;
    (* keep *) wire [4:0]   count;

    // Coefficient j alone, one word of 32 bits after the other.
    function automatic [5:0] counted(input [5:0] sum, input [5:0] word, input one);
        counted = !one ? sum : (word < WORDS) ? sum + 6'd1 : sum - 6'd1;
    endfunction

    reg  [5:0] expected = 6'd0;
    wire       here = age == WORDS + {3'd0, j[4:3]}; // The group with the coefficient leaves.
    wire [5:0] found = eight_data[6*j[2:0] +: 6];
    wire [7:0] place = 6 * (j - 8 * eights);
    // They begin at -21, and each 0 that is to be subtracted adds one, too.
    wire [5:0] words = 2 * age;
    wire [5:0] offset = ((words > WORDS) ? words - WORDS : 6'd0) - 6'd21;
    wire [191:0] above = sums >> (48 * (4 - eights)); // the counters that have been shifted in
    wire [191:0] begun = {32{-6'd21}} >> (48 * (4 - eights));

    always_ff @(posedge clk_i) begin
        reset <= 1'b0;
        if (!reset && (age >= WORDS || valid)) begin
            age <= (age == 5'd24) ? 5'd0 : age + 5'd1;
            expected <= (age == 5'd24) ? 6'd0
                : (age >= WORDS) ? expected
                : counted(counted(expected, 2 * age, data[j]), 2 * age + 1, data[32+j]);
        end
        if (!reset) begin
            assert (ready == (age < WORDS) && eight == !ready);
            if (here) assert (found == expected);
            cover (here && found == 6'd21);
            cover (here && found == -6'd21);
            // This invariant is for the induction.
            assert (age <= 5'd24);
            assert (count == ((age < WORDS) ? age : eights));
            if (age == 5'd0) assert (sums == {32{-6'd21}} && expected == 6'd0);
            if (age < WORDS) assert (sums[6*j +: 6] == expected + offset);
            else begin
                if (j[4:3] >= eights[1:0]) assert (sums[place +: 6] == expected);
                if (eights != 5'd0) assert (above == begun);
            end
        end
    end
endmodule
`default_nettype wire
