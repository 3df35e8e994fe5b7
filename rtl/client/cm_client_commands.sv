// SPDX-License-Identifier: Apache-2.0
// Decodes commands, refuses those that have no key, are against the policy or do not fit the settings, and
// stores the one being executed.
//
// ready_o and command_i are a handshake: a command is accepted, or refused, in the cycle in which both are
// high. The outputs that describe the command being executed follow a cycle later. A ciphertext may follow
// another one of its kind at once; any other command waits until the engine is idle.
`default_nettype none
module cm_client_commands #(
    parameter integer WIDTH = 27,
    parameter integer PRIMES = 3,
    parameter integer LOG2_PRIMES = 2
) (
    input  wire                    clk_i,
    input  wire                    rst_i,
    input  wire                    command_i,
    input  wire [3:0]              code_i,
    output wire                    ready_o,
    output wire                    idle_o,      // high when no work, no wipe and no word to give is left
    // The state of the engine.
    input  wire                    wiping_i,
    input  wire                    front_busy_i, // The front still samples for the last command.
    input  wire                    frame_valid_i, // A word of a frame waits to leave.
    input  wire [7:0]              finished_i,  // number of ciphertexts, or keys
    // Settings, and the keys there are.
    input  wire [LOG2_PRIMES-1:0]  last_prime_i,
    input  wire                    primes_fit_i,
    input  wire                    coefficients_i,
    input  wire                    with_tags_i,
    input  wire                    ckks_i,
    input  wire                    float_values_i,
    input  wire [31:0]             largest_i,
    input  wire [2:0]              policy_i,
    input  wire [WIDTH-1:0]        t_i,
    input  wire [63:0]             scale_i,
    input  wire [PRIMES*WIDTH-1:0] q_i,         // all primes
    input  wire                    encodes_ckks_i, // The settings allow CKKS to encode.
    input  wire                    decodes_ckks_i, // The settings allow CKKS to decode.
    input  wire                    secret_entered_i, // the device's secret
    input  wire [1:0]              tag_keys_there_i, // {that of results, that of the device}
    input  wire                    trits_there_i,
    input  wire                    secret_there_i,
    input  wire                    public_there_i,
    // The command accepted in this cycle.
    output wire                    accepted_o,
    output wire                    begins_o,    // It follows no other one: counts start at zero.
    output wire                    fixes_o,     // It fixes what the secret key may do.
    output wire                    encryption_o, // The code is that of an encryption, accepted or not.
    output wire                    draws_seeds_o, // It takes a counter and seeds.
    // Why it is refused, in order.
    output wire                    unknown_o,
    output wire                    no_key_o,
    output wire                    not_allowed_o,
    output wire                    unfit_o,
    // The command being executed.
    output reg                     decrypts_o,  // a register, because many choose by it
    output wire                    encrypts_o,
    output wire                    publishes_o, // A public key is made, as the ciphertext of zero that it is.
    output wire                    generates_o,
    output wire                    enters_o,    // A secret key is loaded as it was entered.
    output wire                    loads_key_o, // A secret key is loaded that was entered or drawn.
    output wire                    makes_tables_o,
    output wire                    symmetric_o,
    output wire                    public_key_o,
    output reg                     in_coefficients_o,
    output wire [7:0]              pieces_o,    // number of pieces of noise and u that a ciphertext takes
    output reg  [7:0]              begun_o      // number of ciphertexts, or keys
);
    `include "cm_client_map.svh"
    `include "cm_client_items.svh"
    localparam [3:0] SYMMETRIC = COMMAND_SYMMETRIC, PUBLIC = COMMAND_PUBLIC, LOAD_KEY = COMMAND_LOAD_KEY,
                     DECRYPT = COMMAND_DECRYPT, GENERATE = COMMAND_GENERATE, PUBLISH = COMMAND_PUBLISH,
                     TABLES = COMMAND_TABLES;

    reg [3:0] command;
    assign publishes_o = command == PUBLISH;
    assign encrypts_o = command == SYMMETRIC || command == PUBLIC || publishes_o;
    assign generates_o = command == GENERATE;
    assign enters_o = command == LOAD_KEY;
    assign loads_key_o = enters_o || generates_o;
    assign makes_tables_o = command == TABLES;
    assign symmetric_o = command == SYMMETRIC || publishes_o;
    assign public_key_o = command == PUBLIC;
    assign pieces_o = public_key_o ? 8'd3 : (symmetric_o || generates_o) ? 8'd1 : 8'd0;

    assign encryption_o = code_i == SYMMETRIC || code_i == PUBLIC;
    wire   enters_key = code_i == LOAD_KEY || code_i == GENERATE;
    wire   needs_no_key = code_i == GENERATE || code_i == TABLES;
    wire   known = encryption_o || enters_key || code_i == DECRYPT || code_i == PUBLISH || code_i == TABLES;
    wire   draws_seeds = encryption_o || code_i == PUBLISH;
    wire   key_there = (with_tags_i && !enters_key && !needs_no_key && !tag_keys_there_i[code_i == DECRYPT])
        || (draws_seeds && !secret_entered_i) ? 1'b0
        : (code_i == LOAD_KEY) ? trits_there_i : needs_no_key ? 1'b1
        : (code_i == PUBLIC) ? public_there_i : secret_there_i;
    // COUNTERMEASURE: KEY_POLICY
    wire   allowed = (code_i != SYMMETRIC || policy_i[POLICY_ENCRYPT])
        && (code_i != DECRYPT || policy_i[1:0] == DECRYPT_ALWAYS
            || (policy_i[1:0] == DECRYPT_TAGGED && with_tags_i));

    // COUNTERMEASURE: T_BOUND
    // Frames name t, so their tag binds it.
    wire [PRIMES-1:0] t_below;
    genvar g;
    generate
        for (g = 0; g < PRIMES; g = g + 1) begin : g_below
            assign t_below[g] = t_i < q_i[WIDTH*g +: WIDTH] || last_prime_i < g;
        end
    endgenerate
    wire   t_fits = t_below == {PRIMES{1'b1}} && t_i[WIDTH-1:1] != {(WIDTH - 1){1'b0}}
        && scale_i == {{(64 - WIDTH){1'b0}}, t_i};
    wire   uses_message = encryption_o || code_i == DECRYPT;
    wire   bound_there = largest_i != 32'd0 && !(ckks_i && float_values_i && largest_i[31]);
    wire   message_fits = ckks_i ? (encryption_o ? encodes_ckks_i : decodes_ckks_i) : t_fits;
    wire   fits = primes_fit_i && (!uses_message || message_fits) && (!encryption_o || bound_there);

    wire   follows = code_i == command && (encrypts_o || decrypts_o) && !publishes_o && !in_coefficients_o
        && !(encryption_o && coefficients_i);
    assign idle_o = begun_o == finished_i && !front_busy_i && !wiping_i && !frame_valid_i;
    assign ready_o = !wiping_i && !front_busy_i && (follows ? !reached(begun_o, finished_i + 8'd3) : idle_o);
    assign accepted_o = command_i && ready_o && known && key_there && allowed && fits;
    assign begins_o = accepted_o && !follows;
    assign fixes_o = accepted_o && code_i != TABLES;
    assign draws_seeds_o = accepted_o && draws_seeds;
    assign unknown_o = command_i && ready_o && !known;
    assign no_key_o = command_i && ready_o && !key_there;
    assign not_allowed_o = command_i && ready_o && !allowed;
    assign unfit_o = command_i && ready_o && !fits;

    always_ff @(posedge clk_i) begin
        if (accepted_o) begin
            command <= code_i;
            decrypts_o <= code_i == DECRYPT;
            in_coefficients_o <= encryption_o && coefficients_i;
            begun_o <= follows ? begun_o + 1'b1 : {{(COUNT - 1){1'b0}}, 1'b1};
        end
        if (rst_i) begin
            command <= 4'd0;
            decrypts_o <= 1'b0;
            in_coefficients_o <= 1'b0;
            begun_o <= {COUNT{1'b0}};
        end
    end
endmodule
`default_nettype wire
