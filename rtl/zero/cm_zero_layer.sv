// SPDX-License-Identifier: Apache-2.0
// The part of cm_zero_encrypt for one prime: two butterflies, two pages of residues, twiddles and the key. It
// works in lockstep with the other layers, as cm_ntt_control says; a row of a page follows its address by a
// cycle.
//
// A transform of u begins with its second stage: cm_zero_start gives the rows that the first would have
// written. What the last stage of an inverse transform gives is added to the errors, or to the other page, on
// its way to the page.
`default_nettype none
module cm_zero_layer #(
    parameter integer LOG2_N = 12,
    parameter integer WIDTH = 40,
    parameter integer ERROR_BITS = 6,
    parameter integer DEEP = 1,
    parameter integer MULTIPLIER_WIDTH = 24,
    parameter integer ROW_BITS = LOG2_N - 2,
    parameter integer TABLE_BITS = LOG2_N + 1
) (
    input  wire                    clk_i,
    input  wire [WIDTH-1:0]        q_i,
    input  wire [WIDTH-1:0]        root_i,
    // Addresses {page, row} of a job, from cm_ntt_control.
    input  wire                    busy_i,
    input  wire [ROW_BITS:0]       read_address_i,
    input  wire [TABLE_BITS-1:0]   table_address_i,
    input  wire                    sande_i,
    input  wire                    product_i,
    input  wire                    product_of_a_i,
    input  wire                    sande_multiply_i,
    input  wire                    sande_halve_i,
    input  wire                    sande_leave_i,
    input  wire                    swap_second_i,
    input  wire                    rotate_left_i,
    input  wire                    rotate_right_i,
    input  wire                    write_i,         // writes a result that nothing is added to
    input  wire [ROW_BITS:0]       write_address_i, // address of any result
    // A row of u, which replaces one that was read a cycle before.
    input  wire                    is_u_i,
    input  wire                    minus_i,
    input  wire [7:0]              upper_i,
    input  wire [7:0]              lower_i,
    // Terms added to a result, a cycle after it came out: errors, or page 1.
    input  wire                    add_page_i,      // constant during a job
    input  wire [4*ERROR_BITS-1:0] errors_i,
    input  wire                    sum_write_i,
    input  wire [ROW_BITS:0]       sum_address_i,
    // The host's words, while no job runs.
    input  wire                    row_write_i,
    input  wire                    twiddle_write_i,
    input  wire                    key_write_i,
    input  wire [LOG2_N:0]         host_address_i,
    input  wire [4*WIDTH-1:0]      host_data_i,
    input  wire [ROW_BITS:0]       host_read_i,
    output wire [4*WIDTH-1:0]      host_row_o       // the row, a cycle after its address
);
    `include "cm_latency.svh"
    localparam integer INPUT_LATENCY = input_latency(DEEP);

    // --- pages ---------------------------------------------------------------------------------------------

    wire [4*WIDTH-1:0] result;
    wire [4*WIDTH-1:0] sums;
    wire [4*WIDTH-1:0] pages [0:1];
    genvar p, c, v;
    generate
        for (p = 0; p < 2; p = p + 1) begin : g_page
            wire adds = p == 1 && add_page_i; // The page is only added to the other.
            wire writes = busy_i ? write_i && write_address_i[ROW_BITS] == p
                                 : row_write_i && host_address_i[ROW_BITS] == p;
            wire sum_here = sum_write_i && sum_address_i[ROW_BITS] == p;
            for (c = 0; c < 4; c = c + 1) begin : g_column
                cm_ram #(.WIDTH(WIDTH), .DEPTH(1 << ROW_BITS), .ADDRESS_WIDTH(ROW_BITS), .BLOCK(1)) u_bank (
                    .clk_i(clk_i),
                    .write_i(writes || sum_here),
                    .write_address_i(sum_here ? sum_address_i[ROW_BITS-1:0]
                                     : busy_i ? write_address_i[ROW_BITS-1:0] : host_address_i[ROW_BITS-1:0]),
                    .write_data_i(sum_here ? sums[WIDTH*c +: WIDTH]
                                  : busy_i ? result[WIDTH*c +: WIDTH] : host_data_i[WIDTH*c +: WIDTH]),
                    .read_i(1'b1), .read_address_i(!busy_i ? host_read_i[ROW_BITS-1:0]
                                    : adds ? write_address_i[ROW_BITS-1:0] : read_address_i[ROW_BITS-1:0]),
                    .read_data_o(pages[p][WIDTH*c +: WIDTH])
                );
            end
        end
    endgenerate
    reg read_page, host_page;
    always_ff @(posedge clk_i) begin
        read_page <= read_address_i[ROW_BITS];
        host_page <= host_read_i[ROW_BITS];
    end
    assign host_row_o = host_page ? pages[1] : pages[0];

    // --- factors: twiddles, each stored once, and the key --------------------------------------------------

    // The address' parts of 2^ROW_BITS: two of twiddles common to both units, one of those of a unit, four of
    // the key.
    wire [TABLE_BITS-ROW_BITS-1:0] part = table_address_i[TABLE_BITS-1:ROW_BITS];
    reg  [TABLE_BITS-ROW_BITS-1:0] part_late;
    always_ff @(posedge clk_i) part_late <= part;
    wire [TABLE_BITS-ROW_BITS-1:0] key_part = part - 3'd3;

    wire [WIDTH-1:0]   common;
    wire [2*WIDTH-1:0] read_factors;
    cm_ram #(
        .WIDTH(WIDTH), .DEPTH(2 << ROW_BITS), .ADDRESS_WIDTH(ROW_BITS + 1), .BLOCK(1)
    ) u_common (
        .clk_i(clk_i), .write_i(twiddle_write_i && !host_address_i[LOG2_N-1]),
        .write_address_i(host_address_i[ROW_BITS:0]), .write_data_i(host_data_i[WIDTH-1:0]),
        .read_i(1'b1), .read_address_i(table_address_i[ROW_BITS:0]), .read_data_o(common)
    );
    generate
        for (v = 0; v < 2; v = v + 1) begin : g_factor
            wire [WIDTH-1:0] own;
            wire [WIDTH-1:0] key;
            cm_ram #(.WIDTH(WIDTH), .DEPTH(1 << ROW_BITS), .ADDRESS_WIDTH(ROW_BITS), .BLOCK(1)) u_own (
                .clk_i(clk_i),
                .write_i(twiddle_write_i && host_address_i[LOG2_N-1] && host_address_i[0] == v),
                .write_address_i(host_address_i[ROW_BITS:1]), .write_data_i(host_data_i[WIDTH-1:0]),
                .read_i(1'b1), .read_address_i(table_address_i[ROW_BITS-1:0]), .read_data_o(own)
            );
            // Word {component, row, half} of the unit, where the host's index is {component, row, unit,
            // half}.
            cm_ram #(.WIDTH(WIDTH), .DEPTH(4 << ROW_BITS), .ADDRESS_WIDTH(ROW_BITS + 2), .BLOCK(1)) u_key (
                .clk_i(clk_i), .write_i(key_write_i && host_address_i[1] == v),
                .write_address_i({host_address_i[LOG2_N:2], host_address_i[0]}),
                .write_data_i(host_data_i[WIDTH-1:0]),
                .read_i(1'b1), .read_address_i({key_part[1:0], table_address_i[ROW_BITS-1:0]}),
                .read_data_o(key)
            );
            assign read_factors[WIDTH*v +: WIDTH] = part_late < 3'd2 ? common : part_late == 3'd2 ? own : key;
        end
    endgenerate

    // --- units ---------------------------------------------------------------------------------------------

    wire [4*WIDTH-1:0] started;
    wire [4*WIDTH-1:0] row;
    wire [2*WIDTH-1:0] factors;
    cm_zero_start #(.WIDTH(WIDTH), .COUNT(4)) u_start (
        .clk_i(clk_i), .q_i(q_i), .root_i(root_i), .minus_i(minus_i), .x_i(lower_i), .y_i(upper_i),
        .residues_o(started)
    );
    cm_delay #(.WIDTH(4 * WIDTH), .CYCLES(INPUT_LATENCY)) u_row (
        .clk_i(clk_i), .data_i(is_u_i ? started : read_page ? pages[1] : pages[0]), .data_o(row)
    );
    cm_delay #(.WIDTH(2 * WIDTH), .CYCLES(INPUT_LATENCY)) u_factors (
        .clk_i(clk_i), .data_i(read_factors), .data_o(factors)
    );
    cm_units #(
        .LOG2_UNITS(1), .WIDTH(WIDTH), .LOG2_N(LOG2_N), .DEEP(DEEP), .MULTIPLIER_WIDTH(MULTIPLIER_WIDTH)
    ) u_units (
        .clk_i(clk_i), .q_i(q_i), .row_i(row), .factors_i(factors),
        .sande_i(sande_i), .product_i(product_i), .product_of_a_i(product_of_a_i),
        .sande_multiply_i(sande_multiply_i), .sande_halve_i(sande_halve_i), .sande_leave_i(sande_leave_i),
        .swap_second_i(swap_second_i), .rotate_left_i(rotate_left_i), .rotate_right_i(rotate_right_i),
        .result_o(result)
    );

    // --- sums ----------------------------------------------------------------------------------------------

    generate
        for (c = 0; c < 4; c = c + 1) begin : g_sum
            wire [ERROR_BITS-1:0] error = errors_i[ERROR_BITS*c +: ERROR_BITS];
            wire [WIDTH-1:0] wide_error = {{(WIDTH - ERROR_BITS){error[ERROR_BITS-1]}}, error};
            wire [WIDTH-1:0] addend = add_page_i ? pages[1][WIDTH*c +: WIDTH]
                : wide_error + (error[ERROR_BITS-1] ? q_i : {WIDTH{1'b0}});
            wire [WIDTH-1:0] late_result, late_addend, unused;
            cm_delay #(.WIDTH(WIDTH), .CYCLES(1 + INPUT_LATENCY)) u_result (
                .clk_i(clk_i), .data_i(result[WIDTH*c +: WIDTH]), .data_o(late_result)
            );
            cm_delay #(.WIDTH(WIDTH), .CYCLES(INPUT_LATENCY)) u_addend (
                .clk_i(clk_i), .data_i(addend), .data_o(late_addend)
            );
            cm_modular_add_subtract #(.WIDTH(WIDTH), .DEEP(DEEP)) u_add (
                .clk_i(clk_i), .q_i(q_i), .a_i(late_result), .b_i(late_addend),
                .sum_o(sums[WIDTH*c +: WIDTH]), .difference_o(unused)
            );
        end
    endgenerate
endmodule
`default_nettype wire
