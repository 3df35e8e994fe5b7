// SPDX-License-Identifier: Apache-2.0
// Samples uniform ternary coefficients: sixteen base-3 digits of each 64 bits, taken as a fraction; a
// coefficient is its digit less one. It makes four digits a cycle, with the product by 81 = 64 + 16 + 1, and
// every other cycle eight leave and must be accepted. A word is taken every four cycles, with valid_i and
// ready_o. The time does not depend on data.
`default_nettype none
module cm_client_ternary #(
    parameter integer BITS = 64 // width of a word; a proof uses fewer
) (
    input  wire        clk_i,
    input  wire        rst_i,
    input  wire        valid_i,
    output wire        ready_o,
    input  wire [BITS-1:0] data_i,
    output wire        eight_o, // Eight digits, in order, leave and must be accepted.
    output wire [15:0] eight_data_o // digits of 2 bits
);
    // The digits of a number below 81, the highest first.
    function automatic [7:0] digits(input [6:0] v);
        reg [6:0] rest;
        begin
            digits[1:0] = (v >= 7'd54) ? 2'd2 : (v >= 7'd27) ? 2'd1 : 2'd0;
            rest = v - ((v >= 7'd54) ? 7'd54 : (v >= 7'd27) ? 7'd27 : 7'd0);
            digits[3:2] = (rest >= 7'd18) ? 2'd2 : (rest >= 7'd9) ? 2'd1 : 2'd0;
            rest = rest - ((rest >= 7'd18) ? 7'd18 : (rest >= 7'd9) ? 7'd9 : 7'd0);
            digits[5:4] = (rest >= 7'd6) ? 2'd2 : (rest >= 7'd3) ? 2'd1 : 2'd0;
            rest = rest - ((rest >= 7'd6) ? 7'd6 : (rest >= 7'd3) ? 7'd3 : 7'd0);
            digits[7:6] = rest[1:0];
        end
    endfunction

    reg  [1:0]      turn; // number of the cycle of a word, of four
    reg  [BITS-1:0] fraction;
    reg  [7:0]      four; // four digits that wait for the next four
    wire            runs = turn != 2'd0 || valid_i;
    wire [BITS-1:0] from = (turn != 2'd0) ? fraction : data_i;
    wire [BITS+6:0] product = {1'b0, from, 6'd0} + {3'd0, from, 4'd0} + {7'd0, from};
    wire [7:0]      made = digits(product[BITS+6:BITS]);

    assign ready_o = turn == 2'd0;
    assign eight_o = turn[0];
    assign eight_data_o = {made, four};

    always_ff @(posedge clk_i) begin
        if (runs) begin
            turn <= turn + 1'b1;
            fraction <= (turn == 2'd3) ? {BITS{1'b0}} : product[BITS-1:0];
            four <= turn[0] ? 8'd0 : made;
        end
        if (rst_i) begin
            turn <= 2'd0;
            fraction <= {BITS{1'b0}};
            four <= 8'd0;
        end
    end
endmodule
`default_nettype wire
