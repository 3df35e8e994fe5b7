// SPDX-License-Identifier: Apache-2.0
// The client engine on a bus, the module to place in a design: registers and settings on AXI4-Lite, data on
// AXI4-Streams of 32 bits, and an interrupt. docs/client-engine-integration.md explains parameters, ports,
// registers and commands.
//
// One clock drives everything. Port names follow AXI4, so that tools infer the interfaces. Settings, and with
// them keys and secrets, can be written and never read. There are no bus errors: unknown offsets read as zero
// and ignore writes, and a write whose WSTRB is not all ones is ignored.
`default_nettype none
module cm_client_axi #(
    parameter integer LOG2_N = 12,           // 10 .. 13: log2 of the ring degree n
    parameter integer WIDTH = 27,            // 22 .. 27: bits of the widest prime
    parameter integer LOG2_UNITS = 3,        // 1 .. 4: log2 of the number of butterflies
    parameter integer PRIMES = 3,            // 2 .. 7: the most primes of a ciphertext
    parameter integer DEEP = 1,              // 1: a longer pipeline, for faster FPGA clocks; 0: a shorter one
    parameter integer MULTIPLIER_WIDTH = 24, // 17 or 24: width of the FPGA's multipliers; 64: standard cells
    parameter integer TAG_DIGIT = 4 // 4, 8, 16 or 32: bits a cycle of the multiplier that hashes tags
) (
    input  wire        aclk,
    input  wire        aresetn,          // synchronous; wipes everything, keys included: wait for STATUS.IDLE
    input  wire [14:0] s_axil_awaddr,
    input  wire        s_axil_awvalid,
    output wire        s_axil_awready,
    input  wire [31:0] s_axil_wdata,
    input  wire [3:0]  s_axil_wstrb,     // a write that leaves out a byte is ignored
    input  wire        s_axil_wvalid,
    output wire        s_axil_wready,
    output wire [1:0]  s_axil_bresp,
    output reg         s_axil_bvalid,
    input  wire        s_axil_bready,
    input  wire [14:0] s_axil_araddr,
    input  wire        s_axil_arvalid,
    output wire        s_axil_arready,
    output reg  [31:0] s_axil_rdata,
    output wire [1:0]  s_axil_rresp,
    output reg         s_axil_rvalid,
    input  wire        s_axil_rready,
    output wire        irq,              // level: an event of EVENTS that INTERRUPTS enables
    // Random words from a true random source; a ciphertext or a drawn key takes eight.
    input  wire [31:0] s_axis_entropy_tdata,
    input  wire        s_axis_entropy_tvalid,
    output wire        s_axis_entropy_tready,
    // Messages to encrypt, one value a beat. TLAST ends a message; values missing after it are zero.
    input  wire [31:0] s_axis_value_tdata,
    input  wire        s_axis_value_tvalid,
    input  wire        s_axis_value_tlast,
    output wire        s_axis_value_tready,
    // The frames of a ciphertext, one packet for each ciphertext. Byte 0 is in bits 7:0.
    output wire [31:0] m_axis_frame_tdata,
    output wire        m_axis_frame_tvalid,
    output wire        m_axis_frame_tlast,
    input  wire        m_axis_frame_tready,
    // Frames to decrypt, bytes in the same order. Their headers say where they end, so there is no TLAST.
    input  wire [31:0] s_axis_read_tdata,
    input  wire        s_axis_read_tvalid,
    output wire        s_axis_read_tready,
    // Decrypted messages, one packet for each.
    output wire [31:0] m_axis_result_tdata,
    output wire        m_axis_result_tvalid,
    output wire        m_axis_result_tlast,
    input  wire        m_axis_result_tready
);
    `include "cm_client_registers.svh"
    `include "cm_latency.svh"
    localparam [31:0] IDENTITY = 32'h434D4345;
    localparam integer MESSAGE_WIDTH = 32; // the same as in cm_client_engine
    localparam integer R_BITS = montgomery_words(WIDTH, LOG2_N) * montgomery_word_bits(WIDTH, LOG2_N);
    localparam integer SCALE_R_BITS =
        montgomery_words(MESSAGE_WIDTH, LOG2_N) * montgomery_word_bits(MESSAGE_WIDTH, LOG2_N);
    localparam [31:0] SHAPE = {3'd0, SCALE_R_BITS[5:0], R_BITS[5:0], PRIMES[3:0], LOG2_UNITS[2:0], WIDTH[5:0],
                               LOG2_N[3:0]};

    assign s_axil_bresp = 2'b00;
    assign s_axil_rresp = 2'b00;

    // --- writes --------------------------------------------------------------------------------------------

    reg        address_held, data_held;
    reg [14:0] held_address;
    reg [31:0] held_data;
    reg        held_whole;
    assign s_axil_awready = !address_held;
    assign s_axil_wready = !data_held;
    wire        address_there = address_held || s_axil_awvalid;
    wire        data_there = data_held || s_axil_wvalid;
    wire        responds = address_there && data_there && !s_axil_bvalid;
    wire [14:0] address = address_held ? held_address : s_axil_awaddr;
    wire [31:0] data = data_held ? held_data : s_axil_wdata;
    wire        whole = data_held ? held_whole : &s_axil_wstrb;
    // COUNTERMEASURE: WHOLE_WORDS
    wire        writes = responds && whole;
    wire        sets = writes && address[14];
    wire [13:0] offset = {address[13:2], 2'b00};
    wire        to_register = writes && !address[14];

    reg         reset, abort;
    reg         write;
    reg  [11:0] write_address;
    reg  [31:0] write_data;
    reg         command_waits;
    reg  [3:0]  command_code;
    reg  [2:0]  events, enabled;
    wire        ready, idle, faults;
    wire [3:0]  fault;
    reg         was_idle;
    wire        takes_command = command_waits && ready;
    wire        commands = to_register && offset == CM_CLIENT_COMMAND_OFFSET[13:0];
    wire [2:0]  cleared = (to_register && offset == CM_CLIENT_EVENTS_OFFSET[13:0]) ? data[2:0] : 3'd0;
    assign irq = (events & enabled) != 3'd0;

    wire        controls = to_register && offset == CM_CLIENT_CONTROL_OFFSET[13:0];

    always_ff @(posedge aclk) begin
        reset <= !aresetn || (controls && data[CM_CLIENT_CONTROL_RESET_LOW]);
        abort <= controls && data[CM_CLIENT_CONTROL_ABORT_LOW];
        write <= sets;
        write_address <= offset[13:2];
        write_data <= sets ? data : 32'd0;
        address_held <= address_there && !responds;
        data_held <= data_there && !responds;
        if (!address_held) held_address <= s_axil_awaddr;
        if (!data_held) begin
            held_data <= s_axil_wdata;
            held_whole <= &s_axil_wstrb;
        end
        if (responds) held_data <= 32'd0; // The data may be a key.
        s_axil_bvalid <= responds || (s_axil_bvalid && !s_axil_bready);
        was_idle <= idle;
        if (takes_command || faults || abort) command_waits <= 1'b0;
        if (commands && !command_waits) begin
            command_waits <= 1'b1;
            command_code <= data[3:0];
        end
        events <= (events & ~cleared) | {commands && command_waits, faults, idle && !was_idle};
        if (to_register && offset == CM_CLIENT_INTERRUPTS_OFFSET[13:0]) enabled <= data[2:0];
        if (!aresetn || reset) begin
            command_waits <= 1'b0;
            events <= 3'd0;
            was_idle <= 1'b1;
        end
        if (!aresetn) begin
            write <= 1'b0;
            write_data <= 32'd0;
            held_data <= 32'd0;
            address_held <= 1'b0;
            data_held <= 1'b0;
            s_axil_bvalid <= 1'b0;
            enabled <= 3'd0;
        end
    end

    // --- reads ---------------------------------------------------------------------------------------------

    // COUNTERMEASURE: KEY_WRITE_ONLY
    wire reads = s_axil_arvalid && !s_axil_rvalid;
    assign s_axil_arready = !s_axil_rvalid;
    always_ff @(posedge aclk) begin
        if (reads) begin
            case ({s_axil_araddr[14:2], 2'b00})
                CM_CLIENT_ID_OFFSET[14:0]: s_axil_rdata <= IDENTITY;
                CM_CLIENT_SHAPE_OFFSET[14:0]: s_axil_rdata <= SHAPE;
                CM_CLIENT_STATUS_OFFSET[14:0]:
                    s_axil_rdata <= {20'd0, fault, 6'd0, command_waits, idle && !command_waits};
                CM_CLIENT_EVENTS_OFFSET[14:0]: s_axil_rdata <= {29'd0, events};
                CM_CLIENT_INTERRUPTS_OFFSET[14:0]: s_axil_rdata <= {29'd0, enabled};
                default: s_axil_rdata <= 32'd0;
            endcase
        end
        s_axil_rvalid <= reads || (s_axil_rvalid && !s_axil_rready);
        if (!aresetn) s_axil_rvalid <= 1'b0;
    end

    cm_client_engine #(
        .LOG2_N(LOG2_N), .WIDTH(WIDTH), .LOG2_UNITS(LOG2_UNITS), .PRIMES(PRIMES), .DEEP(DEEP),
        .MULTIPLIER_WIDTH(MULTIPLIER_WIDTH), .TAG_DIGIT(TAG_DIGIT)
    ) u_engine (
        .clk_i(aclk), .rst_i(reset), .abort_i(abort),
        .write_i(write), .write_address_i(write_address), .write_data_i(write_data),
        .command_i(command_waits), .command_code_i(command_code), .ready_o(ready), .idle_o(idle),
        .fault_o(fault), .faults_o(faults),
        .entropy_valid_i(s_axis_entropy_tvalid), .entropy_ready_o(s_axis_entropy_tready),
        .entropy_i(s_axis_entropy_tdata),
        .value_valid_i(s_axis_value_tvalid), .value_ready_o(s_axis_value_tready),
        .value_i(s_axis_value_tdata), .value_last_i(s_axis_value_tlast),
        .frame_valid_o(m_axis_frame_tvalid), .frame_ready_i(m_axis_frame_tready),
        .frame_o(m_axis_frame_tdata), .frame_last_o(m_axis_frame_tlast),
        .read_valid_i(s_axis_read_tvalid), .read_ready_o(s_axis_read_tready), .read_i(s_axis_read_tdata),
        .result_valid_o(m_axis_result_tvalid), .result_ready_i(m_axis_result_tready),
        .result_o(m_axis_result_tdata), .result_last_o(m_axis_result_tlast)
    );
endmodule
`default_nettype wire
