// SPDX-License-Identifier: Apache-2.0
// Sends results in the order in which they were queued: a row is read whenever its memory's port is free, or
// kept free because it is wanted, and leaves a beat at a time while the next one is read.
`default_nettype none
module cm_evaluator_departure #(
    parameter integer LOG2_N = 12,
    parameter integer WIDTH = 27,
    parameter integer LOG2_UNITS = 6,
    parameter integer LOG2_BEAT = 3,
    parameter integer LOG2_DEPTH = 4, // log2 of the results that may be queued
    parameter integer ROW_BITS = LOG2_N - LOG2_UNITS // follows and must not be set
) (
    input  wire                             clk_i,
    input  wire                             rst_i,
    // Queues a result, or the end of a job without one. A place is reserved beforehand.
    input  wire                             reserve_i,
    output wire                             room_o,
    input  wire                             queue_i,
    input  wire                             queue_packet_i,
    input  wire                             queue_end_i,
    input  wire                             queue_memory_i,
    input  wire [9:0]                       queue_slot_i,
    output wire                             job_done_o, // the last row of a job was read
    input  wire                             zero_i,     // Zeros are sent instead.
    output wire                             empty_o,
    // Reads.
    output wire [1:0]                       wanted_o,   // reads of memory A, B
    input  wire [1:0]                       blocked_i,
    output wire [1:0]                       read_o,
    output wire [9:0]                       slot_o,
    output wire [ROW_BITS-1:0]              row_o,
    input  wire [(WIDTH << LOG2_UNITS)-1:0] a_i,        // two cycles after the read
    input  wire [(WIDTH << LOG2_UNITS)-1:0] b_i,
    output wire [(32 << LOG2_BEAT)-1:0]     m_axis_tdata_o,
    output wire                             m_axis_tvalid_o,
    output wire                             m_axis_tlast_o,
    input  wire                             m_axis_tready_i
);
    localparam integer ROW = WIDTH << LOG2_UNITS;
    localparam integer BEAT = WIDTH << LOG2_BEAT;
    localparam integer DEPTH = 1 << LOG2_DEPTH;
    localparam integer BEATS_BITS = LOG2_UNITS - LOG2_BEAT + 1;
    localparam [BEATS_BITS-1:0] BEATS = 1 << (LOG2_UNITS - LOG2_BEAT);

    // --- the queue -----------------------------------------------------------------------------------------

    reg [12:0]           queue [0:DEPTH-1];
    reg [LOG2_DEPTH-1:0] head;
    reg [LOG2_DEPTH-1:0] tail;
    reg [LOG2_DEPTH:0]   queued;
    reg [LOG2_DEPTH:0]   reserved;
    wire                 packet, ends, memory;
    wire                 there = queued != {(LOG2_DEPTH + 1){1'b0}};
    wire                 pop;
    assign {packet, ends, memory, slot_o} = queue[head];
    assign room_o = reserved != DEPTH[LOG2_DEPTH:0];

    // --- rows ----------------------------------------------------------------------------------------------

    reg  [ROW_BITS-1:0] row;
    reg  [2:1]          reading; // A row was read one or two cycles ago,
    reg  [2:1]          reading_last;
    reg                 reading_memory;
    reg                 reading_zero;
    reg                 next;    // and is here.
    reg                 next_last;
    reg  [ROW-1:0]      next_row;
    reg  [BEATS_BITS-1:0] beats; // that are left of the row that leaves
    reg                 leaving_last;
    reg  [ROW-1:0]      leaving;
    wire                last_row = row == {ROW_BITS{1'b1}};
    wire [1:0]          of = {memory, !memory};
    wire                wants = there && packet && reading == 2'b00 && !next;
    assign wanted_o = wants ? of : 2'b00;
    assign read_o = wanted_o & ~blocked_i;
    assign row_o = row;
    wire                reads = read_o != 2'b00;
    assign pop = there && (!packet || (reads && last_row));
    assign job_done_o = pop && ends;

    assign m_axis_tvalid_o = beats != {BEATS_BITS{1'b0}};
    assign m_axis_tlast_o = leaving_last && beats == {{(BEATS_BITS - 1){1'b0}}, 1'b1};
    wire   leaves = m_axis_tvalid_o && m_axis_tready_i;
    wire   moves = next && (beats == {BEATS_BITS{1'b0}}
                            || (leaves && beats == {{(BEATS_BITS - 1){1'b0}}, 1'b1}));
    assign empty_o = !there && reading == 2'b00 && !next && !m_axis_tvalid_o;
    genvar w;
    generate
        for (w = 0; w < 1 << LOG2_BEAT; w = w + 1) begin : g_word
            assign m_axis_tdata_o[32*w +: 32] = {{(32 - WIDTH){1'b0}}, leaving[WIDTH*w +: WIDTH]};
        end
    endgenerate

    always_ff @(posedge clk_i) begin
        if (queue_i) begin
            queue[tail] <= {queue_packet_i, queue_end_i, queue_memory_i, queue_slot_i};
            tail <= tail + 1'b1;
        end
        if (pop) head <= head + 1'b1;
        queued <= queued + {{LOG2_DEPTH{1'b0}}, queue_i} - {{LOG2_DEPTH{1'b0}}, pop};
        reserved <= reserved + {{LOG2_DEPTH{1'b0}}, reserve_i} - {{LOG2_DEPTH{1'b0}}, pop};

        if (reads) row <= row + 1'b1;
        reading <= {reading[1], reads};
        reading_last <= {reading_last[1], last_row};
        if (reads) reading_memory <= memory;
        if (reads) reading_zero <= zero_i;
        if (moves) begin
            next <= 1'b0;
            leaving <= next_row;
            leaving_last <= next_last;
            beats <= BEATS;
        end else if (leaves) begin
            beats <= beats - 1'b1;
            leaving <= leaving >> BEAT;
        end
        if (reading[2]) begin
            next <= 1'b1;
            next_last <= reading_last[2];
            next_row <= reading_zero ? {ROW{1'b0}} : reading_memory ? b_i : a_i;
        end
        if (rst_i) begin
            head <= {LOG2_DEPTH{1'b0}};
            tail <= {LOG2_DEPTH{1'b0}};
            queued <= {(LOG2_DEPTH + 1){1'b0}};
            reserved <= {(LOG2_DEPTH + 1){1'b0}};
            row <= {ROW_BITS{1'b0}};
            reading <= 2'b00;
            next <= 1'b0;
            next_row <= {ROW{1'b0}};
            beats <= {BEATS_BITS{1'b0}};
            leaving <= {ROW{1'b0}};
        end
    end
endmodule
`default_nettype wire
