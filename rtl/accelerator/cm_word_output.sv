// SPDX-License-Identifier: Apache-2.0
// Sends packets of n residues to an AXI4-Stream, LANES at a time, from a memory with a read latency of two
// cycles. It requests no more words than the queue of beats has room for, so the stream may wait at any time.
// start_i begins a job while busy_o is low.
`default_nettype none
module cm_word_output #(
    parameter integer LOG2_N = 10,
    parameter integer WIDTH = 32,
    parameter integer LOG2_BEAT = 2,
    parameter integer LOG2_LANES = 0, // at most LOG2_BEAT
    parameter integer SLOT = 32,
    parameter integer LOG2_DEPTH = 3  // log2 of the depth of the queue of beats
) (
    input  wire                             clk_i,
    input  wire                             rst_i,
    input  wire                             start_i,   // sends packets; only while busy_o is low
    input  wire                             two_i,     // sends two packets, pages 0 and 1
    input  wire [1:0]                       zero_i,    // sends zeros for page 0 or 1
    output wire                             busy_o,    // Words are still to be read.
    output wire                             empty_o,   // Nothing is waiting to be sent.
    input  wire                             wipe_i,    // overwrites the queue after a reset
    input  wire [LOG2_DEPTH-1:0]            wipe_beat_i,
    output wire                             page_o,
    output wire [LOG2_N-1:0]                index_o,   // index of the words wanted, with reads_o
    output wire                             reads_o,
    output wire                             packet_o,  // high with the last read of a packet
    output wire                             last_o,    // high with the last read of all
    input  wire [(WIDTH << LOG2_LANES)-1:0] words_i,   // the words, two cycles after their index
    output wire [(SLOT << LOG2_BEAT)-1:0]   m_axis_tdata_o,
    output wire                             m_axis_tvalid_o,
    output wire                             m_axis_tlast_o,
    input  wire                             m_axis_tready_i
);
    localparam integer LANES = 1 << LOG2_LANES;
    localparam integer GROUP_BITS = SLOT * LANES;
    localparam integer BEAT_BITS = SLOT << LOG2_BEAT;
    localparam integer DEPTH = 1 << LOG2_DEPTH;

    // --- reads ---------------------------------------------------------------------------------------------

    reg              active;
    reg              page;
    reg              two;
    reg [1:0]        zero;
    reg [LOG2_N-1:0] index;
    reg [LOG2_DEPTH:0] reserved; // number of beats requested or queued

    wire [LOG2_N-1:0] next_index = index + LANES[LOG2_N-1:0];
    wire beat_begins = (index & {{(LOG2_N - LOG2_BEAT){1'b0}}, {LOG2_BEAT{1'b1}}}) == {LOG2_N{1'b0}};
    wire beat_ends = (next_index & {{(LOG2_N - LOG2_BEAT){1'b0}}, {LOG2_BEAT{1'b1}}}) == {LOG2_N{1'b0}};
    wire packet_ends = next_index == {LOG2_N{1'b0}};
    wire reads = active && (!beat_begins || reserved != DEPTH[LOG2_DEPTH:0]);
    wire leaves = m_axis_tvalid_o && m_axis_tready_i;

    assign busy_o = active;
    assign page_o = page;
    assign index_o = index;
    assign reads_o = reads;
    assign packet_o = reads && packet_ends;
    assign last_o = packet_o && page == two;

    always_ff @(posedge clk_i) begin
        if (!active) begin
            active <= start_i;
            page <= 1'b0;
            two <= two_i;
            zero <= zero_i;
            index <= {LOG2_N{1'b0}};
        end else if (reads) begin
            index <= next_index;
            if (packet_ends) begin
                page <= 1'b1;
                active <= page != two;
            end
        end
        reserved <= reserved + {{LOG2_DEPTH{1'b0}}, reads && beat_begins} - {{LOG2_DEPTH{1'b0}}, leaves};
        if (rst_i) begin
            active <= 1'b0;
            reserved <= {(LOG2_DEPTH + 1){1'b0}};
        end
    end

    // --- beats ---------------------------------------------------------------------------------------------

    // State of the words that arrive now, which were requested two cycles ago.
    reg [1:0] arrives;
    reg [1:0] ends_beat;
    reg [1:0] ends_packet;
    reg [1:0] is_zero;
    always_ff @(posedge clk_i) begin
        arrives <= {arrives[0], reads && !rst_i};
        ends_beat <= {ends_beat[0], beat_ends};
        ends_packet <= {ends_packet[0], packet_ends};
        is_zero <= {is_zero[0], zero[page]};
        if (rst_i) arrives <= 2'b00;
    end

    wire [GROUP_BITS-1:0] group;
    genvar w;
    generate
        for (w = 0; w < LANES; w = w + 1) begin : g_word
            assign group[SLOT*w +: SLOT] = is_zero[1] ? {SLOT{1'b0}}
                : {{(SLOT - WIDTH){1'b0}}, words_i[WIDTH*w +: WIDTH]};
        end
    endgenerate

    wire [BEAT_BITS-1:0] whole;
    generate
        if (LOG2_LANES == LOG2_BEAT) begin : g_at_once
            assign whole = group;
        end else begin : g_gathered
            reg [BEAT_BITS-GROUP_BITS-1:0] earlier;
            assign whole = {group, earlier};
            always_ff @(posedge clk_i) begin
                if (wipe_i) earlier <= {(BEAT_BITS - GROUP_BITS){1'b0}};
                else if (arrives[1]) earlier <= whole[BEAT_BITS-1:GROUP_BITS];
            end
        end
    endgenerate

    reg [BEAT_BITS:0]    queue [0:DEPTH-1];
    reg [LOG2_DEPTH-1:0] head;
    reg [LOG2_DEPTH-1:0] tail;
    reg [LOG2_DEPTH:0]   queued;
    wire enters = arrives[1] && ends_beat[1];
    assign m_axis_tvalid_o = queued != {(LOG2_DEPTH + 1){1'b0}};
    assign {m_axis_tlast_o, m_axis_tdata_o} = queue[head];
    assign empty_o = reserved == {(LOG2_DEPTH + 1){1'b0}};
    always_ff @(posedge clk_i) begin
        if (wipe_i || enters) queue[wipe_i ? wipe_beat_i : tail] <= wipe_i ? {(BEAT_BITS + 1){1'b0}}
                                                                           : {ends_packet[1], whole};
        if (enters) tail <= tail + 1'b1;
        if (leaves) head <= head + 1'b1;
        queued <= queued + {{LOG2_DEPTH{1'b0}}, enters} - {{LOG2_DEPTH{1'b0}}, leaves};
        if (rst_i) begin
            head <= {LOG2_DEPTH{1'b0}};
            tail <= {LOG2_DEPTH{1'b0}};
            queued <= {(LOG2_DEPTH + 1){1'b0}};
        end
    end
endmodule
`default_nettype wire
