// SPDX-License-Identifier: Apache-2.0
// The client engine on its own bus, for client_bench. To run the bench against a wrapper, copy this file, put
// your wrapper in place of cm_client_axi and your bus in the tasks, and name your folder first in the include
// path. The bench needs:
//
// clk, rst           a clock, and a reset that is high for the first eight cycles: the bench drives both
// bus_write          writes a word to an offset of the engine's register map, and returns when it is done
// bus_read           reads the word at such an offset
// entropy, value, read   streams into the engine: the bench drives data, valid and last, and takes ready
// frame, result      streams out of it: the bench takes data, valid and last, and drives ready
wire        entropy_ready, value_ready, read_ready;
wire        frame_valid, frame_last, result_valid, result_last;
wire [31:0] frame_data, result_data;

reg  [14:0] awaddr = 0, araddr = 0;
reg         awvalid = 0, wvalid = 0, bready = 0, arvalid = 0, rready = 0;
reg  [31:0] wdata = 0;
wire        awready, wready, bvalid, arready, rvalid;
wire [31:0] rdata;

cm_client_axi #(.LOG2_N(10), .LOG2_UNITS(2), .PRIMES(2), .DEEP(0)) dut (
    .aclk(clk), .aresetn(!rst),
    .s_axil_awaddr(awaddr), .s_axil_awvalid(awvalid), .s_axil_awready(awready),
    .s_axil_wdata(wdata), .s_axil_wstrb(4'hF), .s_axil_wvalid(wvalid), .s_axil_wready(wready),
    .s_axil_bresp(), .s_axil_bvalid(bvalid), .s_axil_bready(bready),
    .s_axil_araddr(araddr), .s_axil_arvalid(arvalid), .s_axil_arready(arready),
    .s_axil_rdata(rdata), .s_axil_rresp(), .s_axil_rvalid(rvalid), .s_axil_rready(rready), .irq(),
    .s_axis_entropy_tdata(entropy_data), .s_axis_entropy_tvalid(entropy_valid),
    .s_axis_entropy_tready(entropy_ready),
    .s_axis_value_tdata(value_data), .s_axis_value_tvalid(value_valid), .s_axis_value_tlast(value_last),
    .s_axis_value_tready(value_ready),
    .m_axis_frame_tdata(frame_data), .m_axis_frame_tvalid(frame_valid), .m_axis_frame_tlast(frame_last),
    .m_axis_frame_tready(frame_ready),
    .s_axis_read_tdata(read_data), .s_axis_read_tvalid(read_valid), .s_axis_read_tready(read_ready),
    .m_axis_result_tdata(result_data), .m_axis_result_tvalid(result_valid),
    .m_axis_result_tlast(result_last), .m_axis_result_tready(result_ready)
);

task automatic bus_write(input [14:0] offset, input [31:0] data);
    begin
        awaddr <= offset;
        wdata <= data;
        awvalid <= 1;
        wvalid <= 1;
        bready <= 1;
        @(posedge clk);
        while (awvalid || wvalid || bready) begin
            if (awready) awvalid <= 0;
            if (wready) wvalid <= 0;
            if (bvalid) bready <= 0;
            @(posedge clk);
        end
    end
endtask

task automatic bus_read(input [14:0] offset, output [31:0] data);
    begin
        araddr <= offset;
        arvalid <= 1;
        rready <= 1;
        @(posedge clk);
        while (rready) begin
            if (arready) arvalid <= 0;
            if (rvalid) begin
                data = rdata;
                rready <= 0;
            end
            @(posedge clk);
        end
    end
endtask
