// SPDX-License-Identifier: Apache-2.0
// The continuous health tests of NIST SP 800-90B, section 4.4, of random words as they are taken: a source that fails
// one of them is not what it was taken for. Both assume at least half a bit of min-entropy for each bit, 16 for a word,
// and fail a source which has that with probability 2^-40 at most, for each word or window.
//
// Repetition count: of words; 1 + 40 / 16, rounded up, alike in a row fail. Adaptive proportion: of bits, in windows of
// 1024; the window's first bit may be met fewer than 824 times, 1 + the critical value of that binomial distribution.
`default_nettype none
module cm_client_health (
    input  wire        clk_i,
    input  wire        rst_i,
    input  wire        valid_i, // a word is taken
    input  wire [31:0] word_i,
    output reg         failed_o // a cycle later, for one
);
    localparam [2:0] REPETITIONS = 3'd4;
    localparam [10:0] PROPORTION = 11'd824;
    localparam [4:0] LAST_OF_WINDOW = 5'd31; // of its words

    function automatic [5:0] ones(input [31:0] word);
        integer b;
        begin
            ones = 6'd0;
            for (b = 0; b < 32; b = b + 1) ones = ones + {5'd0, word[b]};
        end
    endfunction

    reg  [31:0] last;
    reg  [2:0]  alike;  // words as the last, that one included
    reg  [4:0]  number; // of the word in its window
    reg         bit_;   // the window's first
    reg  [10:0] met;    // how often
    wire [2:0]  repeated = (alike != 3'd0 && word_i == last) ? alike + 1'b1 : 3'd1;
    wire        begins = number == 5'd0;
    wire [31:0] same = word_i ^ {32{!(begins ? word_i[0] : bit_)}};
    wire [10:0] counted = (begins ? 11'd0 : met) + {5'd0, ones(same)};

    always_ff @(posedge clk_i) begin
        failed_o <= valid_i && (repeated == REPETITIONS || counted >= PROPORTION);
        if (valid_i) begin
            last <= word_i;
            alike <= (repeated == REPETITIONS) ? 3'd1 : repeated;
            number <= (number == LAST_OF_WINDOW) ? 5'd0 : number + 1'b1;
            met <= counted;
            if (begins) bit_ <= word_i[0];
        end
        if (rst_i) begin
            last <= 32'd0;
            alike <= 3'd0;
            number <= 5'd0;
            bit_ <= 1'b0;
            met <= 11'd0;
            failed_o <= 1'b0;
        end
    end
endmodule
`default_nettype wire
