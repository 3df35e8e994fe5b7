// SPDX-License-Identifier: Apache-2.0
// A sensor's chip in simulation: a PicoRV32, memory, the client engine with transfers, a UART, a sensor, a
// source of random words, and a port that frames leave through, a word a cycle. Without ENGINE it is the same
// chip for the same program in software: everything else, and so the core's cycles, are the same.
//
//     0x0...  memory, from which the core starts
//     0x1...  the registers below, by words
//     0x2...  the engine's: client_registers.md
`default_nettype none
module cm_soc #(
    parameter integer ENGINE = 1,        // 0: no client engine
    parameter integer LOG2_WORDS = 18,   // 10 .. 26: log2 of the memory's words of 32 bits
    parameter integer UART_DIVISOR = 16, // 2 .. 65536: cycles of a bit
    parameter integer LOG2_N = 12,       // as in cm_client_axi, like those below
    parameter integer WIDTH = 27,
    parameter integer LOG2_UNITS = 3,
    parameter integer PRIMES = 3,
    parameter integer DEEP = 1
) (
    input  wire        clk_i,
    input  wire        rst_i,
    output wire        uart_tx_o,
    output reg         exit_o,
    output reg  [31:0] exit_code_o,
    output wire        trap_o,          // The core has met what it cannot do.
    output wire        irq_o,
    input  wire        sensor_valid_i,
    output wire        sensor_ready_o,
    input  wire [31:0] sensor_i,
    input  wire        entropy_valid_i,
    output wire        entropy_ready_o,
    input  wire [31:0] entropy_i,
    output wire        frame_valid_o,
    output wire [31:0] frame_o
);
    `include "cm_refuse.svh"
    generate
        `CM_REFUSE(g_bad_engine, ENGINE < 0 || ENGINE > 1, "cm_soc: ENGINE must be 0 or 1.")
    endgenerate
    localparam [5:0] UART = 6'd0;    // write: a byte; read: whether one fits
    localparam [5:0] EXIT = 6'd1;    // write: the program is over
    localparam [5:0] SENSOR = 6'd2;  // read: the next sample, as soon as one is available
    localparam [5:0] RANDOM = 6'd3;  // read: a random word, as soon as one is available
    localparam [5:0] ADDRESS = 6'd4; // write: address of the transfers that are started next
    // Write: values to the engine; bit 20: they have 16 bits; bit 21: they are signed; bit 22: they are
    // pieces, and ADDRESS is that of a list. Read: busy.
    localparam [5:0] SEND = 6'd5;
    localparam [5:0] RECEIVE = 6'd6; // write: the most words to receive from the engine; read: words received
    localparam [5:0] LEAVE = 6'd7;   // write: number of words to send to the port; read: busy
    // Write: what is sent is 0: a message, 1: frames, 2: words for the engine's register whose offset is in
    // bits 30:16.
    localparam [5:0] TO = 6'd8;
    localparam [5:0] MODULUS = 6'd9; // write: by which numbers that are received are centred, or 0
    localparam [5:0] CLEAR = 6'd10;  // write: number of words to clear; read: busy
    localparam [5:0] TAKE = 6'd11;   // write: number of samples to store, two a word; read: busy
    localparam integer ENGINE_IRQ = 3; // The core has the interrupts below it for itself.

    // --- the core ------------------------------------------------------------------------------------------

    wire        valid, ready;
    wire [31:0] address, write_data;
    wire [3:0]  strobe;
    wire [31:0] read_data;
    wire        ahead_read, ahead_write;
    wire [31:0] ahead_address, ahead_data;
    wire [3:0]  ahead_strobe;
    // Programs wait for interrupts, and none is handled: so they are levels, and never enabled.
    picorv32 #(
        .BARREL_SHIFTER(1), .COMPRESSED_ISA(1), .ENABLE_FAST_MUL(1), .ENABLE_DIV(1), .REGS_INIT_ZERO(1),
        .ENABLE_IRQ(1), .LATCHED_IRQ(0)
    ) u_core (
        .clk(clk_i), .resetn(!rst_i), .trap(trap_o),
        .mem_valid(valid), .mem_ready(ready), .mem_addr(address), .mem_wdata(write_data), .mem_wstrb(strobe),
        .mem_rdata(read_data),
        .mem_la_read(ahead_read), .mem_la_write(ahead_write), .mem_la_addr(ahead_address),
        .mem_la_wdata(ahead_data), .mem_la_wstrb(ahead_strobe),
        .mem_instr(), .pcpi_valid(), .pcpi_insn(), .pcpi_rs1(), .pcpi_rs2(), .eoi(), .trace_valid(),
        .trace_data(), .pcpi_wr(1'b0), .pcpi_rd(32'd0), .pcpi_wait(1'b0), .pcpi_ready(1'b0),
        .irq({{(31 - ENGINE_IRQ){1'b0}}, irq_o, {ENGINE_IRQ{1'b0}}})
    );
    wire to_memory = address[31:28] == 4'd0;
    wire to_register = valid && address[31:28] == 4'd1;
    wire to_engine = valid && address[31:28] == 4'd2;

    // --- the memory: it knows an address a cycle ahead, so the core never waits ----------------------------

    wire [31:0]           memory_data;
    wire                  transfer_write;
    wire [LOG2_WORDS-1:0] transfer_to, transfer_at;
    wire [31:0]           transfer_in, transfer_out;
    cm_soc_ram #(.LOG2_WORDS(LOG2_WORDS)) u_ram (
        .clk_i(clk_i), .core_read_i(ahead_read),
        .core_write_i(ahead_write && ahead_address[31:28] == 4'd0),
        .core_address_i(ahead_address[LOG2_WORDS+1:2]), .core_strobe_i(ahead_strobe),
        .core_data_i(ahead_data), .core_data_o(memory_data),
        .transfer_write_i(transfer_write), .transfer_write_address_i(transfer_to),
        .transfer_data_i(transfer_in), .transfer_read_address_i(transfer_at), .transfer_data_o(transfer_out)
    );

    // --- the registers -------------------------------------------------------------------------------------

    reg         register_ready;
    reg  [31:0] register_data;
    reg  [LOG2_WORDS-1:0] transfer_from;
    reg         odd; // selects the upper half of a word
    reg  [1:0]  sends_to;
    reg  [14:0] register_offset; // the engine's register to which words are sent
    localparam [1:0] TO_FRAMES = 2'd1, TO_REGISTER = 2'd2;
    reg  [15:0] modulus;
    wire [5:0]  place = address[7:2];
    wire        uart_ready;
    wire        sends, leaves, clears, takes, sample_taken;
    wire [19:0] received;
    wire        engine_takes_entropy;
    wire        writes = to_register && !register_ready && strobe != 4'd0;
    wire        waits_for_sensor = place == SENSOR && (!sensor_valid_i || takes);
    wire        waits_for_random = place == RANDOM && (!entropy_valid_i || engine_takes_entropy);
    wire        reads = to_register && !register_ready && strobe == 4'd0 && !waits_for_sensor
        && !waits_for_random;
    assign sensor_ready_o = sample_taken || (reads && place == SENSOR);
    assign entropy_ready_o = engine_takes_entropy || (reads && place == RANDOM);
    always_ff @(posedge clk_i) begin
        register_ready <= writes || reads;
        case (place)
            UART: register_data <= {31'd0, uart_ready};
            SENSOR: register_data <= sensor_i;
            RANDOM: register_data <= entropy_i;
            SEND: register_data <= {31'd0, sends};
            RECEIVE: register_data <= {12'd0, received};
            LEAVE: register_data <= {31'd0, leaves};
            CLEAR: register_data <= {31'd0, clears};
            TAKE: register_data <= {31'd0, takes};
            default: register_data <= 32'd0;
        endcase
        if (writes && place == ADDRESS) {transfer_from, odd} <= write_data[LOG2_WORDS+1:1];
        if (writes && place == TO) {register_offset, sends_to} <= {write_data[30:16], write_data[1:0]};
        if (writes && place == MODULUS) modulus <= write_data[15:0];
        if (writes && place == EXIT) begin
            exit_o <= 1'b1;
            exit_code_o <= write_data;
        end
        if (rst_i) begin
            register_ready <= 1'b0;
            exit_o <= 1'b0;
            sends_to <= 2'd0;
            modulus <= 16'd0;
        end
    end
    cm_soc_uart #(.DIVISOR(UART_DIVISOR)) u_uart (
        .clk_i(clk_i), .rst_i(rst_i), .valid_i(writes && place == UART), .ready_o(uart_ready),
        .byte_i(write_data[7:0]), .tx_o(uart_tx_o)
    );

    // --- transfers -----------------------------------------------------------------------------------------

    wire        send_valid, send_ready, send_last;
    wire [31:0] send_data;
    wire        back_valid, back_ready;
    wire [31:0] back_data;
    cm_soc_dma #(.LOG2_WORDS(LOG2_WORDS)) u_dma (
        .clk_i(clk_i), .rst_i(rst_i),
        .send_i(writes && place == SEND), .receive_i(writes && place == RECEIVE),
        .leave_i(writes && place == LEAVE), .clear_i(writes && place == CLEAR),
        .take_i(writes && place == TAKE), .address_i(transfer_from), .count_i(write_data[19:0]),
        .halves_i(write_data[20]), .odd_i(odd), .signed_i(write_data[21]), .list_i(write_data[22]),
        .modulus_i(modulus),
        .sends_o(sends), .leaves_o(leaves), .clears_o(clears), .takes_o(takes), .received_o(received),
        .write_o(transfer_write), .write_address_o(transfer_to), .data_o(transfer_in),
        .read_address_o(transfer_at), .data_i(transfer_out),
        .send_valid_o(send_valid), .send_ready_i(send_ready), .send_data_o(send_data),
        .send_last_o(send_last), .receive_valid_i(back_valid), .receive_ready_o(back_ready),
        .receive_data_i(back_data), .leave_valid_o(frame_valid_o), .leave_data_o(frame_o),
        .sensor_valid_i(sensor_valid_i), .sensor_ready_o(sample_taken), .sensor_i(sensor_i[15:0])
    );

    // --- the engine ----------------------------------------------------------------------------------------

    wire        engine_ready;
    wire [31:0] engine_data;
    assign ready = to_memory ? valid : to_register ? register_ready : to_engine ? engine_ready : valid;
    assign read_data = to_memory ? memory_data : to_register ? register_data : to_engine ? engine_data
        : 32'd0;
    generate
        if (ENGINE != 0) begin : g_engine
            wire        address_ready, data_ready, read_ready;
            wire        write_response, read_response;
            reg         address_given, data_given, read_given;
            // Writes of a transfer and of the core take turns: neither begins while one of the other is under
            // way.
            reg         transfer_sets;
            reg  [1:0]  under_way; // number of the transfer's writes without a response
            wire        core_writes = to_engine && strobe != 4'd0;
            wire        engine_writes = core_writes && !transfer_sets;
            wire        transfer_wants = sends && sends_to == TO_REGISTER;
            wire        setting_ready = transfer_sets && address_ready && data_ready;
            wire        sets = setting_ready && send_valid;
            wire        ends_set = transfer_sets && write_response;
            wire [1:0]  still_under_way = under_way + {1'b0, sets} - {1'b0, ends_set};
            wire        engine_reads = to_engine && strobe == 4'd0;
            wire        entropy_wanted;
            wire        value_ready, frames_ready;
            wire        frame_valid, result_valid;
            wire [31:0] frame_data, result_data;
            assign engine_ready = (write_response && !transfer_sets) || read_response;
            assign engine_takes_entropy = entropy_wanted && entropy_valid_i;
            assign send_ready = (sends_to == TO_REGISTER) ? setting_ready
                : (sends_to == TO_FRAMES) ? frames_ready : value_ready;
            assign back_valid = frame_valid || result_valid; // Only one of them works at a time.
            assign back_data = frame_valid ? frame_data : result_data;
            always_ff @(posedge clk_i) begin
                address_given <= (address_given || (engine_writes && address_ready)) && !engine_ready;
                data_given <= (data_given || (engine_writes && data_ready)) && !engine_ready;
                read_given <= (read_given || (engine_reads && read_ready)) && !engine_ready;
                under_way <= still_under_way;
                transfer_sets <= transfer_sets ? transfer_wants || still_under_way != 2'd0
                    : transfer_wants && !core_writes;
                if (rst_i) begin
                    address_given <= 1'b0;
                    data_given <= 1'b0;
                    read_given <= 1'b0;
                    under_way <= 2'd0;
                    transfer_sets <= 1'b0;
                end
            end
            cm_client_axi #(
                .LOG2_N(LOG2_N), .WIDTH(WIDTH), .LOG2_UNITS(LOG2_UNITS), .PRIMES(PRIMES), .DEEP(DEEP)
            ) u_client (
                .aclk(clk_i), .aresetn(!rst_i),
                .s_axil_awaddr(transfer_sets ? register_offset : address[14:0]),
                .s_axil_awvalid(sets || (engine_writes && !address_given)), .s_axil_awready(address_ready),
                .s_axil_wdata(transfer_sets ? send_data : write_data),
                .s_axil_wstrb(transfer_sets ? 4'b1111 : strobe),
                .s_axil_wvalid(sets || (engine_writes && !data_given)), .s_axil_wready(data_ready),
                .s_axil_bresp(), .s_axil_bvalid(write_response), .s_axil_bready(1'b1),
                .s_axil_araddr(address[14:0]), .s_axil_arvalid(engine_reads && !read_given),
                .s_axil_arready(read_ready), .s_axil_rdata(engine_data), .s_axil_rresp(),
                .s_axil_rvalid(read_response), .s_axil_rready(1'b1), .irq(irq_o),
                .s_axis_entropy_tdata(entropy_i), .s_axis_entropy_tvalid(entropy_valid_i),
                .s_axis_entropy_tready(entropy_wanted),
                .s_axis_value_tdata(send_data), .s_axis_value_tvalid(send_valid && sends_to == 2'd0),
                .s_axis_value_tlast(send_last), .s_axis_value_tready(value_ready),
                .m_axis_frame_tdata(frame_data), .m_axis_frame_tvalid(frame_valid), .m_axis_frame_tlast(),
                .m_axis_frame_tready(back_ready),
                .s_axis_read_tdata(send_data), .s_axis_read_tvalid(send_valid && sends_to == TO_FRAMES),
                .s_axis_read_tready(frames_ready),
                .m_axis_result_tdata(result_data), .m_axis_result_tvalid(result_valid),
                .m_axis_result_tlast(), .m_axis_result_tready(back_ready && !frame_valid)
            );
        end else begin : g_none
            assign engine_ready = to_engine;
            assign engine_data = 32'd0;
            assign engine_takes_entropy = 1'b0;
            assign send_ready = 1'b0;
            assign back_valid = 1'b0;
            assign back_data = 32'd0;
            assign irq_o = 1'b0;
        end
    endgenerate
endmodule
`default_nettype wire
