// SPDX-License-Identifier: Apache-2.0
// cm_client_noise is the library's sampler: of the 42 words that 32 coefficients take, coefficient j is the number of
// ones at bit j of the first 21 words less that of the other 21. For any words and any coefficient, in two groups one
// after the other, with pauses.
`default_nettype none
module prove_client_noise #(
    parameter integer PAUSES = 1 // at most
) (
    input wire clk_i
);
    localparam integer WORDS = 21; // of 64 bits
    (* anyseq *) reg [63:0]  data;
    (* anyconst *) reg [4:0] j;
    (* anyseq *) reg         pauses;
    reg       reset = 1'b1;
    reg       second = 1'b0; // group
    reg [5:0] age = 6'd0;    // words, then eights
    reg [2:0] paused = 3'd0;

    wire ready, eight;
    wire [47:0] eight_data;
    cm_client_noise u_noise (
        .clk_i(clk_i), .rst_i(reset), .valid_i(!pauses), .ready_o(ready), .data_i(data), .eight_o(eight),
        .eight_data_o(eight_data)
    );

    // Coefficient j alone, one word of 32 bits after the other.
    function automatic [5:0] counted(input [5:0] sum, input [5:0] word, input one);
        counted = !one ? sum : (word < WORDS) ? sum + 6'd1 : sum - 6'd1;
    endfunction

    reg [5:0] expected = 6'd0;
    wire       here = age == 6'd21 + {4'd0, j[4:3]}; // the eight with the coefficient
    wire [5:0] found = eight_data[6*j[2:0] +: 6];
    wire       moves = age >= WORDS || !pauses;

    always_ff @(posedge clk_i) begin
        reset <= 1'b0;
        assume (!pauses || paused != PAUSES);
        if (!reset) begin
            if (pauses) paused <= paused + 3'd1;
            if (moves) begin
                age <= (age == 6'd24) ? 6'd0 : age + 6'd1;
                if (age == 6'd24) second <= 1'b1;
                if (age < WORDS) expected <= counted(counted(expected, 2 * age, data[j]), 2 * age + 1, data[32+j]);
                if (age == 6'd24) expected <= 6'd0;
            end
            assert (ready == (age < WORDS) && eight == !ready);
            if (here) assert (found == expected);
            cover (here && second && found == 6'd21 && paused != 3'd0);
            cover (here && second && found == -6'd21 && paused != 3'd0);
        end
    end
endmodule
`default_nettype wire
