// SPDX-License-Identifier: Apache-2.0
// Gathers 2^LOG2_RATIO beats of an AXI4-Stream into one. A packet that ends within a wide beat ends it: bytes
// that did not come are zeros that TKEEP leaves out. The last beat of a wide one passes through, so nothing
// is lost in pace.
`default_nettype none
module cm_stream_widen #(
    parameter integer WIDTH = 128,   // bits of a beat that arrives
    parameter integer LOG2_RATIO = 1 // at least 1
) (
    input  wire                               clk_i,
    input  wire                               rst_i,
    input  wire [WIDTH-1:0]                   in_data_i,
    input  wire [WIDTH/8-1:0]                 in_keep_i,
    input  wire                               in_last_i,
    input  wire                               in_valid_i,
    output wire                               in_ready_o,
    output wire [(WIDTH << LOG2_RATIO)-1:0]   out_data_o,
    output wire [(WIDTH << LOG2_RATIO)/8-1:0] out_keep_o,
    output wire                               out_last_o,
    output wire                               out_valid_o,
    input  wire                               out_ready_i
);
    localparam integer RATIO = 1 << LOG2_RATIO;
    localparam integer BEAT = WIDTH + WIDTH / 8;

    reg [BEAT*(RATIO-1)-1:0] earlier;
    reg [LOG2_RATIO-1:0]     place; // number of the beat that arrives
    wire ends = in_last_i || place == {LOG2_RATIO{1'b1}};
    wire enters = in_valid_i && in_ready_o;
    assign in_ready_o = !rst_i && (!ends || out_ready_i);
    assign out_valid_o = in_valid_i && ends;
    assign out_last_o = in_last_i;

    genvar g;
    generate
        for (g = 0; g < RATIO; g = g + 1) begin : g_beat
            wire [BEAT-1:0] kept;
            if (g < RATIO - 1) begin : g_earlier
                assign kept = earlier[BEAT*g +: BEAT];
                always_ff @(posedge clk_i) begin
                    if (enters && !ends && place == g) earlier[BEAT*g +: BEAT] <= {in_keep_i, in_data_i};
                    if (rst_i || (enters && ends)) earlier[BEAT*g +: BEAT] <= {BEAT{1'b0}};
                end
            end else begin : g_last
                assign kept = {BEAT{1'b0}};
            end
            assign {out_keep_o[WIDTH/8*g +: WIDTH/8], out_data_o[WIDTH*g +: WIDTH]} =
                (place == g) ? {in_keep_i, in_data_i} : kept;
        end
    endgenerate

    always_ff @(posedge clk_i) begin
        if (enters) place <= ends ? {LOG2_RATIO{1'b0}} : place + 1'b1;
        if (rst_i) place <= {LOG2_RATIO{1'b0}};
    end
endmodule
`default_nettype wire
