// SPDX-License-Identifier: Apache-2.0
// The client engine, without a bus: it takes a message and gives the frames of its ciphertext, the same bytes as the C
// library, and it takes frames and gives their message. Keys, seeds and noise never leave it. docs/client-engine.md
// explains how it works, docs/client-engine-integration.md how to use it; cm_client_axi puts it on a bus.
//
// Three machines work through the items of one prime after the other: the loader fills a set of residues, the lanes
// transform it, and the stream multiplies, adds and passes the result on. Each counts the items that it has done, and
// starts its next one when the others' counts say that what it needs is there.
`default_nettype none
module cm_client_engine #(
    parameter integer LOG2_N = 12,           // 10 .. 13: log2 of the ring degree n
    parameter integer WIDTH = 27,            // 22 .. 27: bits of the widest prime
    parameter integer LOG2_UNITS = 3,        // 1 .. 4: log2 of the number of butterflies
    parameter integer PRIMES = 3,            // 2 .. 7: the most primes of a ciphertext
    parameter integer DEEP = 1,              // 1: a longer pipeline, for a higher clock on FPGAs; 0: the shorter one
    parameter integer MULTIPLIER_WIDTH = 24, // 17, 24 or 64: cm_montgomery_multiply
    parameter integer TAG_DIGIT = 4          // 4, 8, 16 or 32: cm_client_poly1305
) (
    input  wire        clk_i,
    input  wire        rst_i,   // synchronous; wipes everything, and ready_o and idle_o are low until that is done
    input  wire        abort_i, // the same, but keys and the secrets of the device stay
    // Settings, by their numbers in cm_client_map.svh: written while idle_o, and never read.
    input  wire        write_i,
    input  wire [11:0] write_address_i,
    input  wire [31:0] write_data_i,
    // A command, by its number in cm_client_map.svh. Hold it until ready_o: it is taken in that cycle.
    input  wire        command_i,
    input  wire [3:0]  command_code_i,
    output wire        ready_o,
    output wire        idle_o,  // no work, no wipe and no word to give is left
    output reg  [3:0]  fault_o, // by its number in cm_client_map.svh, until the next command is taken; 0: none
    output reg         faults_o, // for a cycle, with the first one of each fault
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
        `CM_REFUSE(g_bad_log2_n, LOG2_N < 10 || LOG2_N > 13, "cm_client_engine: LOG2_N must be from 10 to 13.")
        `CM_REFUSE(g_bad_width, WIDTH < 22 || WIDTH > 27, "cm_client_engine: WIDTH must be from 22 to 27.")
        `CM_REFUSE(g_bad_log2_units, LOG2_UNITS < 1 || LOG2_UNITS > 4,
                   "cm_client_engine: LOG2_UNITS must be from 1 to 4.")
        `CM_REFUSE(g_bad_primes, PRIMES < 2 || PRIMES > 7, "cm_client_engine: PRIMES must be from 2 to 7.")
        `CM_REFUSE(g_bad_deep, DEEP < 0 || DEEP > 1, "cm_client_engine: DEEP must be 0 or 1.")
        `CM_REFUSE(g_bad_multiplier_width, MULTIPLIER_WIDTH != 17 && MULTIPLIER_WIDTH != 24 && MULTIPLIER_WIDTH != 64,
                   "cm_client_engine: MULTIPLIER_WIDTH must be 17, 24 or 64.")
        `CM_REFUSE(g_bad_tag_digit, TAG_DIGIT != 4 && TAG_DIGIT != 8 && TAG_DIGIT != 16 && TAG_DIGIT != 32,
                   "cm_client_engine: TAG_DIGIT must be 4, 8, 16 or 32.")
    endgenerate
    `include "cm_latency.svh"
    `include "cm_client_map.svh"
    localparam integer LOG2_PRIMES = (PRIMES > 4) ? 3 : (PRIMES > 2) ? 2 : 1;
    localparam integer PAIR = 2 * WIDTH;
    localparam integer PAIR_BITS = LOG2_N - 1; // of a pair's number
    localparam [7:0] LAST_PRIME = PRIMES[7:0] - 8'd1;
    localparam [PAIR_BITS-1:0] LAST_PAIR = {PAIR_BITS{1'b1}};
    localparam integer MESSAGE_WIDTH = 32;
    localparam integer MULTIPLY = multiply_latency(WIDTH, LOG2_N, MULTIPLIER_WIDTH, DEEP);
    localparam integer ADD = add_latency(DEEP);
    // From the number of a pair to the loader's pair, to the stream's product, and to the stream's pair: where the
    // product is added to, or what the loader gives.
    localparam integer LOADED = 2 + multiply_latency(MESSAGE_WIDTH, LOG2_N, MULTIPLIER_WIDTH, DEEP) + ADD;
    localparam integer PRODUCED = 2 + MULTIPLY;
    localparam integer STREAMED = PRODUCED + ADD, LEFT = LOADED + ADD;

    localparam [3:0] SYMMETRIC = COMMAND_SYMMETRIC, PUBLIC = COMMAND_PUBLIC, LOAD_KEY = COMMAND_LOAD_KEY,
                     DECRYPT = COMMAND_DECRYPT, GENERATE = COMMAND_GENERATE, PUBLISH = COMMAND_PUBLISH;

    genvar g;

    // --- settings --------------------------------------------------------------------------------------------------

    reg [31:0]            params_id;
    reg [63:0]            key_id;
    reg [63:0]            scale;    // or t
    reg [63:0]            counter;  // of the next ciphertext
    reg [31:0]            counter_low; // as it was written: it is taken with the upper word
    reg                   counter_set; // since keys were wiped
    reg [63:0]            counter_end;
    reg [255:0]           device_secret;
    reg [3:0]             secret_words; // of it that were entered, in order
    reg                   secret_alike; // all bytes of these are
    reg [WIDTH-1:0]       t, t_factor, t_half;
    reg [31:0]            t_ratio;
    reg [LOG2_PRIMES-1:0] last_prime;
    reg                   primes_fit;
    reg                   signed_values;
    reg                   coefficients; // coefficient form
    reg                   shake;        // public halves by SHAKE256
    reg                   with_tags;       // frames of version 2
    reg                   ckks, complex_slots, float_values;
    reg [31:0]            largest;
    reg [2:0]             policy;
    reg                   fixed;    // since a command was taken, until keys are wiped: policy and secrets are
    reg [9:0]             ckks_exponent;
    reg [5:0]             ckks_scale, ckks_limit; // log2
    reg [WIDTH-1:0]       prime_q [0:PRIMES-1];
    reg [4:0]             prime_bits [0:PRIMES-1];
    reg [WIDTH-1:0]       prime_factor [0:PRIMES-1];
    reg [WIDTH-1:0]       prime_offset [0:PRIMES-1];
    reg [WIDTH-1:0]       prime_key_factor [0:PRIMES-1];
    reg [63:0]            prime_fraction [0:PRIMES-1];
    reg [LOG2_PRIMES-1:0] table_prime;
    reg [LOG2_N-1:0]      table_index;
    reg                   table_component;

    wire wipes;   // all memories are being cleared
    wire wipes_keys; // those of keys too
    wire clears;  // all registers are
    wire accepted; // a command is taken, and works
    wire keys_stay; // but those of keys
    wire is_prime = write_address_i[11:8] == MAP_PRIMES;
    wire is_global = write_address_i[11:8] == MAP_GLOBAL;
    wire [7:0] at = write_address_i[7:0];
    // What the first command fixes until keys are wiped: what the key may do, and what would undo that. A tag binds what
    // is decrypted to its t, and these are the other numbers that decide how much of a result leaves.
    wire at_tag_key = (at >= MAP_TAG_KEY && at < MAP_TAG_KEY + 8'd12)
        || (at >= MAP_RESULT_KEY && at < MAP_RESULT_KEY + 8'd12);
    wire at_secret = at[7:3] == MAP_DEVICE_SECRET[7:3];
    wire at_fraction = at[2:0] == MAP_PRIME_FRACTION || at[2:0] == MAP_PRIME_FRACTION + 3'd1;
    wire is_fixed = fixed && ((is_global && (at == MAP_POLICY || at_secret || at_tag_key))
        || (is_prime && at_fraction && policy[1:0] == DECRYPT_TAGGED));
    wire fixed_write = write_i && idle_o && is_fixed;
    wire setting = write_i && idle_o && !is_fixed;
    wire table_write = setting && is_global && at == MAP_TABLE_DATA;
    wire key_write = setting && is_global && at == MAP_PUBLIC_KEY_DATA;
    wire trits_write = setting && is_global && at == MAP_TRITS;
    wire table_place = setting && is_global && at == MAP_TABLE_PLACE;
    integer i;

    always_ff @(posedge clk_i) begin
        if (setting && is_global) begin
            case (at)
                MAP_PARAMS: params_id <= write_data_i;
                MAP_KEY_ID: key_id[31:0] <= write_data_i;
                MAP_KEY_ID + 8'd1: key_id[63:32] <= write_data_i;
                MAP_SCALE: scale[31:0] <= write_data_i;
                MAP_SCALE + 8'd1: scale[63:32] <= write_data_i;
                MAP_COUNTER: counter_low <= write_data_i;
                MAP_COUNTER_END: counter_end[31:0] <= write_data_i;
                MAP_COUNTER_END + 8'd1: counter_end[63:32] <= write_data_i;
                MAP_T: t <= write_data_i[WIDTH-1:0];
                MAP_T_FACTOR: t_factor <= write_data_i[WIDTH-1:0];
                MAP_T_RATIO: t_ratio <= write_data_i;
                MAP_T_HALF: t_half <= write_data_i[WIDTH-1:0];
                MAP_SHAPE: begin
                    last_prime <= write_data_i[LOG2_PRIMES-1:0];
                    primes_fit <= write_data_i[7:0] <= LAST_PRIME;
                    signed_values <= write_data_i[8];
                    coefficients <= write_data_i[9];
                    shake <= write_data_i[SHAPE_SHAKE256];
                    with_tags <= write_data_i[SHAPE_TAGS];
                    ckks <= write_data_i[16];
                    complex_slots <= write_data_i[17];
                    float_values <= write_data_i[18];
                end
                MAP_LARGEST: largest <= write_data_i;
                MAP_POLICY: policy <= write_data_i[2:0];
                MAP_CKKS: begin
                    ckks_exponent <= write_data_i[9:0];
                    ckks_scale <= write_data_i[21:16];
                    ckks_limit <= write_data_i[29:24];
                end
                MAP_TABLE_PLACE: begin
                    table_index <= write_data_i[LOG2_N-1:0];
                    table_prime <= write_data_i[16 +: LOG2_PRIMES];
                    table_component <= write_data_i[24];
                end
                default: ;
            endcase
            if (at_secret) begin
                for (i = 0; i < 8; i = i + 1) if (at[2:0] == i) device_secret[32*i +: 32] <= write_data_i;
                secret_words <= (at[2:0] == 3'd0) ? 4'd1
                    : ({1'b0, at[2:0]} == secret_words) ? secret_words + 1'b1 : 4'd0;
                secret_alike <= alike_so_far;
            end
        end
        if (table_write || key_write || trits_write) table_index <= table_index + 1'b1;
        if (setting && is_prime) begin
            for (i = 0; i < PRIMES; i = i + 1) begin
                if (at[7:3] == i) begin
                    case (at[2:0])
                        MAP_PRIME_Q: begin
                            prime_q[i] <= {write_data_i[WIDTH-1:LOG2_N+1], {LOG2_N{1'b0}}, 1'b1};
                            prime_bits[i] <= bits_of(write_data_i[WIDTH-1:0]);
                        end
                        MAP_PRIME_FACTOR: prime_factor[i] <= write_data_i[WIDTH-1:0];
                        MAP_PRIME_OFFSET: prime_offset[i] <= write_data_i[WIDTH-1:0];
                        MAP_PRIME_KEY_FACTOR: prime_key_factor[i] <= write_data_i[WIDTH-1:0];
                        MAP_PRIME_FRACTION: prime_fraction[i][31:0] <= write_data_i;
                        MAP_PRIME_FRACTION + 3'd1: prime_fraction[i][63:32] <= write_data_i;
                        default: ;
                    endcase
                end
            end
        end
        if (accepted) fixed <= 1'b1;
        if (clears && !keys_stay) begin
            device_secret <= 256'd0;
            secret_words <= 4'd0;
            secret_alike <= 1'b0;
            policy <= 3'd0;
            fixed <= 1'b0;
        end
    end

    // Erased memory is no secret, as for the C library.
    wire alike_so_far = write_data_i[31:8] == write_data_i[23:0]
        && (at[2:0] == 3'd0 || (secret_alike && write_data_i == device_secret[31:0]));
    wire secret_entered = secret_words == 4'd8;
    wire wrong_secret = setting && is_global && at_secret && at[2:0] == 3'd7 && alike_so_far;

    // Numbers that the engine does not store, or has no place for.
    wire place_there = {5'd0, write_data_i[18:16]} <= LAST_PRIME && write_data_i[15:0] >> LOG2_N == 16'd0
        && write_data_i[23:19] == 5'd0 && write_data_i[31:25] == 7'd0;
    wire stores_residue = is_prime ? at[2:0] <= MAP_PRIME_KEY_FACTOR
        : at == MAP_T || at == MAP_T_FACTOR || at == MAP_T_HALF || at == MAP_TABLE_DATA;
    wire too_wide = write_data_i[31:WIDTH] != {(32 - WIDTH){1'b0}};
    wire no_residue = write_data_i >= {{(32 - WIDTH){1'b0}}, prime_q[table_prime]};
    wire wrong_setting = setting && ((is_prime && {3'd0, at[7:3]} > LAST_PRIME)
        || ((is_prime || is_global) && stores_residue && too_wide)
        || (is_global && at == MAP_T && write_data_i < 32'd2)
        || (is_global && at == MAP_POLICY && (write_data_i[31:3] != 29'd0 || write_data_i[1:0] == 2'd3))
        || (table_place && !place_there) || (table_write && no_residue));

    // No other q has a transform, and its lowest bits are not stored.
    wire wrong_prime = setting && is_prime && at[2:0] == MAP_PRIME_Q
        && (write_data_i[LOG2_N:0] != {{LOG2_N{1'b0}}, 1'b1} || write_data_i[WIDTH-1:21] == {(WIDTH - 21){1'b0}});

    // A key that is not there would be zero, and hide nothing: every word must be entered, in order, for the primes as
    // they are.
    localparam integer KEY_WORD_BITS = LOG2_PRIMES + 1 + LOG2_N;
    reg                      trits_there, secret_there, public_there;
    reg  [LOG2_N-4:0]        next_trits;
    reg  [KEY_WORD_BITS-1:0] next_word; // of the public key: {prime, component, number}
    wire [KEY_WORD_BITS-1:0] this_word = {table_prime, table_component, table_index};
    wire                     trits_follow = table_index[LOG2_N-4:0] == next_trits;
    wire                     word_follows = this_word == next_word;
    wire                     secret_loaded;
    reg  [LOG2_PRIMES-1:0]   secret_last, public_last; // prime of the key
    wire replaces_primes = setting && is_prime && (at[2:0] == MAP_PRIME_Q || at[2:0] == MAP_PRIME_KEY_FACTOR);
    // Nor would one of memory that was never written: of a key, words in a row are not alike, and residues not zero.
    localparam [1:0] MOST_ZEROS = 2'd3; // residues in a row: one key in 2^71, at most, has another behind them
    localparam [2:0] MOST_ALIKE = 3'd6; // words as the one before them, of eight coefficients: one in 2^78
    wire [15:0]              trits = write_data_i[15:0];
    reg  [15:0]              last_trits;
    reg  [2:0]               trits_alike;
    reg  [1:0]               zeros;
    wire                     trits_repeat = next_trits != {(LOG2_N - 3){1'b0}} && write_data_i[15:0] == last_trits;
    wire                     is_zero = write_data_i == 32'd0;
    wire                     wrong_trits = trits_write
        && ((trits[15:1] & trits[14:0] & 15'h5555) != 15'd0 || (trits_repeat && trits_alike == MOST_ALIKE));
    wire                     wrong_residue = key_write && (no_residue || (is_zero && zeros == MOST_ZEROS));
    always_ff @(posedge clk_i) begin
        if (trits_write) begin
            last_trits <= trits;
            trits_alike <= trits_repeat ? trits_alike + 1'b1 : 3'd0;
        end
        if (key_write) zeros <= is_zero ? zeros + 1'b1 : 2'd0;
        if (table_place) zeros <= 2'd0;
        if (clears) begin
            last_trits <= 16'd0;
            trits_alike <= 3'd0;
        end
    end
    always_ff @(posedge clk_i) begin
        if (trits_write) begin
            next_trits <= trits_follow ? next_trits + 1'b1 : {(LOG2_N - 3){1'b0}};
            trits_there <= trits_follow && next_trits == {(LOG2_N - 3){1'b1}};
        end
        if (key_write) begin
            next_word <= word_follows ? next_word + 1'b1 : {KEY_WORD_BITS{1'b0}};
            public_there <= word_follows && next_word == {last_prime, {(LOG2_N + 1){1'b1}}};
            public_last <= last_prime;
        end
        if (table_place) begin
            if (write_data_i[LOG2_N-1:0] == {LOG2_N{1'b0}}) next_trits <= {(LOG2_N - 3){1'b0}};
            if (write_data_i[24:0] == 25'd0) next_word <= {KEY_WORD_BITS{1'b0}};
        end
        if (secret_loaded) begin
            secret_there <= 1'b1;
            secret_last <= last_prime;
        end
        // Coefficients are among the small numbers: u takes their place, and every wipe clears them.
        if (clears || (accepted && (enters_key || command_code_i == PUBLIC))) begin
            trits_there <= 1'b0;
            next_trits <= {(LOG2_N - 3){1'b0}};
        end
        if ((accepted && enters_key) || replaces_primes || table_write) secret_there <= 1'b0;
        if (replaces_primes || table_write) begin
            public_there <= 1'b0;
            next_word <= {KEY_WORD_BITS{1'b0}};
        end
        if (clears && !keys_stay) begin
            secret_there <= 1'b0;
            public_there <= 1'b0;
        end
    end

    function automatic [4:0] bits_of(input [WIDTH-1:0] q);
        integer b;
        begin
            bits_of = 5'd0;
            for (b = 0; b < WIDTH; b = b + 1) if (q[b]) bits_of = b[4:0] + 5'd1;
        end
    endfunction

    // --- what is done ----------------------------------------------------------------------------------------------

    // Counts run on modulo 2^COUNT, and are compared by their differences, which are small.
    localparam integer COUNT = 8;

    function automatic reached(input [COUNT-1:0] count, input [COUNT-1:0] goal);
        reg [COUNT-1:0] difference;
        begin
            difference = count - goal;
            reached = !difference[COUNT-1];
        end
    endfunction

    reg [3:0]       command;     // command being executed
    reg             decrypts;    // it is DECRYPT: many choose by that, so it is there at a cycle's beginning
    reg             in_coefficients;
    reg [COUNT-1:0] begun;       // ciphertexts, or keys
    reg [COUNT-1:0] finished;
    reg [COUNT-1:0] pieces_done; // polynomials of noise and u
    reg [COUNT-1:0] fills_done;  // messages
    reg [COUNT-1:0] loads_done;
    reg [COUNT-1:0] lanes_done;
    reg [COUNT-1:0] streams_done;

    wire publishes = command == PUBLISH; // as the ciphertext of zero that a public key is
    wire encrypts = command == SYMMETRIC || command == PUBLIC || publishes;
    wire generates = command == GENERATE;
    wire loads_key = command == LOAD_KEY || generates;
    wire symmetric = command == SYMMETRIC || publishes;
    wire public_key = command == PUBLIC;

    // --- commands --------------------------------------------------------------------------------------------------

    wire       front_busy;
    wire       wiping;
    wire       encryption = command_code_i == SYMMETRIC || command_code_i == PUBLIC;
    wire       enters_key = command_code_i == LOAD_KEY || command_code_i == GENERATE;
    wire       known = encryption || enters_key || command_code_i == DECRYPT || command_code_i == PUBLISH;
    wire       draws_seeds = encryption || command_code_i == PUBLISH;
    wire [1:0] tag_keys_there; // {of results, of the device}
    wire       window_late;
    wire       key_there = (with_tags && !enters_key && !tag_keys_there[command_code_i == DECRYPT])
        || (draws_seeds && !secret_entered) ? 1'b0
        : (command_code_i == LOAD_KEY) ? trits_there : (command_code_i == GENERATE) ? 1'b1
        : (command_code_i == PUBLIC) ? public_there && last_prime <= public_last
        : secret_there && last_prime <= secret_last;
    wire       encodes_ckks, decodes_ckks; // the settings allow it
    wire       uses_message = encryption || command_code_i == DECRYPT;
    wire       bound_there = largest != 32'd0 && !(ckks && float_values && largest[31]);
    wire       message_fits = ckks ? (encryption ? encodes_ckks : decodes_ckks) : t_fits;
    wire       fits = primes_fit && (!uses_message || message_fits) && (!encryption || bound_there);
    wire       allowed = (command_code_i != SYMMETRIC || policy[POLICY_ENCRYPT])
        && (command_code_i != DECRYPT || policy[1:0] == DECRYPT_ALWAYS || (policy[1:0] == DECRYPT_TAGGED && with_tags));
    // A ciphertext may follow another one of its kind at once.
    wire       follows = command_code_i == command && (encrypts || decrypts) && !publishes && !in_coefficients
        && !(encryption && coefficients);
    assign     idle_o = begun == finished && !front_busy && !wiping && !frame_valid_o;
    assign     ready_o = !wiping && !front_busy && (follows ? !reached(begun, finished + 8'd3) : idle_o);
    assign     accepted = command_i && ready_o && known && key_there && allowed && fits;
    wire       starts_encryption = accepted && draws_seeds;
    wire       exhausted = starts_encryption && (!counter_set || counter >= counter_end);
    wire       too_late = starts_encryption && with_tags && window_late;
    // With a counter that comes again, a source that repeats a draw shows the difference of two messages.
    wire        counter_write = setting && is_global && at == MAP_COUNTER + 8'd1;
    wire [63:0] counter_entered = {write_data_i, counter_low};
    wire        counter_falls = counter_write && fixed && counter_entered < counter;
    // Frames name t, so their tag binds it.
    wire [PRIMES-1:0] t_below;
    generate
        for (g = 0; g < PRIMES; g = g + 1) begin : g_below
            assign t_below[g] = t < prime_q[g] || last_prime < g;
        end
    endgenerate
    wire       t_fits = t_below == {PRIMES{1'b1}} && t[WIDTH-1:1] != {(WIDTH - 1){1'b0}}
        && scale == {{(64 - WIDTH){1'b0}}, t};

    always_ff @(posedge clk_i) begin
        if (accepted) begin
            command <= command_code_i;
            decrypts <= command_code_i == DECRYPT;
            in_coefficients <= encryption && coefficients;
            begun <= follows ? begun + 1'b1 : {{(COUNT - 1){1'b0}}, 1'b1};
        end
        if (counter_write && !counter_falls) begin
            counter <= counter_entered;
            counter_set <= 1'b1;
        end
        if (starts_encryption) counter <= counter + 1'b1;
        if (clears && !keys_stay) begin
            counter <= 64'd0;
            counter_set <= 1'b0;
        end
        if (clears) begin
            command <= 4'd0;
            decrypts <= 1'b0;
            in_coefficients <= 1'b0;
            begun <= {COUNT{1'b0}};
        end
    end

    // --- key streams -----------------------------------------------------------------------------------------------

    `include "cm_client_users.svh"
    wire         tag_request;
    wire [255:0] tag_key;
    wire [127:0] tag_position;
    wire         seeds_request, uniform_request, sample_request;
    wire [255:0] seeds_key;
    wire [127:0] seeds_position;
    wire [2:0]   sample_tag;
    wire         stream_ready;
    wire [511:0] public_seed; // of the ciphertext that leaves or is read; ChaCha20's in its upper half
    wire [255:0] private_seed;
    // Tags and derivation first, then what leaves, then noise for later.
    wire         for_seeds = !tag_request && seeds_request;
    wire         for_uniform = !tag_request && !seeds_request && uniform_request;
    wire         for_sample = !tag_request && !seeds_request && !uniform_request;
    wire [2:0]   asked_tag = tag_request ? FOR_TAG : seeds_request ? FOR_SEEDS : uniform_request ? FOR_UNIFORM
                                                                                                 : sample_tag;
    wire [255:0] asked_key;
    wire [127:0] asked_position;
    wire [2:0]   origin_tag, origin_at;
    wire [63:0]  origin;
    wire         word_valid, word_ready, word_last;
    wire [63:0]  word_data;
    wire [2:0]   word_tag;
    wire         block_leaves = word_valid && word_ready && word_last;
    cm_client_stream #(.TAG(3)) u_stream (
        .clk_i(clk_i), .rst_i(clears),
        .request_i(tag_request || seeds_request || uniform_request || sample_request), .ready_o(stream_ready),
        .key_i(asked_key), .position_i(asked_position), .tag_i(asked_tag),
        .origin_tag_o(origin_tag), .origin_at_o(origin_at), .origin_i(origin),
        .valid_o(word_valid), .take_i(word_ready), .data_o(word_data), .tag_o(word_tag), .last_o(word_last)
    );

    // --- seeds -----------------------------------------------------------------------------------------------------

    reg        seeds_start;
    reg        opens;         // the next ciphertext that leaves asks for its public seed
    wire       seeds_free, seeds_done, seeds_refused, seeds_hold, seeds_published;
    wire        seed_read, read_shake; // a seed's words, or which seed's
    wire [63:0] seed_read_words;
    wire [63:0] front_counter = counter - 1'b1; // of the ciphertext at the front
    wire        draws, entropy_starts, entropy_tested, entropy_fails;
    cm_client_seeds u_seeds (
        .clk_i(clk_i), .rst_i(clears), .keys_stay_i(keys_stay), .start_i(seeds_start), .bare_i(generates),
        .free_o(seeds_free), .done_o(seeds_done),
        .refused_o(seeds_refused), .holds_o(seeds_hold), .publish_i(opens), .whole_i(shake),
        .published_o(seeds_published), .read_i(seed_read), .read_whole_i(read_shake), .read_data_i(seed_read_words),
        .secret_i(device_secret), .counter_i(front_counter),
        .entropy_valid_i(entropy_valid_i && entropy_tested), .entropy_ready_o(draws), .entropy_i(entropy_i),
        .request_o(seeds_request), .ready_i(for_seeds && stream_ready), .key_o(seeds_key), .position_o(seeds_position),
        .valid_i(word_valid && word_tag == FOR_SEEDS), .last_i(word_last), .data_i(word_data),
        .private_o(private_seed), .public_o(public_seed)
    );

    // Words are tested before any of them is used.
    assign entropy_ready_o = entropy_starts || (draws && entropy_tested);
    cm_client_health u_health (
        .clk_i(clk_i), .rst_i(clears && !keys_stay), .begin_i(accepted), .starting_o(entropy_starts),
        .tested_o(entropy_tested), .valid_i(entropy_valid_i && entropy_ready_o), .word_i(entropy_i),
        .failed_o(entropy_fails)
    );

    // --- the front: seeds, noise and u -----------------------------------------------------------------------------

    // The pieces of a ciphertext are, in this order, u, the noise of component 1, and that of component 0; under the
    // secret key the last alone. Noise of consecutive ciphertexts under the secret key is in two places by turns.
    localparam [1:0] PIECE_U = 2'd0, PIECE_E1 = 2'd1, PIECE_E0 = 2'd2;
    localparam [2:0] FRONT_IDLE = 3'd0, FRONT_SEEDS = 3'd1, FRONT_DRAWING = 3'd2, FRONT_WAIT = 3'd3,
                     FRONT_SAMPLE = 3'd4, FRONT_FILL = 3'd5;
    localparam integer GROUPS = 1 << (LOG2_N - 3); // of eight coefficients
    localparam integer GROUP_BITS = LOG2_N - 3;
    localparam integer NOISE_BLOCKS = 21 << (LOG2_N - 8); // n / 32 * 168 bytes
    localparam integer TERNARY_BLOCKS = 1 << (LOG2_N - 7); // n / 16 * 8 bytes
    reg [2:0]           front;
    reg [1:0]           piece;
    reg [COUNT-1:0]     base_loads;  // before this ciphertext's
    reg                 parity;      // of the ciphertext
    reg [9:0]           asked;       // blocks of the piece
    reg [9:0]           sample_left; // of these, that have left
    reg [GROUP_BITS:0]  groups;      // of the piece that are there
    wire                fill_busy;
    wire [COUNT-1:0]    primes = {{(COUNT - LOG2_PRIMES){1'b0}}, last_prime} + 8'd1;
    wire [COUNT-1:0]    loads_of_one = (public_key && !in_coefficients) ? primes + primes + primes : primes;
    wire [9:0]          blocks = (piece == PIECE_U) ? TERNARY_BLOCKS[9:0] : NOISE_BLOCKS[9:0];
    wire                noise_place = symmetric ? parity : piece == PIECE_E1;
    // When the last loads from the piece's place are done.
    wire [COUNT-1:0]    needed_loads = symmetric ? base_loads - loads_of_one
        : (piece == PIECE_U) ? base_loads - 8'd2 : (piece == PIECE_E1) ? base_loads - 8'd1 : base_loads;
    assign front_busy = front != FRONT_IDLE;
    assign sample_request = front == FRONT_SAMPLE && asked != blocks;
    assign sample_tag = (piece == PIECE_U) ? FOR_TERNARY : FOR_NOISE;

    wire        noise_ready, ternary_ready, uniform_ready;
    wire        noise_eight, ternary_eight;
    wire [47:0] noise_data;
    wire [15:0] ternary_data;
    assign word_ready = (word_tag == FOR_SEEDS) || (word_tag == FOR_TAG) || (word_tag == FOR_UNIFORM && uniform_ready)
        || (word_tag == FOR_NOISE && noise_ready) || (word_tag == FOR_TERNARY && ternary_ready);
    cm_client_noise u_noise (
        .clk_i(clk_i), .rst_i(clears), .valid_i(word_valid && word_tag == FOR_NOISE), .ready_o(noise_ready),
        .data_i(word_data), .eight_o(noise_eight), .eight_data_o(noise_data)
    );
    cm_client_ternary u_ternary (
        .clk_i(clk_i), .rst_i(clears), .valid_i(word_valid && word_tag == FOR_TERNARY),
        .ready_o(ternary_ready), .data_i(word_data), .eight_o(ternary_eight), .eight_data_o(ternary_data)
    );

    always_ff @(posedge clk_i) begin
        seeds_start <= 1'b0;
        case (front)
            FRONT_IDLE: if (accepted) begin
                piece <= (command_code_i == PUBLIC || command_code_i == GENERATE) ? PIECE_U : PIECE_E0;
                if (starts_encryption || command_code_i == GENERATE) front <= FRONT_SEEDS;
                if (!follows) begin
                    base_loads <= {COUNT{1'b0}};
                    parity <= 1'b0;
                end
            end
            FRONT_SEEDS: if (seeds_free) begin
                seeds_start <= 1'b1;
                front <= FRONT_DRAWING;
            end
            FRONT_DRAWING: if (seeds_done) front <= FRONT_WAIT;
            FRONT_WAIT: begin
                asked <= 10'd0;
                sample_left <= 10'd0;
                groups <= {(GROUP_BITS + 1){1'b0}};
                if (reached(loads_done, needed_loads)) front <= FRONT_SAMPLE;
            end
            FRONT_SAMPLE: begin
                if (for_sample && sample_request && stream_ready) asked <= asked + 1'b1;
                if (block_leaves && word_tag == sample_tag) sample_left <= sample_left + 1'b1;
                if (noise_eight || ternary_eight) groups <= groups + 1'b1;
                if (groups == GROUPS[GROUP_BITS:0]) begin
                    pieces_done <= pieces_done + 1'b1;
                    piece <= piece + 1'b1;
                    front <= (piece == PIECE_E0 || generates) ? FRONT_FILL : FRONT_WAIT;
                end
            end
            default: if (!fill_busy) begin
                base_loads <= base_loads + loads_of_one;
                parity <= !parity;
                front <= FRONT_IDLE;
            end
        endcase
        if (clears) begin
            front <= FRONT_IDLE;
            groups <= {(GROUP_BITS + 1){1'b0}};
        end
        if (clears || (accepted && !follows)) pieces_done <= {COUNT{1'b0}};
    end

    // --- the message -----------------------------------------------------------------------------------------------

    reg                fill_waits;
    reg                filling;
    reg                ended;      // no more values: zeros
    reg [LOG2_N:0]     entered;    // numbers
    reg [LOG2_N:0]     filled;     // that are stored
    wire               all_entered = entered[LOG2_N];
    wire               enters = filling && !all_entered && (ended || value_valid_i);
    wire               too_many = filling && all_entered && !ended && value_valid_i;
    wire               scaled_valid, scaled_wrong;
    wire [WIDTH-1:0]   scaled;
    wire               ckks_busy, ckks_ready, ckks_done;
    wire               message_free = front != FRONT_IDLE && reached(loads_done, base_loads);
    assign value_ready_o = ckks_ready || (filling && !all_entered && !ended);
    assign fill_busy = fill_waits || filling || ckks_busy;
    // Products, of which a pair's are beside each other.
    wire [WIDTH-1:0]     scale_m;
    wire [127:0]         wide_products;
    wire [101:0]         second_products;
    wire [60:0]          whole_product;
    cm_client_scale #(.WIDTH(WIDTH)) u_scale (
        .clk_i(clk_i), .rst_i(clears), .t_i(t), .half_i(t_half), .signed_i(signed_values), .valid_i(enters),
        .value_i(ended ? 32'd0 : value_i), .m_o(scale_m), .product_i(wide_products[64 +: WIDTH+1]),
        .whole_i(whole_product[WIDTH:0]), .valid_o(scaled_valid), .wrong_o(scaled_wrong), .r_o(scaled)
    );
    // Beyond the bound, by magnitude: those of binary32 compare as their bits do.
    wire [31:0] magnitude = (ckks && float_values) ? {1'b0, value_i[30:0]}
        : (value_i[31] && (ckks || signed_values)) ? 32'd0 - value_i : value_i;
    reg         beyond;
    always_ff @(posedge clk_i) beyond <= value_valid_i && value_ready_o && magnitude > largest;
    always_ff @(posedge clk_i) begin
        if (accepted && encryption && !ckks) fill_waits <= 1'b1;
        if (fill_waits && message_free) begin
            fill_waits <= 1'b0;
            filling <= 1'b1;
            ended <= 1'b0;
            entered <= {(LOG2_N + 1){1'b0}};
            filled <= {(LOG2_N + 1){1'b0}};
        end
        if (enters) begin
            entered <= entered + 1'b1;
            if (value_last_i && !ended) ended <= 1'b1;
        end
        if (scaled_valid) filled <= filled + 1'b1;
        if (filling && filled[LOG2_N]) filling <= 1'b0;
        if ((filling && filled[LOG2_N]) || ckks_done) fills_done <= fills_done + 1'b1;
        if (clears) begin
            fill_waits <= 1'b0;
            filling <= 1'b0;
        end
        if (clears || (accepted && !follows)) fills_done <= {COUNT{1'b0}};
    end

    // --- memories of small numbers, and of the message -------------------------------------------------------------

    // A pair's numbers are in both halves of the polynomial or, in natural order, neighbours.
    wire                 source_natural;
    wire [PAIR_BITS-1:0] source_index;
    wire                 source_noise_place;
    wire                 source_is_u;
    wire                 source_has_message;
    wire                 message_reads, small_reads;

    wire [LOG2_N-1:0]    wipe_address; // twice through the deepest memory
    // Sums of a decryption take the message's place.
    wire                 sum_writes;
    wire [PAIR_BITS-1:0] sum_index;
    wire [63:0]          sums;
    wire                 sum_reads;
    wire [PAIR_BITS-1:0] sum_read_index;
    // Encoded pairs, and what the decoder reads: another pair's upper half.
    wire                 coded;
    wire [PAIR_BITS-1:0] coded_index;
    wire [63:0]          coded_pair;
    wire [PAIR_BITS-1:0] decoded_index, decoded_mirror;
    wire                 decodes = decrypts && ckks;

    localparam integer WORD_BITS = LOG2_N - 2; // of a bank of the message: half of a half
    wire [WORD_BITS-1:0] message_from = source_natural ? source_index[WORD_BITS-1:0] : source_index[PAIR_BITS-1:1];
    wire [31:0]          message_words [0:3]; // {half, odd}
    generate
        for (g = 0; g < 4; g = g + 1) begin : g_message
            wire here = scaled_valid && filled[LOG2_N-1] == g / 2 && filled[0] == g % 2;
            wire sums_here = sum_writes && sum_index[PAIR_BITS-1] == g / 2;
            wire [31:0] sum = sums[32*(g%2) +: 32];
            wire coded_here = coded && coded_index[0] == g % 2;
            wire [WORD_BITS-1:0] from = (decodes && g / 2 == 1) ? decoded_mirror[PAIR_BITS-1:1] : message_from;
            cm_ram #(.WIDTH(32), .DEPTH(1 << WORD_BITS), .ADDRESS_WIDTH(WORD_BITS), .BLOCK(1)) u_bank (
                .clk_i(clk_i), .write_i(wipes || here || sums_here || coded_here),
                .write_address_i(wipes ? wipe_address[WORD_BITS-1:0]
                                 : sum_writes ? sum_index[WORD_BITS-1:0]
                                 : coded ? coded_index[PAIR_BITS-1:1] : filled[LOG2_N-2:1]),
                .write_data_i(wipes ? 32'd0 : sum_writes ? sum : coded ? coded_pair[32*(g/2) +: 32]
                              : {{(32 - WIDTH){1'b0}}, scaled}),
                .read_i(wipes || message_reads), .read_address_i(from), .read_data_o(message_words[g])
            );
        end
    endgenerate

    // Eight numbers a word, halves apart; noise in two places.
    localparam integer EIGHT_BITS = LOG2_N - 4;
    wire [EIGHT_BITS-1:0] eight_from = source_natural ? source_index[PAIR_BITS-2 -: EIGHT_BITS]
                                                      : source_index[PAIR_BITS-1 -: EIGHT_BITS];
    wire [47:0]           small_words [0:1]; // by half
    wire [GROUP_BITS-1:0] ternary_group = trits_write ? table_index[GROUP_BITS-1:0] : groups[GROUP_BITS-1:0];
    // Noise is in the first two places of a memory, u in the third, for one sampler works at a time, and one load.
    wire                  small_is_u = ternary_eight || trits_write;
    wire [EIGHT_BITS+1:0] small_to = wipes ? wipe_address[EIGHT_BITS+1:0]
        : small_is_u ? {2'd2, ternary_group[EIGHT_BITS-1:0]} : {1'b0, noise_place, groups[EIGHT_BITS-1:0]};
    generate
        for (g = 0; g < 2; g = g + 1) begin : g_small
            wire here = small_is_u ? ternary_group[GROUP_BITS-1] == g : noise_eight && groups[GROUP_BITS-1] == g;
            cm_ram #(.WIDTH(48), .DEPTH(3 << EIGHT_BITS), .ADDRESS_WIDTH(EIGHT_BITS + 2), .BLOCK(1)) u_words (
                .clk_i(clk_i), .write_i(wipes ? small_to < 3 << EIGHT_BITS : here), .write_address_i(small_to),
                .write_data_i(wipes ? 48'd0 : trits_write ? {32'd0, trits} : ternary_eight ? {32'd0, ternary_data}
                              : noise_data),
                .read_i(wipes || small_reads),
                .read_address_i(source_is_u ? {2'd2, eight_from} : {1'b0, source_noise_place, eight_from}),
                .read_data_o(small_words[g])
            );
        end
    endgenerate

    // A cycle later.
    reg                 late_natural, late_half, late_is_u, late_message;
    reg [2:0]           late_place; // in a word of eight
    reg                 late_odd;
    always_ff @(posedge clk_i) begin
        late_natural <= source_natural;
        late_half <= source_index[PAIR_BITS-1];
        late_odd <= source_index[0];
        late_place <= source_natural ? {source_index[1:0], 1'b0} : source_index[2:0];
        late_is_u <= source_is_u;
        late_message <= source_has_message;
    end
    wire [63:0] message_pair = late_natural ? {message_words[{late_half, 1'b1}], message_words[{late_half, 1'b0}]}
                                            : {message_words[{1'b1, late_odd}], message_words[{1'b0, late_odd}]};
    wire [11:0] small_pair;
    generate
        for (g = 0; g < 2; g = g + 1) begin : g_pick
            wire        half = late_natural ? late_half : g[0];
            wire [2:0]  place = late_natural ? {late_place[2:1], g[0]} : late_place;
            wire [47:0] small_word = small_words[half];
            wire [1:0]  digit = small_word[2*place +: 2];
            assign small_pair[6*g +: 6] = late_is_u ? {{5{digit == 2'd0}}, digit == 2'd0 || digit == 2'd2}
                                                    : small_word[6*place +: 6];
        end
    endgenerate

    // --- the loader ------------------------------------------------------------------------------------------------

    localparam [1:0] LOAD_U = 2'd0, LOAD_E1 = 2'd1, LOAD_M = 2'd2, LOAD_A = 2'd3; // the first three as pieces
    localparam integer DRAIN_BITS = 6;
    reg                    loading, load_drains;
    reg [DRAIN_BITS-1:0]   load_left;
    reg [COUNT-1:0]        load_begun;   // ciphertexts whose loads are all done
    reg [COUNT-1:0]        load_primes;  // that are all loaded
    reg [LOG2_PRIMES-1:0]  load_prime;
    reg [1:0]              load_kind;
    reg [1:0]              load_turn;    // the set, by turns
    reg                    load_parity;  // of the prime
    reg                    load_place;   // of the noise, by turns
    reg [COUNT-1:0]        load_pieces;  // before this ciphertext's
    reg [PAIR_BITS-1:0]    load_index;
    wire [1:0]             load_set;
    wire                   load_natural = load_kind == LOAD_A;
    wire [1:0]             first_kind = symmetric ? (in_coefficients ? LOAD_A : LOAD_M) : LOAD_U;
    wire                   load_last_kind = !(public_key && !in_coefficients) || load_kind == LOAD_M;
    wire [PAIR_BITS-1:0]   stream_index;
    wire                   streaming;
    wire [COUNT-1:0]       pieces_of_one = public_key ? 8'd3 : (symmetric || generates) ? 8'd1 : 8'd0;

    // Streams that must be done before the set is free, and none of those left writes a set.
    wire [COUNT-1:0] two_primes = load_primes + load_primes;
    wire [COUNT-1:0] load_needs = !public_key ? (in_coefficients ? two_primes - 8'd1 : loads_done - 8'd2)
        : in_coefficients ? two_primes + two_primes - 8'd1
        : (load_kind == LOAD_U) ? two_primes - 8'd1 : two_primes;
    wire set_free = reached(streams_done, load_needs);
    // The last of them reads the set in the order in which it is filled.
    wire set_trails = !in_coefficients && streaming && reached(streams_done + 8'd1, load_needs)
        && load_index < stream_index;

    // What a load needs: all of a piece, or as much as there is.
    wire [COUNT-1:0]  load_piece = load_pieces
        + (public_key ? {{(COUNT - 2){1'b0}}, load_kind} : {COUNT{1'b0}});
    wire [LOG2_N:0]   load_reach = {2'b01, load_index}; // the pair's number in the upper half
    wire              sampling = front == FRONT_SAMPLE && pieces_done == load_piece;
    wire              small_there = reached(pieces_done, load_piece + 8'd1)
        || (sampling && {groups, 3'd0} > load_reach);
    wire              message_there = reached(fills_done, load_begun + 8'd1)
        || (filling && fills_done == load_begun && filled > load_reach);
    wire              uniform_valid;
    wire              source_there = (command == LOAD_KEY) || ((load_kind == LOAD_A) ? uniform_valid
        : small_there && (load_kind != LOAD_M || publishes || message_there));
    wire              load_enabled = !decrypts && begun != load_begun;
    wire              load_issues = loading && (set_free || set_trails) && source_there;
    reg [LOADED-1:0]  load_valid;
    reg [PAIR-1:0]    load_uniform;
    wire [PAIR-1:0]   loaded;
    wire [PAIR_BITS-1:0] loaded_index;
    wire [PAIR-1:0]   uniform_pair; // of the queue
    wire              load_end = load_drains && load_left == {DRAIN_BITS{1'b0}};

    assign load_set = (public_key && in_coefficients) ? 2'd0
        : public_key ? ((load_kind == LOAD_M) ? 2'd2 : {1'b0, load_parity ^ (load_kind == LOAD_E1)}) : load_turn;

    wire stream_takes_loader; // the stream adds the loader's pairs
    // Two cycles behind the number, with which pairs that are only entered arrive, and then all of them.
    wire [PAIR_BITS-1:0] entered_index;
    cm_delay #(.WIDTH(PAIR_BITS), .CYCLES(2)) u_entered_index (
        .clk_i(clk_i), .data_i(load_index), .data_o(entered_index)
    );
    cm_delay #(.WIDTH(PAIR_BITS), .CYCLES(LOADED - 2)) u_loaded_index (
        .clk_i(clk_i), .data_i(entered_index), .data_o(loaded_index)
    );
    // The public half, or a frame that is read.
    wire [PAIR-1:0] drawn_pair, drawn_late; // two cycles late
    cm_delay #(.WIDTH(PAIR), .CYCLES(2)) u_drawn_late (
        .clk_i(clk_i), .data_i(drawn_pair), .data_o(drawn_late)
    );

    always_ff @(posedge clk_i) begin
        load_valid <= {load_valid[LOADED-2:0], load_issues};
        if (!loading && !load_drains) begin
            load_index <= {PAIR_BITS{1'b0}};
            load_left <= LOADED[DRAIN_BITS-1:0];
            loading <= load_enabled;
        end else if (load_issues) begin
            load_index <= load_index + 1'b1;
            if (load_index == LAST_PAIR) begin
                loading <= 1'b0;
                load_drains <= 1'b1;
            end
        end else if (load_drains) begin
            load_left <= load_left - 1'b1;
            if (load_end) begin
                load_drains <= 1'b0;
                loads_done <= loads_done + 1'b1;
                load_turn <= (load_turn == 2'd2) ? 2'd0 : load_turn + 1'b1;
                load_kind <= load_last_kind ? first_kind : load_kind + 1'b1;
                if (load_last_kind) begin
                    load_primes <= load_primes + 1'b1;
                    load_parity <= !load_parity;
                    load_prime <= (load_prime == last_prime) ? {LOG2_PRIMES{1'b0}} : load_prime + 1'b1;
                    if (load_prime == last_prime) begin
                        load_begun <= load_begun + 1'b1;
                        load_pieces <= load_pieces + pieces_of_one;
                        load_place <= !load_place;
                    end
                end
            end
        end
        if (accepted && !follows) begin
            load_kind <= (command_code_i == PUBLISH) ? LOAD_M
                : (command_code_i == SYMMETRIC) ? (coefficients ? LOAD_A : LOAD_M) : LOAD_U;
        end
        if (clears || (accepted && !follows)) begin
            load_turn <= 2'd0;
            load_parity <= 1'b0;
            load_place <= 1'b0;
            load_prime <= {LOG2_PRIMES{1'b0}};
            load_primes <= {COUNT{1'b0}};
            load_pieces <= {COUNT{1'b0}};
            load_begun <= {COUNT{1'b0}};
            loads_done <= {COUNT{1'b0}};
        end
        if (clears) begin
            loading <= 1'b0;
            load_drains <= 1'b0;
            load_valid <= {LOADED{1'b0}};
        end
    end

    // --- the lanes -------------------------------------------------------------------------------------------------

    reg                   lane_started;
    reg [1:0]             lane_kind;
    reg [1:0]             lane_turn;
    reg                   lane_parity;
    reg [LOG2_PRIMES-1:0] lane_prime;
    reg [COUNT-1:0]       lane_primes;
    wire                  lanes_busy, lanes_end;
    wire [COUNT-1:0]      lane_two = lane_primes + lane_primes;
    wire [1:0]            lane_last_kind = in_coefficients ? (public_key ? 2'd2 : 2'd1) : (public_key ? 2'd2 : 2'd0);
    wire                  lane_inverse = decrypts || (in_coefficients && lane_kind != 2'd0);
    wire [1:0]            lane_set = !public_key ? lane_turn
        : in_coefficients ? lane_kind
        : (lane_kind == LOAD_M) ? 2'd2 : {1'b0, lane_parity ^ (lane_kind == LOAD_E1)};
    wire                  lane_there = decrypts ? reached(streams_done, lane_two + 8'd2)
        : !in_coefficients ? loads_done != lanes_done
        : (lane_kind == 2'd0) ? reached(loads_done, lane_primes + 8'd1)
        : !public_key ? reached(streams_done, lane_two + 8'd1)
        : reached(streams_done, lane_two + lane_two + ((lane_kind == 2'd1) ? 8'd1 : 8'd3));
    wire                  lane_start = !lanes_busy && !lane_started && lane_there && begun != finished;

    always_ff @(posedge clk_i) begin
        lane_started <= lane_start;
        if (lanes_end) begin
            lanes_done <= lanes_done + 1'b1;
            lane_kind <= (lane_kind == lane_last_kind) ? 2'd0 : lane_kind + 1'b1;
            if (lane_kind == lane_last_kind) begin
                lane_turn <= (lane_turn == 2'd2) ? 2'd0 : lane_turn + 1'b1;
                lane_parity <= !lane_parity;
                lane_primes <= lane_primes + 1'b1;
                lane_prime <= (lane_prime == last_prime) ? {LOG2_PRIMES{1'b0}} : lane_prime + 1'b1;
            end
        end
        if (clears || (accepted && !follows)) begin
            lane_kind <= 2'd0;
            lane_turn <= 2'd0;
            lane_parity <= 1'b0;
            lane_prime <= {LOG2_PRIMES{1'b0}};
            lane_primes <= {COUNT{1'b0}};
            lanes_done <= {COUNT{1'b0}};
        end
        if (clears) lane_started <= 1'b0;
    end

    wire                 stream_natural;
    wire [1:0]           stream_a_set, stream_b_set;
    wire [PAIR-1:0]      set_a, set_b;
    wire                 stream_writes;
    wire [1:0]           stream_to_set;
    wire [PAIR_BITS-1:0] streamed_index, product_index;
    wire [PAIR-1:0]      streamed;
    wire                 loader_writes = load_natural ? load_valid[1] : load_valid[LOADED-1];
    wire [PAIR_BITS-1:0] stream_late; // the number whose set's residues are added to its product
    wire                 stream_issues, stream_adds, drain_issues; // in this cycle: a pair, and behind its product
    wire                 stream_a_is_late = stream_natural || (symmetric && !in_coefficients); // or not used
    reg  [1:0]           drain_turn;
    reg  [PAIR_BITS-1:0] drain_at;
    cm_client_lanes #(
        .LOG2_N(LOG2_N), .WIDTH(WIDTH), .LOG2_UNITS(LOG2_UNITS), .PRIMES(PRIMES), .LOG2_PRIMES(LOG2_PRIMES),
        .SETS(3), .DEEP(DEEP), .MULTIPLIER_WIDTH(MULTIPLIER_WIDTH)
    ) u_lanes (
        .clk_i(clk_i), .rst_i(clears),
        .start_i(lane_start), .inverse_i(lane_inverse), .set_i(lane_set), .prime_i(lane_prime),
        .q_i(prime_q[lane_prime]), .busy_o(lanes_busy), .done_o(lanes_end),
        .a_read_i(stream_a_is_late ? stream_adds : stream_issues), .a_natural_i(stream_natural),
        .a_set_i(stream_a_set), .a_index_i(stream_a_is_late ? stream_late : stream_index), .a_o(set_a),
        .b_read_i(decrypts ? drain_issues : stream_adds), .b_natural_i(decrypts),
        .b_set_i(decrypts ? drain_turn : stream_b_set),
        .b_index_i(decrypts ? drain_at : stream_late), .b_o(set_b),
        .write_i(loader_writes || stream_writes), .write_natural_i(loader_writes && load_natural),
        .write_set_i(loader_writes ? load_set : stream_to_set),
        .write_index_i(!loader_writes ? streamed_index : load_natural ? entered_index : loaded_index),
        .write_data_i(loader_writes ? (load_natural ? drawn_late : loaded) : streamed),
        .wipe_i(wipes), .wipe_address_i(wipe_address[LOG2_N-1:0]),
        .table_write_i(table_write), .table_prime_i(table_prime), .table_index_i(table_index),
        .table_data_i(write_data_i[WIDTH-1:0])
    );

    // --- the stream ------------------------------------------------------------------------------------------------

    localparam [1:0] SINK_FRAME = 2'd0, SINK_SET = 2'd1, SINK_KEY = 2'd2;
    reg                    stream_runs, stream_drains;
    reg [DRAIN_BITS-1:0]   stream_left;
    reg                    seed_sent;
    reg [1:0]              stream_kind;
    reg [1:0]              stream_turn;
    reg                    stream_parity;
    reg [LOG2_PRIMES-1:0]  stream_prime;
    reg [COUNT-1:0]        stream_primes;
    reg [COUNT-1:0]        stream_pieces;
    reg                    stream_place;
    reg [PAIR_BITS-1:0]    stream_at;
    reg                    opened;      // the ciphertext's public seed is there
    reg [COUNT-1:0]        streamed_sets; // ciphertexts whose items are done
    reg  [WIDTH-1:0]       stream_q; // before the first pair is there
    always_ff @(posedge clk_i) stream_q <= prime_q[stream_prime];
    wire [COUNT-1:0]       stream_two = stream_primes + stream_primes;
    wire [1:0]             stream_last_kind = decrypts ? 2'd1
        : in_coefficients ? (public_key ? 2'd3 : 2'd1) : (public_key ? 2'd1 : 2'd0);
    assign streaming = stream_runs;
    assign stream_index = stream_at;

    // The items: under the secret key, the product with its transform, plus the message's. Under a public key, for
    // component 1, then 0, the product of u's transform with it, plus that of the noise. In coefficient form products
    // go back to a set, whose inverse transform comes next, plus what the loader gives. Decryption puts - c1 s into a
    // set and then takes it off c0.
    wire stream_multiplies = in_coefficients && !stream_kind[0];
    wire stream_leaves = in_coefficients && stream_kind[0];
    wire component = public_key && (in_coefficients ? !stream_kind[1] : !stream_kind[0]);
    assign stream_natural = stream_leaves;
    assign stream_takes_loader = stream_leaves;
    wire takes_off = decrypts && stream_kind[0];
    wire [1:0] stream_sink = loads_key ? SINK_KEY
        : (stream_multiplies || decrypts) ? SINK_SET : SINK_FRAME;
    wire [1:0] stream_coefficient_set = component ? 2'd1 : 2'd2;
    // A stream that waits for a set to be drained leaves it to the other port.
    wire [1:0] not_drained = (drain_turn == 2'd0) ? 2'd1 : 2'd0;
    assign stream_a_set = (decrypts && !stream_runs) ? not_drained : !public_key ? stream_turn
        : !in_coefficients ? {1'b0, stream_parity} : stream_leaves ? stream_coefficient_set : 2'd0;
    assign stream_b_set = !public_key ? stream_turn : component ? {1'b0, !stream_parity} : 2'd2;
    assign stream_to_set = public_key ? stream_coefficient_set : stream_turn;

    wire stream_there = decrypts
        ? read_known && (takes_off || reached(drains_done + 8'd2, stream_primes))
        : !in_coefficients ? (!public_key ? lanes_done != streams_done
           : reached(lanes_done, stream_two + stream_primes + (component ? 8'd2 : 8'd3)))
        : !public_key ? reached(lanes_done, stream_two + (stream_multiplies ? 8'd1 : 8'd2))
        : reached(lanes_done, stream_two + stream_primes
                  + (stream_multiplies ? 8'd1 : component ? 8'd2 : 8'd3));
    // In coefficient form, all noise and all of the message must be there.
    wire addend_there = !stream_leaves
        || (reached(pieces_done, stream_pieces + pieces_of_one) && reached(fills_done, finished + 8'd1));

    // Sixteen butterflies transform c0 back before u is loaded for the next prime, and both need the loader.
    wire loader_there = !(public_key && in_coefficients && stream_kind == 2'd3
        && ((loading && set_free) || load_drains));

    // Room for pairs in the queue out, that no pair under way will take.
    localparam integer LOG2_QUEUE = (LEFT > 12) ? 5 : (LEFT > 8) ? 4 : 3;
    reg [LOG2_QUEUE:0] credits;
    wire               queue_take, result_taken, drain_gives;
    wire               from_read = decrypts && (takes_off || !read_seeded);
    wire               needs_uniform = (symmetric && !in_coefficients) || (decrypts && !from_read);
    wire [PAIR-1:0]    read_pair;
    wire               read_pair_valid;
    wire               read_pair_taken = stream_issues && from_read;
    assign             stream_issues = stream_runs && (stream_sink != SINK_FRAME || credits != {(LOG2_QUEUE + 1){1'b0}})
        && (!needs_uniform || uniform_valid) && (!from_read || read_pair_valid);
    wire               frame_ready;
    wire               queue_empty;
    wire               stream_may_start = begun != streamed_sets && stream_there && addend_there && loader_there
        && (!encrypts || opened)
        && (stream_sink != SINK_FRAME || (frame_ready && !(symmetric && !seed_sent)));
    wire               stream_end = stream_drains && stream_left == {DRAIN_BITS{1'b0}}
        && (stream_sink != SINK_FRAME || frame_ready);
    wire               stream_last = stream_end && stream_kind == stream_last_kind && stream_prime == last_prime;
    wire               seed_start = opened && symmetric && !seed_sent && frame_ready && !stream_runs && !stream_drains;
    wire               frame_start = seed_start
        || (!stream_runs && !stream_drains && stream_may_start && stream_sink == SINK_FRAME);
    reg [LEFT-1:0]     stream_valid;
    assign             stream_adds = stream_leaves ? stream_valid[LOADED-3] : stream_valid[PRODUCED-3];
    wire               stream_done = stream_leaves ? stream_valid[LEFT-1] : stream_valid[STREAMED-1];
    assign             secret_loaded = stream_last && loads_key;

    always_ff @(posedge clk_i) begin
        stream_valid <= {stream_valid[LEFT-2:0], stream_issues};
        if (encrypts && begun != finished && !opened && !opens && seeds_hold) opens <= 1'b1;
        if (seeds_published) begin
            opens <= 1'b0;
            opened <= 1'b1;
        end
        if (seed_start) seed_sent <= 1'b1;
        if (decrypts ? result_ends : stream_last) finished <= finished + 1'b1;
        if (!stream_runs && !stream_drains) begin
            stream_at <= {PAIR_BITS{1'b0}};
            stream_left <= LEFT[DRAIN_BITS-1:0];
            stream_runs <= stream_may_start;
        end else if (stream_issues) begin
            stream_at <= stream_at + 1'b1;
            if (stream_at == LAST_PAIR) begin
                stream_runs <= 1'b0;
                stream_drains <= 1'b1;
            end
        end else if (stream_drains) begin
            if (stream_left != {DRAIN_BITS{1'b0}}) stream_left <= stream_left - 1'b1;
            if (stream_end) begin
                stream_drains <= 1'b0;
                streams_done <= streams_done + 1'b1;
                stream_kind <= (stream_kind == stream_last_kind) ? 2'd0 : stream_kind + 1'b1;
                if (stream_kind == stream_last_kind) begin
                    stream_turn <= (stream_turn == 2'd2) ? 2'd0 : stream_turn + 1'b1;
                    stream_parity <= !stream_parity;
                    stream_primes <= stream_primes + 1'b1;
                    stream_prime <= stream_prime + 1'b1;
                    if (stream_prime == last_prime) begin
                        stream_prime <= {LOG2_PRIMES{1'b0}};
                        streamed_sets <= streamed_sets + 1'b1;
                        stream_pieces <= stream_pieces + pieces_of_one;
                        stream_place <= !stream_place;
                        opened <= 1'b0;
                        seed_sent <= 1'b0;
                    end
                end
            end
        end
        credits <= credits + {{LOG2_QUEUE{1'b0}}, queue_take || result_taken}
            - {{LOG2_QUEUE{1'b0}}, (stream_issues && stream_sink == SINK_FRAME) || drain_gives};
        if (clears || (accepted && !follows)) begin
            stream_kind <= 2'd0;
            stream_turn <= 2'd0;
            stream_parity <= 1'b0;
            stream_prime <= {LOG2_PRIMES{1'b0}};
            stream_primes <= {COUNT{1'b0}};
            stream_pieces <= {COUNT{1'b0}};
            stream_place <= 1'b0;
            streams_done <= {COUNT{1'b0}};
            streamed_sets <= {COUNT{1'b0}};
            finished <= {COUNT{1'b0}};
        end
        if (clears) begin
            stream_runs <= 1'b0;
            stream_drains <= 1'b0;
            stream_valid <= {LEFT{1'b0}};
            opened <= 1'b0;
            seed_sent <= 1'b0;
            credits <= {1'b1, {LOG2_QUEUE{1'b0}}};
            opens <= 1'b0;
        end
    end

    // The loader's pairs are for the stream, or for a set.
    assign source_natural = (stream_takes_loader && stream_runs) || (decrypts && !ckks);
    assign source_index = decodes ? decoded_index : decrypts ? sum_read_index : source_natural ? stream_at : load_index;
    assign small_reads = !decrypts && (source_natural ? stream_issues : load_issues);
    assign message_reads = decodes || (decrypts ? sum_reads : small_reads && source_has_message);
    assign source_is_u = !source_natural && load_kind == LOAD_U;
    assign source_has_message = source_natural ? !component : load_kind == LOAD_M && !publishes;
    assign source_noise_place = source_natural ? (public_key ? component : stream_place)
                                               : (public_key ? load_kind == LOAD_E1 : load_place);
    wire [LOG2_PRIMES-1:0] source_prime = (stream_takes_loader && (stream_runs || stream_drains)) ? stream_prime
                                                                                                  : load_prime;
    cm_client_loader #(
        .LOG2_N(LOG2_N), .WIDTH(WIDTH), .MESSAGE_WIDTH(MESSAGE_WIDTH), .DEEP(DEEP),
        .MULTIPLIER_WIDTH(MULTIPLIER_WIDTH)
    ) u_loader (
        .clk_i(clk_i), .q_i(prime_q[source_prime]), .factor_i(prime_factor[source_prime]),
        .offset_i(prime_offset[source_prime]), .message_i(late_message), .r_i(message_pair), .small_i(small_pair),
        .pair_o(loaded)
    );

    // Keys, by pair: the secret key's transform, negated, and the public key's components, all times R. A wipe first
    // writes zeros to the secret key, and then reads one, so that no pair is left at its output.
    wire [PAIR-1:0]      secret_pair, public_pair_0, public_pair_1;
    wire                 stream_to_key;
    wire                 key_clears = wipes_keys && !wipe_address[PAIR_BITS];
    wire [PAIR_BITS-1:0] secret_at = wipes ? wipe_address[PAIR_BITS-1:0] : stream_to_key ? product_index : stream_at;
    wire                 secret_reads = stream_issues && ((symmetric && !stream_leaves) || (decrypts && !takes_off));
    cm_client_key #(
        .WIDTH(WIDTH), .PRIMES(PRIMES), .LOG2_PRIMES(LOG2_PRIMES), .PAIR_BITS(PAIR_BITS)
    ) u_secret (
        .clk_i(clk_i), .wipe_i(wipes), .prime_i(stream_prime), .index_i(secret_at),
        .write_i({2{key_clears || stream_to_key}}), .pair_i(wipes ? {PAIR{1'b0}} : streamed),
        .read_i(wipes || secret_reads), .pair_o(secret_pair)
    );
    wire [LOG2_PRIMES-1:0] public_prime = key_write ? table_prime : stream_prime;
    wire [PAIR_BITS-1:0]   public_at = key_write ? table_index[LOG2_N-1:1] : stream_at;
    wire [1:0]             public_residue = {table_index[0], !table_index[0]}; // of its pair, that is entered
    wire                   public_reads = stream_issues && public_key && !stream_leaves;
    cm_client_key #(
        .WIDTH(WIDTH), .PRIMES(PRIMES), .LOG2_PRIMES(LOG2_PRIMES), .PAIR_BITS(PAIR_BITS)
    ) u_public_0 (
        .clk_i(clk_i), .wipe_i(1'b0), .prime_i(public_prime), .index_i(public_at),
        .write_i(public_residue & {2{key_write && !table_component}}), .pair_i({2{write_data_i[WIDTH-1:0]}}),
        .read_i(public_reads && !component), .pair_o(public_pair_0)
    );
    cm_client_key #(
        .WIDTH(WIDTH), .PRIMES(PRIMES), .LOG2_PRIMES(LOG2_PRIMES), .PAIR_BITS(PAIR_BITS)
    ) u_public_1 (
        .clk_i(clk_i), .wipe_i(1'b0), .prime_i(public_prime), .index_i(public_at),
        .write_i(public_residue & {2{key_write && table_component}}), .pair_i({2{write_data_i[WIDTH-1:0]}}),
        .read_i(public_reads && component), .pair_o(public_pair_1)
    );

    // Two cycles behind the number of the pair.
    reg  [PAIR-1:0] key_pair;
    always_ff @(posedge clk_i) begin
        key_pair <= loads_key ? {2{prime_key_factor[stream_prime]}}
            : public_key ? (component ? public_pair_1 : public_pair_0) : secret_pair;
    end
    // Residues that are added to a product, or to what the loader gives, are read when that is there. What decryption
    // takes off is no product, and is there two cycles behind its number.
    localparam integer TAKEN_OFF = 2 + ADD;
    generate
        for (g = 0; g < 2; g = g + 1) begin : g_stream
            wire [WIDTH:0] product;
            cm_montgomery_multiply #(
                .WIDTH(WIDTH), .LOG2_N(LOG2_N), .DEEP(DEEP), .MULTIPLIER_WIDTH(MULTIPLIER_WIDTH)
            ) u_product (
                .clk_i(clk_i), .q_i(stream_q),
                .a_i((needs_uniform || decrypts) ? drawn_late[WIDTH*g +: WIDTH] : set_a[WIDTH*g +: WIDTH]),
                .b_i(key_pair[WIDTH*g +: WIDTH]), .halve_i(1'b0), .product_o(product)
            );
            wire [WIDTH-1:0] set_pair = set_a[WIDTH*g +: WIDTH];
            wire [WIDTH-1:0] addend = stream_leaves ? loaded[WIDTH*g +: WIDTH] : takes_off ? set_pair
                : (stream_multiplies || decrypts || loads_key) ? {WIDTH{1'b0}}
                : set_b[WIDTH*g +: WIDTH];
            cm_client_add #(.WIDTH(WIDTH), .DEEP(DEEP)) u_sum (
                .clk_i(clk_i), .subtract_i(takes_off), .q_i(stream_q),
                .a_i(stream_leaves ? set_pair : takes_off ? drawn_late[WIDTH*g +: WIDTH] : product[WIDTH-1:0]),
                .b_i(addend), .sum_o(streamed[WIDTH*g +: WIDTH])
            );
        end
    endgenerate
    wire [PAIR_BITS-1:0] taken_off_index, produced_index, leaving_index;
    cm_delay #(.WIDTH(PAIR_BITS), .CYCLES(TAKEN_OFF)) u_taken_off_index (
        .clk_i(clk_i), .data_i(stream_at), .data_o(taken_off_index)
    );
    cm_delay #(.WIDTH(PAIR_BITS), .CYCLES(PRODUCED - 2 - TAKEN_OFF)) u_produced_index (
        .clk_i(clk_i), .data_i(taken_off_index), .data_o(produced_index)
    );
    cm_delay #(.WIDTH(PAIR_BITS), .CYCLES(LOADED - PRODUCED)) u_leaving_index (
        .clk_i(clk_i), .data_i(produced_index), .data_o(leaving_index)
    );
    assign stream_late = stream_leaves ? leaving_index : produced_index;
    cm_delay #(.WIDTH(PAIR_BITS), .CYCLES(2 + ADD)) u_product_index (
        .clk_i(clk_i), .data_i(produced_index), .data_o(product_index)
    );
    assign streamed_index = takes_off ? taken_off_index : product_index;
    assign stream_writes = stream_sink == SINK_SET && (takes_off ? stream_valid[TAKEN_OFF-1] : stream_done);
    assign stream_to_key = stream_done && stream_sink == SINK_KEY;

    // --- the public half -------------------------------------------------------------------------------------------

    // Blocks are asked for as long as the queue has room for what they can bring, and the polynomial lacks more than
    // those under way are sure to bring.
    localparam [4:0] LEAST_OF_BLOCK = 5'd18; // 512 bits in fields of 27
    localparam integer MOST_UNDER_WAY = 3;
    localparam integer LOG2_DRAWN = 5; // words of the queue
    reg                   uniform_runs, uniform_starts;
    reg [LOG2_PRIMES-1:0] uniform_prime;
    reg                   uniform_done; // of the whole ciphertext
    wire                  by_shake = decrypts ? read_shake : shake;
    wire                  uniform_wanted = decrypts ? read_known && read_seeded : symmetric && opened;
    assign                drawn_pair = from_read ? read_pair : uniform_pair;
    reg [1:0]             under_way;
    reg [11:0]            uniform_block; // of those asked for
    reg [11:0]            uniform_left;  // of those that left
    wire [LOG2_N:0]       residues;
    wire                  uniform_pair_made;
    wire [PAIR-1:0]       uniform_made;
    wire [LOG2_DRAWN:0]   uniform_level;
    // Words that come, if another block is asked for; pairs that they can give, in fields of 22 bits or, as most
    // primes', of 26; and five more, of words that are cut or were.
    reg [2:0]             uniform_words; // of the block that leaves
    wire [5:0]            words_coming = {{1'b0, under_way} + 3'd1, 3'd0} - {3'd0, uniform_words};
    wire [6:0]            most_coming = {1'b0, words_coming} + 7'd5
        + ((prime_bits[uniform_prime] < 5'd26) ? {2'd0, words_coming[5:1]} : {3'd0, words_coming[5:2]});
    wire [LOG2_N:0]       least_coming = {{(LOG2_N - 6){1'b0}}, {5'd0, under_way} * LEAST_OF_BLOCK};
    wire [7:0]            most_level = {{(7 - LOG2_DRAWN){1'b0}}, uniform_level} + {1'b0, most_coming};
    wire                  uniform_room = most_level <= 8'd1 << LOG2_DRAWN;
    wire                  uniform_lacks = residues + least_coming < {1'b1, {LOG2_N{1'b0}}};
    wire                  uniform_asked = for_uniform && stream_ready;
    wire                  uniform_ends = block_leaves && word_tag == FOR_UNIFORM;
    wire                  uniform_taken = (load_issues && load_natural) || (stream_issues && needs_uniform);
    assign uniform_request = uniform_runs && !uniform_starts && !residues[LOG2_N] && uniform_lacks && uniform_room
        && under_way != MOST_UNDER_WAY[1:0];
    cm_client_uniform #(.WIDTH(WIDTH), .LOG2_N(LOG2_N)) u_uniform (
        .clk_i(clk_i), .rst_i(clears), .start_i(uniform_starts), .q_i(prime_q[uniform_prime]),
        .bits_i(prime_bits[uniform_prime]), .valid_i(word_valid && word_tag == FOR_UNIFORM),
        .ready_o(uniform_ready), .data_i(word_data), .pair_o(uniform_pair_made), .pair_data_o(uniform_made),
        .residues_o(residues)
    );
    localparam [LOG2_DRAWN:0] SHAKE_LEVEL = (1 << LOG2_DRAWN) - 12; // leaves room for what is under way
    wire [LOG2_PRIMES-1:0] shake_prime;
    wire                   shake_pair_made;
    wire [PAIR-1:0]        shake_made;
    cm_client_shake #(
        .WIDTH(WIDTH), .LOG2_N(LOG2_N), .LOG2_PRIMES(LOG2_PRIMES), .ONE_BITS(LOG2_N + 1)
    ) u_shake (
        .clk_i(clk_i), .rst_i(clears), .run_i(uniform_wanted && by_shake),
        .seed_i(public_seed), .last_prime_i(last_prime), .prime_o(shake_prime),
        .q_i(prime_q[shake_prime]), .room_i(uniform_level <= SHAKE_LEVEL),
        .pair_o(shake_pair_made), .pair_data_o(shake_made)
    );
    cm_client_fifo #(.WIDTH(PAIR), .LOG2_DEPTH(LOG2_DRAWN)) u_uniform_queue (
        .clk_i(clk_i), .rst_i(clears), .wipe_i(wipes), .write_i(uniform_pair_made || shake_pair_made),
        .data_i(by_shake ? shake_made : uniform_made),
        .valid_o(uniform_valid), .take_i(uniform_taken), .data_o(uniform_pair), .level_o(uniform_level)
    );
    always_ff @(posedge clk_i) begin
        uniform_starts <= 1'b0;
        under_way <= under_way + {1'b0, uniform_asked} - {1'b0, uniform_ends};
        if (uniform_asked) uniform_block <= uniform_block + 1'b1;
        if (uniform_ends) uniform_left <= uniform_left + 1'b1;
        if (word_valid && word_ready && word_tag == FOR_UNIFORM) uniform_words <= uniform_words + 1'b1;
        if (!uniform_runs) begin
            uniform_prime <= {LOG2_PRIMES{1'b0}};
            uniform_block <= 12'd0;
            uniform_left <= 12'd0;
            if (uniform_wanted && !uniform_done && !by_shake) begin
                uniform_runs <= 1'b1;
                uniform_starts <= 1'b1;
            end
        end else if (!uniform_starts && residues[LOG2_N] && under_way == 2'd0 && !uniform_pair_made) begin
            uniform_block <= 12'd0;
            uniform_left <= 12'd0;
            uniform_prime <= uniform_prime + 1'b1;
            if (uniform_prime == last_prime) begin
                uniform_runs <= 1'b0;
                uniform_done <= 1'b1;
            end else begin
                uniform_starts <= 1'b1;
            end
        end
        if (!uniform_wanted) uniform_done <= 1'b0;
        if (clears) begin
            uniform_runs <= 1'b0;
            uniform_done <= 1'b0;
            under_way <= 2'd0;
            uniform_words <= 3'd0;
        end
    end

    // What the blocks of all users begin with.
    cm_client_origins #(.LOG2_PRIMES(LOG2_PRIMES)) u_origins (
        .tag_key_i(tag_key), .tag_position_i(tag_position),
        .seeds_key_i(seeds_key), .seeds_position_i(seeds_position),
        .uniform_key_i(public_seed[511:256]), .uniform_prime_i(uniform_prime), .uniform_asked_i(uniform_block),
        .uniform_left_i(uniform_left),
        .sample_key_i(private_seed), .sample_component_i(piece == PIECE_E1), .sample_asked_i(asked),
        .sample_left_i(sample_left),
        .asked_tag_i(asked_tag), .key_o(asked_key), .position_o(asked_position),
        .tag_i(origin_tag), .at_i(origin_at), .words_o(origin)
    );

    // --- frames ----------------------------------------------------------------------------------------------------

    localparam integer WORDS_BITS = LOG2_N + 1;
    wire            queue_valid, packer_ready, packed_valid, payload_take;
    wire [PAIR-1:0] queue_pair;
    wire [31:0]     packed_word;
    reg             is_seed;
    reg [3:0]       seed_at;
    wire [4:0]      stream_bits = prime_bits[stream_prime];
    // n / 32 bits words.
    wire [WORDS_BITS-1:0] payload_words = {{(WORDS_BITS - 5){1'b0}}, stream_bits} << (LOG2_N - 5);
    localparam [WORDS_BITS-1:0] SEED_WORDS = 8, SHAKE_SEED_WORDS = 16;
    wire [WORDS_BITS-1:0] frame_words = seed_start ? (shake ? SHAKE_SEED_WORDS : SEED_WORDS) : payload_words;
    reg  [WORDS_BITS-1:0] sent_words;
    reg  [7:0]            sent_component, sent_prime;
    wire                  frame_end;
    // Fields of the ciphertext that leaves: those behind it have taken the next ones.
    wire [1:0]   counted = begun[1:0] - streamed_sets[1:0]; // at most three are under way
    wire [63:0]  sent_counter = counter - {62'd0, counted};
    wire [63:0]  frame_scale = ckks ? {1'b0, 11'd1023 + {5'd0, ckks_scale}, 52'd0} : scale; // CKKS: as binary64
    wire [7:0]   scheme = ckks ? SCHEME_CKKS : SCHEME_BFV;
    wire [159:0] tag_fields;
    wire [511:0] header = {
        tag_fields,
        {{(30 - WORDS_BITS){1'b0}}, sent_words, 2'b00},
        8'd0, sent_prime, sent_component, !symmetric ? XOF_NONE : shake ? XOF_SHAKE256 : XOF_CHACHA20,
        publishes ? 64'd0 : frame_scale, sent_counter, key_id, params_id,
        primes, 8'd2, {7'd0, !in_coefficients}, publishes ? SCHEME_PUBLIC_KEY : scheme,
        {7'd0, is_seed}, with_tags ? 8'd2 : 8'd1, 8'h4D, 8'h43
    };
    // Messages of a decryption leave through the same queue.
    wire                result_writes;
    wire [PAIR-1:0]     message_made;
    reg  [WIDTH-1:0]    message_held; // of a pair, with a wide t
    wire [LOG2_QUEUE:0] queue_level; // the credits count it
    wire                frame_pair_valid = queue_valid && !decrypts;
    assign queue_take = frame_pair_valid && packer_ready;
    cm_client_fifo #(.WIDTH(PAIR), .LOG2_DEPTH(LOG2_QUEUE)) u_queue (
        .clk_i(clk_i), .rst_i(clears), .wipe_i(wipes),
        .write_i(decrypts ? result_writes : stream_done && stream_sink == SINK_FRAME),
        .data_i(!decrypts ? streamed : two_a_word ? message_made : {message_made[WIDTH-1:0], message_held}),
        .valid_o(queue_valid), .take_i(queue_take || result_taken), .data_o(queue_pair), .level_o(queue_level)
    );
    cm_client_packer #(.WIDTH(WIDTH)) u_packer (
        .clk_i(clk_i), .rst_i(clears), .bits_i(stream_bits), .pair_i(frame_pair_valid), .ready_o(packer_ready),
        .pair_data_i(queue_pair), .valid_o(packed_valid), .take_i(payload_take && !is_seed), .word_o(packed_word)
    );
    // Tags.
    wire        hash_ready, tag_known;
    wire        sent_start, sent_absorb, sent_finish, read_start, read_absorb, read_finish;
    wire [63:0] tag, answer_counter;
    cm_client_tags #(.DIGIT(TAG_DIGIT)) u_tags (
        .clk_i(clk_i), .rst_i(clears), .keys_stay_i(keys_stay), .setting_i(setting && is_global), .at_i(at),
        .data_i(write_data_i), .there_o(tag_keys_there), .counter_i(counter), .late_o(window_late),
        .reads_i(decrypts), .sent_counter_i(sent_counter),
        .sent_random_i(shake ? public_seed[63:0] : public_seed[319:256]),
        .answer_counter_o(answer_counter), .fields_o(tag_fields),
        .start_i(decrypts ? read_start : sent_start), .ready_o(hash_ready),
        .absorb_i(decrypts ? read_absorb : sent_absorb), .word_i(decrypts ? read_i : frame_o),
        .finish_i(decrypts ? read_finish : sent_finish), .known_o(tag_known), .tag_o(tag),
        .request_o(tag_request), .ready_i(stream_ready), .key_o(tag_key), .position_o(tag_position),
        .valid_i(word_valid && word_tag == FOR_TAG), .last_i(word_last), .block_i(word_data)
    );
    wire [31:0]  seed_word = public_seed[32*{seed_at[3] || !shake, seed_at[2:0]} +: 32];
    cm_client_frames #(.COUNT_BITS(WORDS_BITS)) u_frames (
        .clk_i(clk_i), .rst_i(clears), .start_i(frame_start), .ready_o(frame_ready), .tagged_i(with_tags),
        .header_i(header), .hash_start_o(sent_start), .hash_ready_i(hash_ready), .hash_absorb_o(sent_absorb),
        .hash_finish_o(sent_finish), .tag_known_i(tag_known), .tag_i(tag),
        .words_i(frame_words), .payload_valid_i(is_seed || packed_valid), .payload_take_o(payload_take),
        .payload_i(is_seed ? seed_word : packed_word),
        .valid_o(frame_valid_o), .take_i(frame_ready_i), .word_o(frame_o), .end_o(frame_end)
    );
    assign frame_last_o = frame_end && !is_seed && stream_prime == last_prime && stream_kind == stream_last_kind;
    always_ff @(posedge clk_i) begin
        if (frame_start) begin
            is_seed <= seed_start;
            seed_at <= 4'd0;
            sent_words <= frame_words;
            sent_component <= {7'd0, seed_start || component};
            sent_prime <= seed_start ? 8'd0 : {{(8 - LOG2_PRIMES){1'b0}}, stream_prime};
        end else if (is_seed && payload_take) begin
            seed_at <= seed_at + 1'b1;
        end
    end

    // --- decryption ------------------------------------------------------------------------------------------------

    // Frames that come in.
    reg  [COUNT-1:0]       read_sets; // ciphertexts that are read, and whose every frame is right
    wire                   read_known, read_seeded, read_set_done, read_fault, residue_fault;
    wire [LOG2_PRIMES-1:0] read_prime;
    wire                   payload_valid, payload_ready;
    cm_client_reader #(.LOG2_N(LOG2_N), .LOG2_PRIMES(LOG2_PRIMES)) u_reader (
        .clk_i(clk_i), .rst_i(clears), .enabled_i(decrypts && begun != read_sets), .params_i(params_id),
        .key_id_i(key_id), .scale_i(frame_scale), .scheme_i(scheme), .last_prime_i(last_prime),
        .bits_i(prime_bits[read_prime]), .prime_o(read_prime), .tagged_i(with_tags), .counter_i(answer_counter),
        .fields_i(tag_fields), .hash_start_o(read_start), .hash_ready_i(hash_ready), .hash_absorb_o(read_absorb),
        .hash_finish_o(read_finish), .tag_known_i(tag_known), .tag_i(tag), .valid_i(read_valid_i),
        .ready_o(read_ready_o), .word_i(read_i), .payload_valid_o(payload_valid),
        .payload_ready_i(payload_ready), .known_o(read_known), .seeded_o(read_seeded), .shake_o(read_shake),
        .seed_read_o(seed_read),
        .seed_o(seed_read_words),
        .set_done_o(read_set_done), .fault_o(read_fault)
    );
    cm_client_unpacker #(.WIDTH(WIDTH)) u_unpacker (
        .clk_i(clk_i), .rst_i(clears), .bits_i(stream_bits), .q_i(prime_q[stream_prime]), .valid_i(payload_valid),
        .ready_o(payload_ready), .word_i(read_i), .pair_o(read_pair_valid), .take_i(read_pair_taken),
        .pair_data_o(read_pair), .wrong_o(residue_fault)
    );

    // Sets whose inverse transform is done are drained: each residue adds to its coefficient's sum. The last prime's
    // pass gives the message, as soon as the last frame is known to be right, and zeros for sums. CKKS keeps the first
    // prime's residues, once the coefficients before them are used up, and decodes them as soon as the last frame is
    // known to be right; the other primes' are only checked, as by the library at 31 bits.
    localparam integer SUMMED = 4;   // from the number of a pair to its new sums
    localparam integer ROUNDED = 5;  // and to its message
    wire                   two_a_word = t <= {{(WIDTH - 17){1'b0}}, 17'h10000};
    reg                    drain_runs, drain_ends;
    reg [LOG2_PRIMES-1:0]  drain_prime;
    reg [COUNT-1:0]        drains_done;
    reg [COUNT-1:0]        drained_sets; // ciphertexts
    reg [ROUNDED-1:0]      drain_valid;
    reg  [ROUNDED:0]       drain_again; // the pair for the second time: [0] is the next one
    wire                   drain_last = drain_prime == last_prime;
    wire                   drain_start = decrypts && !drain_runs && !drain_ends
        && reached(lanes_done, drains_done + 8'd1) && (!drain_last || reached(read_sets, drained_sets + 8'd1))
        && (!ckks || drain_prime != {LOG2_PRIMES{1'b0}} || drained_sets == finished);
    wire                   drain_skips = ckks && drain_prime != {LOG2_PRIMES{1'b0}};
    // Sums times a wide t come one after the other.
    wire                   drain_turns = drain_last && !ckks && !two_a_word;
    // Pairs of messages, which need room in the queue.
    wire                   drain_made = drain_last && !ckks && !drain_again[0];
    assign                 drain_issues = drain_runs && (!drain_made || credits != {(LOG2_QUEUE + 1){1'b0}});
    assign                 drain_gives = drain_issues && drain_made;
    always_ff @(posedge clk_i) begin
        drain_valid <= {drain_valid[ROUNDED-2:0], drain_issues};
        drain_again[ROUNDED:1] <= drain_again[ROUNDED-1:0];
        if (drain_issues) drain_again[0] <= drain_turns && !drain_again[0];
        if (read_set_done) read_sets <= read_sets + 1'b1;
        if (drain_start) begin
            drain_runs <= !drain_skips;
            drain_ends <= drain_skips;
            drain_at <= {PAIR_BITS{1'b0}};
        end else if (drain_issues && (!drain_turns || drain_again[0])) begin
            drain_at <= drain_at + 1'b1;
            if (drain_at == LAST_PAIR) begin
                drain_runs <= 1'b0;
                drain_ends <= 1'b1;
            end
        end else if (drain_ends && drain_valid == {ROUNDED{1'b0}}) begin
            drain_ends <= 1'b0;
            drains_done <= drains_done + 1'b1;
            drain_turn <= (drain_turn == 2'd2) ? 2'd0 : drain_turn + 1'b1;
            drain_prime <= drain_last ? {LOG2_PRIMES{1'b0}} : drain_prime + 1'b1;
            if (drain_last) drained_sets <= drained_sets + 1'b1;
        end
        if (clears || (accepted && !follows)) begin
            read_sets <= {COUNT{1'b0}};
            drains_done <= {COUNT{1'b0}};
            drained_sets <= {COUNT{1'b0}};
            drain_turn <= 2'd0;
            drain_prime <= {LOG2_PRIMES{1'b0}};
        end
        if (clears) begin
            drain_runs <= 1'b0;
            drain_ends <= 1'b0;
            drain_again <= {(ROUNDED + 1){1'b0}};
            drain_valid <= {ROUNDED{1'b0}};
        end
    end
    wire [PAIR_BITS-1:0] late_sum_index;
    cm_delay #(.WIDTH(PAIR_BITS), .CYCLES(SUMMED - 2)) u_sum_read_index (
        .clk_i(clk_i), .data_i(drain_at), .data_o(sum_read_index)
    );
    cm_delay #(.WIDTH(PAIR_BITS), .CYCLES(2)) u_sum_index (
        .clk_i(clk_i), .data_i(sum_read_index), .data_o(late_sum_index)
    );
    wire [63:0]     sums_made;
    // CKKS takes the residue itself, while the codec rests.
    wire [63:0]     drain_fraction = ckks ? 64'h1_0000_0000 : prime_fraction[drain_prime];
    wire [WIDTH+32:0] by_t [0:1];
    assign by_t[0] = whole_product[WIDTH+32:0];
    assign by_t[1] = {{(WIDTH - 18){second_products[101]}}, second_products[101:51]};
    wire [65:0]     ckks_coordinates;
    wire [53:0]     ckks_first_digits;
    wire [35:0]     ckks_second_digits;
    wire            ckks_minus, decoding;
    cm_client_products #(.WIDTH(WIDTH), .SILICON(MULTIPLIER_WIDTH == 64)) u_products (
        .clk_i(clk_i), .rst_i(clears), .codec_i(ckks && (decoding || !decrypts)), .sums_i(decrypts),
        .coordinates_i(ckks_coordinates), .first_digits_i(ckks_first_digits), .second_digits_i(ckks_second_digits),
        .minus_i(ckks_minus),
        .fraction_i(drain_fraction), .residues_i(set_b), .sums_so_far_i(sums_made), .by_turns_i(!two_a_word),
        .upper_i(drain_again[SUMMED]),
        .message_i(scale_m), .ratio_i(t_ratio), .factor_i(t_factor), .t_i(t),
        .wide_o(wide_products), .second_o(second_products), .whole_o(whole_product)
    );
    generate
        for (g = 0; g < 2; g = g + 1) begin : g_sum
            cm_client_sum #(.WIDTH(WIDTH)) u_sum (
                .clk_i(clk_i), .rst_i(clears), .t_i(t), .x_i(wide_products[64*g+31 +: 33]),
                .sum_i((drain_prime == {LOG2_PRIMES{1'b0}}) ? 32'd0 : message_pair[32*g +: 32]),
                .sum_o(sums_made[32*g +: 32]), .product_i(by_t[g]), .message_o(message_made[WIDTH*g +: WIDTH])
            );
        end
    endgenerate
    always_ff @(posedge clk_i) begin
        if (drain_valid[ROUNDED-1] && !drain_again[ROUNDED]) message_held <= message_made[WIDTH-1:0];
        if (clears) message_held <= {WIDTH{1'b0}};
    end
    assign sum_reads = drain_valid[SUMMED-3];
    assign sum_writes = decrypts && drain_valid[SUMMED-1];
    assign sum_index = late_sum_index;
    assign sums = (drain_last && !ckks) ? 64'd0 : sums_made;

    // Messages that go out.
    wire            result_valid = queue_valid && decrypts;
    wire [PAIR-1:0] result_pair = queue_pair;
    reg             result_odd;
    reg  [PAIR_BITS-1:0] result_at;
    wire            decoded_valid, decoded_last;
    wire [31:0]     decoded;
    wire            result_moves = result_valid_o && result_ready_i;
    assign          result_taken = !ckks && result_moves && (two_a_word || result_odd);
    wire            result_ends = result_moves && result_last_o;
    assign result_writes = drain_valid[ROUNDED-1] && drain_last && !ckks && (two_a_word || drain_again[ROUNDED]);
    assign result_valid_o = ckks ? decoded_valid : result_valid;
    assign result_o = ckks ? decoded : two_a_word ? {result_pair[WIDTH+15:WIDTH], result_pair[15:0]}
        : {{(32 - WIDTH){1'b0}}, result_odd ? result_pair[PAIR-1:WIDTH] : result_pair[WIDTH-1:0]};
    assign result_last_o = ckks ? decoded_last : result_at == LAST_PAIR && (two_a_word || result_odd);
    always_ff @(posedge clk_i) begin
        if (result_moves && !ckks) result_odd <= !two_a_word && !result_odd;
        if (result_taken) result_at <= result_at + 1'b1;
        if (clears) begin
            result_odd <= 1'b0;
            result_at <= {PAIR_BITS{1'b0}};
        end
    end

    // --- CKKS ------------------------------------------------------------------------------------------------------

    wire ckks_wrong, ckks_too_many, decoded_wrong;
    cm_client_ckks #(.LOG2_N(LOG2_N), .WIDTH(WIDTH)) u_ckks (
        .clk_i(clk_i), .rst_i(clears), .complex_i(complex_slots), .float_i(float_values), .exponent_i(ckks_exponent),
        .scale_log2_i(ckks_scale), .limit_log2_i(ckks_limit), .coefficients_i(coefficients),
        .one_prime_i(last_prime == {LOG2_PRIMES{1'b0}}), .q_i(prime_q[0]), .bits_i(prime_bits[0]),
        .encodes_o(encodes_ckks), .decodes_o(decodes_ckks),
        .encode_i(accepted && encryption && ckks), .free_i(message_free), .busy_o(ckks_busy), .done_o(ckks_done),
        .value_valid_i(value_valid_i), .value_ready_o(ckks_ready), .value_i(value_i), .value_last_i(value_last_i),
        .wrong_o(ckks_wrong), .too_many_o(ckks_too_many),
        .pair_o(coded), .pair_index_o(coded_index), .pair_data_o(coded_pair),
        .decode_i(decodes && !reached(finished, drained_sets)), .decoding_o(decoding),
        .read_index_o(decoded_index), .mirror_o(decoded_mirror),
        .read_i({message_pair[32 +: WIDTH], message_pair[0 +: WIDTH]}),
        .result_valid_o(decoded_valid), .result_ready_i(result_ready_i), .result_o(decoded),
        .result_last_o(decoded_last), .result_wrong_o(decoded_wrong),
        .coordinates_o(ckks_coordinates), .first_digits_o(ckks_first_digits), .second_digits_o(ckks_second_digits),
        .minus_o(ckks_minus), .wide_i(wide_products), .second_i(second_products)
    );

    // --- faults, and wiping ----------------------------------------------------------------------------------------

    wire [3:0] fault = (write_i && !idle_o) ? FAULT_BUSY
        : (command_i && ready_o && !known) ? FAULT_COMMAND
        : (command_i && ready_o && !key_there) ? FAULT_NO_KEY
        : ((command_i && ready_o && !allowed) || fixed_write) ? FAULT_POLICY
        : (command_i && ready_o && !fits) ? FAULT_SETTINGS
        : (read_fault || residue_fault) ? FAULT_FRAME
        : decoded_wrong ? FAULT_RESULT
        : (exhausted || counter_falls) ? FAULT_COUNTER
        : too_late ? FAULT_WINDOW
        : (seeds_refused || entropy_fails) ? FAULT_ENTROPY
        : ((scaled_valid && scaled_wrong) || ckks_wrong || beyond) ? FAULT_RANGE
        : (too_many || ckks_too_many) ? FAULT_TOO_MANY
        : (wrong_trits || wrong_residue || wrong_secret) ? FAULT_KEY
        : (wrong_prime || wrong_setting) ? FAULT_SETTINGS : FAULT_NONE;
    // Whoever sends frames or values must not be able to wipe the keys.
    wire fault_keeps = fault == FAULT_NONE || fault == FAULT_FRAME || fault == FAULT_RESULT || fault == FAULT_RANGE
        || fault == FAULT_TOO_MANY;
    // A setting that is written during a wipe is lost, too; and one that takes the keys as well is said.
    wire faults = fault != FAULT_NONE && (!wiping || fault == FAULT_BUSY || (keys_stay && !fault_keeps));
    cm_client_wipe #(.BITS(LOG2_N), .COUNT(1 << LOG2_N)) u_wipe (
        .clk_i(clk_i), .rst_i(rst_i), .fault_i(fault != FAULT_NONE || abort_i), .keeps_i(fault_keeps),
        .clears_o(clears), .wipes_o(wipes), .wipes_keys_o(wipes_keys), .keys_stay_o(keys_stay), .wiping_o(wiping),
        .address_o(wipe_address)
    );
    always_ff @(posedge clk_i) begin
        faults_o <= faults;
        if (accepted) fault_o <= FAULT_NONE;
        if (faults) fault_o <= fault;
        if (rst_i) begin
            fault_o <= FAULT_NONE;
            faults_o <= 1'b0;
        end
    end
endmodule
`default_nettype wire
