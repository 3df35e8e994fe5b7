// SPDX-License-Identifier: Apache-2.0
// Uniform ternary coefficients: sixteen base-3 digits of each 64 bits, taken as a fraction; a coefficient is its digit
// less one. Eight digits a cycle: twice four, with the product by 81 = 64 + 16 + 1. The time does not depend on them.
`default_nettype none
module cm_client_ternary #(
    parameter integer BITS = 64 // of a word: as many for a proof of them all
) (
    input  wire        clk_i,
    input  wire        rst_i,
    input  wire        valid_i,
    output wire        ready_o,
    input  wire [BITS-1:0] data_i,
    output wire        eight_o, // digits, in order, which must be taken
    output wire [15:0] eight_data_o // each in 2 bits
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

    function automatic [BITS+6:0] times_81(input [BITS-1:0] x);
        times_81 = {1'b0, x, 6'd0} + {3'd0, x, 4'd0} + {7'd0, x};
    endfunction

    reg         second; // the later eight digits of a word
    reg  [BITS-1:0] fraction;
    wire [BITS-1:0] from = second ? fraction : data_i;
    wire [BITS+6:0] high = times_81(from);
    wire [BITS+6:0] low = times_81(high[BITS-1:0]);

    assign ready_o = !second;
    assign eight_o = second || valid_i;
    assign eight_data_o = {digits(low[BITS+6:BITS]), digits(high[BITS+6:BITS])};

    always_ff @(posedge clk_i) begin
        second <= !second && valid_i;
        fraction <= second ? {BITS{1'b0}} : low[BITS-1:0];
        if (rst_i) begin
            second <= 1'b0;
            fraction <= {BITS{1'b0}};
        end
    end
endmodule
`default_nettype wire
