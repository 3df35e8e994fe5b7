// SPDX-License-Identifier: Apache-2.0
// Makes ChaCha20 key streams for several users. Two cores take the requested blocks in turn. A request is
// accepted with request_i and ready_o. 64 bits leave in a cycle, with valid_o and take_i, in the order of
// requests, each with the tag that its user gave. A block takes 21 cycles in a core; at full load one leaves
// every 10.5 cycles.
//
// The state with which a block began is not kept: its user still has key and position when its words leave.
`default_nettype none
module cm_client_stream #(
    parameter integer TAG = 4 // width of a tag
) (
    input  wire           clk_i,
    input  wire           rst_i,
    // Requests of blocks.
    input  wire           request_i,
    output wire           ready_o,
    input  wire [255:0]   key_i,
    input  wire [127:0]   position_i, // the block counter, and the nonce above it
    input  wire [TAG-1:0] tag_i,
    // Two words of the state with which a block began, for the sums that leave next: the tag of the block,
    // and the number of the words.
    output wire [TAG-1:0] origin_tag_o,
    output wire [2:0]     origin_at_o,
    input  wire [63:0]    origin_i,
    // The words of blocks, eight pairs each.
    output wire           valid_o,
    input  wire           take_i,
    output wire [63:0]    data_o,
    output wire [TAG-1:0] tag_o,
    output wire           last_o
);
    `include "cm_refuse.svh"
    generate
        `CM_REFUSE(g_bad_tag, TAG < 1 || TAG > 32, "cm_client_stream: TAG must be from 1 to 32.")
    endgenerate
    wire [1:0]    core_ready;
    wire [1:0]    core_valid;
    wire [1023:0] core_mixed;
    reg           to;   // core of the next request
    reg           from; // core of the next block that leaves
    reg [TAG-1:0] tags [0:1];

    reg [63:0]    sum;   // the two words that leave
    reg [447:0]   held;  // the words behind them, before they are added to
    reg [3:0]     left; // number of words left in the block
    reg [TAG-1:0] held_tag;

    // The next words are a block's first ones: known before it is known whether a word is accepted.
    wire fresh = left == 4'd0 || left == 4'd1;
    wire take_block = core_valid[from] && (left == 4'd0 || (left == 4'd1 && take_i));
    assign ready_o = core_ready[to];

    genvar c;
    generate
        for (c = 0; c < 2; c = c + 1) begin : g_core
            cm_chacha20 u_core (
                .clk_i(clk_i), .rst_i(rst_i), .ready_o(core_ready[c]), .start_i(request_i && to == c),
                .key_i(key_i), .position_i(position_i), .valid_o(core_valid[c]),
                .take_i(take_block && from == c), .mixed_o(core_mixed[512*c +: 512])
            );
            always_ff @(posedge clk_i) if (request_i && ready_o && to == c) tags[c] <= tag_i;
        end
    endgenerate

    assign valid_o = left != 4'd0;
    assign data_o = sum;
    wire [511:0] next_held = fresh ? (from ? core_mixed[1023:512] : core_mixed[511:0]) : {64'd0, held};
    assign origin_tag_o = fresh ? tags[from] : held_tag;
    assign origin_at_o = fresh ? 3'd0 : 3'd1 - left[2:0];
    assign tag_o = held_tag;
    assign last_o = left == 4'd1;

    always_ff @(posedge clk_i) begin
        if (take_block || (valid_o && take_i)) begin
            sum <= {next_held[63:32] + origin_i[63:32], next_held[31:0] + origin_i[31:0]};
            held <= next_held[511:64];
        end
        if (request_i && ready_o) to <= !to;
        if (take_block) begin
            from <= !from;
            held_tag <= tags[from];
            left <= 4'd8;
        end else if (valid_o && take_i) begin
            left <= left - 1'b1;
        end
        if (rst_i) begin
            to <= 1'b0;
            from <= 1'b0;
            left <= 4'd0;
            sum <= 64'd0;
            held <= 448'd0;
        end
    end
endmodule
`default_nettype wire
