// SPDX-License-Identifier: Apache-2.0
// Tags and the fields of frames of version 2 (docs/wire-format.md). A tag is a ChaCha20 block under the key
// K, at the position that the Poly1305 hash of the frame under r gives. Firmware enters K and r, 48 bytes in
// all, twice: those of the device, which make tags, and those of the results, which check them.
`default_nettype none
module cm_client_tags #(
    parameter integer DIGIT = 8 // as in cm_client_poly1305
) (
    input  wire         clk_i,
    input  wire         rst_i,
    input  wire         keys_stay_i, // With rst_i: keys stay.
    // Settings.
    input  wire         setting_i,
    input  wire [7:0]   at_i,
    input  wire [31:0]  data_i,
    output wire [1:0]   there_o,     // {results' key, device's key}: every word was entered, in order.
    // The window of the next ciphertext.
    input  wire [63:0]  counter_i,
    output wire         late_o,      // The window does not reach to that counter.
    // Fields.
    input  wire         reads_i,     // Frames are read instead of made.
    input  wire [63:0]  sent_counter_i,
    input  wire [63:0]  sent_random_i,
    output wire [63:0]  answer_counter_o, // counter that frames which are read must have
    output wire [159:0] fields_o,    // the five words behind the header of version 1
    // The words of a frame before its tag, and then its tag.
    input  wire         start_i,
    output wire         ready_o,
    input  wire         absorb_i,
    input  wire [31:0]  word_i,
    input  wire         finish_i,
    output reg          known_o,
    output reg  [63:0]  tag_o,
    // Requests of blocks of key stream.
    output wire         request_o,
    input  wire         ready_i,
    output wire [255:0] key_o,
    output wire [127:0] position_o,
    input  wire         valid_i,
    input  wire         last_i,
    input  wire [63:0]  block_i
);
    `include "cm_client_map.svh"
    localparam [127:0] CLAMP = 128'h0ffffffc0ffffffc0ffffffc0fffffff;
    localparam [3:0] KEY_WORDS = 4'd12;
    localparam [63:0] NEW_WINDOW = {64{1'b1}};

    reg [31:0]  device;
    reg [15:0]  epoch;
    reg [63:0]  window;
    reg [63:0]  answer_counter, answer_random;
    always_ff @(posedge clk_i) begin
        if (setting_i) begin
            case (at_i)
                MAP_DEVICE: device <= data_i;
                MAP_EPOCH: epoch <= data_i[15:0];
                MAP_WINDOW: window[31:0] <= data_i;
                MAP_WINDOW + 8'd1: window[63:32] <= data_i;
                MAP_ANSWER_COUNTER: answer_counter[31:0] <= data_i;
                MAP_ANSWER_COUNTER + 8'd1: answer_counter[63:32] <= data_i;
                MAP_ANSWER_RANDOM: answer_random[31:0] <= data_i;
                MAP_ANSWER_RANDOM + 8'd1: answer_random[63:32] <= data_i;
                default: ;
            endcase
        end
    end

    // Two keys: the device's and the results'.
    wire [383:0] keys [0:1];
    genvar k;
    generate
        for (k = 0; k < 2; k = k + 1) begin : g_key
            reg [383:0] key;  // K, then r
            reg [3:0]   next; // number of the next word of the key
            integer     i;
            wire [7:0]  number = at_i - ((k == 0) ? MAP_TAG_KEY : MAP_RESULT_KEY);
            assign keys[k] = key;
            assign there_o[k] = next == KEY_WORDS;
            always_ff @(posedge clk_i) begin
                if (setting_i && number < {4'd0, KEY_WORDS}) begin
                    for (i = 0; i < 12; i = i + 1) if (number[3:0] == i) key[32*i +: 32] <= data_i;
                    next <= (number[3:0] == 4'd0) ? 4'd1 : (number[3:0] == next) ? next + 1'b1 : 4'd0;
                end
                if (rst_i && !keys_stay_i) begin
                    key <= 384'd0;
                    next <= 4'd0;
                end
            end
        end
    endgenerate

    // COUNTERMEASURE: WINDOW_REACH
    wire [64:0] past = {1'b0, counter_i} - {1'b0, window};
    assign late_o = window != NEW_WINDOW && past[64:32] != 33'd0;
    wire [63:0] counter = reads_i ? answer_counter : sent_counter_i;
    wire [31:0] since_window = (window == NEW_WINDOW) ? 32'd0 : counter[31:0] - window[31:0];
    assign answer_counter_o = answer_counter;
    assign fields_o = {reads_i ? answer_random : sent_random_i, since_window, 16'd0, epoch, device};

    wire done;
    wire [383:0] key = keys[reads_i];
    cm_client_poly1305 #(.DIGIT(DIGIT)) u_hash (
        .clk_i(clk_i), .rst_i(rst_i), .start_i(start_i), .r_i(key[383:256] & CLAMP), .ready_o(ready_o),
        .absorb_i(absorb_i), .word_i(word_i), .finish_i(finish_i), .done_o(done), .hash_o(position_o)
    );
    reg asked, comes;
    assign key_o = key[255:0];
    assign request_o = done && !asked;
    always_ff @(posedge clk_i) begin
        if (request_o && ready_i) asked <= 1'b1;
        if (valid_i) begin
            comes <= !last_i;
            if (!comes) tag_o <= block_i;
            if (last_i) known_o <= 1'b1;
        end
        if (start_i || rst_i) begin
            asked <= 1'b0;
            known_o <= 1'b0;
        end
        if (rst_i) begin
            comes <= 1'b0;
            tag_o <= 64'd0;
        end
    end
endmodule
`default_nettype wire
