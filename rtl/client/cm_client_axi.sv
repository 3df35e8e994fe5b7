// SPDX-License-Identifier: Apache-2.0
// The client engine on a bus: registers and settings on AXI4-Lite (client_registers.md), data on AXI4-Streams of 32
// bits, and an interrupt. Settings, and with them keys and secrets, are only written: what is read is none of them.
// There are no bus errors: unknown offsets read as zero, and settings are written as whole words.
`default_nettype none
module cm_client_axi #(
    parameter integer LOG2_N = 12,
    parameter integer WIDTH = 27,
    parameter integer LOG2_UNITS = 3,
    parameter integer PRIMES = 3,
    parameter integer DEEP = 1,
    parameter integer MULTIPLIER_WIDTH = 24
) (
    input  wire        clk_i,
    input  wire        rst_i,
    input  wire [14:0] s_axil_awaddr_i,
    input  wire        s_axil_awvalid_i,
    output wire        s_axil_awready_o,
    input  wire [31:0] s_axil_wdata_i,
    input  wire [3:0]  s_axil_wstrb_i,   // only whole words are written
    input  wire        s_axil_wvalid_i,
    output wire        s_axil_wready_o,
    output wire [1:0]  s_axil_bresp_o,
    output reg         s_axil_bvalid_o,
    input  wire        s_axil_bready_i,
    input  wire [14:0] s_axil_araddr_i,
    input  wire        s_axil_arvalid_i,
    output wire        s_axil_arready_o,
    output reg  [31:0] s_axil_rdata_o,
    output wire [1:0]  s_axil_rresp_o,
    output reg         s_axil_rvalid_o,
    input  wire        s_axil_rready_i,
    output wire        irq_o,
    // Fresh random words.
    input  wire [31:0] s_axis_entropy_tdata_i,
    input  wire        s_axis_entropy_tvalid_i,
    output wire        s_axis_entropy_tready_o,
    // Messages to encrypt, a value a beat; missing ones at the end are zero.
    input  wire [31:0] s_axis_value_tdata_i,
    input  wire        s_axis_value_tvalid_i,
    input  wire        s_axis_value_tlast_i,
    output wire        s_axis_value_tready_o,
    // Their frames, a packet a ciphertext.
    output wire [31:0] m_axis_frame_tdata_o,
    output wire        m_axis_frame_tvalid_o,
    output wire        m_axis_frame_tlast_o,
    input  wire        m_axis_frame_tready_i,
    // Frames to decrypt.
    input  wire [31:0] s_axis_read_tdata_i,
    input  wire        s_axis_read_tvalid_i,
    output wire        s_axis_read_tready_o,
    // Their messages, a packet each.
    output wire [31:0] m_axis_result_tdata_o,
    output wire        m_axis_result_tvalid_o,
    output wire        m_axis_result_tlast_o,
    input  wire        m_axis_result_tready_i
);
    `include "cm_client_registers.svh"
    `include "cm_latency.svh"
    localparam [31:0] IDENTITY = 32'h434D4345;
    localparam integer MESSAGE_WIDTH = 32; // as in cm_client_engine
    localparam integer R_BITS = montgomery_words(WIDTH, LOG2_N) * montgomery_word_bits(WIDTH, LOG2_N);
    localparam integer SCALE_R_BITS =
        montgomery_words(MESSAGE_WIDTH, LOG2_N) * montgomery_word_bits(MESSAGE_WIDTH, LOG2_N);
    localparam [31:0] SHAPE = {3'd0, SCALE_R_BITS[5:0], R_BITS[5:0], PRIMES[3:0], LOG2_UNITS[2:0], WIDTH[5:0],
                               LOG2_N[3:0]};

    assign s_axil_bresp_o = 2'b00;
    assign s_axil_rresp_o = 2'b00;

    // --- writes -----------------------------------------------------------------------------------------------------

    reg        address_held, data_held;
    reg [14:0] held_address;
    reg [31:0] held_data;
    reg        held_whole;
    assign s_axil_awready_o = !address_held;
    assign s_axil_wready_o = !data_held;
    wire        address_there = address_held || s_axil_awvalid_i;
    wire        data_there = data_held || s_axil_wvalid_i;
    wire        responds = address_there && data_there && !s_axil_bvalid_o;
    wire [14:0] address = address_held ? held_address : s_axil_awaddr_i;
    wire [31:0] data = data_held ? held_data : s_axil_wdata_i;
    wire        whole = data_held ? held_whole : &s_axil_wstrb_i;
    wire        writes = responds && whole;
    wire        sets = writes && address[14];
    wire [13:0] offset = {address[13:2], 2'b00};
    wire        to_register = writes && !address[14];

    reg         reset;
    reg         write;
    reg  [11:0] write_address;
    reg  [31:0] write_data;
    reg         command_waits;
    reg  [3:0]  command_code;
    reg  [2:0]  events, enabled;
    wire        ready, idle;
    wire [3:0]  fault;
    reg         was_idle;
    reg  [3:0]  last_fault;
    wire        takes_command = command_waits && ready;
    wire        commands = to_register && offset == CM_CLIENT_COMMAND_OFFSET[13:0];
    // A command's own fault is raised when it is taken; a wrong one is taken as any other.
    wire        faults = fault != 4'd0 && (last_fault == 4'd0 || took_command);
    reg         took_command;
    wire [2:0]  cleared = (to_register && offset == CM_CLIENT_EVENTS_OFFSET[13:0]) ? data[2:0] : 3'd0;
    assign irq_o = (events & enabled) != 3'd0;

    always_ff @(posedge clk_i) begin
        reset <= rst_i || (to_register && offset == CM_CLIENT_CONTROL_OFFSET[13:0]
                           && data[CM_CLIENT_CONTROL_RESET_LOW]);
        write <= sets;
        write_address <= offset[13:2];
        write_data <= sets ? data : 32'd0;
        address_held <= address_there && !responds;
        data_held <= data_there && !responds;
        if (!address_held) held_address <= s_axil_awaddr_i;
        if (!data_held) begin
            held_data <= s_axil_wdata_i;
            held_whole <= &s_axil_wstrb_i;
        end
        if (responds) held_data <= 32'd0; // it may be a key
        s_axil_bvalid_o <= responds || (s_axil_bvalid_o && !s_axil_bready_i);
        was_idle <= idle;
        last_fault <= fault;
        took_command <= takes_command;
        if (takes_command || faults) command_waits <= 1'b0;
        if (commands && !command_waits) begin
            command_waits <= 1'b1;
            command_code <= data[3:0];
        end
        events <= (events & ~cleared) | {commands && command_waits, faults, idle && !was_idle};
        if (to_register && offset == CM_CLIENT_INTERRUPTS_OFFSET[13:0]) enabled <= data[2:0];
        if (rst_i || reset) begin
            command_waits <= 1'b0;
            events <= 3'd0;
            was_idle <= 1'b1;
            last_fault <= 4'd0;
            took_command <= 1'b0;
        end
        if (rst_i) begin
            write <= 1'b0;
            write_data <= 32'd0;
            held_data <= 32'd0;
            address_held <= 1'b0;
            data_held <= 1'b0;
            s_axil_bvalid_o <= 1'b0;
            enabled <= 3'd0;
        end
    end

    // --- reads ------------------------------------------------------------------------------------------------------

    wire reads = s_axil_arvalid_i && !s_axil_rvalid_o;
    assign s_axil_arready_o = !s_axil_rvalid_o;
    always_ff @(posedge clk_i) begin
        if (reads) begin
            case ({s_axil_araddr_i[14:2], 2'b00})
                CM_CLIENT_ID_OFFSET[14:0]: s_axil_rdata_o <= IDENTITY;
                CM_CLIENT_SHAPE_OFFSET[14:0]: s_axil_rdata_o <= SHAPE;
                CM_CLIENT_STATUS_OFFSET[14:0]:
                    s_axil_rdata_o <= {20'd0, fault, 6'd0, command_waits, idle && !command_waits};
                CM_CLIENT_EVENTS_OFFSET[14:0]: s_axil_rdata_o <= {29'd0, events};
                CM_CLIENT_INTERRUPTS_OFFSET[14:0]: s_axil_rdata_o <= {29'd0, enabled};
                default: s_axil_rdata_o <= 32'd0;
            endcase
        end
        s_axil_rvalid_o <= reads || (s_axil_rvalid_o && !s_axil_rready_i);
        if (rst_i) s_axil_rvalid_o <= 1'b0;
    end

    cm_client_engine #(
        .LOG2_N(LOG2_N), .WIDTH(WIDTH), .LOG2_UNITS(LOG2_UNITS), .PRIMES(PRIMES), .DEEP(DEEP),
        .MULTIPLIER_WIDTH(MULTIPLIER_WIDTH)
    ) u_engine (
        .clk_i(clk_i), .rst_i(reset),
        .write_i(write), .write_address_i(write_address), .write_data_i(write_data),
        .command_i(command_waits), .command_code_i(command_code), .ready_o(ready), .idle_o(idle),
        .fault_o(fault),
        .entropy_valid_i(s_axis_entropy_tvalid_i), .entropy_ready_o(s_axis_entropy_tready_o),
        .entropy_i(s_axis_entropy_tdata_i),
        .value_valid_i(s_axis_value_tvalid_i), .value_ready_o(s_axis_value_tready_o),
        .value_i(s_axis_value_tdata_i), .value_last_i(s_axis_value_tlast_i),
        .frame_valid_o(m_axis_frame_tvalid_o), .frame_ready_i(m_axis_frame_tready_i),
        .frame_o(m_axis_frame_tdata_o), .frame_last_o(m_axis_frame_tlast_o),
        .read_valid_i(s_axis_read_tvalid_i), .read_ready_o(s_axis_read_tready_o), .read_i(s_axis_read_tdata_i),
        .result_valid_o(m_axis_result_tvalid_o), .result_ready_i(m_axis_result_tready_i),
        .result_o(m_axis_result_tdata_o), .result_last_o(m_axis_result_tlast_o)
    );
endmodule
`default_nettype wire
