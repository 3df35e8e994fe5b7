// SPDX-License-Identifier: Apache-2.0
// The order in which the twiddles of a prime are made, from number 0 and the last power of two, 2^(LOG2_N-1).
// They leave and enter their table in pairs, numbers 2 j and 2 j + 1, and the stream multiplies them.
//
// First those of the other powers of two: number 2^b is the square of number 2^(b+1), for the exponent of psi
// that belongs to it is twice as large. Pair square holds the one that is squared; its upper twiddle is
// multiplied with it, for nothing.
//
// Then all pairs, in their order, which the stream counts (cm_client_stream_control). Pair j, below 2 p for
// the largest power of two p that is at most j, is pair j - p times twiddle 2 p: in the exponents, bitrev(j),
// no bit is in both. Pair 0 is pair 0 times twiddle 0, which is 1, and stays as it is.
//
// A factor is read once everything before it is written, in the cycle before the first pair that it is for.
`default_nettype none
module cm_client_twiddles #(
    parameter integer LOG2_N = 12,
    parameter integer LOG2_UNITS = 3
) (
    input  wire              clk_i,
    input  wire              rst_i,
    input  wire              runs_i,    // Pairs of a prime are still to enter.
    input  wire [LOG2_N-2:0] index_i,   // the pair that the stream counts next
    input  wire              issue_i,   // It enters.
    input  wire              drained_i, // No pair is under way.
    input  wire              writes_i,  // A pair is there to be written.
    input  wire [LOG2_N-2:0] product_index_i, // its number, if it was counted
    output wire              ready_o,   // The next pair may enter.
    output wire              squares_o, // A pair enters that is not counted.
    // The table.
    output wire              read_o,
    output wire [LOG2_N-2:0] read_index_o,
    output wire [1:0]        write_o,   // a bit for each twiddle of the pair
    output wire              write_lower_o, // The lower product is written in either place.
    output wire [LOG2_N-2:0] write_index_o,
    output wire              takes_factor_o // The factor that was read is there.
);
    localparam integer PAIR_BITS = LOG2_N - 1;
    localparam integer ROW_BITS = LOG2_N - LOG2_UNITS - 1; // Pairs below 2^ROW_BITS are in one memory.
    reg  [PAIR_BITS-1:0] square; // a power of two, or 0 once all squares are there
    reg                  factor_there;
    reg  [1:0]           factor_read;
    wire                 squaring = square != {PAIR_BITS{1'b0}};
    wire                 reads_factor = runs_i && !factor_there && drained_i;
    wire                 ends = (index_i & (index_i + 1'b1)) == {PAIR_BITS{1'b0}}; // the last with its factor
    wire                 in_one_memory = index_i >> ROW_BITS == {PAIR_BITS{1'b0}};

    function automatic [PAIR_BITS-1:0] below_first_one(input [PAIR_BITS-1:0] index);
        integer b;
        reg     above;
        begin
            above = 1'b0;
            for (b = PAIR_BITS - 1; b >= 0; b = b - 1) begin
                below_first_one[b] = index[b] && above;
                above = above || index[b];
            end
        end
    endfunction

    assign ready_o = factor_there && !squaring && !(writes_i && in_one_memory);
    assign squares_o = factor_there && squaring;
    assign read_o = reads_factor || squares_o || issue_i;
    assign read_index_o = squaring ? square : factor_there ? below_first_one(index_i) : index_i;
    assign takes_factor_o = factor_read[1];
    // Twiddle 1 is the upper one of pair 0, all other powers of two are lower ones.
    assign write_o = !writes_i ? 2'b00 : !squaring ? 2'b11 : square[0] ? 2'b10 : 2'b01;
    assign write_lower_o = squaring;
    assign write_index_o = squaring ? square >> 1 : product_index_i;
    always_ff @(posedge clk_i) begin
        factor_read <= {factor_read[0], reads_factor};
        if (reads_factor) factor_there <= 1'b1;
        if (squares_o || (issue_i && ends)) factor_there <= 1'b0;
        if (squaring && writes_i) square <= square >> 1;
        if (!runs_i && drained_i) square <= {1'b1, {(PAIR_BITS - 1){1'b0}}};
        if (rst_i) begin
            factor_there <= 1'b0;
            factor_read <= 2'd0;
        end
    end
endmodule
`default_nettype wire
