// SPDX-License-Identifier: Apache-2.0
// cm_axil_registers obeys AXI4-Lite: a response follows each address with its data and nothing else, stays
// until it is taken, and read data do not change meanwhile. Ready reflects what is held, whatever is valid.
`default_nettype none
module prove_axil (
    input wire clk_i
);
    (* anyseq *) reg [7:0]  awaddr;
    (* anyseq *) reg        awvalid;
    (* anyseq *) reg [31:0] wdata;
    (* anyseq *) reg [3:0]  wstrb;
    (* anyseq *) reg        wvalid;
    (* anyseq *) reg        bready;
    (* anyseq *) reg [7:0]  araddr;
    (* anyseq *) reg        arvalid;
    (* anyseq *) reg        rready;
    (* anyseq *) reg [31:0] status;
    (* anyseq *) reg [6:0]  errors;
    (* anyseq *) reg        job_done;
    reg reset = 1'b1;
    always_ff @(posedge clk_i) reset <= 1'b0;

    wire awready, wready, bvalid, arready, rvalid;
    wire [31:0] rdata;
    wire [1:0]  bresp, rresp;
    cm_axil_registers #(.WIDTH(32), .SHAPE(32'h1234)) u_registers (
        .clk_i(clk_i), .rst_i(reset),
        .s_axil_awaddr_i(awaddr), .s_axil_awvalid_i(awvalid), .s_axil_awready_o(awready),
        .s_axil_wdata_i(wdata), .s_axil_wstrb_i(wstrb), .s_axil_wvalid_i(wvalid), .s_axil_wready_o(wready),
        .s_axil_bresp_o(bresp), .s_axil_bvalid_o(bvalid), .s_axil_bready_i(bready),
        .s_axil_araddr_i(araddr), .s_axil_arvalid_i(arvalid), .s_axil_arready_o(arready),
        .s_axil_rdata_o(rdata), .s_axil_rresp_o(rresp), .s_axil_rvalid_o(rvalid), .s_axil_rready_i(rready),
        .reset_o(), .command_valid_o(), .command_o(), .prime_valid_o(), .prime_o(), .prime_i(32'd0),
        .status_i(status), .errors_i(errors), .job_done_i(job_done), .irq_o()
    );

    // Requests taken and not yet answered.
    reg [1:0] addresses = 2'd0;
    reg [1:0] words = 2'd0;
    reg read_open = 1'b0;
    reg was_waiting = 1'b0; // Read data were offered but not taken.
    reg write_waiting = 1'b0;
    reg write_ready = 1'b0; // An address and its data were held, and no response was pending.
    reg [31:0] data;
    always_ff @(posedge clk_i) begin
        addresses <= addresses + {1'b0, awvalid && awready} - {1'b0, bvalid && bready};
        words <= words + {1'b0, wvalid && wready} - {1'b0, bvalid && bready};
        read_open <= (read_open && !(rvalid && rready)) || (arvalid && arready);
        was_waiting <= rvalid && !rready;
        write_waiting <= bvalid && !bready;
        write_ready <= (awvalid || !awready) && (wvalid || !wready) && !bvalid;
        data <= rdata;
        if (reset) begin
            addresses <= 2'd0;
            words <= 2'd0;
            read_open <= 1'b0;
            was_waiting <= 1'b0;
            write_waiting <= 1'b0;
            write_ready <= 1'b0;
        end else begin
            assert (addresses == {1'b0, bvalid} + {1'b0, !awready});
            assert (words == {1'b0, bvalid} + {1'b0, !wready});
            assert (bvalid == (write_waiting || write_ready));
            assert (rvalid == read_open);
            assert (arready == !read_open);
            if (was_waiting) assert (rvalid && rdata == data);
            assert (bresp == 2'b00 && rresp == 2'b00);
            // A second write waits for the response of the first.
            cover (write_waiting && bvalid && !awready && !wready);
            cover (was_waiting && rready);
        end
    end
endmodule
`default_nettype wire
