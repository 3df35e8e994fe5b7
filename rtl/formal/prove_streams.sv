// SPDX-License-Identifier: Apache-2.0
// cm_word_output as AXI4-Stream asks: a beat once offered stays as it is until it is taken; and each packet
// has its words, all of them and in order, however long the stream waits. The memory's words are their own
// pages and indices here, so that no two of the queue, shorter than usual, are the same.
`default_nettype none
module prove_streams #(
    parameter integer LOG2_N = 3
) (
    input wire clk_i
);
    localparam integer WIDTH = LOG2_N + 1;
    localparam integer SLOT = WIDTH;
    localparam integer LOG2_BEAT = 1;
    localparam integer BEATS = 1 << (LOG2_N - LOG2_BEAT);

    (* anyseq *) reg start;
    (* anyseq *) reg tready;
    reg reset = 1'b1;
    always_ff @(posedge clk_i) reset <= 1'b0;

    wire busy, empty, page, reads, last, tvalid, tlast;
    wire [LOG2_N-1:0] index;
    wire [(SLOT << LOG2_BEAT)-1:0] tdata;
    reg [WIDTH-1:0] words;
    reg [WIDTH-1:0] next_words;
    always_ff @(posedge clk_i) begin
        next_words <= {page, index};
        words <= next_words;
    end
    cm_word_output #(
        .LOG2_N(LOG2_N), .WIDTH(WIDTH), .LOG2_BEAT(LOG2_BEAT), .LOG2_LANES(0), .SLOT(SLOT), .LOG2_DEPTH(2)
    ) u_output (
        .clk_i(clk_i), .rst_i(reset), .start_i(start && !busy), .two_i(1'b1), .zero_i(2'b00), .wipe_i(1'b0),
        .wipe_beat_i(2'd0), .busy_o(busy), .empty_o(empty), .page_o(page), .index_o(index), .reads_o(reads),
        .packet_o(), .last_o(last), .words_i(words), .m_axis_tdata_o(tdata), .m_axis_tvalid_o(tvalid),
        .m_axis_tlast_o(tlast), .m_axis_tready_i(tready)
    );

    reg was_waiting = 1'b0;
    reg was_last;
    reg [(SLOT << LOG2_BEAT)-1:0] data;
    reg second = 1'b0; // The packet that leaves is that of page 1.
    reg [LOG2_N-1:0] beats = {LOG2_N{1'b0}}; // number of beats taken of the packet
    always_ff @(posedge clk_i) begin
        was_waiting <= !reset && tvalid && !tready;
        was_last <= tlast;
        data <= tdata;
        if (tvalid && tready) beats <= tlast ? {LOG2_N{1'b0}} : beats + 1'b1;
        if (tvalid && tready && tlast) second <= !second;
        if (reset) begin
            second <= 1'b0;
            beats <= {LOG2_N{1'b0}};
        end else begin
            cover (was_waiting && tready && second && tlast); // both packets, with a wait
            if (was_waiting) assert (tvalid && tdata == data && tlast == was_last);
            if (tvalid) assert (tlast == (beats == BEATS - 1));
            if (tvalid) assert (tdata == {second, beats[LOG2_N-2:0], 1'b1, second, beats[LOG2_N-2:0], 1'b0});
        end
    end
endmodule
`default_nettype wire
