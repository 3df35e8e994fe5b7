// SPDX-License-Identifier: Apache-2.0
// A queue of beats from one clock to another, with a handshake of valid and ready on both sides. Each side
// counts in Gray code, of which one bit changes at a time, so what the other side sees through two registers
// is an earlier count, which errs on the safe side. A beat is offered two to three cycles of the reading
// clock after it was written.
//
// A reset on either side must reset the other one too: the sides start together from 0, and the writer's
// memory is overwritten with zeros while wipe_i is set. Neither side may be used before both resets have
// ended.
`default_nettype none
module cm_stream_crossing #(
    parameter integer WIDTH = 8,
    parameter integer LOG2_DEPTH = 4
) (
    input  wire             in_clk_i,
    input  wire             in_rst_i,
    input  wire             in_wipe_i, // set it together with in_rst_i, for 2^LOG2_DEPTH cycles
    input  wire [WIDTH-1:0] in_data_i,
    input  wire             in_valid_i,
    output wire             in_ready_o,
    input  wire             out_clk_i,
    input  wire             out_rst_i,
    output wire [WIDTH-1:0] out_data_o,
    output wire             out_valid_o,
    input  wire             out_ready_i
);
    localparam integer DEPTH = 1 << LOG2_DEPTH;
    localparam [LOG2_DEPTH:0] TOP_TWO = {2'b11, {(LOG2_DEPTH - 1){1'b0}}};

    reg [WIDTH-1:0] beats [0:DEPTH-1];

    // --- the writer ----------------------------------------------------------------------------------------

    reg  [LOG2_DEPTH:0] written;
    reg  [LOG2_DEPTH:0] written_gray;
    (* async_reg = "true" *) reg [LOG2_DEPTH:0] read_gray_near;
    (* async_reg = "true" *) reg [LOG2_DEPTH:0] read_gray_seen;
    wire                enters = in_valid_i && in_ready_o;
    wire [LOG2_DEPTH:0] next_written = written + 1'b1;
    // The writer is less than a whole queue ahead.
    assign in_ready_o = !in_rst_i && written_gray != (read_gray_seen ^ TOP_TWO);
    always_ff @(posedge in_clk_i) begin
        read_gray_near <= read_gray;
        read_gray_seen <= read_gray_near;
        if (in_wipe_i || enters) beats[written[LOG2_DEPTH-1:0]] <= in_wipe_i ? {WIDTH{1'b0}} : in_data_i;
        if (in_wipe_i || enters) written <= next_written;
        if (enters) written_gray <= next_written ^ (next_written >> 1);
        if (in_rst_i) begin
            if (!in_wipe_i) written <= {(LOG2_DEPTH + 1){1'b0}};
            written_gray <= {(LOG2_DEPTH + 1){1'b0}};
            read_gray_near <= {(LOG2_DEPTH + 1){1'b0}};
            read_gray_seen <= {(LOG2_DEPTH + 1){1'b0}};
        end
    end

    // --- the reader ----------------------------------------------------------------------------------------

    reg  [LOG2_DEPTH:0] read;
    reg  [LOG2_DEPTH:0] read_gray;
    (* async_reg = "true" *) reg [LOG2_DEPTH:0] written_gray_near;
    (* async_reg = "true" *) reg [LOG2_DEPTH:0] written_gray_seen;
    wire                leaves = out_valid_o && out_ready_i;
    wire [LOG2_DEPTH:0] next_read = read + 1'b1;
    assign out_valid_o = !out_rst_i && read_gray != written_gray_seen;
    assign out_data_o = beats[read[LOG2_DEPTH-1:0]];
    always_ff @(posedge out_clk_i) begin
        written_gray_near <= written_gray;
        written_gray_seen <= written_gray_near;
        if (leaves) begin
            read <= next_read;
            read_gray <= next_read ^ (next_read >> 1);
        end
        if (out_rst_i) begin
            read <= {(LOG2_DEPTH + 1){1'b0}};
            read_gray <= {(LOG2_DEPTH + 1){1'b0}};
            written_gray_near <= {(LOG2_DEPTH + 1){1'b0}};
            written_gray_seen <= {(LOG2_DEPTH + 1){1'b0}};
        end
    end
endmodule
`default_nettype wire
