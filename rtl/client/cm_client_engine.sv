// SPDX-License-Identifier: Apache-2.0
// The client engine, without a bus: it takes a message and gives the frames of its ciphertext, the same bytes
// as the C library, and it takes frames and gives their message. Keys, seeds and noise never leave it.
// docs/client-engine.md explains how it works, docs/client-engine-integration.md how to use it; cm_client_axi
// puts it on a bus.
//
// Three machines work through the items of one prime after the other: the loader fills a set of residues, the
// lanes transform it, and the stream multiplies, adds and passes the result on. Each counts the items that it
// has done, and starts its next one when the others' counts say that what it needs is there.
`default_nettype none
module cm_client_engine #(
    parameter integer LOG2_N = 12,           // 10 .. 13: log2 of the ring degree n
    parameter integer WIDTH = 27,            // 22 .. 27: bits of the widest prime
    parameter integer LOG2_UNITS = 3,        // 1 .. 4: log2 of the number of butterflies
    parameter integer PRIMES = 3,            // 2 .. 7: the most primes of a ciphertext
    parameter integer DEEP = 1,              // 1: a longer pipeline, for faster FPGA clocks; 0: a shorter one
    parameter integer MULTIPLIER_WIDTH = 24, // 17, 24 or 64: as in cm_montgomery_multiply
    parameter integer TAG_DIGIT = 4          // 4, 8, 16 or 32: as in cm_client_poly1305
) (
    input  wire        clk_i,
    input  wire        rst_i,   // synchronous; wipes everything, while ready_o and idle_o are low
    input  wire        abort_i, // the same, but keys and the secrets of the device stay
    // Settings, by their numbers in cm_client_map.svh: written while idle_o, and never read.
    input  wire        write_i,
    input  wire [11:0] write_address_i,
    input  wire [31:0] write_data_i,
    // A command, by its number in cm_client_map.svh. Hold it until ready_o: it is taken in that cycle.
    input  wire        command_i,
    input  wire [3:0]  command_code_i,
    output wire        ready_o,
    output wire        idle_o,  // high when no work, no wipe and no word to give is left
    output wire [3:0]  fault_o, // number in cm_client_map.svh, until a command is accepted; 0: none
    output wire        faults_o, // high for a cycle, with the first one of each fault
    // Random words: eight for each ciphertext and each key that is drawn, and 1,024 behind the first command.
    input  wire        entropy_valid_i,
    output wire        entropy_ready_o,
    input  wire [31:0] entropy_i,
    // The message, one value a word. last ends it, a full one too; values missing after it are zero.
    input  wire        value_valid_i,
    output wire        value_ready_o,
    input  wire [31:0] value_i,
    input  wire        value_last_i,
    // The frames, the first byte in bits 7:0.
    output wire        frame_valid_o,
    input  wire        frame_ready_i,
    output wire [31:0] frame_o,
    output wire        frame_last_o, // the last word of a ciphertext
    // Frames to decrypt, bytes in the same order.
    input  wire        read_valid_i,
    output wire        read_ready_o,
    input  wire [31:0] read_i,
    // Decrypted messages: a value a word; BFV with t up to 2^16: two, the first in the lower half.
    output wire        result_valid_o,
    input  wire        result_ready_i,
    output wire [31:0] result_o,
    output wire        result_last_o
);
    `include "cm_refuse.svh"
    generate
        `CM_REFUSE(g_bad_log2_n, LOG2_N < 10 || LOG2_N > 13,
                   "cm_client_engine: LOG2_N must be from 10 to 13.")
        `CM_REFUSE(g_bad_width, WIDTH < 22 || WIDTH > 27, "cm_client_engine: WIDTH must be from 22 to 27.")
        `CM_REFUSE(g_bad_log2_units, LOG2_UNITS < 1 || LOG2_UNITS > 4,
                   "cm_client_engine: LOG2_UNITS must be from 1 to 4.")
        `CM_REFUSE(g_bad_primes, PRIMES < 2 || PRIMES > 7, "cm_client_engine: PRIMES must be from 2 to 7.")
        `CM_REFUSE(g_bad_deep, DEEP < 0 || DEEP > 1, "cm_client_engine: DEEP must be 0 or 1.")
        `CM_REFUSE(g_bad_multiplier_width,
                   MULTIPLIER_WIDTH != 17 && MULTIPLIER_WIDTH != 24 && MULTIPLIER_WIDTH != 64,
                   "cm_client_engine: MULTIPLIER_WIDTH must be 17, 24 or 64.")
        `CM_REFUSE(g_bad_tag_digit, TAG_DIGIT != 4 && TAG_DIGIT != 8 && TAG_DIGIT != 16 && TAG_DIGIT != 32,
                   "cm_client_engine: TAG_DIGIT must be 4, 8, 16 or 32.")
    endgenerate
    `include "cm_latency.svh"
    `include "cm_client_items.svh"
    `include "cm_client_users.svh"
    localparam integer LOG2_PRIMES = (PRIMES > 4) ? 3 : (PRIMES > 2) ? 2 : 1;
    localparam integer PAIR = 2 * WIDTH;
    localparam integer PAIR_BITS = LOG2_N - 1; // width of a number of a pair
    localparam integer MESSAGE_WIDTH = 32;
    localparam integer MULTIPLY = multiply_latency(WIDTH, LOG2_N, MULTIPLIER_WIDTH, DEEP);
    localparam integer ADD = add_latency(DEEP);
    // Cycles from the number of a pair to the loader's pair, and to the stream's product.
    localparam integer LOADED = 2 + multiply_latency(MESSAGE_WIDTH, LOG2_N, MULTIPLIER_WIDTH, DEEP) + ADD;
    localparam integer PRODUCED = 2 + MULTIPLY;
    // Log2 of the depth of the queue of pairs that leave.
    localparam integer LOG2_QUEUE = (LOADED + ADD > 12) ? 5 : (LOADED + ADD > 8) ? 4 : 3;
    localparam integer LOG2_DRAWN = 5; // log2 of the depth of the queue of the public half's pairs

    // --- faults, and wiping --------------------------------------------------------------------------------

    wire              wipes;      // All memories are being cleared.
    wire              wipes_keys; // Memories of keys are being cleared, too.
    wire              clears;     // All registers are being cleared.
    wire              keys_stay;  // Registers and memories of keys are not cleared.
    wire              wiping;
    wire [LOG2_N-1:0] wipe_address; // goes twice through the deepest memory
    wire              fixed_write, policy_upset, wrong_setting, wrong_secret, wrong_key;
    wire              unknown_command, no_key, not_allowed, unfit;
    wire              exhausted, counter_falls, too_late, window_late;
    wire              read_fault, residue_fault, decoded_wrong, seeds_refused, entropy_fails;
    wire              out_of_range, ckks_wrong, too_many, ckks_too_many;
    wire              accepted; // A command is accepted.
    wire              fixes;    // It fixes what the secret key may do.
    // COUNTERMEASURE: SETTING_IDLE
    cm_client_faults #(.LOG2_N(LOG2_N)) u_faults (
        .clk_i(clk_i), .rst_i(rst_i), .abort_i(abort_i), .accepted_i(accepted), .busy_i(write_i && !idle_o),
        .command_i(unknown_command), .no_key_i(no_key),
        .policy_i(not_allowed || fixed_write || policy_upset), .unfit_i(unfit),
        .frame_i(read_fault || residue_fault), .result_i(decoded_wrong),
        .counter_i(exhausted || counter_falls), .window_i(too_late),
        .entropy_i(seeds_refused || entropy_fails), .range_i(out_of_range || ckks_wrong),
        .too_many_i(too_many || ckks_too_many), .key_i(wrong_key || wrong_secret), .setting_i(wrong_setting),
        .fault_o(fault_o), .raised_o(faults_o), .clears_o(clears), .wipes_o(wipes), .wipes_keys_o(wipes_keys),
        .keys_stay_o(keys_stay), .wiping_o(wiping), .wipe_address_o(wipe_address)
    );

    // --- settings ------------------------------------------------------------------------------------------

    wire [31:0]            params_id;
    wire [63:0]            key_id;
    wire [63:0]            scale, frame_scale;
    wire [7:0]             scheme;
    wire [31:0]            counter_low;
    wire [63:0]            counter_end, counter; // counter of the next ciphertext
    wire [255:0]           device_secret;
    wire [WIDTH-1:0]       t, t_factor, t_half;
    wire [31:0]            t_ratio, largest;
    wire [LOG2_PRIMES-1:0] last_prime;
    wire [7:0]             primes = {{(8 - LOG2_PRIMES){1'b0}}, last_prime} + 8'd1;
    wire                   primes_fit, signed_values, coefficients, shake, with_tags;
    wire                   ckks, complex_slots, float_values;
    wire [2:0]             policy;
    wire [9:0]             ckks_exponent;
    wire [5:0]             ckks_scale, ckks_limit;
    wire                   is_fixed, secret_entered;
    wire                   global_write, prime_write, counter_write, table_place, table_write, key_write;
    wire                   trits_write, replaces_primes, no_residue;
    wire [LOG2_PRIMES-1:0] table_prime;
    wire [LOG2_N-1:0]      table_index;
    wire                   table_component;
    wire [PRIMES*WIDTH-1:0] all_q, all_factors, all_offsets, all_key_factors;
    wire [PRIMES*5-1:0]    all_bits;
    wire [PRIMES*64-1:0]   all_fractions;
    wire [WIDTH-1:0]       prime_q [0:PRIMES-1];
    wire [4:0]             prime_bits [0:PRIMES-1];
    wire [WIDTH-1:0]       prime_factor [0:PRIMES-1];
    wire [WIDTH-1:0]       prime_offset [0:PRIMES-1];
    wire [WIDTH-1:0]       prime_key_factor [0:PRIMES-1];
    wire [63:0]            prime_fraction [0:PRIMES-1];
    genvar g;
    generate
        for (g = 0; g < PRIMES; g = g + 1) begin : g_prime
            assign prime_q[g] = all_q[WIDTH*g +: WIDTH];
            assign prime_bits[g] = all_bits[5*g +: 5];
            assign prime_factor[g] = all_factors[WIDTH*g +: WIDTH];
            assign prime_offset[g] = all_offsets[WIDTH*g +: WIDTH];
            assign prime_key_factor[g] = all_key_factors[WIDTH*g +: WIDTH];
            assign prime_fraction[g] = all_fractions[64*g +: 64];
        end
    endgenerate
    cm_client_settings #(
        .LOG2_N(LOG2_N), .WIDTH(WIDTH), .PRIMES(PRIMES), .LOG2_PRIMES(LOG2_PRIMES)
    ) u_settings (
        .clk_i(clk_i), .rst_i(clears), .keys_stay_i(keys_stay), .idle_i(idle_o), .fixes_i(fixes),
        .write_i(write_i), .address_i(write_address_i), .data_i(write_data_i),
        .table_q_i(prime_q[table_prime]), .global_o(global_write), .prime_o(prime_write),
        .counter_o(counter_write), .table_place_o(table_place), .table_o(table_write), .key_o(key_write),
        .trits_o(trits_write), .replaces_primes_o(replaces_primes), .fixed_o(fixed_write),
        .upset_o(policy_upset), .wrong_secret_o(wrong_secret), .wrong_o(wrong_setting),
        .no_residue_o(no_residue), .params_id_o(params_id),
        .key_id_o(key_id), .scale_o(scale), .frame_scale_o(frame_scale),
        .scheme_o(scheme), .counter_low_o(counter_low), .counter_end_o(counter_end), .is_fixed_o(is_fixed),
        .device_secret_o(device_secret), .secret_entered_o(secret_entered), .t_o(t), .t_factor_o(t_factor),
        .t_half_o(t_half), .t_ratio_o(t_ratio), .last_prime_o(last_prime), .primes_fit_o(primes_fit),
        .signed_values_o(signed_values), .coefficients_o(coefficients), .shake_o(shake),
        .with_tags_o(with_tags), .ckks_o(ckks), .complex_slots_o(complex_slots),
        .float_values_o(float_values), .largest_o(largest), .policy_o(policy),
        .ckks_exponent_o(ckks_exponent), .ckks_scale_o(ckks_scale), .ckks_limit_o(ckks_limit),
        .table_prime_o(table_prime), .table_index_o(table_index), .table_component_o(table_component)
    );
    cm_client_primes #(.LOG2_N(LOG2_N), .WIDTH(WIDTH), .PRIMES(PRIMES)) u_primes (
        .clk_i(clk_i), .write_i(prime_write), .address_i(write_address_i[7:0]), .data_i(write_data_i),
        .q_o(all_q), .bits_o(all_bits), .factor_o(all_factors), .offset_o(all_offsets),
        .key_factor_o(all_key_factors), .fraction_o(all_fractions)
    );

    // --- commands ------------------------------------------------------------------------------------------

    wire             trits_there, secret_there, public_there, secret_loaded;
    wire [1:0]       tag_keys_there; // {of results, of the device}
    wire             begins;         // A command begins, and all counts start at zero.
    wire             encryption;     // The command's code is that of an encryption, accepted or not.
    wire             draws_seeds;    // A command that draws seeds is accepted for a ciphertext.
    wire             encrypts, decrypts, publishes, generates, enters, loads_key, symmetric, public_key;
    wire             makes_tables;
    wire             in_coefficients, encodes_ckks, decodes_ckks, front_busy;
    wire [COUNT-1:0] pieces_of_one;  // pieces of randomness that a ciphertext takes
    wire [COUNT-1:0] begun, finished; // numbers of ciphertexts, or keys
    cm_client_key_check #(.LOG2_N(LOG2_N), .LOG2_PRIMES(LOG2_PRIMES)) u_key_check (
        .clk_i(clk_i), .rst_i(clears), .keys_stay_i(keys_stay), .accepted_i(accepted),
        .code_i(command_code_i), .secret_loaded_i(secret_loaded), .last_prime_i(last_prime),
        .table_place_i(table_place), .table_i(table_write), .key_i(key_write), .trits_i(trits_write),
        .replaces_primes_i(replaces_primes), .no_residue_i(no_residue), .data_i(write_data_i),
        .table_prime_i(table_prime), .table_component_i(table_component), .table_index_i(table_index),
        .trits_there_o(trits_there), .secret_there_o(secret_there), .public_there_o(public_there),
        .wrong_o(wrong_key)
    );
    cm_client_commands #(.WIDTH(WIDTH), .PRIMES(PRIMES), .LOG2_PRIMES(LOG2_PRIMES)) u_commands (
        .clk_i(clk_i), .rst_i(clears), .command_i(command_i), .code_i(command_code_i), .ready_o(ready_o),
        .idle_o(idle_o), .wiping_i(wiping), .front_busy_i(front_busy), .frame_valid_i(frame_valid_o),
        .finished_i(finished), .last_prime_i(last_prime), .primes_fit_i(primes_fit),
        .coefficients_i(coefficients), .with_tags_i(with_tags), .ckks_i(ckks), .float_values_i(float_values),
        .largest_i(largest), .policy_i(policy), .t_i(t), .scale_i(scale), .q_i(all_q),
        .encodes_ckks_i(encodes_ckks), .decodes_ckks_i(decodes_ckks), .secret_entered_i(secret_entered),
        .tag_keys_there_i(tag_keys_there), .trits_there_i(trits_there), .secret_there_i(secret_there),
        .public_there_i(public_there), .accepted_o(accepted), .begins_o(begins), .fixes_o(fixes),
        .encryption_o(encryption), .draws_seeds_o(draws_seeds), .unknown_o(unknown_command),
        .no_key_o(no_key),
        .not_allowed_o(not_allowed), .unfit_o(unfit), .decrypts_o(decrypts), .encrypts_o(encrypts),
        .publishes_o(publishes), .generates_o(generates), .enters_o(enters), .loads_key_o(loads_key),
        .makes_tables_o(makes_tables), .symmetric_o(symmetric), .public_key_o(public_key),
        .in_coefficients_o(in_coefficients), .pieces_o(pieces_of_one), .begun_o(begun)
    );
    cm_client_counter u_counter (
        .clk_i(clk_i), .rst_i(clears), .keys_stay_i(keys_stay), .fixed_i(is_fixed), .write_i(counter_write),
        .low_i(counter_low), .data_i(write_data_i), .end_i(counter_end), .next_i(draws_seeds),
        .counter_o(counter), .exhausted_o(exhausted), .falls_o(counter_falls)
    );
    assign too_late = draws_seeds && with_tags && window_late;

    // --- key streams ---------------------------------------------------------------------------------------

    wire         tag_request, seeds_request, uniform_request, sample_request, stream_request, stream_ready;
    wire         tag_granted, seeds_granted, uniform_granted, sample_granted;
    wire [255:0] tag_key, seeds_key, private_seed, asked_key;
    // Seed of the ciphertext that leaves or is read; ChaCha20's is in its upper half.
    wire [511:0] public_seed;
    wire [127:0] tag_position, seeds_position, asked_position;
    wire [2:0]   sample_tag, asked_tag, origin_tag, origin_at;
    wire [63:0]  origin;
    wire [LOG2_PRIMES-1:0] uniform_prime;
    wire [11:0]  uniform_asked, uniform_left;
    wire         sample_component;
    wire [9:0]   sample_asked, sample_left;
    wire         word_valid, word_last, noise_ready, ternary_ready, uniform_ready;
    wire [63:0]  word_data;
    wire [2:0]   word_tag;
    wire         word_ready = word_tag == FOR_SEEDS || word_tag == FOR_TAG
        || (word_tag == FOR_UNIFORM && uniform_ready) || (word_tag == FOR_NOISE && noise_ready)
        || (word_tag == FOR_TERNARY && ternary_ready);
    cm_client_arbiter u_arbiter (
        .stream_ready_i(stream_ready), .tag_request_i(tag_request), .seeds_request_i(seeds_request),
        .uniform_request_i(uniform_request), .sample_request_i(sample_request), .sample_tag_i(sample_tag),
        .request_o(stream_request), .tag_o(asked_tag), .tag_granted_o(tag_granted),
        .seeds_granted_o(seeds_granted), .uniform_granted_o(uniform_granted),
        .sample_granted_o(sample_granted)
    );
    cm_client_stream #(.TAG(3)) u_stream (
        .clk_i(clk_i), .rst_i(clears), .request_i(stream_request), .ready_o(stream_ready), .key_i(asked_key),
        .position_i(asked_position), .tag_i(asked_tag), .origin_tag_o(origin_tag), .origin_at_o(origin_at),
        .origin_i(origin), .valid_o(word_valid), .take_i(word_ready), .data_o(word_data), .tag_o(word_tag),
        .last_o(word_last)
    );
    cm_client_origins #(.LOG2_PRIMES(LOG2_PRIMES)) u_origins (
        .tag_key_i(tag_key), .tag_position_i(tag_position), .seeds_key_i(seeds_key),
        .seeds_position_i(seeds_position), .uniform_key_i(public_seed[511:256]),
        .uniform_prime_i(uniform_prime), .uniform_asked_i(uniform_asked), .uniform_left_i(uniform_left),
        .sample_key_i(private_seed), .sample_component_i(sample_component), .sample_asked_i(sample_asked),
        .sample_left_i(sample_left), .asked_tag_i(asked_tag), .key_o(asked_key), .position_o(asked_position),
        .tag_i(origin_tag), .at_i(origin_at), .words_o(origin)
    );

    // --- seeds ---------------------------------------------------------------------------------------------

    wire        seeds_start, seeds_free, seeds_done, seeds_hold, seeds_published;
    wire        opens;                // The next ciphertext that leaves asks for its public seed.
    wire        opened;               // The ciphertext that leaves has its public seed.
    wire        seed_read, read_shake; // Words of a frame's seed are read; it is a seed of SHAKE256.
    wire [63:0] seed_read_words;
    wire [63:0] front_counter = counter - 1'b1; // counter of the ciphertext at the front
    wire        draws, entropy_starts, entropy_tested;
    cm_client_seeds u_seeds (
        .clk_i(clk_i), .rst_i(clears), .keys_stay_i(keys_stay), .start_i(seeds_start), .bare_i(generates),
        .free_o(seeds_free), .done_o(seeds_done), .refused_o(seeds_refused), .holds_o(seeds_hold),
        .publish_i(opens), .whole_i(shake), .published_o(seeds_published), .read_i(seed_read),
        .read_whole_i(read_shake), .read_data_i(seed_read_words), .secret_i(device_secret),
        .counter_i(front_counter), .entropy_valid_i(entropy_valid_i && entropy_tested),
        .entropy_ready_o(draws), .entropy_i(entropy_i), .request_o(seeds_request), .ready_i(seeds_granted),
        .key_o(seeds_key), .position_o(seeds_position), .valid_i(word_valid && word_tag == FOR_SEEDS),
        .last_i(word_last), .data_i(word_data), .private_o(private_seed), .public_o(public_seed)
    );
    // Words are tested before any of them is used.
    // COUNTERMEASURE: RANDOM_START_UP
    assign entropy_ready_o = entropy_starts || (draws && entropy_tested);
    cm_client_health u_health (
        .clk_i(clk_i), .rst_i(clears && !keys_stay), .begin_i(accepted), .starting_o(entropy_starts),
        .tested_o(entropy_tested), .valid_i(entropy_valid_i && entropy_ready_o), .word_i(entropy_i),
        .failed_o(entropy_fails)
    );

    // --- the front: noise, u and the message ---------------------------------------------------------------

    wire [COUNT-1:0]   pieces_done;  // number of polynomials of noise and u
    wire [COUNT-1:0]   fills_done;   // number of messages
    wire [COUNT-1:0]   loads_done, lanes_done, streams_done;
    wire               noise_eight, ternary_eight, noise_place, sampling;
    wire [47:0]        noise_data;
    wire [15:0]        ternary_data;
    wire [LOG2_N-3:0]  groups;
    wire               message_free, fill_busy, filling;
    wire [LOG2_N:0]    filled;
    wire               scaled_valid, ckks_ready, ckks_busy, ckks_done;
    wire [WIDTH-1:0]   scaled, scale_m;
    wire [127:0]       wide_products; // The products of a pair are beside each other.
    wire [101:0]       second_products;
    wire [60:0]        whole_product;
    cm_client_sampling #(.LOG2_N(LOG2_N)) u_sampling (
        .clk_i(clk_i), .rst_i(clears), .accepted_i(accepted), .begins_i(begins), .draws_seeds_i(draws_seeds),
        .code_i(command_code_i), .symmetric_i(symmetric), .public_key_i(public_key), .generates_i(generates),
        .in_coefficients_i(in_coefficients), .primes_i(primes), .loads_done_i(loads_done),
        .fill_busy_i(fill_busy), .busy_o(front_busy), .message_free_o(message_free),
        .seeds_start_o(seeds_start), .seeds_free_i(seeds_free), .seeds_done_i(seeds_done),
        .request_o(sample_request), .tag_o(sample_tag), .granted_i(sample_granted), .asked_o(sample_asked),
        .left_o(sample_left), .component_o(sample_component), .word_valid_i(word_valid),
        .word_tag_i(word_tag), .word_i(word_data), .noise_ready_o(noise_ready),
        .ternary_ready_o(ternary_ready), .block_leaves_i(word_valid && word_ready && word_last),
        .noise_eight_o(noise_eight), .noise_o(noise_data), .ternary_eight_o(ternary_eight),
        .ternary_o(ternary_data), .place_o(noise_place), .groups_o(groups), .runs_o(sampling),
        .pieces_done_o(pieces_done)
    );
    cm_client_values #(.LOG2_N(LOG2_N), .WIDTH(WIDTH)) u_values (
        .clk_i(clk_i), .rst_i(clears), .starts_i(accepted && encryption), .begins_i(begins),
        .message_free_i(message_free), .ckks_i(ckks), .float_values_i(float_values),
        .signed_values_i(signed_values), .t_i(t), .t_half_i(t_half), .largest_i(largest),
        .value_valid_i(value_valid_i), .value_ready_o(value_ready_o), .value_i(value_i),
        .value_last_i(value_last_i), .ckks_ready_i(ckks_ready), .ckks_busy_i(ckks_busy),
        .ckks_done_i(ckks_done), .m_o(scale_m), .product_i(wide_products[64 +: WIDTH+1]),
        .whole_i(whole_product[WIDTH:0]), .scaled_valid_o(scaled_valid), .scaled_o(scaled), .filled_o(filled),
        .filling_o(filling), .busy_o(fill_busy), .fills_done_o(fills_done), .out_of_range_o(out_of_range),
        .too_many_o(too_many)
    );

    // --- the loader ----------------------------------------------------------------------------------------

    wire                   load_issues, load_busy, load_natural, load_place, loader_writes;
    wire [PAIR_BITS-1:0]   load_index, loaded_index;
    wire [1:0]             load_kind, load_set;
    wire [LOG2_PRIMES-1:0] load_prime, source_prime, stream_prime;
    wire [PAIR-1:0]        loaded;
    wire                   uniform_valid;
    wire                   streaming, stream_uses_loader, stream_issues, stream_place, component;
    wire [PAIR_BITS-1:0]   stream_index, source_index;
    wire                   source_natural, source_is_u, source_noise_place, source_message;
    wire                   message_reads, small_reads;
    wire                   sum_reads, sum_writes;
    wire [PAIR_BITS-1:0]   sum_read_index, sum_index;
    wire [63:0]            sums, message_pair;
    wire [11:0]            small_pair;
    wire                   coded; // Encoded pairs leave.
    wire [PAIR_BITS-1:0]   coded_index, decoded_index, decoded_mirror;
    wire [63:0]            coded_pair;
    cm_client_load_control #(.LOG2_N(LOG2_N), .LOG2_PRIMES(LOG2_PRIMES), .LOADED(LOADED)) u_load_control (
        .clk_i(clk_i), .rst_i(clears), .begins_i(begins), .decrypts_i(decrypts),
        .makes_tables_i(makes_tables), .publishes_i(publishes), .enters_i(enters), .symmetric_i(symmetric),
        .public_key_i(public_key), .in_coefficients_i(in_coefficients), .pieces_i(pieces_of_one),
        .begun_i(begun),
        .last_prime_i(last_prime), .pieces_done_i(pieces_done), .sampling_i(sampling), .groups_i(groups),
        .fills_done_i(fills_done), .filling_i(filling), .filled_i(filled), .uniform_valid_i(uniform_valid),
        .streams_done_i(streams_done), .streaming_i(streaming), .stream_index_i(stream_index),
        .issue_o(load_issues), .index_o(load_index), .busy_o(load_busy), .kind_o(load_kind),
        .natural_o(load_natural), .prime_o(load_prime), .place_o(load_place), .write_o(loader_writes),
        .set_o(load_set), .write_index_o(loaded_index), .loads_done_o(loads_done)
    );
    cm_client_source #(.LOG2_N(LOG2_N), .LOG2_PRIMES(LOG2_PRIMES)) u_source (
        .clk_i(clk_i), .decrypts_i(decrypts), .publishes_i(publishes), .public_key_i(public_key),
        .ckks_i(ckks), .load_issue_i(load_issues), .load_index_i(load_index), .load_kind_i(load_kind),
        .load_place_i(load_place), .load_prime_i(load_prime), .stream_uses_loader_i(stream_uses_loader),
        .stream_running_i(streaming), .stream_issue_i(stream_issues), .stream_index_i(stream_index),
        .stream_component_i(component), .stream_place_i(stream_place), .stream_prime_i(stream_prime),
        .sum_read_i(sum_reads), .sum_index_i(sum_read_index), .decoded_index_i(decoded_index),
        .natural_o(source_natural), .index_o(source_index), .message_read_o(message_reads),
        .small_read_o(small_reads), .u_o(source_is_u), .noise_place_o(source_noise_place),
        .message_o(source_message), .prime_o(source_prime)
    );
    cm_client_message_memory #(.LOG2_N(LOG2_N), .WIDTH(WIDTH)) u_message_memory (
        .clk_i(clk_i), .wipe_i(wipes), .wipe_address_i(wipe_address), .scaled_valid_i(scaled_valid),
        .scaled_index_i(filled), .scaled_i(scaled), .sums_valid_i(sum_writes), .sums_index_i(sum_index),
        .sums_i(sums), .coded_valid_i(coded), .coded_index_i(coded_index), .coded_i(coded_pair),
        .read_i(message_reads), .natural_i(source_natural), .index_i(source_index),
        .decodes_i(decrypts && ckks), .mirror_i(decoded_mirror), .pair_o(message_pair)
    );
    cm_client_noise_memory #(.LOG2_N(LOG2_N)) u_noise_memory (
        .clk_i(clk_i), .wipe_i(wipes), .wipe_address_i(wipe_address), .groups_i(groups),
        .noise_valid_i(noise_eight), .noise_place_i(noise_place), .noise_i(noise_data),
        .ternary_valid_i(ternary_eight), .ternary_i(ternary_data), .trits_valid_i(trits_write),
        .trits_group_i(table_index[LOG2_N-4:0]), .trits_i(write_data_i[15:0]), .read_i(small_reads),
        .natural_i(source_natural), .index_i(source_index), .u_i(source_is_u), .place_i(source_noise_place),
        .pair_o(small_pair)
    );
    cm_client_loader #(
        .LOG2_N(LOG2_N), .WIDTH(WIDTH), .MESSAGE_WIDTH(MESSAGE_WIDTH), .DEEP(DEEP),
        .MULTIPLIER_WIDTH(MULTIPLIER_WIDTH)
    ) u_loader (
        .clk_i(clk_i), .q_i(prime_q[source_prime]), .factor_i(prime_factor[source_prime]),
        .offset_i(prime_offset[source_prime]), .message_i(source_message), .r_i(message_pair),
        .small_i(small_pair), .pair_o(loaded)
    );

    // --- the lanes -----------------------------------------------------------------------------------------

    wire                   lanes_busy, lanes_end, lane_start, lane_inverse;
    wire [1:0]             lane_set;
    wire [LOG2_PRIMES-1:0] lane_prime;
    wire [PAIR-1:0]        drawn_pair, drawn_late, set_a, set_b, streamed;
    wire                   stream_adds, stream_leaves, stream_writes;
    // The set is read late, or not used.
    wire                   stream_a_is_late = stream_leaves || (symmetric && !in_coefficients);
    wire [1:0]             stream_a_set, stream_b_set, stream_to_set;
    wire [PAIR_BITS-1:0]   stream_late; // pair whose residues in the set are added to its product
    wire [PAIR_BITS-1:0]   streamed_index;
    wire                   drain_issues;
    // The half that is entered of a pair of a table, or of a key.
    wire [1:0]             half_entered = {table_index[0], !table_index[0]};
    wire                   twiddles_come = makes_tables && !table_write; // TABLES may be the last command.
    wire                   stream_to_table, stream_drained, twiddles_ready, twiddles_square;
    wire                   twiddles_leave, twiddles_lower, twiddles_factor;
    wire [1:0]             twiddles_write;
    wire [PAIR_BITS-1:0]   twiddles_index, twiddles_to, product_index;
    wire [1:0]             drain_set;
    wire [PAIR_BITS-1:0]   drain_index;
    cm_client_lane_control #(.LOG2_PRIMES(LOG2_PRIMES)) u_lane_control (
        .clk_i(clk_i), .rst_i(clears), .begins_i(begins), .decrypts_i(decrypts), .public_key_i(public_key),
        .in_coefficients_i(in_coefficients), .works_i(begun != finished), .last_prime_i(last_prime),
        .loads_done_i(loads_done), .streams_done_i(streams_done), .busy_i(lanes_busy), .done_i(lanes_end),
        .start_o(lane_start), .inverse_o(lane_inverse), .set_o(lane_set), .prime_o(lane_prime),
        .lanes_done_o(lanes_done)
    );
    cm_client_lanes #(
        .LOG2_N(LOG2_N), .WIDTH(WIDTH), .LOG2_UNITS(LOG2_UNITS), .PRIMES(PRIMES), .LOG2_PRIMES(LOG2_PRIMES),
        .SETS(3), .DEEP(DEEP), .MULTIPLIER_WIDTH(MULTIPLIER_WIDTH)
    ) u_lanes (
        .clk_i(clk_i), .rst_i(clears),
        .start_i(lane_start), .inverse_i(lane_inverse), .set_i(lane_set), .prime_i(lane_prime),
        .q_i(prime_q[lane_prime]), .busy_o(lanes_busy), .done_o(lanes_end),
        .a_read_i(stream_a_is_late ? stream_adds : stream_issues), .a_natural_i(stream_leaves),
        .a_set_i(stream_a_set), .a_index_i(stream_a_is_late ? stream_late : stream_index), .a_o(set_a),
        .b_read_i(decrypts ? drain_issues : stream_adds), .b_natural_i(decrypts),
        .b_set_i(decrypts ? drain_set : stream_b_set),
        .b_index_i(decrypts ? drain_index : stream_late), .b_o(set_b),
        .write_i(loader_writes || stream_writes), .write_natural_i(loader_writes && load_natural),
        .write_set_i(loader_writes ? load_set : stream_to_set),
        .write_index_i(loader_writes ? loaded_index : streamed_index),
        .write_data_i(loader_writes ? (load_natural ? drawn_late : loaded) : streamed),
        .wipe_i(wipes), .wipe_address_i(wipe_address),
        .table_write_i(twiddles_come ? twiddles_write : half_entered & {2{table_write}}),
        .table_read_i(twiddles_leave), .table_prime_i(twiddles_come ? stream_prime : table_prime),
        .table_index_i(twiddles_come ? twiddles_to : table_index[LOG2_N-1:1]),
        .table_data_i(!twiddles_come ? {2{write_data_i[WIDTH-1:0]}}
                      : twiddles_lower ? {2{streamed[WIDTH-1:0]}} : streamed),
        .table_read_index_i(twiddles_index)
    );

    // --- the stream ----------------------------------------------------------------------------------------

    wire [COUNT-1:0]     drains_done, streamed_sets, read_sets, drained_sets;
    wire                 read_known, read_seeded, read_pair_valid, frame_ready, result_ends;
    wire                 queue_room, queue_valid, queue_take, result_taken, drain_gives, result_writes;
    wire                 stream_multiplies, takes_off, from_read, needs_uniform, last_item;
    wire                 stream_to_key, stream_to_frame, stream_gives, seed_start, frame_start;
    wire [PAIR-1:0]      queue_pair, message_made, secret_pair, public_pair_0, public_pair_1;
    cm_client_stream_control #(
        .LOG2_N(LOG2_N), .LOG2_PRIMES(LOG2_PRIMES), .PRODUCED(PRODUCED), .LOADED(LOADED), .ADD(ADD)
    ) u_stream_control (
        .clk_i(clk_i), .rst_i(clears), .begins_i(begins), .decrypts_i(decrypts), .encrypts_i(encrypts),
        .loads_key_i(loads_key), .makes_tables_i(makes_tables), .symmetric_i(symmetric),
        .public_key_i(public_key), .in_coefficients_i(in_coefficients), .pieces_i(pieces_of_one),
        .begun_i(begun), .last_prime_i(last_prime), .pieces_done_i(pieces_done), .fills_done_i(fills_done),
        .lanes_done_i(lanes_done), .drains_done_i(drains_done), .drain_set_i(drain_set),
        .load_busy_i(load_busy), .uniform_valid_i(uniform_valid), .read_known_i(read_known),
        .read_seeded_i(read_seeded), .read_valid_i(read_pair_valid), .frame_ready_i(frame_ready),
        .room_i(queue_room), .table_ready_i(twiddles_ready),
        .table_enters_i(twiddles_square), .result_ends_i(result_ends), .seeds_hold_i(seeds_hold),
        .seeds_published_i(seeds_published), .opens_o(opens), .opened_o(opened), .running_o(streaming),
        .uses_loader_o(stream_uses_loader), .issue_o(stream_issues), .index_o(stream_index),
        .add_o(stream_adds), .prime_o(stream_prime), .place_o(stream_place), .component_o(component),
        .multiplies_o(stream_multiplies), .leaves_o(stream_leaves), .takes_off_o(takes_off),
        .from_read_o(from_read), .needs_uniform_o(needs_uniform), .a_set_o(stream_a_set),
        .b_set_o(stream_b_set), .to_set_o(stream_to_set), .writes_set_o(stream_writes),
        .writes_key_o(stream_to_key), .writes_table_o(stream_to_table), .drained_o(stream_drained),
        .writes_frame_o(stream_to_frame), .reserves_o(stream_gives), .seed_start_o(seed_start),
        .frame_start_o(frame_start), .last_item_o(last_item),
        .key_loaded_o(secret_loaded), .streams_done_o(streams_done), .streamed_o(streamed_sets),
        .finished_o(finished)
    );

    // Twiddles are made as a key is loaded: from their table, and back to it.
    cm_client_twiddles #(.LOG2_N(LOG2_N), .LOG2_UNITS(LOG2_UNITS)) u_twiddles (
        .clk_i(clk_i), .rst_i(clears), .runs_i(streaming && makes_tables), .index_i(stream_index),
        .issue_i(stream_issues && makes_tables), .drained_i(stream_drained), .writes_i(stream_to_table),
        .product_index_i(product_index), .ready_o(twiddles_ready), .squares_o(twiddles_square),
        .read_o(twiddles_leave), .read_index_o(twiddles_index), .write_o(twiddles_write),
        .write_lower_o(twiddles_lower), .write_index_o(twiddles_to), .takes_factor_o(twiddles_factor)
    );

    // Keys, by pair: the secret key's transform, negated, and the public key's components, all times R. A
    // wipe first writes zeros to the secret key, and then reads one, so that no pair is left at its output.
    wire                 key_clears = wipes_keys && !wipe_address[PAIR_BITS];
    wire [PAIR_BITS-1:0] secret_at = wipes ? wipe_address[PAIR_BITS-1:0] : stream_to_key ? product_index
        : stream_index;
    wire                 secret_reads = stream_issues
        && ((symmetric && !stream_leaves) || (decrypts && !takes_off));
    cm_client_key #(
        .WIDTH(WIDTH), .PRIMES(PRIMES), .LOG2_PRIMES(LOG2_PRIMES), .PAIR_BITS(PAIR_BITS)
    ) u_secret (
        .clk_i(clk_i), .wipe_i(wipes), .prime_i(stream_prime), .index_i(secret_at),
        .write_i({2{key_clears || stream_to_key}}), .pair_i(wipes ? {PAIR{1'b0}} : streamed),
        .read_i(wipes || secret_reads), .pair_o(secret_pair)
    );
    wire [LOG2_PRIMES-1:0] public_prime = key_write ? table_prime : stream_prime;
    wire [PAIR_BITS-1:0]   public_at = key_write ? table_index[LOG2_N-1:1] : stream_index;
    wire                   public_reads = stream_issues && public_key && !stream_leaves;
    cm_client_key #(
        .WIDTH(WIDTH), .PRIMES(PRIMES), .LOG2_PRIMES(LOG2_PRIMES), .PAIR_BITS(PAIR_BITS)
    ) u_public_0 (
        .clk_i(clk_i), .wipe_i(1'b0), .prime_i(public_prime), .index_i(public_at),
        .write_i(half_entered & {2{key_write && !table_component}}), .pair_i({2{write_data_i[WIDTH-1:0]}}),
        .read_i(public_reads && !component), .pair_o(public_pair_0)
    );
    cm_client_key #(
        .WIDTH(WIDTH), .PRIMES(PRIMES), .LOG2_PRIMES(LOG2_PRIMES), .PAIR_BITS(PAIR_BITS)
    ) u_public_1 (
        .clk_i(clk_i), .wipe_i(1'b0), .prime_i(public_prime), .index_i(public_at),
        .write_i(half_entered & {2{key_write && table_component}}), .pair_i({2{write_data_i[WIDTH-1:0]}}),
        .read_i(public_reads && component), .pair_o(public_pair_1)
    );
    cm_client_multiply_add #(
        .LOG2_N(LOG2_N), .WIDTH(WIDTH), .DEEP(DEEP), .MULTIPLIER_WIDTH(MULTIPLIER_WIDTH), .PRODUCED(PRODUCED),
        .LOADED(LOADED), .ADD(ADD)
    ) u_multiply_add (
        .clk_i(clk_i), .q_i(prime_q[stream_prime]), .index_i(stream_index), .decrypts_i(decrypts),
        .loads_key_i(loads_key), .makes_tables_i(makes_tables), .takes_factor_i(twiddles_factor),
        .public_key_i(public_key), .component_i(component),
        .multiplies_i(stream_multiplies), .leaves_i(stream_leaves), .takes_off_i(takes_off),
        .needs_uniform_i(needs_uniform), .drawn_i(drawn_late), .set_a_i(set_a),
        .key_factor_i(prime_key_factor[stream_prime]), .secret_i(secret_pair), .public_0_i(public_pair_0),
        .public_1_i(public_pair_1), .set_b_i(set_b), .loaded_i(loaded), .late_index_o(stream_late),
        .sum_o(streamed), .sum_index_o(streamed_index), .product_index_o(product_index)
    );

    // --- the public half -----------------------------------------------------------------------------------

    // It is made here, or that of a frame that is read. By SHAKE256, the queue leaves room for what is under
    // way.
    localparam [LOG2_DRAWN:0] SHAKE_LEVEL = (1 << LOG2_DRAWN) - 12;
    wire                   by_shake = decrypts ? read_shake : shake;
    wire                   uniform_wanted = decrypts ? read_known && read_seeded : symmetric && opened;
    wire                   uniform_taken = (load_issues && load_natural) || (stream_issues && needs_uniform);
    wire [LOG2_DRAWN:0]    uniform_level;
    wire                   uniform_pair_made, shake_pair_made;
    wire [PAIR-1:0]        uniform_made, shake_made, uniform_pair, read_pair;
    wire [LOG2_PRIMES-1:0] shake_prime;
    cm_client_uniform_control #(
        .LOG2_N(LOG2_N), .WIDTH(WIDTH), .LOG2_PRIMES(LOG2_PRIMES), .LOG2_DEPTH(LOG2_DRAWN)
    ) u_uniform_control (
        .clk_i(clk_i), .rst_i(clears), .run_i(uniform_wanted && !by_shake), .last_prime_i(last_prime),
        .prime_o(uniform_prime), .q_i(prime_q[uniform_prime]), .bits_i(prime_bits[uniform_prime]),
        .level_i(uniform_level), .request_o(uniform_request), .granted_i(uniform_granted),
        .asked_o(uniform_asked), .left_o(uniform_left), .word_valid_i(word_valid && word_tag == FOR_UNIFORM),
        .word_ready_o(uniform_ready), .word_last_i(word_last), .word_i(word_data), .pair_o(uniform_pair_made),
        .pair_data_o(uniform_made)
    );
    cm_client_shake #(
        .WIDTH(WIDTH), .LOG2_N(LOG2_N), .LOG2_PRIMES(LOG2_PRIMES), .ONE_BITS(LOG2_N + 1)
    ) u_shake (
        .clk_i(clk_i), .rst_i(clears), .run_i(uniform_wanted && by_shake), .seed_i(public_seed),
        .last_prime_i(last_prime), .prime_o(shake_prime), .q_i(prime_q[shake_prime]),
        .room_i(uniform_level <= SHAKE_LEVEL), .pair_o(shake_pair_made), .pair_data_o(shake_made)
    );
    cm_client_fifo #(.WIDTH(PAIR), .LOG2_DEPTH(LOG2_DRAWN)) u_uniform_queue (
        .clk_i(clk_i), .rst_i(clears), .wipe_i(wipes), .write_i(uniform_pair_made || shake_pair_made),
        .data_i(by_shake ? shake_made : uniform_made), .valid_o(uniform_valid), .take_i(uniform_taken),
        .data_o(uniform_pair), .level_o(uniform_level)
    );
    assign drawn_pair = from_read ? read_pair : uniform_pair;
    cm_delay #(.WIDTH(PAIR), .CYCLES(2)) u_drawn_late (
        .clk_i(clk_i), .data_i(drawn_pair), .data_o(drawn_late)
    );

    // --- frames out ----------------------------------------------------------------------------------------

    wire         hash_ready, tag_known;
    wire         sent_start, sent_absorb, sent_finish, read_start, read_absorb, read_finish;
    wire [63:0]  tag, answer_counter;
    wire [159:0] tag_fields;
    // Ciphertexts behind the one that leaves have taken the next counters. At most three are under way.
    wire [1:0]   counted = begun[1:0] - streamed_sets[1:0];
    wire [63:0]  sent_counter = counter - {62'd0, counted};
    cm_client_output_queue #(.WIDTH(PAIR), .LOG2_DEPTH(LOG2_QUEUE)) u_queue (
        .clk_i(clk_i), .rst_i(clears), .wipe_i(wipes), .room_o(queue_room),
        .reserve_i(stream_gives || drain_gives), .write_i(decrypts ? result_writes : stream_to_frame),
        .data_i(decrypts ? message_made : streamed), .valid_o(queue_valid),
        .take_i(queue_take || result_taken), .data_o(queue_pair)
    );
    wire         frame_pair_valid = queue_valid && !decrypts;
    wire         frame_pair_ready;
    assign       queue_take = frame_pair_valid && frame_pair_ready;
    cm_client_writer #(.LOG2_N(LOG2_N), .WIDTH(WIDTH), .LOG2_PRIMES(LOG2_PRIMES)) u_writer (
        .clk_i(clk_i), .rst_i(clears), .frame_start_i(frame_start), .seed_start_i(seed_start),
        .frame_ready_o(frame_ready), .prime_i(stream_prime), .bits_i(prime_bits[stream_prime]),
        .component_i(component), .last_item_i(last_item), .params_id_i(params_id), .key_id_i(key_id),
        .scale_i(frame_scale), .scheme_i(scheme), .primes_i(primes), .shake_i(shake), .with_tags_i(with_tags),
        .symmetric_i(symmetric), .publishes_i(publishes), .in_coefficients_i(in_coefficients),
        .counter_i(sent_counter), .tag_fields_i(tag_fields), .seed_i(public_seed),
        .pair_valid_i(frame_pair_valid), .pair_ready_o(frame_pair_ready), .pair_i(queue_pair),
        .hash_start_o(sent_start), .hash_ready_i(hash_ready), .hash_absorb_o(sent_absorb),
        .hash_finish_o(sent_finish), .tag_known_i(tag_known), .tag_i(tag), .valid_o(frame_valid_o),
        .take_i(frame_ready_i), .word_o(frame_o), .last_o(frame_last_o)
    );
    cm_client_tags #(.DIGIT(TAG_DIGIT)) u_tags (
        .clk_i(clk_i), .rst_i(clears), .keys_stay_i(keys_stay), .setting_i(global_write),
        .at_i(write_address_i[7:0]), .data_i(write_data_i), .there_o(tag_keys_there), .counter_i(counter),
        .late_o(window_late), .reads_i(decrypts), .sent_counter_i(sent_counter),
        .sent_random_i(shake ? public_seed[63:0] : public_seed[319:256]),
        .answer_counter_o(answer_counter), .fields_o(tag_fields),
        .start_i(decrypts ? read_start : sent_start), .ready_o(hash_ready),
        .absorb_i(decrypts ? read_absorb : sent_absorb), .word_i(decrypts ? read_i : frame_o),
        .finish_i(decrypts ? read_finish : sent_finish), .known_o(tag_known), .tag_o(tag),
        .request_o(tag_request), .ready_i(tag_granted), .key_o(tag_key), .position_o(tag_position),
        .valid_i(word_valid && word_tag == FOR_TAG), .last_i(word_last), .block_i(word_data)
    );

    // --- decryption ----------------------------------------------------------------------------------------

    wire [LOG2_PRIMES-1:0] read_prime, drain_prime;
    wire                   read_set_done, payload_valid, payload_ready;
    wire                   two_a_word, sums_upper, ckks_minus, decoding;
    wire [63:0]            sums_made;
    wire                   decoded_valid, decoded_last;
    wire [31:0]            decoded;
    cm_client_reader #(.LOG2_N(LOG2_N), .LOG2_PRIMES(LOG2_PRIMES)) u_reader (
        .clk_i(clk_i), .rst_i(clears), .enabled_i(decrypts && begun != read_sets), .params_i(params_id),
        .key_id_i(key_id), .scale_i(frame_scale), .scheme_i(scheme), .last_prime_i(last_prime),
        .bits_i(prime_bits[read_prime]), .prime_o(read_prime), .tagged_i(with_tags),
        .counter_i(answer_counter), .fields_i(tag_fields), .hash_start_o(read_start),
        .hash_ready_i(hash_ready), .hash_absorb_o(read_absorb), .hash_finish_o(read_finish),
        .tag_known_i(tag_known), .tag_i(tag), .valid_i(read_valid_i), .ready_o(read_ready_o), .word_i(read_i),
        .payload_valid_o(payload_valid), .payload_ready_i(payload_ready), .known_o(read_known),
        .seeded_o(read_seeded), .shake_o(read_shake), .seed_read_o(seed_read), .seed_o(seed_read_words),
        .set_done_o(read_set_done), .fault_o(read_fault)
    );
    cm_client_unpacker #(.WIDTH(WIDTH)) u_unpacker (
        .clk_i(clk_i), .rst_i(clears), .bits_i(prime_bits[stream_prime]), .q_i(prime_q[stream_prime]),
        .valid_i(payload_valid), .ready_o(payload_ready), .word_i(read_i), .pair_o(read_pair_valid),
        .take_i(stream_issues && from_read), .pair_data_o(read_pair), .wrong_o(residue_fault)
    );
    cm_client_drain #(.LOG2_N(LOG2_N), .WIDTH(WIDTH), .LOG2_PRIMES(LOG2_PRIMES)) u_drain (
        .clk_i(clk_i), .rst_i(clears), .begins_i(begins), .decrypts_i(decrypts), .ckks_i(ckks), .t_i(t),
        .last_prime_i(last_prime), .read_done_i(read_set_done), .lanes_done_i(lanes_done),
        .finished_i(finished), .room_i(queue_room), .issue_o(drain_issues), .index_o(drain_index),
        .set_o(drain_set), .prime_o(drain_prime), .upper_o(sums_upper), .wide_i(wide_products),
        .second_i(second_products), .whole_i(whole_product), .sum_read_o(sum_reads),
        .sum_read_index_o(sum_read_index), .sums_i(message_pair), .sum_write_o(sum_writes),
        .sum_index_o(sum_index), .sums_made_o(sums_made), .sums_o(sums), .two_a_word_o(two_a_word),
        .reserve_o(drain_gives), .message_write_o(result_writes), .message_o(message_made),
        .read_o(read_sets), .drains_done_o(drains_done), .drained_o(drained_sets)
    );
    cm_client_message_output #(.LOG2_N(LOG2_N), .WIDTH(WIDTH)) u_message_output (
        .clk_i(clk_i), .rst_i(clears), .ckks_i(ckks), .two_a_word_i(two_a_word),
        .pair_valid_i(queue_valid && decrypts), .pair_taken_o(result_taken), .pair_i(queue_pair),
        .decoded_valid_i(decoded_valid), .decoded_i(decoded), .decoded_last_i(decoded_last),
        .valid_o(result_valid_o), .take_i(result_ready_i), .word_o(result_o), .last_o(result_last_o),
        .ends_o(result_ends)
    );

    // --- CKKS, and the products that it shares -------------------------------------------------------------

    // While the codec rests, a decryption of CKKS takes the residue itself.
    wire [63:0] drain_fraction = ckks ? 64'h1_0000_0000 : prime_fraction[drain_prime];
    wire [65:0] ckks_coordinates;
    wire [53:0] ckks_first_digits;
    wire [35:0] ckks_second_digits;
    cm_client_products #(.WIDTH(WIDTH), .SILICON((MULTIPLIER_WIDTH == 64) ? 1 : 0)) u_products (
        .clk_i(clk_i), .rst_i(clears), .codec_i(ckks && (decoding || !decrypts)), .sums_i(decrypts),
        .coordinates_i(ckks_coordinates), .first_digits_i(ckks_first_digits),
        .second_digits_i(ckks_second_digits), .minus_i(ckks_minus), .fraction_i(drain_fraction),
        .residues_i(set_b), .sums_so_far_i(sums_made), .by_turns_i(!two_a_word), .upper_i(sums_upper),
        .message_i(scale_m), .ratio_i(t_ratio), .factor_i(t_factor), .t_i(t),
        .wide_o(wide_products), .second_o(second_products), .whole_o(whole_product)
    );
    cm_client_ckks #(.LOG2_N(LOG2_N), .WIDTH(WIDTH)) u_ckks (
        .clk_i(clk_i), .rst_i(clears), .complex_i(complex_slots), .float_i(float_values),
        .exponent_i(ckks_exponent), .scale_log2_i(ckks_scale), .limit_log2_i(ckks_limit),
        .coefficients_i(coefficients), .one_prime_i(last_prime == {LOG2_PRIMES{1'b0}}), .q_i(prime_q[0]),
        .bits_i(prime_bits[0]), .encodes_o(encodes_ckks), .decodes_o(decodes_ckks),
        .encode_i(accepted && encryption && ckks), .free_i(message_free), .busy_o(ckks_busy),
        .done_o(ckks_done), .value_valid_i(value_valid_i), .value_ready_o(ckks_ready), .value_i(value_i),
        .value_last_i(value_last_i), .wrong_o(ckks_wrong), .too_many_o(ckks_too_many), .pair_o(coded),
        .pair_index_o(coded_index), .pair_data_o(coded_pair),
        .decode_i(decrypts && ckks && !reached(finished, drained_sets)), .decoding_o(decoding),
        .read_index_o(decoded_index), .mirror_o(decoded_mirror),
        .read_i({message_pair[32 +: WIDTH], message_pair[0 +: WIDTH]}), .result_valid_o(decoded_valid),
        .result_ready_i(result_ready_i), .result_o(decoded), .result_last_o(decoded_last),
        .result_wrong_o(decoded_wrong), .coordinates_o(ckks_coordinates), .first_digits_o(ckks_first_digits),
        .second_digits_o(ckks_second_digits), .minus_o(ckks_minus), .wide_i(wide_products),
        .second_i(second_products)
    );
endmodule
`default_nettype wire
