// SPDX-License-Identifier: Apache-2.0
// Streams on a clock of their own, axis_aclk, in any relation to aclk, on which the core works. Assert
// aresetn and axis_aresetn together. Where that clock is the faster one, the core's beats must be wider
// than the streams' to keep up with them.
//
// A reset of the core through its registers (restart_i) reaches the queues between the clocks as well:
// this side asks the other one to reset, both wipe the queue that they write, the other side reports that
// it has, and leaves the reset before this one does.
`default_nettype none
module cm_stream_clocks #(
    parameter integer BEAT_BITS = 128,   // bits of the core's beats
    parameter integer STREAM_BITS = 128, // bits of the streams' beats
    parameter integer LOG2_RATIO = 0     // BEAT_BITS = STREAM_BITS << LOG2_RATIO
) (
    input  wire                       aclk,
    input  wire                       aresetn,
    input  wire                       restart_i, // The core is reset through its registers.
    output wire                       hold_o,    // The core must begin nothing.
    output wire [BEAT_BITS-1:0]       in_data_o,
    output wire [BEAT_BITS/8-1:0]     in_keep_o,
    output wire                       in_last_o,
    output wire                       in_valid_o,
    input  wire                       in_ready_i,
    input  wire [BEAT_BITS-1:0]       out_data_i, // Every byte counts on the way out.
    input  wire                       out_last_i,
    input  wire                       out_valid_i,
    output wire                       out_ready_o,
    input  wire                       axis_aclk,
    input  wire                       axis_aresetn,
    input  wire [STREAM_BITS-1:0]     s_axis_tdata,
    input  wire [STREAM_BITS/8-1:0]   s_axis_tkeep,
    input  wire                       s_axis_tvalid,
    input  wire                       s_axis_tlast,
    output wire                       s_axis_tready,
    output wire [STREAM_BITS-1:0]     m_axis_tdata,
    output wire [STREAM_BITS/8-1:0]   m_axis_tkeep,
    output wire                       m_axis_tvalid,
    output wire                       m_axis_tlast,
    input  wire                       m_axis_tready
);
    localparam integer KEEP_BITS = BEAT_BITS / 8;
    localparam integer LOG2_DEPTH = 4;
    localparam [LOG2_DEPTH:0] WIPED = 1 << LOG2_DEPTH; // number of beats of a queue

    // --- resets --------------------------------------------------------------------------------------------

    reg                request;  // This side is in reset, and asks the other one to be.
    reg [LOG2_DEPTH:0] wiped;
    (* async_reg = "true" *) reg [1:0] answer_seen;
    reg                answer;   // The other side is in reset and has wiped its queue.
    assign hold_o = request || answer_seen[1];
    always_ff @(posedge aclk) begin
        answer_seen <= {answer_seen[0], answer};
        if (wiped != WIPED) wiped <= wiped + 1'b1;
        if (answer_seen[1] && wiped == WIPED) request <= 1'b0;
        if (!aresetn || restart_i) begin
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

    // Beats of the core's width on the streams' clock.
    wire [BEAT_BITS-1:0] wide_in_data, wide_out_data;
    wire [KEEP_BITS-1:0] wide_in_keep;
    wire                 wide_in_valid, wide_in_ready, wide_in_last;
    wire                 wide_out_valid, wide_out_ready, wide_out_last;
    generate
        if (LOG2_RATIO <= 0) begin : g_alike
            assign {wide_in_data, wide_in_keep} = {s_axis_tdata, s_axis_tkeep};
            assign {wide_in_last, wide_in_valid} = {s_axis_tlast, s_axis_tvalid};
            assign s_axis_tready = wide_in_ready;
            assign {m_axis_tdata, m_axis_tlast, m_axis_tvalid} =
                {wide_out_data, wide_out_last, wide_out_valid};
            assign wide_out_ready = m_axis_tready;
        end else begin : g_wider
            cm_stream_widen #(.WIDTH(STREAM_BITS), .LOG2_RATIO(LOG2_RATIO)) u_widen (
                .clk_i(axis_aclk), .rst_i(other_hold),
                .in_data_i(s_axis_tdata), .in_keep_i(s_axis_tkeep), .in_last_i(s_axis_tlast),
                .in_valid_i(s_axis_tvalid), .in_ready_o(s_axis_tready),
                .out_data_o(wide_in_data), .out_keep_o(wide_in_keep), .out_last_o(wide_in_last),
                .out_valid_o(wide_in_valid), .out_ready_i(wide_in_ready)
            );
            cm_stream_narrow #(.WIDTH(STREAM_BITS), .LOG2_RATIO(LOG2_RATIO)) u_narrow (
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
        .in_ready_o(wide_in_ready), .out_clk_i(aclk), .out_rst_i(hold_o || !aresetn),
        .out_data_o({in_last_o, in_keep_o, in_data_o}), .out_valid_o(in_valid_o), .out_ready_i(in_ready_i)
    );

    cm_stream_crossing #(.WIDTH(BEAT_BITS + 1), .LOG2_DEPTH(LOG2_DEPTH)) u_out (
        .in_clk_i(aclk), .in_rst_i(hold_o || !aresetn), .in_wipe_i(request && wiped != WIPED && aresetn),
        .in_data_i({out_last_i, out_data_i}), .in_valid_i(out_valid_i), .in_ready_o(out_ready_o),
        .out_clk_i(axis_aclk), .out_rst_i(other_hold),
        .out_data_o({wide_out_last, wide_out_data}), .out_valid_o(wide_out_valid),
        .out_ready_i(wide_out_ready)
    );
endmodule
`default_nettype wire
