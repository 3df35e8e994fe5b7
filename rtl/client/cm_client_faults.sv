// SPDX-License-Identifier: Apache-2.0
// Names the first of the faults of a cycle, and starts the wipe that it, an abort or a reset calls for
// (cm_client_wipe). A fault is named from the next cycle until a command is accepted; raised_o is high for a
// cycle, with the first cycle of each fault.
`default_nettype none
module cm_client_faults #(
    parameter integer LOG2_N = 12
) (
    input  wire              clk_i,
    input  wire              rst_i,
    input  wire              abort_i,
    input  wire              accepted_i,     // A command is accepted.
    // Faults of this cycle, in the order of their precedence.
    input  wire              busy_i,         // A setting was written while the engine was not idle.
    input  wire              command_i,      // The command is unknown.
    input  wire              no_key_i,       // The command has no key.
    input  wire              policy_i,       // The command or the setting is against the policy.
    input  wire              unfit_i,        // The settings do not allow the command.
    input  wire              frame_i,
    input  wire              result_i,
    input  wire              counter_i,
    input  wire              window_i,
    input  wire              entropy_i,
    input  wire              range_i,
    input  wire              too_many_i,
    input  wire              key_i,
    input  wire              setting_i,
    output reg  [3:0]        fault_o,        // number of the fault in cm_client_map.svh
    output reg               raised_o,
    // The wipe.
    output wire              clears_o,       // Registers are cleared.
    output wire              wipes_o,        // Memories are cleared.
    output wire              wipes_keys_o,   // Memories of keys are cleared, too.
    output wire              keys_stay_o,
    output wire              wiping_o,
    output wire [LOG2_N-1:0] wipe_address_o
);
    `include "cm_client_map.svh"
    wire [3:0] fault = busy_i ? FAULT_BUSY
        : command_i ? FAULT_COMMAND
        : no_key_i ? FAULT_NO_KEY
        : policy_i ? FAULT_POLICY
        : unfit_i ? FAULT_SETTINGS
        : frame_i ? FAULT_FRAME
        : result_i ? FAULT_RESULT
        : counter_i ? FAULT_COUNTER
        : window_i ? FAULT_WINDOW
        : entropy_i ? FAULT_ENTROPY
        : range_i ? FAULT_RANGE
        : too_many_i ? FAULT_TOO_MANY
        : key_i ? FAULT_KEY
        : setting_i ? FAULT_SETTINGS : FAULT_NONE;
    // COUNTERMEASURE: WIPE_SPARES_KEYS
    // A sender of frames or values must not be able to wipe the keys.
    wire fault_keeps = fault == FAULT_NONE || fault == FAULT_FRAME || fault == FAULT_RESULT
        || fault == FAULT_RANGE
        || fault == FAULT_TOO_MANY;
    // A setting that is written during a wipe is lost, which is a fault too; so is one that now takes the
    // keys as well.
    wire raised = fault != FAULT_NONE && (!wiping_o || fault == FAULT_BUSY || (keys_stay_o && !fault_keeps));
    cm_client_wipe #(.BITS(LOG2_N), .COUNT(1 << LOG2_N)) u_wipe (
        .clk_i(clk_i), .rst_i(rst_i), .fault_i(fault != FAULT_NONE || abort_i), .keeps_i(fault_keeps),
        .clears_o(clears_o), .wipes_o(wipes_o), .wipes_keys_o(wipes_keys_o), .keys_stay_o(keys_stay_o),
        .wiping_o(wiping_o), .address_o(wipe_address_o)
    );
    always_ff @(posedge clk_i) begin
        raised_o <= raised;
        if (accepted_i) fault_o <= FAULT_NONE;
        if (raised) fault_o <= fault;
        if (rst_i) begin
            fault_o <= FAULT_NONE;
            raised_o <= 1'b0;
        end
    end
endmodule
`default_nettype wire
