// SPDX-License-Identifier: Apache-2.0
// cm_ntt_accelerator with streams on a clock of their own, axis_aclk, in any relation to aclk. Assert aresetn
// and axis_aresetn together. Where that clock is the faster one, the accelerator's own beats must be wider
// than the streams' to keep up with them.
//
// A reset through CONTROL reaches the queues between the clocks as well: this side asks the other one to
// reset, both wipe the queue that they write, the other side reports that it has, and leaves the reset before
// this one does.
`default_nettype none
module cm_ntt_accelerator_two_clocks #(
    parameter integer LOG2_N = 10,
    parameter integer WIDTH = 32,
    parameter integer LOG2_UNITS = 0,
    parameter integer LOG2_BEAT = 2,           // log2 of residues in a beat of the accelerator
    parameter integer LOG2_STREAM = LOG2_BEAT, // log2 of those in a beat of the streams; at most LOG2_BEAT
    parameter integer GENERATE = 0,
    parameter integer DEEP = 1,
    parameter integer MULTIPLIER_WIDTH = 24,
    parameter integer BLOCK = 1,
    parameter integer FORWARD = 0,
    parameter integer EARLY = 0,
    parameter integer SLOT = (WIDTH <= 32) ? 32 : 64 // follows from WIDTH and must not be set
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
    input  wire [(SLOT << LOG2_STREAM)-1:0]   s_axis_tdata,
    input  wire [(SLOT << LOG2_STREAM)/8-1:0] s_axis_tkeep,
    input  wire                             s_axis_tvalid,
    input  wire                             s_axis_tlast,
    output wire                             s_axis_tready,
    output wire [(SLOT << LOG2_STREAM)-1:0]   m_axis_tdata,
    output wire [(SLOT << LOG2_STREAM)/8-1:0] m_axis_tkeep,
    output wire                             m_axis_tvalid,
    output wire                             m_axis_tlast,
    input  wire                             m_axis_tready
);
    `include "cm_refuse.svh"
    generate
        `CM_REFUSE(g_bad_log2_stream, LOG2_STREAM < 0 || LOG2_STREAM > LOG2_BEAT,
                   "cm_ntt_accelerator_two_clocks: LOG2_STREAM must be from 0 to LOG2_BEAT.")
    endgenerate
    localparam integer BEAT_BITS = SLOT << LOG2_BEAT;
    localparam integer KEEP_BITS = BEAT_BITS / 8;
    localparam integer STREAM_BITS = SLOT << LOG2_STREAM;
    localparam integer LOG2_DEPTH = 4;
    localparam [LOG2_DEPTH:0] WIPED = 1 << LOG2_DEPTH; // number of beats of a queue

    // --- resets --------------------------------------------------------------------------------------------

    wire restart;
    reg                request;  // This side is in reset, and asks the other one to be.
    reg [LOG2_DEPTH:0] wiped;
    (* async_reg = "true" *) reg [1:0] answer_seen;
    reg                answer;   // The other side is in reset and has wiped its queue.
    wire hold = request || answer_seen[1];
    always_ff @(posedge aclk) begin
        answer_seen <= {answer_seen[0], answer};
        if (wiped != WIPED) wiped <= wiped + 1'b1;
        if (answer_seen[1] && wiped == WIPED) request <= 1'b0;
        if (!aresetn || restart) begin
            request <= 1'b1;
            wiped <= {(LOG2_DEPTH + 1){1'b0}};
        end
        if (!aresetn) answer_seen <= 2'b00;
    end

    (* async_reg = "true" *) reg [1:0] request_seen;
    reg [LOG2_DEPTH:0] other_wiped;
    wire other_hold = !axis_aresetn || request_seen[1] || answer;
    always_ff @(posedge axis_aclk) begin
        request_seen <= {request_seen[0], request};
        if (!request_seen[1]) begin
            other_wiped <= {(LOG2_DEPTH + 1){1'b0}};
        end else if (other_wiped != WIPED) begin
            other_wiped <= other_wiped + 1'b1;
        end
        answer <= request_seen[1] && other_wiped == WIPED;
        if (!axis_aresetn) begin
            request_seen <= 2'b00;
            other_wiped <= {(LOG2_DEPTH + 1){1'b0}};
            answer <= 1'b0;
        end
    end

    // --- queues --------------------------------------------------------------------------------------------

    wire [BEAT_BITS-1:0] in_data, out_data;
    wire [KEEP_BITS-1:0] in_keep, out_keep; // Every byte counts on the way out.
    wire                 in_valid, in_ready, in_last, out_valid, out_ready, out_last;

    // Beats of the accelerator's width on the streams' clock.
    wire [BEAT_BITS-1:0] wide_in_data, wide_out_data;
    wire [KEEP_BITS-1:0] wide_in_keep;
    wire                 wide_in_valid, wide_in_ready, wide_in_last;
    wire                 wide_out_valid, wide_out_ready, wide_out_last;
    generate
        if (LOG2_STREAM == LOG2_BEAT) begin : g_alike
            assign {wide_in_data, wide_in_keep} = {s_axis_tdata, s_axis_tkeep};
            assign {wide_in_last, wide_in_valid} = {s_axis_tlast, s_axis_tvalid};
            assign s_axis_tready = wide_in_ready;
            assign {m_axis_tdata, m_axis_tlast, m_axis_tvalid} =
                {wide_out_data, wide_out_last, wide_out_valid};
            assign wide_out_ready = m_axis_tready;
        end else begin : g_wider
            cm_stream_widen #(.WIDTH(STREAM_BITS), .LOG2_RATIO(LOG2_BEAT - LOG2_STREAM)) u_widen (
                .clk_i(axis_aclk), .rst_i(other_hold),
                .in_data_i(s_axis_tdata), .in_keep_i(s_axis_tkeep), .in_last_i(s_axis_tlast),
                .in_valid_i(s_axis_tvalid), .in_ready_o(s_axis_tready),
                .out_data_o(wide_in_data), .out_keep_o(wide_in_keep), .out_last_o(wide_in_last),
                .out_valid_o(wide_in_valid), .out_ready_i(wide_in_ready)
            );
            cm_stream_narrow #(.WIDTH(STREAM_BITS), .LOG2_RATIO(LOG2_BEAT - LOG2_STREAM)) u_narrow (
                .clk_i(axis_aclk), .rst_i(other_hold),
                .in_data_i(wide_out_data), .in_last_i(wide_out_last),
                .in_valid_i(wide_out_valid), .in_ready_o(wide_out_ready),
                .out_data_o(m_axis_tdata), .out_last_o(m_axis_tlast),
                .out_valid_o(m_axis_tvalid), .out_ready_i(m_axis_tready)
            );
        end
    endgenerate
    assign m_axis_tkeep = {(STREAM_BITS / 8){1'b1}};

    cm_stream_crossing #(.WIDTH(BEAT_BITS + KEEP_BITS + 1), .LOG2_DEPTH(LOG2_DEPTH)) u_in (
        .in_clk_i(axis_aclk), .in_rst_i(other_hold), .in_wipe_i(request_seen[1] && other_wiped != WIPED),
        .in_data_i({wide_in_last, wide_in_keep, wide_in_data}), .in_valid_i(wide_in_valid),
        .in_ready_o(wide_in_ready), .out_clk_i(aclk), .out_rst_i(hold || !aresetn),
        .out_data_o({in_last, in_keep, in_data}), .out_valid_o(in_valid), .out_ready_i(in_ready)
    );

    cm_stream_crossing #(.WIDTH(BEAT_BITS + 1), .LOG2_DEPTH(LOG2_DEPTH)) u_out (
        .in_clk_i(aclk), .in_rst_i(hold || !aresetn), .in_wipe_i(request && wiped != WIPED && aresetn),
        .in_data_i({out_last, out_data}), .in_valid_i(out_valid), .in_ready_o(out_ready),
        .out_clk_i(axis_aclk), .out_rst_i(other_hold),
        .out_data_o({wide_out_last, wide_out_data}), .out_valid_o(wide_out_valid),
        .out_ready_i(wide_out_ready)
    );

    cm_ntt_accelerator #(
        .LOG2_N(LOG2_N), .WIDTH(WIDTH), .LOG2_UNITS(LOG2_UNITS), .LOG2_BEAT(LOG2_BEAT), .GENERATE(GENERATE),
        .DEEP(DEEP), .MULTIPLIER_WIDTH(MULTIPLIER_WIDTH), .BLOCK(BLOCK), .FORWARD(FORWARD), .EARLY(EARLY)
    ) u_accelerator (
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
