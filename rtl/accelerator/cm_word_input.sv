// SPDX-License-Identifier: Apache-2.0
// Takes one packet of n residues from an AXI4-Stream, and passes on its words: LANES at a time, or for a
// table as many of them as it takes. A word that is not below q, a packet of another length, or a beat with
// bytes left out makes it fail: missing words are not waited for, and surplus ones are discarded up to the
// packet's end.
`default_nettype none
module cm_word_input #(
    parameter integer LOG2_N = 10,
    parameter integer WIDTH = 32,
    parameter integer LOG2_BEAT = 2,  // log2 of residues in a beat
    parameter integer LOG2_LANES = 0, // at most LOG2_BEAT
    parameter integer SLOT = 32       // width of a residue in a beat
) (
    input  wire                             clk_i,
    input  wire                             rst_i,
    input  wire [WIDTH-1:0]                 q_i,
    input  wire [(SLOT << LOG2_BEAT)-1:0]   s_axis_tdata_i,
    input  wire [(SLOT << LOG2_BEAT)/8-1:0] s_axis_tkeep_i,
    input  wire                             s_axis_tvalid_i,
    input  wire                             s_axis_tlast_i,
    output wire                             s_axis_tready_o,
    input  wire                             start_i,          // takes a packet; only while busy_o is low
    input  wire                             table_i,          // The packet is for a table.
    output wire                             busy_o,
    // Words are available; they are accepted in the same cycle if ready_i.
    output wire                             valid_o,
    input  wire                             ready_i,
    output wire [LOG2_N-1:0]                index_o,
    input  wire [LOG2_LANES:0]              step_i,           // number of words at index_o that a table takes
    output wire [(WIDTH << LOG2_LANES)-1:0] words_o,
    output reg                              done_o,           // high for a cycle after busy_o has fallen
    output reg                              length_o, // The packet was too short or too long; with done_o.
    output reg                              range_o           // A word was not below q; with done_o.
);
    localparam integer LANES = 1 << LOG2_LANES;
    localparam integer BEAT_BITS = SLOT << LOG2_BEAT;

    typedef enum logic [1:0] {
        IDLE = 2'd0,
        RECEIVE = 2'd1,
        FLUSH = 2'd2
    } state_t;
    state_t             state;
    reg                 is_table;
    reg [LOG2_N-1:0]    index;
    reg [BEAT_BITS-1:0] beat;
    reg                 beat_valid;
    reg                 beat_last;

    // Words leave at the low end of the beat, which moves down.
    wire [LOG2_LANES:0] step = is_table ? step_i : LANES[LOG2_LANES:0];
    wire [LOG2_N-1:0] next_index = index + {{(LOG2_N - LOG2_LANES - 1){1'b0}}, step};
    wire beat_ends = (next_index & {{(LOG2_N - LOG2_BEAT){1'b0}}, {LOG2_BEAT{1'b1}}}) == {LOG2_N{1'b0}};
    wire packet_ends = next_index == {LOG2_N{1'b0}};
    wire takes = state == RECEIVE && beat_valid && ready_i;

    assign busy_o = state != IDLE;
    assign valid_o = state == RECEIVE && beat_valid;
    assign index_o = index;
    assign s_axis_tready_o = state == FLUSH
        || (state == RECEIVE && (!beat_valid || (takes && beat_ends && !packet_ends && !beat_last)));
    wire arrives = s_axis_tvalid_i && s_axis_tready_o;

    wire [LANES-1:0] outside;
    genvar w;
    generate
        for (w = 0; w < LANES; w = w + 1) begin : g_word
            wire [SLOT-1:0] slot = beat[SLOT*w +: SLOT];
            assign words_o[WIDTH*w +: WIDTH] = slot[WIDTH-1:0];
            assign outside[w] = slot >= {{(SLOT - WIDTH){1'b0}}, q_i} && w < step;
        end
    endgenerate

    // The beat without the words taken, which are a power of two.
    reg [BEAT_BITS-1:0] rest;
    integer k;
    always_comb begin
        rest = beat >> SLOT;
        for (k = 1; k <= LOG2_LANES; k = k + 1) if (step[k]) rest = beat >> (SLOT << k);
    end

    always_ff @(posedge clk_i) begin
        done_o <= 1'b0;
        if (state == IDLE) begin
            is_table <= table_i;
            index <= {LOG2_N{1'b0}};
            beat_valid <= 1'b0;
            length_o <= 1'b0;
            range_o <= 1'b0;
            if (start_i) state <= RECEIVE;
        end else if (state == FLUSH) begin
            if (arrives && s_axis_tlast_i) begin
                state <= IDLE;
                done_o <= 1'b1;
            end
        end else begin
            if (takes) begin
                index <= next_index;
                range_o <= range_o || outside != {LANES{1'b0}};
                beat <= rest;
                if (beat_ends) begin
                    beat_valid <= 1'b0;
                    if (packet_ends != beat_last) length_o <= 1'b1;
                    if (beat_last) begin
                        state <= IDLE;
                        done_o <= 1'b1;
                    end else if (packet_ends) begin
                        state <= FLUSH;
                    end
                end
            end
            if (arrives) begin
                beat <= s_axis_tdata_i;
                beat_last <= s_axis_tlast_i;
                if (s_axis_tkeep_i != {(BEAT_BITS / 8){1'b1}}) length_o <= 1'b1;
                beat_valid <= 1'b1;
            end
        end
        if (rst_i) begin
            beat <= {BEAT_BITS{1'b0}}; // Nothing secret may stay.
            state <= IDLE;
            done_o <= 1'b0;
        end
    end
endmodule
`default_nettype wire
