// SPDX-License-Identifier: Apache-2.0
// Makes a frame (docs/wire-format.md), at most a word a cycle: header, payload, in version 2 the tag, and the
// CRC-32C of all that. With tags, words wait for the hash, which is slower.
//
// A frame starts with start_i while ready_o, and its first word is offered in the next cycle. Words leave
// with valid_o and take_i; the payload is taken in the same cycle.
`default_nettype none
module cm_client_frames #(
    parameter integer COUNT_BITS = 13
) (
    input  wire                  clk_i,
    input  wire                  rst_i,
    input  wire                  start_i,  // starts a frame; header_i must not change until it ends
    output wire                  ready_o,
    input  wire                  tagged_i,
    input  wire [511:0]          header_i, // 11 words; 16 with a tag
    input  wire [COUNT_BITS-1:0] words_i,  // number of words of payload, at least one
    input  wire                  payload_valid_i,
    output wire                  payload_take_o,
    input  wire [31:0]           payload_i,
    output wire                  valid_o,
    input  wire                  take_i,
    output wire [31:0]           word_o,
    output wire                  end_o,   // The frame's last word is offered.
    // The hash of all words before the tag, and the tag that it gives.
    output wire                  hash_start_o,
    input  wire                  hash_ready_i,
    output wire                  hash_absorb_o,
    output wire                  hash_finish_o,
    input  wire                  tag_known_i,
    input  wire [63:0]           tag_i
);
    `include "cm_refuse.svh"
    generate
        `CM_REFUSE(g_bad_count_bits, COUNT_BITS < 2 || COUNT_BITS > 29,
                   "cm_client_frames: COUNT_BITS must be from 2 to 29.")
    endgenerate
    `include "cm_client_crc.svh"
    typedef enum logic [2:0] {
        IDLE = 3'd0,
        HEADER = 3'd1,
        PAYLOAD = 3'd2,
        TAG = 3'd3,
        CHECK = 3'd4
    } state_t;
    localparam [3:0] LAST_OF_HEADER = 4'd10, LAST_OF_TAGGED = 4'd15;

    state_t              state;
    reg [3:0]            at;
    reg [COUNT_BITS-1:0] left;
    reg [31:0]           crc;

    assign ready_o = state == IDLE;
    wire   hashes = tagged_i && (state == HEADER || state == PAYLOAD);
    assign valid_o = (!hashes || hash_ready_i)
        && (state == HEADER || state == CHECK || (state == PAYLOAD && payload_valid_i)
            || (state == TAG && tag_known_i));
    assign word_o = (state == HEADER) ? header_i[32*at +: 32] : (state == PAYLOAD) ? payload_i
        : (state == TAG) ? (at[0] ? tag_i[63:32] : tag_i[31:0]) : ~crc;
    wire   moves = valid_o && take_i;
    assign hash_start_o = state == IDLE;
    assign hash_absorb_o = hashes && moves;
    assign hash_finish_o = state == TAG;
    assign end_o = state == CHECK;
    assign payload_take_o = state == PAYLOAD && moves;

    always_ff @(posedge clk_i) begin
        if (state == IDLE) begin
            at <= 4'd0;
            crc <= 32'hFFFFFFFF;
            left <= words_i;
            if (start_i) state <= HEADER;
        end else if (moves) begin
            crc <= crc_of(crc, word_o);
            case (state)
                HEADER: begin
                    at <= at + 1'b1;
                    if (at == (tagged_i ? LAST_OF_TAGGED : LAST_OF_HEADER)) state <= PAYLOAD;
                end
                PAYLOAD: begin
                    left <= left - 1'b1;
                    if (left == {{(COUNT_BITS - 1){1'b0}}, 1'b1}) begin
                        state <= tagged_i ? TAG : CHECK;
                        at <= 4'd0;
                    end
                end
                TAG: begin
                    at <= at + 1'b1;
                    if (at[0]) state <= CHECK;
                end
                default: state <= IDLE;
            endcase
        end
        if (rst_i) state <= IDLE;
    end
endmodule
`default_nettype wire
