// SPDX-License-Identifier: Apache-2.0
// The order in which the twiddles of a prime are made, in pairs 2 j and 2 j + 1, from those whose numbers are
// 0 and the powers of two. Pair j, below 2 p for the largest power of two p that is at most j, is pair j - p
// times twiddle 2 p: their exponents, psi^bitrev, have no bit in common. Pair 0 is pair 0 times twiddle 0, and
// so stays as it is.
//
// The stream counts the pairs, which are written in their order (cm_client_stream_control), and multiplies.
// The factor for pairs p to 2 p - 1 is read, once all pairs below p are written, in the cycle before the first
// of them enters.
`default_nettype none
module cm_client_twiddles #(
    parameter integer LOG2_N = 12,
    parameter integer LOG2_UNITS = 3
) (
    input  wire              clk_i,
    input  wire              rst_i,
    input  wire              runs_i,    // Pairs of a prime are still to enter.
    input  wire [LOG2_N-2:0] index_i,   // the pair that enters next
    input  wire              issue_i,   // It enters.
    input  wire              drained_i, // No pair is under way.
    input  wire              writes_i,  // A pair is written, so the memory of the common ones is busy.
    output wire              ready_o,   // It may enter.
    output wire              read_o,
    output wire [LOG2_N-2:0] read_index_o,
    output wire              takes_factor_o // The factor that was read is there.
);
    localparam integer PAIR_BITS = LOG2_N - 1;
    localparam integer ROW_BITS = LOG2_N - LOG2_UNITS - 1; // Pairs below 2^ROW_BITS are in one memory.
    reg       factor_there;
    reg [1:0] factor_read;
    wire      reads_factor = runs_i && !factor_there && drained_i;
    wire      ends = (index_i & (index_i + 1'b1)) == {PAIR_BITS{1'b0}}; // The next pair has another factor.
    wire      in_one_memory = index_i >> ROW_BITS == {PAIR_BITS{1'b0}};

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

    assign ready_o = factor_there && !(writes_i && in_one_memory);
    assign read_o = reads_factor || issue_i;
    assign read_index_o = factor_there ? below_first_one(index_i) : index_i;
    assign takes_factor_o = factor_read[1];
    always_ff @(posedge clk_i) begin
        factor_read <= {factor_read[0], reads_factor};
        if (reads_factor) factor_there <= 1'b1;
        if (issue_i && ends) factor_there <= 1'b0;
        if (rst_i) begin
            factor_there <= 1'b0;
            factor_read <= 2'd0;
        end
    end
endmodule
`default_nettype wire
