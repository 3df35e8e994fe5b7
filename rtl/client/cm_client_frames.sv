// SPDX-License-Identifier: Apache-2.0
// A frame (docs/wire-format.md): its header, its payload, and the CRC-32C of both, a word a cycle.
`default_nettype none
module cm_client_frames #(
    parameter integer COUNT_BITS = 13
) (
    input  wire                  clk_i,
    input  wire                  rst_i,
    input  wire                  start_i,  // while ready_o; what the header says must not change until the end
    output wire                  ready_o,
    input  wire [351:0]          header_i, // 11 words
    input  wire [COUNT_BITS-1:0] words_i,  // of payload, one or more
    input  wire                  payload_valid_i,
    output wire                  payload_take_o,
    input  wire [31:0]           payload_i,
    output wire                  valid_o,
    input  wire                  take_i,
    output wire [31:0]           word_o,
    output wire                  end_o   // the frame's last word
);
    `include "cm_client_crc.svh"
    localparam [1:0] IDLE = 2'd0, HEADER = 2'd1, PAYLOAD = 2'd2, CHECK = 2'd3;
    localparam [3:0] LAST_OF_HEADER = 4'd10;

    reg [1:0]            state;
    reg [3:0]            at;
    reg [COUNT_BITS-1:0] left;
    reg [31:0]           crc;

    assign ready_o = state == IDLE;
    assign valid_o = state == HEADER || state == CHECK || (state == PAYLOAD && payload_valid_i);
    assign word_o = (state == HEADER) ? header_i[32*at +: 32] : (state == PAYLOAD) ? payload_i : ~crc;
    assign end_o = state == CHECK;
    wire moves = valid_o && take_i;
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
                    if (at == LAST_OF_HEADER) state <= PAYLOAD;
                end
                PAYLOAD: begin
                    left <= left - 1'b1;
                    if (left == {{(COUNT_BITS - 1){1'b0}}, 1'b1}) state <= CHECK;
                end
                default: state <= IDLE;
            endcase
        end
        if (rst_i) state <= IDLE;
    end
endmodule
`default_nettype wire
