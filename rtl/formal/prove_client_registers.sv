// SPDX-License-Identifier: Apache-2.0
// No register reads a setting: two copies of cm_client_axi that differ in every setting that was ever
// written, keys and secrets among them, and in all that their engines hold, answer every read alike, whatever
// the engine says of its state.
//
// The engine is replaced by any: its ports for settings lead nowhere, and its state, which registers do read,
// is the same in both copies. That its state does not tell secrets is for the tests to show
// (test_client_engine.py compares the times of commands); what it keeps is no part of cm_client_axi.
`default_nettype none
module cm_client_engine #(
    parameter integer LOG2_N = 12,
    parameter integer WIDTH = 27,
    parameter integer LOG2_UNITS = 3,
    parameter integer PRIMES = 3,
    parameter integer DEEP = 1,
    parameter integer MULTIPLIER_WIDTH = 24,
    parameter integer TAG_DIGIT = 4
) (
    input  wire        clk_i,
    input  wire        rst_i,
    input  wire        abort_i,
    input  wire        write_i,
    input  wire [11:0] write_address_i,
    input  wire [31:0] write_data_i,
    input  wire        command_i,
    input  wire [3:0]  command_code_i,
    output wire        ready_o,
    output wire        idle_o,
    output wire [3:0]  fault_o,
    output wire        faults_o,
    input  wire        entropy_valid_i,
    output wire        entropy_ready_o,
    input  wire [31:0] entropy_i,
    input  wire        value_valid_i,
    output wire        value_ready_o,
    input  wire [31:0] value_i,
    input  wire        value_last_i,
    output wire        frame_valid_o,
    input  wire        frame_ready_i,
    output wire [31:0] frame_o,
    output wire        frame_last_o,
    input  wire        read_valid_i,
    output wire        read_ready_o,
    input  wire [31:0] read_i,
    output wire        result_valid_o,
    input  wire        result_ready_i,
    output wire [31:0] result_o,
    output wire        result_last_o
);
    (* anyseq *) reg [68:0] hidden; // state that one engine holds and the other does not
    assign {frame_o, result_o, entropy_ready_o, value_ready_o, frame_valid_o, read_ready_o, result_valid_o} =
        hidden;
    assign frame_last_o = hidden[0];
    assign result_last_o = hidden[1];
    // Any values, by way of a port that cm_client_axi only passes on.
    assign {faults_o, ready_o, idle_o, fault_o} = entropy_i[6:0];
endmodule

module prove_client_registers (
    input wire clk_i
);
    (* anyseq *) reg [14:0] awaddr, araddr;
    (* anyseq *) reg [31:0] wdata_0, wdata_1;
    (* anyseq *) reg [3:0]  wstrb;
    (* anyseq *) reg        awvalid, wvalid, bready, arvalid, rready;
    (* anyseq *) reg [6:0]  state;
    (* anyseq *) reg        restarts;
    reg started = 1'b0;
    always_ff @(posedge clk_i) started <= 1'b1;
    wire reset = !started || restarts;

    wire [1:0]  awready, wready, bvalid, arready, rvalid, irq;
    wire [63:0] rdata, wdata = {wdata_1, wdata_0};
    wire [7:0]  resp;
    genvar i;
    generate
        for (i = 0; i < 2; i = i + 1) begin : g_copy
            cm_client_axi u_axi (
                .aclk(clk_i), .aresetn(!reset),
                .s_axil_awaddr(awaddr), .s_axil_awvalid(awvalid), .s_axil_awready(awready[i]),
                .s_axil_wdata(wdata[32*i +: 32]), .s_axil_wstrb(wstrb), .s_axil_wvalid(wvalid),
                .s_axil_wready(wready[i]), .s_axil_bresp(resp[4*i +: 2]), .s_axil_bvalid(bvalid[i]),
                .s_axil_bready(bready), .s_axil_araddr(araddr), .s_axil_arvalid(arvalid),
                .s_axil_arready(arready[i]), .s_axil_rdata(rdata[32*i +: 32]),
                .s_axil_rresp(resp[4*i+2 +: 2]), .s_axil_rvalid(rvalid[i]), .s_axil_rready(rready),
                .irq(irq[i]), .s_axis_entropy_tdata({25'd0, state}), .s_axis_entropy_tvalid(1'b0),
                .s_axis_entropy_tready(), .s_axis_value_tdata(32'd0), .s_axis_value_tvalid(1'b0),
                .s_axis_value_tlast(1'b0), .s_axis_value_tready(), .m_axis_frame_tdata(),
                .m_axis_frame_tvalid(), .m_axis_frame_tlast(), .m_axis_frame_tready(1'b0),
                .s_axis_read_tdata(32'd0), .s_axis_read_tvalid(1'b0), .s_axis_read_tready(),
                .m_axis_result_tdata(), .m_axis_result_tvalid(), .m_axis_result_tlast(),
                .m_axis_result_tready(1'b0)
            );
        end
    endgenerate

    // A write takes effect once its address and its data are there and the last one is answered. Only
    // settings differ: registers are written alike.
    reg        address_held = 1'b0, data_held = 1'b0;
    reg [14:0] held_address;
    reg [63:0] held_data;
    wire       writes = (address_held || awvalid) && (data_held || wvalid) && !bvalid[0];
    wire [14:0] address = address_held ? held_address : awaddr;
    wire [63:0] data = data_held ? held_data : wdata;
    wire       differs = data[31:0] != data[63:32];
    reg        differed = 1'b0;
    always_ff @(posedge clk_i) begin
        if (!address_held) held_address <= awaddr;
        if (!data_held) held_data <= wdata;
        address_held <= !reset && (address_held || awvalid) && !writes;
        data_held <= !reset && (data_held || wvalid) && !writes;
        assume (!(writes && differs) || address[14]);
        if (writes && differs && !reset) differed <= 1'b1;
        if (started) begin
            assert (awready[0] == awready[1] && wready[0] == wready[1] && bvalid[0] == bvalid[1]);
            assert (awready[0] == !address_held && wready[0] == !data_held);
            assert (arready[0] == arready[1] && rvalid[0] == rvalid[1] && irq[0] == irq[1]);
            assert (resp[3:0] == resp[7:4]);
            if (rvalid[0]) assert (rdata[31:0] == rdata[63:32]);
            cover (differed && rvalid[0] && rready && rdata[31:0] == 32'h101);
            cover (differed && rvalid[0] && rready && rdata[31:0] == 32'h5);
            cover (differed && irq[0]);
        end
    end
endmodule
`default_nettype wire
