// SPDX-License-Identifier: Apache-2.0
// No write through cm_axil_registers is lost or altered: address and data, accepted in any order and held for
// as long as the other takes, are those that have effect, once. Bytes that WSTRB leaves out do not.
`default_nettype none
module prove_axil_writes (
    input wire clk_i
);
    `include "cm_registers.svh"
    (* anyseq *) reg [7:0]  awaddr;
    (* anyseq *) reg        awvalid;
    (* anyseq *) reg [31:0] wdata;
    (* anyseq *) reg [3:0]  wstrb;
    (* anyseq *) reg        wvalid;
    (* anyseq *) reg        bready;
    reg reset = 1'b1;
    always_ff @(posedge clk_i) reset <= 1'b0;

    wire awready, wready, bvalid, restart, command_valid, prime_valid;
    wire [5:0]  command;
    wire [63:0] prime;
    cm_axil_registers #(.WIDTH(32), .SHAPE(32'h1234)) u_registers (
        .clk_i(clk_i), .rst_i(reset),
        .s_axil_awaddr_i(awaddr), .s_axil_awvalid_i(awvalid), .s_axil_awready_o(awready),
        .s_axil_wdata_i(wdata), .s_axil_wstrb_i(wstrb), .s_axil_wvalid_i(wvalid), .s_axil_wready_o(wready),
        .s_axil_bresp_o(), .s_axil_bvalid_o(bvalid), .s_axil_bready_i(bready),
        .s_axil_araddr_i(8'd0), .s_axil_arvalid_i(1'b0), .s_axil_arready_o(),
        .s_axil_rdata_o(), .s_axil_rresp_o(), .s_axil_rvalid_o(), .s_axil_rready_i(1'b0),
        .reset_o(restart), .command_valid_o(command_valid), .command_o(command),
        .prime_valid_o(prime_valid), .prime_o(prime), .prime_i(32'd0),
        .status_i(32'd0), .errors_i(7'd0), .job_done_i(1'b0), .irq_o()
    );

    // What was accepted and has had no effect yet, from the bus alone.
    reg        has_address = 1'b0;
    reg        has_data = 1'b0;
    reg [7:0]  address;
    reg [31:0] data;
    reg [3:0]  strobe;
    wire        there = (has_address || (awvalid && awready)) && (has_data || (wvalid && wready));
    wire [7:0]  now_address = has_address ? address : awaddr;
    wire [31:0] now_data = has_data ? data : wdata;
    wire [3:0]  now_strobe = has_data ? strobe : wstrb;
    reg        late = 1'b0; // A write must have effect now.
    reg [7:0]  late_address;
    reg [31:0] late_data;
    reg [3:0]  late_strobe;
    reg [31:0] prime_high = 32'd0;
    reg [31:0] prime_low = 32'd0;
    wire [31:0] late_mask =
        {{8{late_strobe[3]}}, {8{late_strobe[2]}}, {8{late_strobe[1]}}, {8{late_strobe[0]}}};
    wire [31:0] late_high = (prime_high & ~late_mask) | (late_data & late_mask);
    wire [31:0] late_low = (prime_low & ~late_mask) | (late_data & late_mask);
    reg        waited = 1'b0; // Data were held while no address was there.
    wire [31:0] late_offset = {24'd0, late_address[7:2], 2'b00};
    always_ff @(posedge clk_i) begin
        late <= !reset && there && !bvalid;
        late_address <= now_address;
        late_data <= now_data;
        address <= now_address;
        data <= now_data;
        late_strobe <= now_strobe;
        strobe <= now_strobe;
        has_address <= !reset && (has_address || (awvalid && awready)) && !(there && !bvalid);
        has_data <= !reset && (has_data || (wvalid && wready)) && !(there && !bvalid);
        waited <= !reset && has_data && (!has_address || waited);
        if (late && late_offset == CM_NTT_PRIME_HIGH_OFFSET) prime_high <= late_high;
        if (late && late_offset == CM_NTT_PRIME_OFFSET) prime_low <= late_low;
        if (!reset) begin
            assert (command_valid == (late && late_strobe[0] && late_offset == CM_NTT_COMMAND_OFFSET));
            if (command_valid) assert (command == late_data[5:0]);
            assert (prime_valid == (late && late_strobe[0] && late_offset == CM_NTT_PRIME_OFFSET));
            if (prime_valid) assert (prime == {prime_high, late_low});
            assert (restart == (late && late_offset == CM_NTT_CONTROL_OFFSET && late_strobe[0]
                && late_data[0]));
            cover (prime_valid && waited && prime_high != 32'd0 && prime[31:0] != 32'd0);
            cover (command_valid && bvalid);
        end
    end
endmodule
`default_nettype wire
