// SPDX-License-Identifier: Apache-2.0
// The counter of the next ciphertext. It is set in both words at once, moves on with each ciphertext, and
// must neither reach its end nor fall: with a counter that comes again, a source that repeats a draw shows
// the difference of two messages. A change takes effect in the next cycle; the faults refer to the cycle of
// the attempt.
`default_nettype none
module cm_client_counter (
    input  wire        clk_i,
    input  wire        rst_i,       // forgets the counter, unless keys_stay_i
    input  wire        keys_stay_i,
    input  wire        fixed_i,     // The counter may only rise.
    input  wire        write_i,     // sets it to {data_i, low_i}
    input  wire [31:0] low_i,
    input  wire [31:0] data_i,
    input  wire [63:0] end_i,       // the first counter that must not be used
    input  wire        next_i,      // A ciphertext takes the counter.
    output reg  [63:0] counter_o,
    output wire        exhausted_o, // next_i, while no counter is left or none was set
    output wire        falls_o      // write_i with a lower counter, which is not taken
);
    reg         counter_set; // The counter was set since keys were wiped.
    wire [63:0] counter_entered = {data_i, low_i};
    // COUNTERMEASURE: COUNTER_RISES
    assign falls_o = write_i && fixed_i && counter_entered < counter_o;
    // COUNTERMEASURE: COUNTER_ENDS
    assign exhausted_o = next_i && (!counter_set || counter_o >= end_i);
    always_ff @(posedge clk_i) begin
        if (write_i && !falls_o) begin
            counter_o <= counter_entered;
            counter_set <= 1'b1;
        end
        if (next_i) counter_o <= counter_o + 1'b1;
        if (rst_i && !keys_stay_i) begin
            counter_o <= 64'd0;
            counter_set <= 1'b0;
        end
    end
endmodule
`default_nettype wire
