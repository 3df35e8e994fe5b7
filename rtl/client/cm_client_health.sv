// SPDX-License-Identifier: Apache-2.0
// The health tests of NIST SP 800-90B, section 4, for random words as they are taken. At start-up, 1,024
// words are tested and not used. The cut-offs are the standard's for 0.8 bits of min-entropy in each bit, so
// 25.6 in a word, and a false-alarm probability of 2^-40.
//
// Words enter with valid_i, one a cycle at most; failed_o follows a word that fails a test by a cycle.
//
// Bits are tested in the order of their numbers, and words are tested as samples. Repetition count: 1 + 40 /
// 0.8 equal bits in a row fail, and 1 + 40 / 25.6 words, rounded up. Adaptive proportion: the first bit of a
// window of 1024 may occur fewer than 699 times, the first word of a window of 256 fewer than 3 times. Two
// more tests: each bit of a word must change in each window of 64 words, and of 64 words in a row at most two
// may equal the one before them.
`default_nettype none
module cm_client_health (
    input  wire        clk_i,
    input  wire        rst_i,
    input  wire        begin_i,    // begins the start-up, unless it has begun
    output wire        starting_o, // The start-up takes words.
    output reg         tested_o,   // The start-up is over.
    input  wire        valid_i,    // A word is accepted.
    input  wire [31:0] word_i,
    output reg         failed_o    // A test failed for the word of the last cycle.
);
    localparam [6:0] BIT_REPETITIONS = 7'd51;
    localparam [10:0] BIT_PROPORTION = 11'd699;
    localparam [1:0] WORD_PROPORTION = 2'd3;
    localparam [5:0] NEVER = 6'd63; // number of words since an event too long ago, or none
    localparam [9:0] LAST_OF_START = 10'd1023;

    function automatic [5:0] ones(input [31:0] word);
        integer b;
        begin
            ones = 6'd0;
            for (b = 0; b < 32; b = b + 1) ones = ones + {5'd0, word[b]};
        end
    endfunction

    // Counts the zeros below the lowest one.
    function automatic [5:0] zeros_below(input [31:0] word);
        integer b;
        begin
            zeros_below = 6'd32;
            for (b = 31; b >= 0; b = b - 1) if (word[b]) zeros_below = b[5:0];
        end
    endfunction

    // Counts the zeros above the highest one.
    function automatic [5:0] zeros_above(input [31:0] word);
        integer b;
        begin
            zeros_above = 6'd32;
            for (b = 0; b < 32; b = b + 1) if (word[b]) zeros_above = 6'd31 - b[5:0];
        end
    endfunction

    function automatic [5:0] later(input [5:0] since);
        later = (since == NEVER) ? NEVER : since + 1'b1;
    endfunction

    // COUNTERMEASURE: RANDOM_WORDS_TESTED
    reg  [9:0]  number; // number of the word; windows of 32, 64 and 256 words follow each other
    reg         any;    // A word was accepted.
    reg  [31:0] last;
    // State of the repetition count tests.
    reg  [5:0]  run;    // number of equal bits up to the last one
    reg         was_alike;
    wire [5:0]  goes_on = zeros_below(word_i ^ {32{last[31]}});
    wire [6:0]  row = {1'b0, run} + {1'b0, goes_on};
    wire        bits_repeat = row >= BIT_REPETITIONS;
    wire        alike = any && word_i == last;
    wire        words_repeat = alike && was_alike;
    // State of the adaptive proportion tests.
    reg         bit_;   // first bit of the window
    reg  [10:0] met;    // number of times that it occurred
    wire        bits_begin = number[4:0] == 5'd0;
    wire [31:0] same = word_i ^ {32{!(bits_begin ? word_i[0] : bit_)}};
    wire [10:0] counted = (bits_begin ? 11'd0 : met) + {5'd0, ones(same)};
    wire        bits_prefer = counted >= BIT_PROPORTION;
    reg  [31:0] first;  // first word of the window
    reg  [1:0]  met_words;
    wire        words_begin = number[7:0] == 8'd0;
    wire [1:0]  counted_words = words_begin ? 2'd1 : met_words + {1'b0, word_i == first};
    wire        words_prefer = counted_words == WORD_PROPORTION;
    // A one marks a bit that has changed in this window.
    reg  [31:0] changed;
    wire [31:0] changing = (number[5:0] == 6'd0) ? 32'd0 : changed | (word_i ^ last);
    wire        bits_stick = number[5:0] == 6'd63 && changing != {32{1'b1}};
    // Two counts of words: since the last word that equalled the one before it, and since the last but one.
    reg  [5:0]  since, since_both;
    wire        often_alike = alike && since_both != NEVER;

    reg         begun;
    assign starting_o = begun && !tested_o;
    always_ff @(posedge clk_i) begin
        failed_o <= valid_i
            && (bits_repeat || words_repeat || bits_prefer || words_prefer || bits_stick || often_alike);
        if (begin_i) begun <= 1'b1;
        if (valid_i) begin
            number <= number + 1'b1;
            any <= 1'b1;
            last <= word_i;
            run <= (goes_on != 6'd32) ? zeros_above(word_i ^ {32{word_i[31]}}) : row[6] ? 6'd63 : row[5:0];
            was_alike <= alike;
            met <= counted;
            if (bits_begin) bit_ <= word_i[0];
            met_words <= counted_words;
            if (words_begin) first <= word_i;
            changed <= changing;
            since <= alike ? 6'd0 : later(since);
            since_both <= later(alike ? since : since_both);
            if (number == LAST_OF_START) tested_o <= 1'b1;
        end
        if (rst_i) begin
            number <= 10'd0;
            any <= 1'b0;
            last <= 32'd0;
            run <= 6'd0;
            was_alike <= 1'b0;
            bit_ <= 1'b0;
            met <= 11'd0;
            first <= 32'd0;
            met_words <= 2'd0;
            changed <= 32'd0;
            since <= NEVER;
            since_both <= NEVER;
            begun <= 1'b0;
            tested_o <= 1'b0;
            failed_o <= 1'b0;
        end
    end
endmodule
`default_nettype wire
