// SPDX-License-Identifier: Apache-2.0
// The AXI4-Lite side of the accelerator, and of the evaluator: registers.md and evaluator_registers.md
// have the maps. A read or write takes two cycles; there are no bus errors: unknown offsets read as zero.
// No output depends combinationally on an input: the address and the data of a write are accepted as they
// come, and each is held until the other is there and the previous response was taken.
`default_nettype none
module cm_axil_registers #(
    parameter integer WIDTH = 32,
    parameter [31:0]  IDENTITY = 32'h434D4E54,
    parameter [31:0]  SHAPE = 32'd0,
    parameter [31:0]  SIZES = 32'd0,    // what a register says that the accelerator does not have
    parameter integer COMMAND_BITS = 6,
    parameter integer ERROR_BITS = 7
) (
    input  wire             clk_i,
    input  wire             rst_i,
    input  wire [7:0]       s_axil_awaddr_i,
    input  wire             s_axil_awvalid_i,
    output wire             s_axil_awready_o,
    input  wire [31:0]      s_axil_wdata_i,
    input  wire [3:0]       s_axil_wstrb_i,
    input  wire             s_axil_wvalid_i,
    output wire             s_axil_wready_o,
    output wire [1:0]       s_axil_bresp_o,
    output reg              s_axil_bvalid_o,
    input  wire             s_axil_bready_i,
    input  wire [7:0]       s_axil_araddr_i,
    input  wire             s_axil_arvalid_i,
    output wire             s_axil_arready_o,
    output reg  [31:0]      s_axil_rdata_o,
    output wire [1:0]       s_axil_rresp_o,
    output reg              s_axil_rvalid_o,
    input  wire             s_axil_rready_i,
    // Signals of the accelerator.
    output reg              reset_o,         // CONTROL.RESET was written.
    output reg              command_valid_o, // high for a cycle with each command
    output reg  [COMMAND_BITS-1:0] command_o, // the fields of COMMAND
    output reg              prime_valid_o,   // high for a cycle when prime_o is to be set
    output wire [63:0]      prime_o,
    input  wire [WIDTH-1:0] prime_i,         // the current prime
    input  wire [31:0]      status_i,
    input  wire [ERROR_BITS-1:0] errors_i,   // errors raised in this cycle, with the bits of ERRORS
    input  wire             job_done_i,
    output reg              irq_o
);
    `include "cm_registers.svh"
    localparam [7:0] SIZES_OFFSET = 8'd44;

    reg [31:0] prime_high;
    reg [31:0] prime_low;
    reg [ERROR_BITS-1:0] errors;
    reg [31:0] jobs;
    reg [1:0]  interrupt;
    reg [1:0]  interrupt_enable;
    assign prime_o = {prime_high, prime_low};
    assign s_axil_bresp_o = 2'b00;
    assign s_axil_rresp_o = 2'b00;

    // --- writes --------------------------------------------------------------------------------------------

    reg        address_held;
    reg        data_held;
    reg [7:0]  held_address;
    reg [31:0] held_data;
    reg [3:0]  held_strobe;
    assign s_axil_awready_o = !address_held;
    assign s_axil_wready_o = !data_held;
    wire        address_there = address_held || s_axil_awvalid_i;
    wire        data_there = data_held || s_axil_wvalid_i;
    wire        writes = address_there && data_there && !s_axil_bvalid_o;
    wire [7:0]  address = address_held ? held_address : s_axil_awaddr_i;
    wire [3:0]  strobe = data_held ? held_strobe : s_axil_wstrb_i;
    wire [31:0] mask = {{8{strobe[3]}}, {8{strobe[2]}}, {8{strobe[1]}}, {8{strobe[0]}}};
    wire [31:0] data = (data_held ? held_data : s_axil_wdata_i) & mask;
    wire        acts = writes && strobe[0]; // A register acts when its lowest byte is written.
    wire [7:0]  offset = {address[7:2], 2'b00};
    wire [ERROR_BITS-1:0] cleared =
        (writes && offset == CM_NTT_ERRORS_OFFSET[7:0]) ? data[ERROR_BITS-1:0] : {ERROR_BITS{1'b0}};
    wire [1:0] acknowledged = (writes && offset == CM_NTT_INTERRUPT_OFFSET[7:0]) ? data[1:0] : 2'd0;

    always_ff @(posedge clk_i) begin
        command_valid_o <= acts && offset == CM_NTT_COMMAND_OFFSET[7:0];
        command_o <= data[COMMAND_BITS-1:0];
        prime_valid_o <= acts && offset == CM_NTT_PRIME_OFFSET[7:0];
        reset_o <= writes && offset == CM_NTT_CONTROL_OFFSET[7:0] && data[CM_NTT_CONTROL_RESET_LOW];
        if (writes && offset == CM_NTT_PRIME_OFFSET[7:0]) prime_low <= (prime_low & ~mask) | data;
        if (writes && offset == CM_NTT_PRIME_HIGH_OFFSET[7:0]) prime_high <= (prime_high & ~mask) | data;
        if (acts && offset == CM_NTT_INTERRUPT_ENABLE_OFFSET[7:0]) interrupt_enable <= data[1:0];
        interrupt <= (interrupt & ~acknowledged) | {errors_i != {ERROR_BITS{1'b0}}, job_done_i};
        irq_o <= (interrupt & interrupt_enable) != 2'd0;
        errors <= (errors & ~cleared) | errors_i;
        jobs <= jobs + {31'd0, job_done_i};
        address_held <= address_there && !writes;
        data_held <= data_there && !writes;
        if (!address_held) held_address <= s_axil_awaddr_i;
        if (!data_held) held_data <= s_axil_wdata_i;
        if (!data_held) held_strobe <= s_axil_wstrb_i;
        s_axil_bvalid_o <= writes || (s_axil_bvalid_o && !s_axil_bready_i);
        if (rst_i) begin
            command_valid_o <= 1'b0;
            prime_valid_o <= 1'b0;
            reset_o <= 1'b0;
            prime_high <= 32'd0;
            prime_low <= 32'd0;
            interrupt <= 2'd0;
            interrupt_enable <= 2'd0;
            irq_o <= 1'b0;
            errors <= {ERROR_BITS{1'b0}};
            jobs <= 32'd0;
            address_held <= 1'b0;
            data_held <= 1'b0;
            s_axil_bvalid_o <= 1'b0;
        end
    end

    // --- reads ---------------------------------------------------------------------------------------------

    wire reads = s_axil_arvalid_i && !s_axil_rvalid_o;
    assign s_axil_arready_o = !s_axil_rvalid_o;
    wire [63:0] prime = {{(64 - WIDTH){1'b0}}, prime_i};

    always_ff @(posedge clk_i) begin
        if (reads) begin
            case ({s_axil_araddr_i[7:2], 2'b00})
                CM_NTT_ID_OFFSET[7:0]: s_axil_rdata_o <= IDENTITY;
                CM_NTT_SHAPE_OFFSET[7:0]: s_axil_rdata_o <= SHAPE;
                CM_NTT_STATUS_OFFSET[7:0]: s_axil_rdata_o <= status_i;
                CM_NTT_ERRORS_OFFSET[7:0]: s_axil_rdata_o <= {{(32 - ERROR_BITS){1'b0}}, errors};
                CM_NTT_PRIME_OFFSET[7:0]: s_axil_rdata_o <= prime[31:0];
                CM_NTT_PRIME_HIGH_OFFSET[7:0]: s_axil_rdata_o <= prime[63:32];
                CM_NTT_JOBS_OFFSET[7:0]: s_axil_rdata_o <= jobs;
                CM_NTT_INTERRUPT_OFFSET[7:0]: s_axil_rdata_o <= {30'd0, interrupt};
                CM_NTT_INTERRUPT_ENABLE_OFFSET[7:0]: s_axil_rdata_o <= {30'd0, interrupt_enable};
                SIZES_OFFSET: s_axil_rdata_o <= SIZES;
                default: s_axil_rdata_o <= 32'd0;
            endcase
        end
        s_axil_rvalid_o <= reads || (s_axil_rvalid_o && !s_axil_rready_i);
        if (rst_i) s_axil_rvalid_o <= 1'b0;
    end
endmodule
`default_nettype wire
