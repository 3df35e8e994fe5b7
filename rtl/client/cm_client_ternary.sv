// SPDX-License-Identifier: Apache-2.0
// Uniform ternary coefficients: sixteen base-3 digits of each 64 bits, taken as a fraction; a coefficient is its digit
// less one. Eight digits a cycle: twice four, with the product by 81 = 64 + 16 + 1. The time does not depend on them.
`default_nettype none
module cm_client_ternary (
    input  wire        clk_i,
    input  wire        rst_i,
    input  wire        valid_i,
    output wire        ready_o,
    input  wire [63:0] data_i,
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

    function automatic [70:0] times_81(input [63:0] x);
        times_81 = {1'b0, x, 6'd0} + {3'd0, x, 4'd0} + {7'd0, x};
    endfunction

    reg         second; // the later eight digits of a word
    reg  [63:0] fraction;
    wire [63:0] from = second ? fraction : data_i;
    wire [70:0] high = times_81(from);
    wire [70:0] low = times_81(high[63:0]);

    assign ready_o = !second;
    assign eight_o = second || valid_i;
    assign eight_data_o = {digits(low[70:64]), digits(high[70:64])};

    always_ff @(posedge clk_i) begin
        second <= !second && valid_i;
        fraction <= second ? 64'd0 : low[63:0];
        if (rst_i) begin
            second <= 1'b0;
            fraction <= 64'd0;
        end
    end
endmodule
`default_nettype wire
