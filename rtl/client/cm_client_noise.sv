// SPDX-License-Identifier: Apache-2.0
// Samples centred binomial noise, 32 coefficients from 42 words: bit j of the first 21 words adds one to
// coefficient j, and bit j of the other 21 subtracts one. Subtracting is done by adding one for each 0, with
// coefficients that begin at -21. The module takes two words a cycle and then gives eight coefficients a
// cycle, which must be accepted. Its time does not depend on data.
`default_nettype none
module cm_client_noise (
    input  wire        clk_i,
    input  wire        rst_i,
    input  wire        valid_i,
    output wire        ready_o,
    input  wire [63:0] data_i,
    output wire        eight_o, // Eight coefficients, in order, leave and must be accepted.
    output wire [47:0] eight_data_o // signed coefficients of 6 bits
);
    localparam [4:0] WORDS = 5'd21;
    // Number of the pair of words whose first half adds and second half subtracts.
    localparam [4:0] MIDDLE = 5'd10;
    localparam [5:0] BEGIN = -6'd21;

    reg  [4:0]   count; // counts pairs of words, then groups of eight
    reg          full;
    reg  [191:0] sums;
    wire         taken = valid_i && ready_o;
    wire [191:0] counted;
    wire         low_off = count > MIDDLE;
    wire         high_off = count >= MIDDLE;

    genvar j;
    generate
        for (j = 0; j < 32; j = j + 1) begin : g_coefficient
            wire [1:0] ones = {1'b0, data_i[j] ^ low_off} + {1'b0, data_i[32+j] ^ high_off};
            assign counted[6*j +: 6] = sums[6*j +: 6] + {4'd0, ones};
        end
    endgenerate

    assign ready_o = !full;
    assign eight_o = full;
    assign eight_data_o = sums[47:0];

    always_ff @(posedge clk_i) begin
        if (full) begin
            sums <= {{8{BEGIN}}, sums[191:48]};
            count <= (count == 5'd3) ? 5'd0 : count + 1'b1;
            full <= count != 5'd3;
        end else if (taken) begin
            sums <= counted;
            count <= (count == WORDS - 5'd1) ? 5'd0 : count + 1'b1;
            full <= count == WORDS - 5'd1;
        end
        if (rst_i) begin
            sums <= {32{BEGIN}};
            count <= 5'd0;
            full <= 1'b0;
        end
    end
endmodule
`default_nettype wire
