// SPDX-License-Identifier: Apache-2.0
// The numbers of cm_client_engine's settings, commands and faults. docs/client-engine-integration.md says
// what to write to each, and in which order. Included inside a module, because not every tool reads packages;
// no module uses all of them.
// verilator lint_off UNUSEDPARAM

// Settings have an address whose upper four bits are one of these.
localparam [3:0] MAP_GLOBAL = 4'd0, MAP_PRIMES = 4'd1;

// Settings of all primes.
localparam [7:0] MAP_PARAMS = 8'd0;           // ID of the parameter set
localparam [7:0] MAP_KEY_ID = 8'd2;           // two words, the lower one first, as all below
localparam [7:0] MAP_SCALE = 8'd4;            // t, as frames name it; CKKS has a scale of its own
localparam [7:0] MAP_COUNTER = 8'd6;          // the next ciphertext's; taken with its upper word
localparam [7:0] MAP_COUNTER_END = 8'd8;      // the first counter that must not be used
localparam [7:0] MAP_T = 8'd10;
localparam [7:0] MAP_T_FACTOR = 8'd11;        // Q mod t
localparam [7:0] MAP_T_RATIO = 8'd12;         // floor(2^32 (Q mod t) / t)
localparam [7:0] MAP_T_HALF = 8'd13;          // floor((t + 1) / 2)
// Number of primes less one; bit 8: signed values; bit 9: coefficient form; bit 10: SHAPE_SHAKE256; bit 11:
// SHAPE_TAGS; bit 16: CKKS; bit 17: complex slots; bit 18: values are binary32.
localparam [7:0] MAP_SHAPE = 8'd14;
localparam [7:0] MAP_LARGEST = 8'd15;         // largest magnitude of a value: binary32 if values are
localparam [3:0] SHAPE_SHAKE256 = 4'd10;      // bit of MAP_SHAPE: public halves by SHAKE256
localparam [3:0] SHAPE_TAGS = 4'd11;          // bit of MAP_SHAPE: frames of version 2, with tags
localparam [7:0] MAP_DEVICE_SECRET = 8'd16;   // eight words
localparam [7:0] MAP_TABLE_PLACE = 8'd24;     // number of a word; bits 16 on: prime; bit 24: component
localparam [7:0] MAP_TABLE_DATA = 8'd25;      // a twiddle times R, for that place and then the next one
localparam [7:0] MAP_PUBLIC_KEY_DATA = 8'd26; // a residue of the public key times R, likewise
localparam [7:0] MAP_TRITS = 8'd27;           // eight coefficients of the secret key, each plus one in 2 bits
localparam [7:0] MAP_POLICY = 8'd28;          // what the secret key may do
// The lowest two bits of MAP_POLICY have one of these values, and another bit lets the key encrypt.
localparam [1:0] DECRYPT_NEVER = 2'd0, DECRYPT_TAGGED = 2'd1, DECRYPT_ALWAYS = 2'd2;
localparam [1:0] POLICY_ENCRYPT = 2'd2;       // number of that bit
// Exponent of integers, signed in 10 bits; bits 16 on: log2 of the scale; bits 24 on: log2 of the limit of
// values times the scale.
localparam [7:0] MAP_CKKS = 8'd64;

// Fields of frames of version 2.
localparam [7:0] MAP_TAG_KEY = 8'd32;         // twelve words, in order: K and r of frames that are made
localparam [7:0] MAP_DEVICE = 8'd44;
localparam [7:0] MAP_EPOCH = 8'd45;
localparam [7:0] MAP_WINDOW = 8'd46;          // number of the window; all ones: each ciphertext begins one
localparam [7:0] MAP_ANSWER_COUNTER = 8'd48;  // counter of the attempt that decrypted frames must answer
localparam [7:0] MAP_ANSWER_RANDOM = 8'd50;   // random bytes of that attempt
localparam [7:0] MAP_RESULT_KEY = 8'd52;      // twelve words, in order: K and r of frames that are decrypted

// Words of a prime, from its number times eight on.
localparam [2:0] MAP_PRIME_Q = 3'd0;
localparam [2:0] MAP_PRIME_FACTOR = 3'd1;     // -1 / t, times the loader's R; CKKS: 1, times it
localparam [2:0] MAP_PRIME_OFFSET = 3'd2;     // floor((t + 1) / 2) / t; CKKS: -2^31
localparam [2:0] MAP_PRIME_KEY_FACTOR = 3'd3; // -R^2
localparam [2:0] MAP_PRIME_FRACTION = 3'd4;   // floor(2^64 w / q), w = (Q / q)^-1 modulo q: two words

// Commands.
localparam [3:0] COMMAND_LOAD_KEY = 4'd1;     // transform the secret key that was entered
localparam [3:0] COMMAND_SYMMETRIC = 4'd2;    // encrypt a message under the secret key
localparam [3:0] COMMAND_PUBLIC = 4'd3;       // encrypt a message under the public key
localparam [3:0] COMMAND_DECRYPT = 4'd4;      // decrypt frames in NTT form
localparam [3:0] COMMAND_GENERATE = 4'd5;     // draw a secret key, and transform it
localparam [3:0] COMMAND_PUBLISH = 4'd6;      // give the frames of its public key
localparam [3:0] COMMAND_TABLES = 4'd7;       // make the twiddles from numbers 0 and n / 2 of each table

// Faults.
localparam [3:0] FAULT_NONE = 4'd0;
localparam [3:0] FAULT_COMMAND = 4'd1;        // an unknown command
localparam [3:0] FAULT_COUNTER = 4'd2;        // no counter left, or one that falls
localparam [3:0] FAULT_ENTROPY = 4'd3;        // a draw was refused, or failed a health test
localparam [3:0] FAULT_RANGE = 4'd4;          // a value out of range; the keys stay
localparam [3:0] FAULT_TOO_MANY = 4'd5;       // more values than fit; the keys stay
localparam [3:0] FAULT_KEY = 4'd6;            // a part of a key that no key has
localparam [3:0] FAULT_BUSY = 4'd7;           // a setting was written while the engine worked, or wiped
localparam [3:0] FAULT_NO_KEY = 4'd8;         // a command for a key that is not there
localparam [3:0] FAULT_FRAME = 4'd9;          // a frame that does not decrypt; the keys stay
localparam [3:0] FAULT_SETTINGS = 4'd10;      // an unknown setting, or a command that settings do not allow
localparam [3:0] FAULT_RESULT = 4'd11;        // a decrypted value out of range; the keys stay
localparam [3:0] FAULT_WINDOW = 4'd12;        // a counter that is not less than 2^32 from the window on
localparam [3:0] FAULT_POLICY = 4'd13;        // against the key's policy, or a policy that changed

// Frames and key streams, as in the C library.
localparam [7:0] SCHEME_PUBLIC_KEY = 8'd0, SCHEME_BFV = 8'd1, SCHEME_CKKS = 8'd2;
localparam [7:0] XOF_NONE = 8'd0, XOF_SHAKE256 = 8'd2, XOF_CHACHA20 = 8'd3;
localparam [31:0] LABEL_UNIFORM = 32'd1, LABEL_TERNARY = 32'd2, LABEL_NOISE = 32'd3;
// verilator lint_on UNUSEDPARAM
