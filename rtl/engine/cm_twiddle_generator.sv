// SPDX-License-Identifier: Apache-2.0
// The twiddles of one unit, computed when they are needed: a multiplier instead of block RAM. Disjoint bits
// of a twiddle's number add up in the exponent: psi^bitrev(x + 2^LOW y) = psi^bitrev(x) psi^bitrev(2^LOW y).
// So two tables of about sqrt(n) words, in look-up tables, and one product give them all.
//
// The address is cm_ntt_control's; the twiddle comes 1 + multiply_latency cycles later. Words come as for a
// stored table, times R; word 0 must be R.
`default_nettype none
module cm_twiddle_generator #(
    parameter integer LOG2_N = 10,
    parameter integer LOG2_UNITS = 0,
    parameter integer UNIT = 0,
    parameter integer WIDTH = 32,
    parameter integer DEEP = 1,
    parameter integer MULTIPLIER_WIDTH = 24,
    parameter integer TABLE_BITS = 11
) (
    input  wire                  clk_i,
    input  wire [WIDTH-1:0]      q_i,
    input  wire                  write_i,
    input  wire [LOG2_N-1:0]     write_index_i,
    input  wire [WIDTH-1:0]      write_data_i,
    input  wire [TABLE_BITS-1:0] address_i,
    output wire [WIDTH-1:0]      twiddle_o
);
    localparam integer ROW_BITS = LOG2_N - LOG2_UNITS - 1;
    localparam integer LOW = (LOG2_N + 1) / 2;
    localparam integer HIGH = LOG2_N - LOW;

    // Twiddle 2^(ROW_BITS + e) + i, e > 0, belongs to block i, whose lowest e bits are those of this unit and
    // whose other bits are the row.
    reg [LOG2_N-1:0] index;
    integer e;
    always_comb begin
        index = {LOG2_N{1'b0}};
        index[ROW_BITS:0] = address_i[ROW_BITS:0];
        for (e = 1; e <= LOG2_UNITS; e = e + 1) begin
            if (address_i >> ROW_BITS == e + 1) begin
                index = {{(LOG2_N - 1){1'b0}}, 1'b1} << (ROW_BITS + e)
                    | {{(LOG2_N - ROW_BITS){1'b0}}, address_i[ROW_BITS-1:0]} << e
                    | UNIT[LOG2_N-1:0] & ~({LOG2_N{1'b1}} << e);
            end
        end
    end

    wire [WIDTH-1:0] low_factor;
    wire [WIDTH-1:0] high_factor;
    cm_ram #(.WIDTH(WIDTH), .DEPTH(1 << LOW), .ADDRESS_WIDTH(LOW), .BLOCK(0)) u_low (
        .clk_i(clk_i), .write_i(write_i && write_index_i[LOG2_N-1:LOW] == {HIGH{1'b0}}),
        .write_address_i(write_index_i[LOW-1:0]), .write_data_i(write_data_i),
        .read_i(1'b1), .read_address_i(index[LOW-1:0]), .read_data_o(low_factor)
    );
    cm_ram #(.WIDTH(WIDTH), .DEPTH(1 << HIGH), .ADDRESS_WIDTH(HIGH), .BLOCK(0)) u_high (
        .clk_i(clk_i), .write_i(write_i && write_index_i[LOW-1:0] == {LOW{1'b0}}),
        .write_address_i(write_index_i[LOG2_N-1:LOW]), .write_data_i(write_data_i),
        .read_i(1'b1), .read_address_i(index[LOG2_N-1:LOW]), .read_data_o(high_factor)
    );

    wire [WIDTH:0] product;
    cm_montgomery_multiply #(
        .WIDTH(WIDTH), .LOG2_N(LOG2_N), .DEEP(DEEP), .MULTIPLIER_WIDTH(MULTIPLIER_WIDTH)
    ) u_product (
        .clk_i(clk_i), .q_i(q_i), .a_i(low_factor), .b_i(high_factor), .halve_i(1'b0), .product_o(product)
    );
    assign twiddle_o = product[WIDTH-1:0];
endmodule
`default_nettype wire
