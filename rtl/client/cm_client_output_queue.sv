// SPDX-License-Identifier: Apache-2.0
// The queue of pairs that leave the engine, with credits: whoever starts to make a pair reserves room for it
// while room_o, writes it any time later, and so never has to wait. A pair can leave two cycles after it was
// written.
`default_nettype none
module cm_client_output_queue #(
    parameter integer WIDTH = 54,
    parameter integer LOG2_DEPTH = 5
) (
    input  wire             clk_i,
    input  wire             rst_i,
    input  wire             wipe_i,
    output wire             room_o,
    input  wire             reserve_i, // reserves room; only while room_o
    input  wire             write_i,
    input  wire [WIDTH-1:0] data_i,
    output wire             valid_o,
    input  wire             take_i,    // takes data_o; only while valid_o
    output wire [WIDTH-1:0] data_o
);
    reg  [LOG2_DEPTH:0] credits; // room for pairs that is not reserved
    wire [LOG2_DEPTH:0] unused_level;
    assign room_o = credits != {(LOG2_DEPTH + 1){1'b0}};
    always_ff @(posedge clk_i) begin
        credits <= credits + {{LOG2_DEPTH{1'b0}}, take_i} - {{LOG2_DEPTH{1'b0}}, reserve_i};
        if (rst_i) credits <= {1'b1, {LOG2_DEPTH{1'b0}}};
    end
    cm_client_fifo #(.WIDTH(WIDTH), .LOG2_DEPTH(LOG2_DEPTH)) u_queue (
        .clk_i(clk_i), .rst_i(rst_i), .wipe_i(wipe_i), .write_i(write_i), .data_i(data_i), .valid_o(valid_o),
        .take_i(take_i), .data_o(data_o), .level_o(unused_level)
    );
endmodule
`default_nettype wire
