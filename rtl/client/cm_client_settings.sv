// SPDX-License-Identifier: Apache-2.0
// The client engine's settings that belong to no single prime: registers, and checks of the numbers written
// to them. It also decodes the addresses of tables and keys, whose words other blocks store.
//
// A write takes effect in the next cycle, and only while the engine is idle. The checks refer to the same
// cycle as the write. There is no handshake, and nothing reads a setting back.
`default_nettype none
module cm_client_settings #(
    parameter integer LOG2_N = 12,
    parameter integer WIDTH = 27,
    parameter integer PRIMES = 3,
    parameter integer LOG2_PRIMES = 2
) (
    input  wire                   clk_i,
    input  wire                   rst_i,       // clears secrets and what protects them, unless keys_stay_i
    input  wire                   keys_stay_i,
    input  wire                   idle_i,
    input  wire                   fixes_i,     // A command is accepted that fixes policy and secrets.
    input  wire                   write_i,
    input  wire [11:0]            address_i,
    input  wire [31:0]            data_i,
    input  wire [WIDTH-1:0]       table_q_i,   // the prime with number table_prime_o
    // The word written in this cycle.
    output wire                   global_o,    // a setting that belongs to no single prime
    output wire                   prime_o,     // a setting of a prime
    output wire                   counter_o,   // the upper word of the counter, which takes both
    output wire                   table_place_o,
    output wire                   table_o,     // a twiddle
    output wire                   key_o,       // a residue of the public key
    output wire                   trits_o,     // eight coefficients of the secret key
    output wire                   replaces_primes_o, // A key that was entered is of no use any more.
    // Faults of this write.
    output wire                   fixed_o,     // refused, because the first command fixed it
    output wire                   upset_o,     // The policy is not what was written: a register changed.
    output wire                   wrong_secret_o,
    output wire                   wrong_o,     // a number that the engine does not store or has no place for
    output wire                   no_residue_o, // The word is not below table_q_i.
    // Settings.
    output reg  [31:0]            params_id_o,
    output reg  [63:0]            key_id_o,
    output reg  [63:0]            scale_o,     // t, as frames name it
    output wire [63:0]            frame_scale_o,
    output wire [7:0]             scheme_o,
    output reg  [31:0]            counter_low_o, // the lower word of the counter as written
    output reg  [63:0]            counter_end_o,
    output reg                    is_fixed_o,  // Such a command was taken since keys were wiped.
    output reg  [255:0]           device_secret_o,
    output wire                   secret_entered_o, // all eight words, in order
    output reg  [WIDTH-1:0]       t_o,
    output reg  [WIDTH-1:0]       t_factor_o,
    output reg  [WIDTH-1:0]       t_half_o,
    output reg  [31:0]            t_ratio_o,
    output reg  [LOG2_PRIMES-1:0] last_prime_o,
    output reg                    primes_fit_o, // The engine has room for that number of primes.
    output reg                    signed_values_o,
    output reg                    coefficients_o, // ciphertexts in coefficient form
    output reg                    shake_o,     // public halves by SHAKE256
    output reg                    with_tags_o, // frames of version 2
    output reg                    ckks_o,
    output reg                    complex_slots_o,
    output reg                    float_values_o,
    output reg  [31:0]            largest_o,
    output reg  [2:0]             policy_o,
    output reg  [9:0]             ckks_exponent_o,
    output reg  [5:0]             ckks_scale_o, // log2
    output reg  [5:0]             ckks_limit_o, // log2
    output reg  [LOG2_PRIMES-1:0] table_prime_o,
    output reg  [LOG2_N-1:0]      table_index_o,
    output reg                    table_component_o
);
    `include "cm_client_map.svh"
    localparam [7:0] LAST_PRIME = PRIMES[7:0] - 8'd1;

    wire is_prime = address_i[11:8] == MAP_PRIMES;
    wire is_global = address_i[11:8] == MAP_GLOBAL;
    wire [7:0] at = address_i[7:0];

    // The first command fixes, until keys are wiped, what the key may do, and what would undo that. A tag
    // binds what is decrypted to its t; the fractions are the other numbers that decide how much of a result
    // leaves.
    wire at_tag_key = (at >= MAP_TAG_KEY && at < MAP_TAG_KEY + 8'd12)
        || (at >= MAP_RESULT_KEY && at < MAP_RESULT_KEY + 8'd12);
    wire at_secret = at[7:3] == MAP_DEVICE_SECRET[7:3];
    wire at_fraction = at[2:0] == MAP_PRIME_FRACTION || at[2:0] == MAP_PRIME_FRACTION + 3'd1;
    // COUNTERMEASURE: POLICY_FIXED
    wire is_fixed = is_fixed_o && ((is_global && (at == MAP_POLICY || at_secret || at_tag_key))
        || (is_prime && at_fraction && policy_o[1:0] == DECRYPT_TAGGED));
    wire setting = write_i && idle_i && !is_fixed;
    assign fixed_o = write_i && idle_i && is_fixed;
    assign global_o = setting && is_global;
    assign prime_o = setting && is_prime;
    assign counter_o = global_o && at == MAP_COUNTER + 8'd1;
    assign table_place_o = global_o && at == MAP_TABLE_PLACE;
    assign table_o = global_o && at == MAP_TABLE_DATA;
    assign key_o = global_o && at == MAP_PUBLIC_KEY_DATA;
    assign trits_o = global_o && at == MAP_TRITS;
    assign replaces_primes_o = prime_o && (at[2:0] == MAP_PRIME_Q || at[2:0] == MAP_PRIME_KEY_FACTOR);

    // CKKS has its own scale, as binary64.
    assign frame_scale_o = ckks_o ? {1'b0, 11'd1023 + {5'd0, ckks_scale_o}, 52'd0} : scale_o;
    assign scheme_o = ckks_o ? SCHEME_CKKS : SCHEME_BFV;

    // COUNTERMEASURE: POLICY_TWICE
    // Kept a second time, inverted, so that no single change of a register lets the key do more.
    (* keep = "true" *) reg [2:0] not_policy;
    (* keep = "true" *) reg       not_fixed;
    assign upset_o = policy_o != ~not_policy || is_fixed_o == not_fixed;

    reg  [3:0] secret_words; // words of the device secret that were entered in order
    reg        secret_alike; // All of their bytes are equal.
    integer    i;
    always_ff @(posedge clk_i) begin
        if (global_o) begin
            case (at)
                MAP_PARAMS: params_id_o <= data_i;
                MAP_KEY_ID: key_id_o[31:0] <= data_i;
                MAP_KEY_ID + 8'd1: key_id_o[63:32] <= data_i;
                MAP_SCALE: scale_o[31:0] <= data_i;
                MAP_SCALE + 8'd1: scale_o[63:32] <= data_i;
                MAP_COUNTER: counter_low_o <= data_i;
                MAP_COUNTER_END: counter_end_o[31:0] <= data_i;
                MAP_COUNTER_END + 8'd1: counter_end_o[63:32] <= data_i;
                MAP_T: t_o <= data_i[WIDTH-1:0];
                MAP_T_FACTOR: t_factor_o <= data_i[WIDTH-1:0];
                MAP_T_RATIO: t_ratio_o <= data_i;
                MAP_T_HALF: t_half_o <= data_i[WIDTH-1:0];
                MAP_SHAPE: begin
                    last_prime_o <= data_i[LOG2_PRIMES-1:0];
                    primes_fit_o <= data_i[7:0] <= LAST_PRIME;
                    signed_values_o <= data_i[8];
                    coefficients_o <= data_i[9];
                    shake_o <= data_i[{1'b0, SHAPE_SHAKE256}];
                    with_tags_o <= data_i[{1'b0, SHAPE_TAGS}];
                    ckks_o <= data_i[16];
                    complex_slots_o <= data_i[17];
                    float_values_o <= data_i[18];
                end
                MAP_LARGEST: largest_o <= data_i;
                MAP_POLICY: begin
                    policy_o <= data_i[2:0];
                    not_policy <= ~data_i[2:0];
                end
                MAP_CKKS: begin
                    ckks_exponent_o <= data_i[9:0];
                    ckks_scale_o <= data_i[21:16];
                    ckks_limit_o <= data_i[29:24];
                end
                MAP_TABLE_PLACE: begin
                    table_index_o <= data_i[LOG2_N-1:0];
                    table_prime_o <= data_i[16 +: LOG2_PRIMES];
                    table_component_o <= data_i[24];
                end
                default: ;
            endcase
            // COUNTERMEASURE: SECRET_WHOLE
            if (at_secret) begin
                for (i = 0; i < 8; i = i + 1) if (at[2:0] == i) device_secret_o[32*i +: 32] <= data_i;
                secret_words <= (at[2:0] == 3'd0) ? 4'd1
                    : ({1'b0, at[2:0]} == secret_words) ? secret_words + 1'b1 : 4'd0;
                secret_alike <= alike_so_far;
            end
        end
        if (table_o || key_o || trits_o) table_index_o <= table_index_o + 1'b1;
        if (fixes_i) begin
            is_fixed_o <= 1'b1;
            not_fixed <= 1'b0;
        end
        if (rst_i && !keys_stay_i) begin
            device_secret_o <= 256'd0;
            secret_words <= 4'd0;
            secret_alike <= 1'b0;
            policy_o <= 3'd0;
            not_policy <= 3'd7;
            is_fixed_o <= 1'b0;
            not_fixed <= 1'b1;
        end
    end

    // COUNTERMEASURE: SECRET_NOT_ERASED
    // Erased memory is no secret, as for the C library.
    wire alike_so_far = data_i[31:8] == data_i[23:0]
        && (at[2:0] == 3'd0 || (secret_alike && data_i == device_secret_o[31:0]));
    assign secret_entered_o = secret_words == 4'd8;
    assign wrong_secret_o = global_o && at_secret && at[2:0] == 3'd7 && alike_so_far;

    // COUNTERMEASURE: SETTING_RANGE
    // Numbers that the engine does not store or has no place for.
    wire place_there = {5'd0, data_i[18:16]} <= LAST_PRIME && data_i[15:0] >> LOG2_N == 16'd0
        && data_i[23:19] == 5'd0 && data_i[31:25] == 7'd0;
    wire stores_residue = is_prime ? at[2:0] <= MAP_PRIME_KEY_FACTOR
        : at == MAP_T || at == MAP_T_FACTOR || at == MAP_T_HALF || at == MAP_TABLE_DATA;
    wire too_wide = data_i[31:WIDTH] != {(32 - WIDTH){1'b0}};
    assign no_residue_o = data_i >= {{(32 - WIDTH){1'b0}}, table_q_i};
    wire wrong_setting = setting && ((is_prime && {3'd0, at[7:3]} > LAST_PRIME)
        || ((is_prime || is_global) && stores_residue && too_wide)
        || (is_global && at == MAP_T && data_i < 32'd2)
        || (is_global && at == MAP_POLICY && (data_i[31:3] != 29'd0 || data_i[1:0] == 2'd3))
        || (table_place_o && !place_there) || (table_o && no_residue_o));

    // No other q has a transform, and its lowest bits are not stored.
    wire wrong_prime = prime_o && at[2:0] == MAP_PRIME_Q
        && (data_i[LOG2_N:0] != {{LOG2_N{1'b0}}, 1'b1} || (data_i[WIDTH-1:0] >> 21) == {WIDTH{1'b0}});
    assign wrong_o = wrong_prime || wrong_setting;
endmodule
`default_nettype wire
