/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the fuzz targets share: a small parameter set with keys, a device, and a mutator that knows frames. An
 * input is a few bytes of choices and a stream; the mutator mostly makes every frame in the stream valid
 * again, so that code behind lengths and checksums is reached.
 */
#ifndef CM_TESTS_FUZZ_H
#define CM_TESTS_FUZZ_H

#include <stdlib.h>

#include "ciphermote/ciphermote.h"
#include "platform.h"

enum {
    FUZZ_N = 1024,
    FUZZ_PRIMES = 2, /* too many to be secure at this n: for tests only */
    FUZZ_T = 12289,
    FUZZ_KEY_ID = 42,
    FUZZ_LOG2_SCALE = 20,
    FUZZ_LARGEST = 100
};

/* Defined by each target: how many bytes of choices its inputs begin with, which the mutator leaves alone. */
extern const size_t fuzz_choices;

/* The set, and a secret key for it; made by the first call. */
const cm_params *fuzz_params(void);
const cm_secret_key *fuzz_key(void);

/* A freshly started device: the same counters and randomness each time. */
cm_device *fuzz_device(void);

/* Ends the run as a finding, with the sentence. */
void fuzz_expect(bool holds, const char *sentence);

/* 0 .. bound - 1, from the next byte of choices. */
static inline unsigned fuzz_choice(const uint8_t byte, unsigned bound)
{
    return byte % bound;
}

/*
 * Pass the stream to take in pieces whose lengths follow from seed, until it refuses; returns the last
 * status.
 */
cm_status fuzz_pieces(const uint8_t *bytes, size_t length, uint8_t seed,
                      cm_status (*take)(void *context, const uint8_t *bytes, size_t length), void *context);

/* libFuzzer's own function, and those it requires. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);

/* A mutator's next random number, of 24 bits. */
static inline uint32_t fuzz_chance(unsigned *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

/* What a target does with an input, and its first inputs, each of which is passed to store. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
typedef void (*fuzz_store)(const char *name, const uint8_t *bytes, size_t size);
void fuzz_first_inputs(fuzz_store store);

/* Who sends results, under this key. */
#define FUZZ_RESULT_KEY \
    { \
        9, 8, 7, [32] = 6 \
    }
cm_frame_sender *fuzz_results(void);

/*
 * For first inputs: a ciphertext's frames after choices. xof: CM_XOF_NONE puts them in the order of
 * decryption.
 */
extern cm_frame_sender *fuzz_sender; /* null: version 1 */
size_t fuzz_frames(uint8_t *out, size_t capacity, const cm_params *params, cm_scheme scheme, cm_xof_kind xof,
                   unsigned log2_tiles, uint64_t counter);

#endif
