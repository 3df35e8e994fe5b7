// SPDX-License-Identifier: Apache-2.0
// The order of a wipe, which a fault or a reset starts: for a cycle clears_o, in which registers are cleared, and then
// wipes_o, with one address after the other, up to the last one of the deepest memory. Zeros are written there.
// wiping_o is high from the first of these cycles to the last.
`default_nettype none
module cm_client_wipe #(
    parameter integer BITS = 14,
    parameter integer COUNT = 6144 // addresses
) (
    input  wire            clk_i,
    input  wire            rst_i,
    input  wire            fault_i,   // while wiping it starts nothing, unless there are still keys to clear
    input  wire            keeps_i,   // with fault_i: keys stay
    output wire            clears_o,  // registers
    output wire            wipes_o,   // memories
    output reg             wipes_keys_o, // theirs too
    output wire            keys_stay_o, // in either
    output wire            wiping_o,
    output wire [BITS-1:0] address_o
);
    reg            clearing;
    reg            runs;
    reg            keeps;
    reg [BITS-1:0] address;
    assign clears_o = clearing || rst_i;
    assign wipes_o = runs;
    assign keys_stay_o = keeps && !rst_i;
    assign wiping_o = runs || clears_o;
    assign address_o = address;
    always_ff @(posedge clk_i) begin
        clearing <= 1'b0;
        if (runs) begin
            address <= address + 1'b1;
            if (address == COUNT - 1) runs <= 1'b0;
            if (address == COUNT - 1) wipes_keys_o <= 1'b0;
        end
        if (fault_i && (!wiping_o || (keeps && !keeps_i))) begin
            clearing <= 1'b1;
            keeps <= keeps_i;
        end
        if (clears_o) begin
            runs <= 1'b1;
            wipes_keys_o <= !keys_stay_o;
            address <= {BITS{1'b0}};
        end
        if (rst_i) keeps <= 1'b0;
    end
endmodule
`default_nettype wire
