// SPDX-License-Identifier: Apache-2.0
// cm_client_twiddles makes all twiddles of a prime from numbers 0 and n / 2, whatever else the table held: at
// the end each is psi^bitrev of its number. Here a twiddle is its exponent, and a product is a sum. No read
// is lost behind a write to the same memory.
`default_nettype none
module prove_client_twiddles #(
    parameter integer LOG2_N = 5,
    parameter integer LOG2_UNITS = 1,
    parameter integer CYCLES = 5 // from the number of a pair to its product
) (
    input wire clk_i
);
    localparam integer PAIR_BITS = LOG2_N - 1;
    localparam integer ROW_BITS = LOG2_N - LOG2_UNITS - 1;
    reg       reset = 1'b1;
    reg       begun = 1'b0;
    always_ff @(posedge clk_i) begin
        reset <= 1'b0;
        begun <= !reset;
    end

    // The stream: it counts pairs, and adds a factor to what was read, which is there two cycles later.
    wire                 idle, running, ends, ready, squares, reads, lower, takes_factor;
    wire [PAIR_BITS-1:0] index, from, to;
    wire [1:0]           writes;
    reg  [CYCLES-1:0]    valid;
    wire                 issue = running && ready;
    cm_client_pair_counter #(.BITS(PAIR_BITS), .CYCLES(CYCLES)) u_pairs (
        .clk_i(clk_i), .rst_i(reset), .start_i(!reset && !begun), .issue_i(issue), .may_end_i(1'b1),
        .idle_o(idle), .running_o(running), .index_o(index), .ends_o(ends)
    );
    reg  [PAIR_BITS-1:0] numbers [0:CYCLES-1];
    cm_client_twiddles #(.LOG2_N(LOG2_N), .LOG2_UNITS(LOG2_UNITS)) u_twiddles (
        .clk_i(clk_i), .rst_i(reset), .runs_i(running), .index_i(index), .issue_i(issue),
        .drained_i(valid == {CYCLES{1'b0}}), .writes_i(valid[CYCLES-1]), .product_index_i(numbers[CYCLES-1]),
        .ready_o(ready), .squares_o(squares), .read_o(reads), .read_index_o(from), .write_o(writes),
        .write_lower_o(lower), .write_index_o(to), .takes_factor_o(takes_factor)
    );

    reg  [LOG2_N:0] words [0:(1<<LOG2_N)-1];
    reg  [LOG2_N:0] lower_at [1:CYCLES];
    reg  [LOG2_N:0] upper_at [1:CYCLES];
    reg  [LOG2_N:0] factor;
    integer c;
    always_ff @(posedge clk_i) begin
        valid <= reset ? {CYCLES{1'b0}} : {valid[CYCLES-2:0], issue || squares};
        numbers[0] <= index;
        lower_at[1] <= words[{from, 1'b0}];
        upper_at[1] <= words[{from, 1'b1}];
        for (c = 1; c < CYCLES; c = c + 1) begin
            numbers[c] <= numbers[c-1];
            lower_at[c+1] <= (c == 2) ? lower_at[c] + factor : lower_at[c];
            upper_at[c+1] <= (c == 2) ? upper_at[c] + factor : upper_at[c];
        end
        if (takes_factor) factor <= lower_at[2];
        if (writes[0]) words[{to, 1'b0}] <= lower_at[CYCLES];
        if (writes[1]) words[{to, 1'b1}] <= lower ? lower_at[CYCLES] : upper_at[CYCLES];
        if (reset) begin
            words[0] <= 0;
            words[1<<(LOG2_N-1)] <= 1;
        end
    end

    (* anyconst *) reg [LOG2_N-1:0] any;
    reg  [LOG2_N:0] expected;
    integer b;
    always_comb begin
        expected = {(LOG2_N + 1){1'b0}};
        for (b = 0; b < LOG2_N; b = b + 1) expected[b] = any[LOG2_N-1-b];
    end
    wire in_one_memory = from >> ROW_BITS == 0 && to >> ROW_BITS == 0;
    always_ff @(posedge clk_i) begin
        if (!reset) begin
            assert (!(reads && writes != 2'b00 && in_one_memory));
            if (ends) assert (words[any] == expected);
            cover (ends && any == {LOG2_N{1'b1}});
        end
    end
endmodule
`default_nettype wire
