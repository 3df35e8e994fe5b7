// SPDX-License-Identifier: Apache-2.0
// A queue: a memory with a register at its output. A word can leave two cycles after it was written, one word
// a cycle. There is no full signal: the writer must see from level_o that there is room.
`default_nettype none
module cm_client_fifo #(
    parameter integer WIDTH = 54,
    parameter integer LOG2_DEPTH = 6
) (
    input  wire                clk_i,
    input  wire                rst_i,
    input  wire                wipe_i, // clears the words: hold it after a reset for a multiple of the depth
    input  wire                write_i,
    input  wire [WIDTH-1:0]    data_i,
    output reg                 valid_o,
    input  wire                take_i, // takes data_o; only while valid_o
    output wire [WIDTH-1:0]    data_o,
    output reg  [LOG2_DEPTH:0] level_o // number of words in the queue
);
    `include "cm_refuse.svh"
    generate
        `CM_REFUSE(g_bad_width, WIDTH < 1 || WIDTH > 1024, "cm_client_fifo: WIDTH must be from 1 to 1024.")
        `CM_REFUSE(g_bad_log2_depth, LOG2_DEPTH < 2 || LOG2_DEPTH > 16,
                   "cm_client_fifo: LOG2_DEPTH must be from 2 to 16.")
    endgenerate
    reg  [LOG2_DEPTH-1:0] tail;
    reg  [LOG2_DEPTH-1:0] head;
    wire [LOG2_DEPTH-1:0] next_head = head + {{(LOG2_DEPTH - 1){1'b0}}, take_i};
    wire [LOG2_DEPTH:0]   rest = level_o - {{LOG2_DEPTH{1'b0}}, take_i};

    cm_ram #(.WIDTH(WIDTH), .DEPTH(1 << LOG2_DEPTH), .ADDRESS_WIDTH(LOG2_DEPTH), .BLOCK(1)) u_words (
        .clk_i(clk_i), .write_i(write_i || wipe_i), .write_address_i(tail),
        .write_data_i(wipe_i ? {WIDTH{1'b0}} : data_i),
        .read_i(1'b1), .read_address_i(next_head), .read_data_o(data_o)
    );

    // A word that is written in this cycle is not read in it.
    always_ff @(posedge clk_i) begin
        tail <= tail + {{(LOG2_DEPTH - 1){1'b0}}, write_i || wipe_i};
        head <= next_head;
        level_o <= rest + {{LOG2_DEPTH{1'b0}}, write_i};
        valid_o <= rest != {(LOG2_DEPTH + 1){1'b0}};
        if (rst_i) begin
            tail <= {LOG2_DEPTH{1'b0}};
            head <= {LOG2_DEPTH{1'b0}};
            level_o <= {(LOG2_DEPTH + 1){1'b0}};
            valid_o <= 1'b0;
        end
    end
endmodule
`default_nettype wire
