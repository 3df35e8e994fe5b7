// SPDX-License-Identifier: Apache-2.0
// cm_client_ternary is the library's sampler: of any word, taken as a fraction, sixteen times three times
// what is left, whose integer part is a digit. Eight digits leave with the cycle behind the word, eight two
// cycles later. For all words of BITS bits: the simulation has those of 64.
`default_nettype none
module prove_client_ternary #(
    parameter integer BITS = 12
) (
    input wire clk_i
);
    (* anyconst *) reg [BITS-1:0] word;
    (* anyconst *) reg [3:0]  number; // number of the digit
    reg [2:0] age = 3'd0; // 0: reset, 1: the word, 2: its first eight digits, 4: its later ones
    always_ff @(posedge clk_i) if (age != 3'd5) age <= age + 3'd1;

    wire ready, eight;
    wire [15:0] eight_data;
    cm_client_ternary #(.BITS(BITS)) u_ternary (
        .clk_i(clk_i), .rst_i(age == 3'd0), .valid_i(age == 3'd1), .ready_o(ready), .data_i(word),
        .eight_o(eight), .eight_data_o(eight_data)
    );

    // Gives one step: {digit, what is left}.
    wire [BITS-1:0] rest [0:16];
    wire [31:0] digits;
    assign rest[0] = word;
    genvar i;
    generate
        for (i = 0; i < 16; i = i + 1) begin : g_step
            wire [BITS+1:0] tripled = {1'b0, rest[i], 1'b0} + {2'b00, rest[i]};
            assign digits[2*i +: 2] = tripled[BITS+1:BITS];
            assign rest[i+1] = tripled[BITS-1:0];
        end
    endgenerate

    wire [1:0] expected = digits[2*number +: 2];
    wire [1:0] found = eight_data[2*number[2:0] +: 2];
    always_ff @(posedge clk_i) begin
        if (age == 3'd1) assert (ready && !eight);
        if (age == 3'd2) assert (!ready && eight && (number[3] || found == expected));
        if (age == 3'd3) assert (!ready && !eight);
        if (age == 3'd4) assert (!ready && eight && (!number[3] || found == expected));
        if (age == 3'd5) assert (ready && !eight);
        cover (age == 3'd4 && number == 4'd15 && found == 2'd2);
        cover (age == 3'd2 && number == 4'd7 && found == 2'd0);
        cover (age == 3'd5);
    end
endmodule
`default_nettype wire
