// SPDX-License-Identifier: Apache-2.0
// Sequences a wipe, which a fault or a reset starts: for a cycle clears_o, in which registers are cleared,
// and then wipes_o, with one address after the other up to the last one of the deepest memory, where zeros
// are written. wiping_o is high from the first of these cycles to the last. fault_i takes effect in the next
// cycle, rst_i in the same one.
`default_nettype none
module cm_client_wipe #(
    parameter integer BITS = 14,
    parameter integer COUNT = 6144 // number of addresses
) (
    input  wire            clk_i,
    input  wire            rst_i,
    input  wire            fault_i,   // starts a wipe, unless one is under way that clears as much
    input  wire            keeps_i,   // With fault_i: keys stay.
    output wire            clears_o,  // Registers are cleared.
    output wire            wipes_o,   // Memories are cleared.
    output reg             wipes_keys_o, // Memories of keys are cleared, too.
    output wire            keys_stay_o, // Keys stay, in registers and in memories.
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
        // COUNTERMEASURE: WIPE_WHOLE
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
