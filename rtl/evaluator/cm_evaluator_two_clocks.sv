// SPDX-License-Identifier: Apache-2.0
// cm_evaluator with streams on a clock of their own (cm_stream_clocks).
`default_nettype none
module cm_evaluator_two_clocks #(
    parameter integer LOG2_N = 12,
    parameter integer WIDTH = 27,
    parameter integer LOG2_UNITS = 6,
    parameter integer LOG2_BEAT = 3,   // log2 of words in a beat of the evaluator
    parameter integer LOG2_STREAM = 2, // log2 of those in a beat of the streams; at most LOG2_BEAT
    parameter integer LOG2_SLOTS_A = 6,
    parameter integer LOG2_SLOTS_B = 6,
    parameter integer LOG2_MODULI = 4,
    parameter integer LOG2_WEIGHTS = 12,
    parameter integer LOG2_PROGRAM = 13,
    parameter integer DEEP = 1,
    parameter integer FORWARD = 0,
    parameter integer MULTIPLIER_WIDTH = 24,
    parameter integer BLOCK = 1
) (
    input  wire                             aclk,
    input  wire                             aresetn,
    output wire                             irq,
    input  wire [7:0]                       s_axil_awaddr,
    input  wire                             s_axil_awvalid,
    output wire                             s_axil_awready,
    input  wire [31:0]                      s_axil_wdata,
    input  wire [3:0]                       s_axil_wstrb,
    input  wire                             s_axil_wvalid,
    output wire                             s_axil_wready,
    output wire [1:0]                       s_axil_bresp,
    output wire                             s_axil_bvalid,
    input  wire                             s_axil_bready,
    input  wire [7:0]                       s_axil_araddr,
    input  wire                             s_axil_arvalid,
    output wire                             s_axil_arready,
    output wire [31:0]                      s_axil_rdata,
    output wire [1:0]                       s_axil_rresp,
    output wire                             s_axil_rvalid,
    input  wire                             s_axil_rready,
    input  wire                             axis_aclk,
    input  wire                             axis_aresetn,
    input  wire [(32 << LOG2_STREAM)-1:0]   s_axis_tdata,
    input  wire [(32 << LOG2_STREAM)/8-1:0] s_axis_tkeep,
    input  wire                             s_axis_tvalid,
    input  wire                             s_axis_tlast,
    output wire                             s_axis_tready,
    output wire [(32 << LOG2_STREAM)-1:0]   m_axis_tdata,
    output wire [(32 << LOG2_STREAM)/8-1:0] m_axis_tkeep,
    output wire                             m_axis_tvalid,
    output wire                             m_axis_tlast,
    input  wire                             m_axis_tready
);
    `include "cm_refuse.svh"
    generate
        `CM_REFUSE(g_bad_log2_stream, LOG2_STREAM < 0 || LOG2_STREAM > LOG2_BEAT,
                   "cm_evaluator_two_clocks: LOG2_STREAM must be from 0 to LOG2_BEAT.")
    endgenerate
    localparam integer BEAT_BITS = 32 << LOG2_BEAT;
    wire                   restart, hold;
    wire [BEAT_BITS-1:0]   in_data, out_data;
    wire [BEAT_BITS/8-1:0] in_keep, out_keep; // Every byte counts on the way out.
    wire                   in_valid, in_ready, in_last, out_valid, out_ready, out_last;

    cm_stream_clocks #(
        .BEAT_BITS(BEAT_BITS), .STREAM_BITS(32 << LOG2_STREAM), .LOG2_RATIO(LOG2_BEAT - LOG2_STREAM)
    ) u_clocks (
        .aclk(aclk), .aresetn(aresetn), .restart_i(restart), .hold_o(hold),
        .in_data_o(in_data), .in_keep_o(in_keep), .in_last_o(in_last), .in_valid_o(in_valid),
        .in_ready_i(in_ready),
        .out_data_i(out_data), .out_last_i(out_last), .out_valid_i(out_valid), .out_ready_o(out_ready),
        .axis_aclk(axis_aclk), .axis_aresetn(axis_aresetn),
        .s_axis_tdata(s_axis_tdata), .s_axis_tkeep(s_axis_tkeep), .s_axis_tvalid(s_axis_tvalid),
        .s_axis_tlast(s_axis_tlast), .s_axis_tready(s_axis_tready),
        .m_axis_tdata(m_axis_tdata), .m_axis_tkeep(m_axis_tkeep), .m_axis_tvalid(m_axis_tvalid),
        .m_axis_tlast(m_axis_tlast), .m_axis_tready(m_axis_tready)
    );

    cm_evaluator #(
        .LOG2_N(LOG2_N), .WIDTH(WIDTH), .LOG2_UNITS(LOG2_UNITS), .LOG2_BEAT(LOG2_BEAT),
        .LOG2_SLOTS_A(LOG2_SLOTS_A), .LOG2_SLOTS_B(LOG2_SLOTS_B), .LOG2_MODULI(LOG2_MODULI),
        .LOG2_WEIGHTS(LOG2_WEIGHTS), .LOG2_PROGRAM(LOG2_PROGRAM), .DEEP(DEEP), .FORWARD(FORWARD),
        .MULTIPLIER_WIDTH(MULTIPLIER_WIDTH), .BLOCK(BLOCK)
    ) u_evaluator (
        .aclk(aclk), .aresetn(aresetn), .irq(irq), .restart(restart), .hold(hold),
        .s_axil_awaddr(s_axil_awaddr), .s_axil_awvalid(s_axil_awvalid), .s_axil_awready(s_axil_awready),
        .s_axil_wdata(s_axil_wdata), .s_axil_wstrb(s_axil_wstrb), .s_axil_wvalid(s_axil_wvalid),
        .s_axil_wready(s_axil_wready), .s_axil_bresp(s_axil_bresp), .s_axil_bvalid(s_axil_bvalid),
        .s_axil_bready(s_axil_bready), .s_axil_araddr(s_axil_araddr), .s_axil_arvalid(s_axil_arvalid),
        .s_axil_arready(s_axil_arready), .s_axil_rdata(s_axil_rdata), .s_axil_rresp(s_axil_rresp),
        .s_axil_rvalid(s_axil_rvalid), .s_axil_rready(s_axil_rready),
        .s_axis_tdata(in_data), .s_axis_tkeep(in_keep), .s_axis_tvalid(in_valid), .s_axis_tlast(in_last),
        .s_axis_tready(in_ready),
        .m_axis_tdata(out_data), .m_axis_tkeep(out_keep), .m_axis_tvalid(out_valid), .m_axis_tlast(out_last),
        .m_axis_tready(out_ready)
    );
endmodule
`default_nettype wire
