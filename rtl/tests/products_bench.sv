// SPDX-License-Identifier: Apache-2.0
// Users of cm_client_products, each with them, for tests of it alone.
`default_nettype none
module codec_bench #(
    parameter integer LOG2_N = 12
) (
    input  wire              clk_i,
    input  wire              rst_i,
    input  wire              complex_i,
    input  wire              float_i,
    input  wire signed [9:0] exponent_i,
    input  wire [5:0]        scale_log2_i,
    input  wire [5:0]        limit_log2_i,
    output wire              busy_o,
    input  wire              encode_i,
    input  wire              value_valid_i,
    output wire              value_ready_o,
    input  wire [31:0]       value_i,
    input  wire              value_last_i,
    output wire              too_many_o,
    output wire              wrong_o,
    output wire              pair_valid_o,
    input  wire              pair_ready_i,
    output wire [LOG2_N-2:0] pair_index_o,
    output wire [63:0]       pair_o,
    output wire              done_o,
    input  wire              decode_i,
    output wire              read_valid_o,
    output wire [LOG2_N-2:0] read_index_o,
    input  wire [63:0]       read_pair_i,
    output wire              result_valid_o,
    input  wire              result_ready_i,
    output wire [31:0]       result_o,
    output wire              result_last_o,
    output wire              result_wrong_o
);
    wire [65:0]  coordinates;
    wire [53:0]  first_digits;
    wire [35:0]  second_digits;
    wire         minus;
    wire [127:0] wide;
    wire [101:0] second;
    cm_client_codec #(.LOG2_N(LOG2_N)) u_codec (
        .clk_i(clk_i), .rst_i(rst_i), .complex_i(complex_i), .float_i(float_i), .exponent_i(exponent_i),
        .scale_log2_i(scale_log2_i), .limit_log2_i(limit_log2_i), .busy_o(busy_o), .encode_i(encode_i),
        .value_valid_i(value_valid_i), .value_ready_o(value_ready_o), .value_i(value_i),
        .value_last_i(value_last_i), .too_many_o(too_many_o), .wrong_o(wrong_o), .pair_valid_o(pair_valid_o),
        .pair_ready_i(pair_ready_i), .pair_index_o(pair_index_o), .pair_o(pair_o), .done_o(done_o),
        .decode_i(decode_i), .read_valid_o(read_valid_o), .read_index_o(read_index_o),
        .read_pair_i(read_pair_i), .result_valid_o(result_valid_o), .result_ready_i(result_ready_i),
        .result_o(result_o), .result_last_o(result_last_o), .result_wrong_o(result_wrong_o),
        .coordinates_o(coordinates), .first_digits_o(first_digits), .second_digits_o(second_digits),
        .minus_o(minus), .wide_i(wide), .second_i(second)
    );
    cm_client_products u_products (
        .clk_i(clk_i), .rst_i(rst_i), .codec_i(1'b1), .sums_i(1'b0), .coordinates_i(coordinates),
        .first_digits_i(first_digits), .second_digits_i(second_digits), .minus_i(minus), .fraction_i(64'd0),
        .residues_i(54'd0), .sums_so_far_i(64'd0), .by_turns_i(1'b0), .upper_i(1'b0), .message_i(27'd0),
        .ratio_i(32'd0), .factor_i(27'd0), .t_i(27'd0), .wide_o(wide), .second_o(second), .whole_o()
    );
endmodule

module rotate_bench (
    input  wire               clk_i,
    input  wire               first_i,
    input  wire               last_i,
    input  wire signed [32:0] x_i,
    input  wire signed [32:0] y_i,
    input  wire signed [32:0] cosine_i,
    input  wire signed [32:0] sine_i,
    input  wire signed [67:0] plus_i,
    output wire signed [67:0] sum_o
);
    wire [65:0]  coordinates;
    wire [53:0]  first_digits;
    wire [35:0]  second_digits;
    wire         minus;
    wire [127:0] wide;
    wire [101:0] second;
    cm_client_rotate u_rotate (
        .first_i(first_i), .last_i(last_i), .x_i(x_i), .y_i(y_i), .cosine_i(cosine_i), .sine_i(sine_i),
        .coordinates_o(coordinates), .first_digits_o(first_digits), .second_digits_o(second_digits),
        .minus_o(minus), .wide_i(wide), .second_i(second), .plus_i(plus_i), .sum_o(sum_o)
    );
    cm_client_products u_products (
        .clk_i(clk_i), .rst_i(1'b0), .codec_i(1'b1), .sums_i(1'b0), .coordinates_i(coordinates),
        .first_digits_i(first_digits), .second_digits_i(second_digits), .minus_i(minus), .fraction_i(64'd0),
        .residues_i(54'd0), .sums_so_far_i(64'd0), .by_turns_i(1'b0), .upper_i(1'b0), .message_i(27'd0),
        .ratio_i(32'd0), .factor_i(27'd0), .t_i(27'd0), .wide_o(wide), .second_o(second), .whole_o()
    );
endmodule

module roots_bench #(
    parameter integer LOG2_N = 12
) (
    input  wire               clk_i,
    input  wire               rst_i,
    input  wire               enable_i, // at most every second cycle
    input  wire [LOG2_N:0]    angle_i,
    output wire signed [32:0] cosine_o,
    output wire signed [32:0] sine_o
);
    wire [65:0]  coordinates;
    wire [53:0]  first_digits;
    wire [35:0]  second_digits;
    wire [127:0] wide;
    wire [101:0] second;
    cm_client_roots #(.LOG2_N(LOG2_N)) u_roots (
        .clk_i(clk_i), .rst_i(rst_i), .enable_i(enable_i), .angle_i(angle_i), .coordinates_o(coordinates),
        .first_digits_o(first_digits), .second_digits_o(second_digits), .wide_i(wide), .second_i(second),
        .cosine_o(cosine_o), .sine_o(sine_o)
    );
    cm_client_products u_products (
        .clk_i(clk_i), .rst_i(rst_i), .codec_i(1'b1), .sums_i(1'b0), .coordinates_i(coordinates),
        .first_digits_i(first_digits), .second_digits_i(second_digits), .minus_i(1'b0), .fraction_i(64'd0),
        .residues_i(54'd0), .sums_so_far_i(64'd0), .by_turns_i(1'b0), .upper_i(1'b0), .message_i(27'd0),
        .ratio_i(32'd0), .factor_i(27'd0), .t_i(27'd0), .wide_o(wide), .second_o(second), .whole_o()
    );
endmodule

module scale_bench #(
    parameter integer WIDTH = 27
) (
    input  wire             clk_i,
    input  wire             rst_i,
    input  wire [WIDTH-1:0] t_i,
    input  wire [WIDTH-1:0] factor_i,
    input  wire [31:0]      ratio_i,
    input  wire [WIDTH-1:0] half_i,
    input  wire             signed_i,
    input  wire             valid_i,
    input  wire [31:0]      value_i,
    output wire             valid_o,
    output wire             wrong_o,
    output wire [WIDTH-1:0] r_o
);
    wire [WIDTH-1:0]    m;
    wire [127:0]        wide;
    wire [60:0]         whole;
    cm_client_scale #(.WIDTH(WIDTH)) u_scale (
        .clk_i(clk_i), .rst_i(rst_i), .t_i(t_i), .half_i(half_i), .signed_i(signed_i), .valid_i(valid_i),
        .value_i(value_i), .m_o(m), .product_i(wide[64 +: WIDTH+1]), .whole_i(whole[WIDTH:0]),
        .valid_o(valid_o), .wrong_o(wrong_o), .r_o(r_o)
    );
    cm_client_products #(.WIDTH(WIDTH)) u_products (
        .clk_i(clk_i), .rst_i(rst_i), .codec_i(1'b0), .sums_i(1'b0), .coordinates_i(66'd0),
        .first_digits_i(54'd0), .second_digits_i(36'd0), .minus_i(1'b0), .fraction_i(64'd0),
        .residues_i({(2 * WIDTH){1'b0}}), .sums_so_far_i(64'd0), .by_turns_i(1'b0), .upper_i(1'b0),
        .message_i(m), .ratio_i(ratio_i), .factor_i(factor_i), .t_i(t_i), .wide_o(wide), .second_o(),
        .whole_o(whole)
    );
endmodule
`default_nettype wire
