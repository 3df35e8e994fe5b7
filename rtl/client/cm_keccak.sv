// SPDX-License-Identifier: Apache-2.0
// The permutation Keccak-f[1600] (FIPS 202), a round a cycle: 24 cycles for a permutation, one after the
// other without a pause. start_i, only while ready_o, does the first round, and ready_o rises again after the
// last.
//
// Lane x, y is bits 64 (x + 5 y) and up, its first byte lowest. What is absorbed or squeezed is the caller's.
`default_nettype none
module cm_keccak (
    input  wire          clk_i,
    input  wire          rst_i,   // ends a permutation; the state is cleared by loading zeros
    input  wire          load_i,  // loads state_i, whatever was there
    input  wire [1599:0] state_i,
    output wire          ready_o, // state_o is whole
    input  wire          start_i, // does the first round in this cycle; only while ready_o
    output reg  [1599:0] state_o
);
    localparam [4:0] LAST_ROUND = 5'd23;
    // For each lane, how far rho rotates it.
    localparam [25*6-1:0] ROTATIONS = {
        6'd14, 6'd56, 6'd61, 6'd2, 6'd18, 6'd8, 6'd21, 6'd15, 6'd45, 6'd41, 6'd39, 6'd25, 6'd43, 6'd10, 6'd3,
        6'd20, 6'd55, 6'd6, 6'd44, 6'd36, 6'd27, 6'd28, 6'd62, 6'd1, 6'd0
    };

    // For each round, bits 0, 1, 3, 7, 15, 31 and 63 of the constant of iota, which an LFSR gives.
    localparam [24*7-1:0] CONSTANTS = {
        7'h74, 7'h21, 7'h58, 7'h79, 7'h66, 7'h16, 7'h48, 7'h52, 7'h53, 7'h5d, 7'h4f, 7'h3f,
        7'h26, 7'h35, 7'h0c, 7'h0e, 7'h55, 7'h79, 7'h21, 7'h1f, 7'h70, 7'h5e, 7'h1a, 7'h01
    };

    function automatic [63:0] rotated(input [63:0] x, input integer by);
        rotated = (x << by) | (x >> (64 - by));
    endfunction

    function automatic [63:0] constant(input [4:0] number);
        reg [6:0] bits;
        begin
            bits = CONSTANTS[7*number +: 7];
            constant =
                {bits[6], 31'd0, bits[5], 15'd0, bits[4], 7'd0, bits[3], 3'd0, bits[2], 1'b0, bits[1:0]};
        end
    endfunction

    reg  [4:0]    count; // number of the round
    wire [319:0]  columns, theta;
    wire [1599:0] moved, mixed;
    genvar x, y;
    generate
        for (x = 0; x < 5; x = x + 1) begin : g_theta
            assign columns[64*x +: 64] = state_o[64*x +: 64] ^ state_o[64*(x+5) +: 64]
                ^ state_o[64*(x+10) +: 64]
                ^ state_o[64*(x+15) +: 64] ^ state_o[64*(x+20) +: 64];
            assign theta[64*x +: 64] = columns[64*((x+4)%5) +: 64] ^ rotated(columns[64*((x+1)%5) +: 64], 1);
        end
        for (y = 0; y < 5; y = y + 1) begin : g_row
            for (x = 0; x < 5; x = x + 1) begin : g_lane
                localparam integer LANE = x + 5 * y;
                localparam integer BY = {26'd0, ROTATIONS[6*LANE +: 6]};
                localparam integer TO = y + 5 * ((2 * x + 3 * y) % 5); // place to which pi moves the lane
                localparam integer NEXT = (x + 1) % 5 + 5 * y;
                localparam integer AFTER = (x + 2) % 5 + 5 * y;
                assign moved[64*TO +: 64] = rotated(state_o[64*LANE +: 64] ^ theta[64*x +: 64], BY);
                wire [63:0] chi = moved[64*LANE +: 64] ^ (~moved[64*NEXT +: 64] & moved[64*AFTER +: 64]);
                if (LANE == 0) begin : g_iota
                    assign mixed[63:0] = chi ^ constant(count);
                end else begin : g_plain
                    assign mixed[64*LANE +: 64] = chi;
                end
            end
        end
    endgenerate

    assign ready_o = count == 5'd0;
    wire rounds = start_i || !ready_o;

    always_ff @(posedge clk_i) begin
        if (load_i) state_o <= state_i;
        else if (rounds) state_o <= mixed;
        if (rounds) count <= (count == LAST_ROUND) ? 5'd0 : count + 1'b1;
        if (load_i || rst_i) count <= 5'd0;
    end
endmodule
`default_nettype wire
