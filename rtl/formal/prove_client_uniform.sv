// SPDX-License-Identifier: Apache-2.0
// cm_client_uniform is the library's rejection: the residues are, in order, the fields of the key stream that
// are below q. For any q of so many bits and these words, with pauses between them.
`default_nettype none
module prove_client_uniform #(
    parameter integer WIDTH = 27,
    parameter integer BITS = 27,  // width of q
    parameter integer WORDS = 3,  // number of words of key stream
    parameter integer LOG2_N = 4 // more residues than the words hold
) (
    input wire clk_i
);
    localparam integer FIELDS = 64 * WORDS / (2 * BITS) * 2; // number of fields that are cut, two at a time
    (* anyconst *) reg [64*WORDS-1:0] stream;
    (* anyconst *) reg [WIDTH-1:0]    q;
    (* anyseq *) reg                  offers;
    reg reset = 1'b1;
    always_ff @(posedge clk_i) reset <= 1'b0;

    localparam [4:0] BITS_OF_Q = BITS;
    reg  [1:0]  taken = 2'd0;
    wire        ready, pair;
    wire        valid = offers && taken != WORDS[1:0];
    wire [2*WIDTH-1:0] pair_data;
    wire [LOG2_N:0]    residues;
    cm_client_uniform #(.WIDTH(WIDTH), .LOG2_N(LOG2_N)) u_uniform (
        .clk_i(clk_i), .rst_i(1'b0), .start_i(reset), .q_i(q), .bits_i(BITS_OF_Q), .valid_i(valid),
        .ready_o(ready), .data_i(stream[64*taken +: 64]), .pair_o(pair), .pair_data_o(pair_data),
        .residues_o(residues)
    );

    // What it holds, for lemmas: rtl/tools/prove.py connects them.
    (* keep *) wire [63:0]      word;
    (* keep *) wire [4:0]       at;
    (* keep *) wire             word_there, fields, waits;
    (* keep *) wire [WIDTH-1:0] cut_first, cut_second, waiting;

    // The fields one after the other: the numbers among the residues of those that are.
    wire [FIELDS-1:0]        accepted;
    wire [WIDTH*FIELDS-1:0]  values;
    wire [4*(FIELDS+1)-1:0]  before; // residues before this field
    assign before[3:0] = 4'd0;
    genvar f;
    generate
        for (f = 0; f < FIELDS; f = f + 1) begin : g_field
            wire [BITS-1:0] field = stream[BITS*f +: BITS];
            assign accepted[f] = field < q;
            assign values[WIDTH*f +: WIDTH] = field;
            assign before[4*(f+1) +: 4] = before[4*f +: 4] + {3'd0, accepted[f]};
        end
    endgenerate

    // The next pair must be this one.
    reg [3:0]       left = 4'd0; // number of residues that have left
    reg [WIDTH-1:0] first, second;
    reg [1:0]       there;
    integer i;
    always_comb begin
        first = {WIDTH{1'b0}};
        second = {WIDTH{1'b0}};
        there = 2'd0;
        for (i = 0; i < FIELDS; i = i + 1) begin
            if (accepted[i] && before[4*i +: 4] == left) begin
                first = values[WIDTH*i +: WIDTH];
                there[0] = 1'b1;
            end
            if (accepted[i] && before[4*i +: 4] == left + 4'd1) begin
                second = values[WIDTH*i +: WIDTH];
                there[1] = 1'b1;
            end
        end
    end

    // Lemmas: the word and where its rest begins, the fields that were cut of it, and the residue that waits.
    reg [3:0]  cuts = 4'd0; // number of pairs of fields whose residues are counted
    wire [9:0] place = 10'd64 * (taken - 10'd1) + {4'd0, at, 1'b0};
    reg [WIDTH-1:0] latest;
    always_comb begin
        latest = {WIDTH{1'b0}};
        for (i = 0; i < FIELDS; i = i + 1) if (accepted[i] && i < 2 * cuts) latest = values[WIDTH*i +: WIDTH];
    end
    always_ff @(posedge clk_i) if (!reset) begin
        if (fields) cuts <= cuts + 4'd1;
        assert (word_there == (taken != 2'd0) && cuts + fields <= FIELDS / 2);
        if (word_there) assert (word == stream[64*(taken-2'd1) +: 64]);
        if (word_there) assert (place == 10'd2 * BITS * (cuts + fields));
        if (!word_there) assert (cuts == 4'd0 && !fields);
        if (fields) assert (cut_first == values[2*WIDTH*cuts +: WIDTH]);
        if (fields) assert (cut_second == values[2*WIDTH*cuts+WIDTH +: WIDTH]);
        assert (residues == before[8*cuts +: 4] && waits == residues[0] && left == {residues[3:1], 1'b0});
        if (waits) assert (waiting == latest);
    end

    reg [3:0] quiet = 4'd0; // number of cycles since the last word
    always_ff @(posedge clk_i) begin
        assume (q[BITS-1] && q >> BITS == {WIDTH{1'b0}});
        if (!reset) begin
            if (valid && ready) taken <= taken + 2'd1;
            quiet <= (taken == WORDS[1:0]) ? quiet + 4'd1 : 4'd0;
            if (pair) begin
                left <= left + 4'd2;
                assert (there == 2'b11 && pair_data == {second, first});
            end
            // All fields that there are have been cut: a last one may wait for another.
            if (quiet == 4'd5) begin
                assert (residues == before[4*FIELDS +: 4]);
                assert (left == {before[4*FIELDS+1 +: 3], 1'b0});
            end
            cover (quiet == 4'd5 && before[4*FIELDS +: 4] == FIELDS);
            cover (quiet == 4'd5 && before[4*FIELDS +: 4] == 4'd3);
        end
    end
endmodule
`default_nettype wire
