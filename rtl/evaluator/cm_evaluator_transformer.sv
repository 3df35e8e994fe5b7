// SPDX-License-Identifier: Apache-2.0
// cm_ntt_engine with two sets as the evaluator uses it: rows of a word for each butterfly fill a set, its
// transform begins when the last row is there, and the results are drained by rows. Jobs run in the order in
// which their sets were filled. A set is busy from the claim of the instruction that fills it to the end of
// its job, or until the claim is given back.
`default_nettype none
module cm_evaluator_transformer #(
    parameter integer LOG2_N = 12,
    parameter integer WIDTH = 27,
    parameter integer LOG2_UNITS = 6,
    parameter integer LOG2_BEAT = 3,
    parameter integer LOG2_MODULI = 4,
    parameter integer DEEP = 1,
    parameter integer FORWARD = 0,
    parameter integer MULTIPLIER_WIDTH = 24,
    parameter integer BLOCK = 1,
    parameter integer ROW_BITS = LOG2_N - LOG2_UNITS,    // These three follow and must not be set.
    parameter integer H_WIDTH = WIDTH - LOG2_N - 1,
    parameter integer NUMBER = (LOG2_MODULI > 0) ? LOG2_MODULI : 1
) (
    input  wire                             clk_i,
    input  wire                             rst_i,
    // Claims.
    input  wire                             claim_i,
    input  wire                             release_i, // Nothing has filled the set since it was claimed.
    input  wire                             claim_set_i,
    output reg  [1:0]                       busy_o,
    // Fills.
    input  wire                             write_i,
    input  wire                             write_set_i,
    input  wire                             write_inverse_i,
    input  wire [NUMBER-1:0]                write_modulus_i,
    input  wire [ROW_BITS-1:0]              write_row_i,
    input  wire                             write_last_i,
    input  wire [(WIDTH << LOG2_UNITS)-1:0] write_data_i,
    // The prime of a job, 1 + 2^(LOG2_N + 1) h.
    output wire [NUMBER-1:0]                modulus_o,
    input  wire [H_WIDTH-1:0]               h_i,
    // Drains: rows follow their number by two cycles.
    input  wire                             read_set_i,
    input  wire [ROW_BITS-1:0]              read_row_i,
    output wire [(WIDTH << LOG2_UNITS)-1:0] read_data_o,
    // Twiddles.
    input  wire                             table_write_i,
    input  wire [NUMBER-1:0]                table_modulus_i,
    input  wire [LOG2_N-1:0]                table_index_i,
    input  wire [(WIDTH << LOG2_BEAT)-1:0]  table_data_i,
    output wire [LOG2_BEAT:0]               table_step_o,
    input  wire                             wipe_i,
    input  wire [15:0]                      wipe_row_i
);
    reg  [1:0]         pending; // The set is filled and waits for the engine.
    reg                oldest;  // the one of two pending sets that was filled first
    reg                running; // the set of the job that runs
    reg  [1:0]         inverse;
    reg  [NUMBER-1:0]  modulus [0:1];
    reg  [WIDTH-1:0]   q;
    wire               engine_busy, engine_done;
    wire               next = pending[oldest] ? oldest : !oldest;
    wire               starts = pending != 2'b00 && !engine_busy;
    assign modulus_o = modulus[next];

    always_ff @(posedge clk_i) begin
        if (write_i) begin
            inverse[write_set_i] <= write_inverse_i;
            modulus[write_set_i] <= write_modulus_i;
        end
        if (write_i && write_last_i) begin
            pending[write_set_i] <= 1'b1;
            if (pending == 2'b00) oldest <= write_set_i;
        end
        if (starts) begin
            pending[next] <= 1'b0;
            running <= next;
            q <= {h_i, {LOG2_N{1'b0}}, 1'b1};
            oldest <= !next;
        end
        if (engine_done) busy_o[running] <= 1'b0;
        if (claim_i) busy_o[claim_set_i] <= 1'b1;
        if (release_i) busy_o[claim_set_i] <= 1'b0;
        if (rst_i) begin
            pending <= 2'b00;
            busy_o <= 2'b00;
            inverse <= 2'b00;
            modulus[0] <= {NUMBER{1'b0}};
            modulus[1] <= {NUMBER{1'b0}};
            oldest <= 1'b0;
            q <= {WIDTH{1'b0}};
        end
    end

    cm_ntt_engine #(
        .LOG2_N(LOG2_N), .WIDTH(WIDTH), .LOG2_UNITS(LOG2_UNITS), .LOG2_LANES(LOG2_UNITS), .LOG2_PAGES(0),
        .LOG2_SETS(1), .OPERANDS(0), .DEEP(DEEP), .FORWARD(FORWARD), .MULTIPLIER_WIDTH(MULTIPLIER_WIDTH),
        .BLOCK(BLOCK), .LOG2_TABLES(LOG2_MODULI), .LOG2_TABLE_LANES(LOG2_BEAT)
    ) u_engine (
        .clk_i(clk_i), .rst_i(rst_i), .q_i(q),
        .start_i(starts), .set_i(next), .forward_i(!inverse[next]), .products_i(2'd0), .operand_i(1'b0),
        .inverse_i(inverse[next]), .pair_i(1'b0), .page_i(1'b0), .copy_i(1'b0), .twiddles_i(modulus[next]),
        .busy_o(engine_busy), .done_o(engine_done),
        .host_write_i(write_i), .host_write_set_i(write_set_i), .host_write_page_i(1'b0),
        .host_write_transformed_i(write_inverse_i),
        .host_write_index_i({write_row_i, {LOG2_UNITS{1'b0}}}), .host_write_data_i(write_data_i),
        .host_read_set_i(read_set_i), .host_read_page_i(1'b0),
        .host_read_transformed_i(!inverse[read_set_i]),
        .host_read_index_i({read_row_i, {LOG2_UNITS{1'b0}}}), .host_read_data_o(read_data_o),
        .table_write_i(table_write_i), .table_is_operand_i(1'b0), .table_operand_i(1'b0),
        .table_twiddles_i(table_modulus_i), .table_index_i(table_index_i), .table_data_i(table_data_i),
        .table_step_o(table_step_o), .wipe_i(wipe_i), .wipe_row_i(wipe_row_i)
    );
endmodule
`default_nettype wire
