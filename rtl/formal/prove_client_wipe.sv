// SPDX-License-Identifier: Apache-2.0
// cm_client_wipe with two memories as cm_client_engine has them, one of them with keys and one port: whatever
// they held and whatever is written to them, once a reset or a fault has been wiped every word is 0, of keys
// too unless they stay, which only a fault that says so lets them, if no other follows it before they are
// wiped; and wiping ends. It goes twice through the keys: the second time they are read, and the output of
// their memory is 0, too.
`default_nettype none
module prove_client_wipe #(
    parameter integer BITS = 2,
    parameter integer COUNT = 4
) (
    input wire clk_i
);
    (* anyseq *) reg            fault, keeps, resets, writes;
    (* anyseq *) reg [BITS-1:0] address;
    (* anyseq *) reg [1:0]      data;
    (* anyconst *) reg [BITS-1:0] watched;
    reg started = 1'b0;
    always_ff @(posedge clk_i) started <= 1'b1;
    wire reset = !started || resets;

    wire            clears, wipes, wipes_keys, keys_stay, wiping;
    wire [BITS-1:0] wipe_address;
    cm_client_wipe #(.BITS(BITS), .COUNT(COUNT)) u_wipe (
        .clk_i(clk_i), .rst_i(reset), .fault_i(fault), .keeps_i(keeps), .clears_o(clears), .wipes_o(wipes),
        .wipes_keys_o(wipes_keys), .keys_stay_o(keys_stay), .wiping_o(wiping), .address_o(wipe_address)
    );
    wire       enters = writes && !wiping && address < COUNT;
    wire [1:0] word, key;
    cm_ram #(.WIDTH(2), .DEPTH(COUNT), .ADDRESS_WIDTH(BITS), .BLOCK(1)) u_words (
        .clk_i(clk_i), .write_i(wipes || enters), .write_address_i(wipes ? wipe_address : address),
        .write_data_i(wipes ? 2'd0 : data), .read_i(1'b1), .read_address_i(watched), .read_data_o(word)
    );
    wire       key_clears = wipes_keys && !wipe_address[BITS-1];
    wire       key_enters = enters && !address[BITS-1];
    cm_ram_single #(.WIDTH(2), .PARTS(2), .DEPTH(COUNT / 2), .ADDRESS_WIDTH(BITS - 1)) u_keys (
        .clk_i(clk_i), .write_i({2{key_clears || key_enters}}),
        .address_i(wipes ? wipe_address[BITS-2:0] : key_enters ? address[BITS-2:0] : watched[BITS-2:0]),
        .write_data_i(wipes ? 2'd0 : data), .read_i(1'b1), .read_data_o(key)
    );

    reg       was_wiping = 1'b0, was_fault = 1'b0, was_wiped = 1'b0;
    reg       kept = 1'b0;        // This wipe leaves the keys.
    reg       was_kept = 1'b0;
    // Another fault, for which keys do not stay, comes meanwhile.
    wire      takes_keys = fault && !keeps && wiping && kept;
    reg       took_keys = 1'b0;
    reg       held_key = 1'b0;    // A key was written since they were wiped.
    reg [3:0] length = 4'd0;
    always_ff @(posedge clk_i) begin
        assume (watched < COUNT);
        was_wiping <= wiping;
        was_kept <= kept;
        was_fault <= fault && !wiping;
        was_wiped <= was_wiping && !wiping;
        if (takes_keys) took_keys <= 1'b1;
        length <= (reset || !wiping || takes_keys) ? 4'd0 : length + 4'd1;
        if (reset) kept <= 1'b0;
        else if (fault && (!wiping || takes_keys)) kept <= keeps;
        if (enters) held_key <= 1'b1;
        if (started) begin
            if (was_fault) assert (clears && wiping);
            if (reset) assert (clears && wiping);
            assert (length <= COUNT + 1);
            assert (keys_stay == (kept && !reset));
            if (was_wiping && !wiping && !kept) assert (key == 2'd0);
            // The read of the first cycle behind a wipe finds what the wipe left.
            if (was_wiped) begin
                assert (word == 2'd0);
                if (!was_kept) assert (key == 2'd0);
            end
            cover (was_wiped && !was_kept && held_key);
            cover (was_wiped && !was_kept && held_key && took_keys);
            cover (was_wiped && was_kept && key != 2'd0 && held_key);
        end
    end
endmodule
`default_nettype wire
