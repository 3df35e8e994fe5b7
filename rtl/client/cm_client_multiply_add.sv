// SPDX-License-Identifier: Apache-2.0
// The arithmetic of the stream, for two residues a cycle: the product of what is drawn or transformed with a
// key, plus the residues of a set; or those of a set plus what the loader gives; or what is read less those
// of a set.
//
// A pair's operands are there two cycles behind its number, index_i. Residues that are added to a product, or
// to what the loader gives, are read when that is there: late_index_o is the number of the pair that they
// belong to. What decryption takes off is no product, and is there two cycles behind its number. ADD cycles
// later the sum is there.
`default_nettype none
module cm_client_multiply_add #(
    parameter integer LOG2_N = 12,
    parameter integer WIDTH = 27,
    parameter integer DEEP = 1,
    parameter integer MULTIPLIER_WIDTH = 24,
    parameter integer PRODUCED = 12, // cycles from the number of a pair to its product
    parameter integer LOADED = 20,   // cycles from the number of a pair to the loader's result
    parameter integer ADD = 2        // cycles of the addition behind either
) (
    input  wire               clk_i,
    input  wire [WIDTH-1:0]   q_i,
    input  wire [LOG2_N-2:0]  index_i,
    // The item.
    input  wire               decrypts_i,
    input  wire               loads_key_i,
    input  wire               makes_tables_i,
    input  wire               takes_factor_i, // makes_tables_i: the lower residue of set_a_i is the factor
    input  wire               public_key_i,
    input  wire               component_i,
    input  wire               multiplies_i,
    input  wire               leaves_i,
    input  wire               takes_off_i,
    input  wire               needs_uniform_i,
    // The first factor is one of these:
    input  wire [2*WIDTH-1:0] drawn_i,      // a pair that is drawn or read, two cycles behind its number
    input  wire [2*WIDTH-1:0] set_a_i,      // a pair of a set, which may also be added, or of twiddles
    // The second factor is one of these, a cycle behind the number of its pair:
    input  wire [WIDTH-1:0]   key_factor_i,
    input  wire [2*WIDTH-1:0] secret_i,
    input  wire [2*WIDTH-1:0] public_0_i,
    input  wire [2*WIDTH-1:0] public_1_i,
    // Other terms of the sums.
    input  wire [2*WIDTH-1:0] set_b_i,
    input  wire [2*WIDTH-1:0] loaded_i,
    output wire [LOG2_N-2:0]  late_index_o,
    output wire [2*WIDTH-1:0] sum_o,
    output wire [LOG2_N-2:0]  sum_index_o,
    output wire [LOG2_N-2:0]  product_index_o // index of a sum with a product
);
    localparam integer PAIR = 2 * WIDTH;
    localparam integer PAIR_BITS = LOG2_N - 1;
    localparam integer TAKEN_OFF = 2 + ADD;

    reg [WIDTH-1:0] q; // It is there before the first pair.
    reg [PAIR-1:0]  key_pair;
    always_ff @(posedge clk_i) begin
        q <= q_i;
        if (takes_factor_i) key_pair <= {2{set_a_i[0 +: WIDTH]}};
        else if (!makes_tables_i)
            key_pair <= loads_key_i ? {2{key_factor_i}}
                : public_key_i ? (component_i ? public_1_i : public_0_i) : secret_i;
    end

    genvar g;
    generate
        for (g = 0; g < 2; g = g + 1) begin : g_stream
            wire [WIDTH-1:0] drawn = drawn_i[WIDTH*g +: WIDTH];
            wire [WIDTH-1:0] set_a = set_a_i[WIDTH*g +: WIDTH];
            wire [WIDTH:0]   product;
            cm_montgomery_multiply #(
                .WIDTH(WIDTH), .LOG2_N(LOG2_N), .DEEP(DEEP), .MULTIPLIER_WIDTH(MULTIPLIER_WIDTH)
            ) u_product (
                .clk_i(clk_i), .q_i(q), .a_i((needs_uniform_i || decrypts_i) ? drawn : set_a),
                .b_i(key_pair[WIDTH*g +: WIDTH]), .halve_i(1'b0), .product_o(product)
            );
            wire [WIDTH-1:0] addend = leaves_i ? loaded_i[WIDTH*g +: WIDTH] : takes_off_i ? set_a
                : (multiplies_i || decrypts_i || loads_key_i || makes_tables_i) ? {WIDTH{1'b0}}
                : set_b_i[WIDTH*g +: WIDTH];
            cm_client_add #(.WIDTH(WIDTH), .DEEP(DEEP)) u_sum (
                .clk_i(clk_i), .subtract_i(takes_off_i), .q_i(q),
                .a_i(leaves_i ? set_a : takes_off_i ? drawn : product[WIDTH-1:0]),
                .b_i(addend), .sum_o(sum_o[WIDTH*g +: WIDTH])
            );
        end
    endgenerate

    wire [PAIR_BITS-1:0] taken_off_index, produced_index, leaving_index;
    cm_delay #(.WIDTH(PAIR_BITS), .CYCLES(TAKEN_OFF)) u_taken_off_index (
        .clk_i(clk_i), .data_i(index_i), .data_o(taken_off_index)
    );
    cm_delay #(.WIDTH(PAIR_BITS), .CYCLES(PRODUCED - 2 - TAKEN_OFF)) u_produced_index (
        .clk_i(clk_i), .data_i(taken_off_index), .data_o(produced_index)
    );
    cm_delay #(.WIDTH(PAIR_BITS), .CYCLES(LOADED - PRODUCED)) u_leaving_index (
        .clk_i(clk_i), .data_i(produced_index), .data_o(leaving_index)
    );
    cm_delay #(.WIDTH(PAIR_BITS), .CYCLES(2 + ADD)) u_product_index (
        .clk_i(clk_i), .data_i(produced_index), .data_o(product_index_o)
    );
    assign late_index_o = leaves_i ? leaving_index : produced_index;
    assign sum_index_o = takes_off_i ? taken_off_index : product_index_o;
endmodule
`default_nettype wire
