// SPDX-License-Identifier: Apache-2.0
// Reads the frames of a ciphertext in the order in which devices send them (docs/wire-format.md). Every field
// and the CRC must be as expected. A seed may come instead of component 1; its frame says so and names the
// XOF that expands it. The counter is the first frame's or, with tags, the expected one. After the first
// fault, nothing more is read.
//
// Words enter with valid_i and ready_o, at most one a cycle. Words of residues are passed on in the same
// cycle, with payload_valid_o and payload_ready_i. With tags, words wait for the hash.
`default_nettype none
module cm_client_reader #(
    parameter integer LOG2_N = 12,
    parameter integer LOG2_PRIMES = 2
) (
    input  wire                   clk_i,
    input  wire                   rst_i,
    input  wire                   enabled_i, // A ciphertext is expected.
    input  wire [31:0]            params_i,
    input  wire [63:0]            key_id_i,
    input  wire [63:0]            scale_i,
    input  wire [7:0]             scheme_i,
    input  wire [LOG2_PRIMES-1:0] last_prime_i,
    input  wire [4:0]             bits_i,    // width of the prime with number prime_o
    output reg  [LOG2_PRIMES-1:0] prime_o,
    // Expected fields of frames of version 2, and the hash of their tags.
    input  wire                   tagged_i,
    input  wire [63:0]            counter_i, // the expected counter
    input  wire [159:0]           fields_i,
    output wire                   hash_start_o,
    input  wire                   hash_ready_i,
    output wire                   hash_absorb_o,
    output wire                   hash_finish_o,
    input  wire                   tag_known_i,
    input  wire [63:0]            tag_i,
    // Words of frames.
    input  wire                   valid_i,
    output wire                   ready_o,
    input  wire [31:0]            word_i,
    // Words of residues.
    output wire                   payload_valid_o,
    input  wire                   payload_ready_i,
    // The ciphertext has begun, seeded_o is valid, and its seed has been read.
    output reg                    known_o,
    output reg                    seeded_o,
    output reg                    shake_o,   // The seed is expanded by SHAKE256 instead of ChaCha20.
    output wire                   seed_read_o, // seed_o has two words of the seed.
    output wire [63:0]            seed_o,
    output reg                    set_done_o, // high for a cycle after the last word of a ciphertext
    output reg                    fault_o
);
    `include "cm_refuse.svh"
    generate
        `CM_REFUSE(g_bad_log2_n, LOG2_N < 5 || LOG2_N > 28, "cm_client_reader: LOG2_N must be from 5 to 28.")
        `CM_REFUSE(g_bad_log2_primes, LOG2_PRIMES < 1 || LOG2_PRIMES > 7,
                   "cm_client_reader: LOG2_PRIMES must be from 1 to 7.")
    endgenerate
    `include "cm_client_crc.svh"
    typedef enum logic [1:0] {
        HEADER = 2'd0,
        PAYLOAD = 2'd1,
        TAG = 2'd2,
        CHECK = 2'd3
    } state_t;
    localparam [3:0] LAST_OF_HEADER = 4'd10, LAST_OF_TAGGED = 4'd15;
    localparam [7:0] VERSION = 8'd1, TAGGED_VERSION = 8'd2, COMPONENTS = 8'd2, NTT_FORM = 8'd1;
    localparam [7:0] SHAKE256 = 8'd2, CHACHA20 = 8'd3;
    localparam integer COUNT_BITS = LOG2_N + 1;
    localparam [COUNT_BITS-1:0] SEED_WORDS = 8, SHAKE_SEED_WORDS = 16;
    localparam [3:0] AT_PLACE = 4'd9;

    state_t              state;
    reg [3:0]            at;
    reg [COUNT_BITS-1:0] left;
    reg [31:0]           crc;
    reg [63:0]           counter;
    reg                  component;
    reg                  in_seed;
    reg [31:0]           seed_low; // first of two words of the seed

    wire [COUNT_BITS-1:0] residue_words = {{(COUNT_BITS - 5){1'b0}}, bits_i} << (LOG2_N - 5);
    wire [COUNT_BITS-1:0] words = !in_seed ? residue_words : shake_o ? SHAKE_SEED_WORDS : SEED_WORDS;
    wire [7:0]  last_number = {{(8 - LOG2_PRIMES){1'b0}}, last_prime_i};
    wire [7:0]  prime_number = {{(8 - LOG2_PRIMES){1'b0}}, prime_o};
    wire [31:0] kind = {7'd0, !known_o && word_i[24], tagged_i ? TAGGED_VERSION : VERSION, 8'h4D, 8'h43};
    wire [7:0]  xof = !seeded_o ? 8'd0
        : (in_seed ? word_i[7:0] == SHAKE256 : shake_o) ? SHAKE256 : CHACHA20;
    wire [31:0] place = {8'd0, prime_number, 7'd0, component, xof};
    wire [31:0] length = {{(30 - COUNT_BITS){1'b0}}, words, 2'b00};
    wire [63:0] set_counter = tagged_i ? counter_i : known_o ? counter : {word_i, word_i};
    wire [32*16-1:0] header = {
        fields_i, length, place, scale_i, set_counter, key_id_i, params_i,
        last_number + 8'd1, COMPONENTS, NTT_FORM, scheme_i, kind
    };
    // COUNTERMEASURE: FRAME_FIELDS
    wire [31:0] expected = header[32*at +: 32];

    wire   hashes = tagged_i && (state == HEADER || state == PAYLOAD);
    wire   hash_there = !hashes || hash_ready_i;
    assign payload_valid_o = state == PAYLOAD && !in_seed && valid_i && hash_there;
    wire open = enabled_i && !fault_o && hash_there && (state != TAG || tag_known_i);
    assign ready_o = open && (state != PAYLOAD || in_seed || payload_ready_i);
    wire taken = valid_i && ready_o;
    assign seed_read_o = taken && state == PAYLOAD && in_seed && left[0];
    assign seed_o = {word_i, seed_low};
    // This does not use taken: nothing in a header waits for the payload, and the path from there is long.
    assign hash_start_o = state == CHECK || (state == HEADER && at == 4'd0 && !(valid_i && open));
    assign hash_absorb_o = hashes && taken;
    assign hash_finish_o = state == TAG;
    // COUNTERMEASURE: FRAME_TAG
    // The tag is compared at its last word, so that half of a tag cannot be found separately.
    reg  forged;
    // COUNTERMEASURE: FRAME_CRC
    wire wrong = taken
        && ((state == HEADER && word_i != expected) || (state == CHECK && (word_i != ~crc || forged)));
    wire last_of_set = prime_o == last_prime_i && !component && !in_seed;

    always_ff @(posedge clk_i) begin
        set_done_o <= 1'b0;
        if (taken) begin
            crc <= crc_of(crc, word_i);
            case (state)
                HEADER: begin
                    at <= at + 1'b1;
                    if (at == 4'd0 && !known_o) begin
                        in_seed <= word_i[24];
                        seeded_o <= word_i[24];
                        component <= 1'b1;
                    end
                    if (at == AT_PLACE && in_seed) shake_o <= word_i[7:0] == SHAKE256;
                    if (at == 4'd5 && !known_o) counter[31:0] <= word_i;
                    if (at == 4'd6 && !known_o) counter[63:32] <= word_i;
                    if (at == (tagged_i ? LAST_OF_TAGGED : LAST_OF_HEADER)) begin
                        at <= 4'd0;
                        state <= PAYLOAD;
                        left <= words;
                        if (!in_seed) known_o <= 1'b1;
                    end
                end
                PAYLOAD: begin
                    left <= left - 1'b1;
                    if (in_seed) seed_low <= word_i;
                    if (left == {{(COUNT_BITS - 1){1'b0}}, 1'b1}) state <= tagged_i ? TAG : CHECK;
                end
                TAG: begin
                    at <= at + 1'b1;
                    if (word_i != (at[0] ? tag_i[63:32] : tag_i[31:0])) forged <= 1'b1;
                    if (at[0]) state <= CHECK;
                end
                default: begin
                    state <= HEADER;
                    at <= 4'd0;
                    crc <= 32'hFFFFFFFF;
                    if (in_seed) begin
                        known_o <= 1'b1;
                        in_seed <= 1'b0;
                        component <= 1'b0;
                    end else if (component) begin
                        component <= 1'b0;
                    end else begin
                        component <= !seeded_o;
                        prime_o <= prime_o + 1'b1;
                    end
                    if (last_of_set) begin
                        prime_o <= {LOG2_PRIMES{1'b0}};
                        known_o <= 1'b0;
                        set_done_o <= 1'b1;
                    end
                end
            endcase
            if (wrong) fault_o <= 1'b1;
        end
        if (rst_i) begin
            state <= HEADER;
            at <= 4'd0;
            crc <= 32'hFFFFFFFF;
            prime_o <= {LOG2_PRIMES{1'b0}};
            component <= 1'b1;
            in_seed <= 1'b0;
            known_o <= 1'b0;
            forged <= 1'b0;
            seeded_o <= 1'b0;
            shake_o <= 1'b0;
            seed_low <= 32'd0;
            fault_o <= 1'b0;
        end
    end
endmodule
`default_nettype wire
