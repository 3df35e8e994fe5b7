// SPDX-License-Identifier: Apache-2.0
// What a fault or a reset starts: a cycle in which every register is cleared, or all those of the reset, and then one
// address after the other, of the deepest memory, at which zeros are written. wiping_o stays until the last one.
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
        end
        if (fault_i && (!wiping_o || (keeps && !keeps_i))) begin
            clearing <= 1'b1;
            keeps <= keeps_i;
        end
        if (clears_o) begin
            runs <= 1'b1;
            address <= {BITS{1'b0}};
        end
        if (rst_i) keeps <= 1'b0;
    end
endmodule
`default_nettype wire
