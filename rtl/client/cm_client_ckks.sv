// SPDX-License-Identifier: Apache-2.0
// Connects CKKS to the engine's streams and to its message: a message that enters is encoded while the one
// before it is still in use, and decrypted coefficients are centred on their way into the decoder.
// docs/encoding.md has the numbers, cm_client_codec the arithmetic.
//
// Values and results have a handshake of valid and ready, one word a cycle at most. Encoded pairs leave with
// pair_o and must be accepted; done_o is high for a cycle with the last one. wrong_o, too_many_o and
// result_wrong_o end the operation.
`default_nettype none
module cm_client_ckks #(
    parameter integer LOG2_N = 12,
    parameter integer WIDTH = 27
) (
    input  wire               clk_i,
    input  wire               rst_i,
    // Settings.
    input  wire               complex_i,      // complex slots instead of real ones
    input  wire               float_i,        // values are binary32 instead of integers times 2^exponent
    input  wire [9:0]         exponent_i,
    input  wire [5:0]         scale_log2_i,
    input  wire [5:0]         limit_log2_i,   // Values times the scale stay below 2^limit.
    input  wire               coefficients_i, // ciphertexts in coefficient form
    input  wire               one_prime_i,
    input  wire [WIDTH-1:0]   q_i,            // the first prime
    input  wire [4:0]         bits_i,         // width of q in bits
    output wire               encodes_o,      // The settings allow encoding.
    output wire               decodes_o,
    // A message that enters.
    input  wire               encode_i,
    input  wire               free_i,         // The message that the new one replaces is used up.
    output wire               busy_o,         // high from encode_i until the last pair has left
    output wire               done_o,
    input  wire               value_valid_i,
    output wire               value_ready_o,
    input  wire [31:0]        value_i,
    input  wire               value_last_i,
    output wire               wrong_o,
    output wire               too_many_o,
    output wire               pair_o,
    output wire [LOG2_N-2:0]  pair_index_o,   // coefficients j and j + n/2
    output wire [63:0]        pair_data_o,    // each coefficient plus 2^31
    // Coefficients that were decrypted.
    input  wire               decode_i,       // The coefficients are there; hold it until decoding_o.
    output reg                decoding_o,     // high until the last value has left
    output wire [LOG2_N-2:0]  read_index_o,   // pair whose lower residue is read
    output wire [LOG2_N-2:0]  mirror_o,       // pair whose upper residue is read
    input  wire [2*WIDTH-1:0] read_i,         // both residues, a cycle after their indices
    output wire               result_valid_o,
    input  wire               result_ready_i,
    output wire [31:0]        result_o,
    output wire               result_last_o,
    output wire               result_wrong_o,
    // Operands for cm_client_products, and its products.
    output wire [65:0]        coordinates_o,
    output wire [53:0]        first_digits_o,
    output wire [35:0]        second_digits_o,
    output wire               minus_o,
    input  wire [127:0]       wide_i,
    input  wire [101:0]       second_i
);
    // As docs/encoding.md, section 1, has it: one prime leaves its own bits, two more than any value may
    // have. Decryption takes only the first prime, and a scale below a quarter of it.
    localparam [5:0] MOST_SCALE = 6'd60, MOST_LIMIT = 6'd29;
    wire [5:0] log2_q = {1'b0, bits_i} - 6'd1;
    wire       scale_fits = scale_log2_i != 6'd0 && scale_log2_i <= MOST_SCALE && !coefficients_i;
    wire       exponent_fits = float_i || {3{exponent_i[9]}} == exponent_i[9:7];
    wire       one_fits = scale_log2_i <= log2_q && limit_log2_i + 6'd2 <= log2_q;
    assign encodes_o = scale_fits && exponent_fits && limit_log2_i <= MOST_LIMIT
        && (!one_prime_i || one_fits);
    assign decodes_o = scale_fits && exponent_fits && scale_log2_i + 6'd2 <= log2_q;

    reg        encode_waits, encoding;
    wire       codec_busy, codec_ready, pair_valid;
    wire [63:0] pair;
    wire       encodes = encode_waits && !codec_busy;
    wire       decodes = decode_i && !decoding_o && !codec_busy;
    wire       result_ends = result_valid_o && result_ready_i && result_last_o;
    assign busy_o = encode_waits || encoding;
    assign value_ready_o = encoding && codec_ready;
    assign pair_o = pair_valid && free_i;
    assign pair_data_o = pair ^ {2{32'h80000000}};
    always_ff @(posedge clk_i) begin
        if (encode_i) encode_waits <= 1'b1;
        if (encodes) begin
            encode_waits <= 1'b0;
            encoding <= 1'b1;
        end
        if (done_o) encoding <= 1'b0;
        if (decodes) decoding_o <= 1'b1;
        if (result_ends) decoding_o <= 1'b0;
        if (rst_i) begin
            encode_waits <= 1'b0;
            encoding <= 1'b0;
            decoding_o <= 1'b0;
        end
    end

    // Real slots depend on d[j] = m[j] - m[n - j], with no m[n], which takes the place of m[j]; there
    // is no m[n - j] left then. Its centre is that of the difference modulo q, as the library has it, not the
    // difference of centres. A pair stays for a step of the codec, and is used at its end: so it may be a
    // cycle late.
    reg               first; // j = 0
    wire              reads_unused; // left open, because reading has no side effect
    reg  [WIDTH-1:0]  low, high, taken_off;
    wire [31:0]       low_centred, high_centred;
    assign mirror_o = complex_i ? read_index_o : {(LOG2_N - 1){1'b0}} - read_index_o;
    always_ff @(posedge clk_i) begin
        first <= read_index_o == {(LOG2_N - 1){1'b0}};
        {high, low} <= read_i;
        taken_off <= (complex_i || first) ? {WIDTH{1'b0}} : read_i[2*WIDTH-1:WIDTH];
        if (rst_i) {high, low, taken_off} <= {(3 * WIDTH){1'b0}};
    end
    cm_client_centre #(.WIDTH(WIDTH)) u_low (
        .q_i(q_i), .a_i(low), .b_i(taken_off), .twice_o(low_centred)
    );
    cm_client_centre #(.WIDTH(WIDTH)) u_high (
        .q_i(q_i), .a_i(high), .b_i({WIDTH{1'b0}}), .twice_o(high_centred)
    );

    cm_client_codec #(.LOG2_N(LOG2_N)) u_codec (
        .clk_i(clk_i), .rst_i(rst_i), .complex_i(complex_i), .float_i(float_i), .exponent_i(exponent_i),
        .scale_log2_i(scale_log2_i), .limit_log2_i(limit_log2_i), .encode_i(encodes), .busy_o(codec_busy),
        .value_valid_i(value_valid_i && encoding), .value_ready_o(codec_ready), .value_i(value_i),
        .value_last_i(value_last_i), .too_many_o(too_many_o), .wrong_o(wrong_o),
        .pair_valid_o(pair_valid), .pair_ready_i(free_i), .pair_index_o(pair_index_o), .pair_o(pair),
        .done_o(done_o),
        .decode_i(decodes), .read_valid_o(reads_unused), .read_index_o(read_index_o),
        .read_pair_i({high_centred, low_centred}),
        .result_valid_o(result_valid_o), .result_ready_i(result_ready_i), .result_o(result_o),
        .result_last_o(result_last_o), .result_wrong_o(result_wrong_o), .coordinates_o(coordinates_o),
        .first_digits_o(first_digits_o), .second_digits_o(second_digits_o), .minus_o(minus_o),
        .wide_i(wide_i), .second_i(second_i)
    );
endmodule
`default_nettype wire
