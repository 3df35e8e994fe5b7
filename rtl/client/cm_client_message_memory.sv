// SPDX-License-Identifier: Apache-2.0
// The memory of the message, in four banks: a pair's numbers are in both halves of the polynomial or, in
// natural order, neighbours. The sums of a decryption take the message's place, and so do the coefficients
// that CKKS encodes.
//
// A word can be read in the cycle after it was written. pair_o follows read_i and the index by a cycle.
`default_nettype none
module cm_client_message_memory #(
    parameter integer LOG2_N = 12,
    parameter integer WIDTH = 27
) (
    input  wire              clk_i,
    input  wire              wipe_i,
    input  wire [LOG2_N-1:0] wipe_address_i,
    // Scaled values, one at a time.
    input  wire              scaled_valid_i,
    input  wire [LOG2_N:0]   scaled_index_i,
    input  wire [WIDTH-1:0]  scaled_i,
    // Pairs of sums, of neighbours.
    input  wire              sums_valid_i,
    input  wire [LOG2_N-2:0] sums_index_i,
    input  wire [63:0]       sums_i,
    // Pairs of encoded coefficients, of both halves.
    input  wire              coded_valid_i,
    input  wire [LOG2_N-2:0] coded_index_i,
    input  wire [63:0]       coded_i,
    input  wire              read_i,
    input  wire              natural_i,
    input  wire [LOG2_N-2:0] index_i,
    input  wire              decodes_i, // The upper number is that of pair mirror_i.
    input  wire [LOG2_N-2:0] mirror_i,
    output wire [63:0]       pair_o
);
    localparam integer PAIR_BITS = LOG2_N - 1;
    localparam integer WORD_BITS = LOG2_N - 2; // address of a bank, which has half of a half
    wire [WORD_BITS-1:0] from = natural_i ? index_i[WORD_BITS-1:0] : index_i[PAIR_BITS-1:1];
    wire [31:0]          words [0:3]; // {half, odd}
    genvar g;
    generate
        for (g = 0; g < 4; g = g + 1) begin : g_message
            wire here = scaled_valid_i && scaled_index_i[LOG2_N-1] == g / 2 && scaled_index_i[0] == g % 2;
            wire sums_here = sums_valid_i && sums_index_i[PAIR_BITS-1] == g / 2;
            wire [31:0] sum = sums_i[32*(g%2) +: 32];
            wire coded_here = coded_valid_i && coded_index_i[0] == g % 2;
            wire [WORD_BITS-1:0] this_from = (decodes_i && g / 2 == 1) ? mirror_i[PAIR_BITS-1:1] : from;
            cm_ram #(.WIDTH(32), .DEPTH(1 << WORD_BITS), .ADDRESS_WIDTH(WORD_BITS), .BLOCK(1)) u_bank (
                .clk_i(clk_i), .write_i(wipe_i || here || sums_here || coded_here),
                .write_address_i(wipe_i ? wipe_address_i[WORD_BITS-1:0]
                                 : sums_valid_i ? sums_index_i[WORD_BITS-1:0]
                                 : coded_valid_i ? coded_index_i[PAIR_BITS-1:1] : scaled_index_i[LOG2_N-2:1]),
                .write_data_i(wipe_i ? 32'd0 : sums_valid_i ? sum : coded_valid_i ? coded_i[32*(g/2) +: 32]
                              : {{(32 - WIDTH){1'b0}}, scaled_i}),
                .read_i(wipe_i || read_i), .read_address_i(this_from), .read_data_o(words[g])
            );
        end
    endgenerate

    reg late_natural, late_half, late_odd; // selection of the pair that is read, a cycle later
    always_ff @(posedge clk_i) begin
        late_natural <= natural_i;
        late_half <= index_i[PAIR_BITS-1];
        late_odd <= index_i[0];
    end
    assign pair_o = late_natural ? {words[{late_half, 1'b1}], words[{late_half, 1'b0}]}
                                 : {words[{1'b1, late_odd}], words[{1'b0, late_odd}]};
endmodule
`default_nettype wire
