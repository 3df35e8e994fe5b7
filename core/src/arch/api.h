/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a back-end (hand-written assembly, a vector unit, an accelerator on a bus) may take over from portable
 * C, in every folder of core/src.
 *
 * A back-end is a table of functions, cmi_arch; entries that it lacks are null. A call that returns 1 has
 * produced exactly what the portable code would: same bounds, same values, bit for bit (lazy ones may differ
 * by multiples of q). One that returns 0 has declined and written nothing: the portable code does the work.
 * tests/vectors holds every back-end to this. Time may depend on lengths, on public numbers such as n, q and
 * t, and on addresses, never on what is stored there.
 *
 * Steps as small as an instruction are chosen when the library is compiled, and only then: the 64-bit product
 * (ring/product.h), AVR's product modulo q (ring/ring.h), the form of Keccak's state (random/keccak.h).
 */
#ifndef CM_ARCH_API_H
#define CM_ARCH_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ciphermote/config.h"
#include "ciphermote/status.h"
#include "common/names.h"

/* The types of arguments are declared here and defined where they belong, so that a file that asks a back-end
   for one step does not depend on the types of all others. */
typedef struct cm_prime cm_prime;                     /* ciphermote/params.h */
typedef struct cm_params cm_params;                   /* ciphermote/params.h */
typedef struct cm_bfv_reader cm_bfv_reader;           /* ciphermote/bfv.h */
typedef struct cm_decryptor cm_decryptor;             /* ciphermote/decryptor.h */
typedef struct cm_device cm_device;                   /* ciphermote/device.h */
typedef struct cm_encryptor_setup cm_encryptor_setup; /* ciphermote/encryptor.h */
typedef struct cm_frame_writer cm_frame_writer;       /* ciphermote/frame.h */
typedef struct cm_message_source cm_message_source;   /* scheme/encrypt.h */
typedef struct cmi_ring cmi_ring;                     /* ring/ring.h */
typedef struct cmi_stream cmi_stream;                 /* random/xof.h */
typedef struct cmi_uniform cmi_uniform;               /* random/sample.h */

/* ---- what entries are given; the assembly depends on the order of the fields ---- */

/* For folding into halves. one is 1, minus_r is -r, both in Montgomery form and below q/2 in magnitude. */
typedef struct cmi_fold_constants {
    int32_t one;
    int32_t minus_r;
    uint32_t q;
    uint32_t neg_q_inv;
} cmi_fold_constants;

/* What the butterflies of a pair of levels multiply by: residues in Montgomery form. */
typedef struct cmi_batch_factors {
    int32_t inner[2]; /* the two blocks of the lower pair, the second of which comes first in memory */
    int32_t outer;
    int32_t sum;
    uint32_t neg_q_inv;
    uint32_t q;
} cmi_batch_factors;

/* Takes a value m < t < 2^16 to w + half: cmi_plain_scaling with 16-bit factors. */
typedef struct cmi_read_scaling {
    uint16_t factor;
    uint16_t quotient;
    uint16_t t;
    uint16_t half;
} cmi_read_scaling;

/* ---- uniform_draw for the back-ends that cut whole words ---- */

/* A group of fields fills whole words: 8 of 20 bits, 16 of 26 or 32 of 27. 0 for other primes. */
static inline unsigned cmi_field_group(unsigned bits)
{
    return bits == 20u ? 8u : bits == 26u ? 16u : bits == 27u ? 32u : 0;
}

/*
 * At a word boundary, all whole groups. Elsewhere, portable C cuts the fields up to the next boundary: as
 * many as use up the pending bits modulo 32, for 5 5 = 1 modulo 8, 5 13 = 1 modulo 16 and 19 27 = 1 modulo
 * 32.
 */
static inline int cmi_draw_groups(uint32_t *count, uint32_t *bytes, unsigned bits, uint32_t q,
                                  unsigned pending_bits)
{
    const uint32_t group = cmi_field_group(bits);
    const uint32_t fields = bits == 20u   ? 5u * pending_bits / 4u
                            : bits == 26u ? 5u * pending_bits / 2u
                                          : 19u * pending_bits;
    const uint32_t before = fields & (group - 1u);
    (void)q;
    if (group == 0 || *count < before + group) {
        return 0;
    }
    if (before > 0) {
        *count = before;
        return 0;
    }
    *bytes = (*count & ~(group - 1u)) / 8u * bits;
    return 1;
}

CMI_HIDDEN_BEGIN

#if CM_CONFIG_CRC_TABLE == CM_CONFIG_CRC_TABLE_WORD
/* What a byte becomes when it is shifted out of the checksum and 0 to 3 zero bytes follow it. */
extern const uint32_t cmi_crc32c_table[4][256];
#if CM_HELIUM
/* The same with 12 to 15 zero bytes: past the next three words, four of which are summed side by side. */
extern const uint32_t cmi_crc32c_far_table[4][256];
#endif
#endif

CMI_HIDDEN_END

typedef struct cmi_arch {
    /*
     * Whole operations, for hardware that keeps keys, seeds and noise to itself.
     *
     * A whole encryption: the message has not been looked at, and key is a cm_secret_key or, if public_key, a
     * cm_public_key. A back-end declines what it cannot do, and what portable C refuses before it takes a
     * counter. It takes its counter from the device (cmi_counter_take) and draws 32 random bytes, which the
     * hardware checks as the library does; the same secret, counter and bytes give the same frames. Once it
     * has taken a counter it may still decline, as long as no byte has left. It leaves info of the emitter as
     * portable C does. *status: what the call returns. Values and what was made of them are gone from
     * wherever it put them. The arena is not wiped after it: a back-end wipes what it writes there and, where
     * it declines, puts values that were in the arena back.
     */
    int (*encrypt)(cm_status *status, const void *key, bool public_key, const cm_encryptor_setup *setup,
                   const cm_message_source *source);

    /*
     * A whole decryption. Its frames arrive in pieces, and only portable C says what is wrong with one: so
     * the back-end gathers them, and decrypts once it has all. Whatever it cannot do, or fails at, it hands
     * back: it feeds what it has gathered to cmi_decryptor_feed (protocol/decryptor.h), forgets it, and
     * declines.
     *
     * decrypt_begin: portable C is ready for the ciphertext that the decryptor's fields describe; 1 if its
     * frames will be gathered. Unless one is expected, what was gathered for this decryptor, which need not
     * be set up, is forgotten. decrypt_feed: 1 if the bytes were gathered. decrypt_end: all frames came; 1 if
     * *status is that of cmi_bfv_decryption_given or cmi_ckks_decryption_given (scheme/decryption.h), which
     * complete what the hardware has decrypted; without status it hands back. Where a ciphertext's noise
     * leaves no number right, the wrong ones may differ from portable C's.
     */
    int (*decrypt_begin)(cm_decryptor *decryptor, bool expected);
    int (*decrypt_feed)(cm_decryptor *decryptor, const uint8_t *bytes, size_t length);
    int (*decrypt_end)(cm_status *status, cm_decryptor *decryptor);

    /*
     * Keys that hardware draws and keeps. A back-end that does writes to ternary, which has CM_TERNARY_BYTES,
     * what names the key in place of it: bytes that portable C refuses as a key, because one of the first 64
     * digits is 3. names_key: 1 if these bytes are such a name, of a key that is still there or not.
     * make_secret_key: the arguments are valid but for the device, and ternary is zeros. 1 if *status is what
     * the call returns; *key_id and ternary are zeros unless that is CM_OK.
     * emit_public_key: the arguments are valid; ternary is a key or a name. It takes its counter and its
     * random bytes as encrypt does, and leaves info of the emitter as portable C does.
     */
    int (*names_key)(const uint8_t *ternary);
    int (*make_secret_key)(cm_status *status, cm_device *device, const cm_params *params, uint8_t *ternary,
                           uint64_t *key_id);
    int (*emit_public_key)(cm_status *status, const cm_encryptor_setup *setup, const cm_params *params,
                           const uint8_t *ternary, uint64_t key_id);

    /* The ring: as the functions with these names in ring/ring.h. */
    int (*ntt_forward)(uint32_t *a, const cmi_ring *ring);
    int (*ntt_inverse)(uint32_t *a, const cmi_ring *ring);
    int (*ntt_inverse_lazy)(uint32_t *a, const cmi_ring *ring);
    int (*multiply)(uint32_t *out, const uint32_t *a, const uint32_t *b, uint32_t count,
                    const cm_prime *prime);
    int (*multiply_add)(uint32_t *out, const uint32_t *a, const uint32_t *b, uint32_t count,
                        const cm_prime *prime);
    int (*multiply_add_flash)(uint32_t *out, const uint32_t *a, const uint32_t *b, uint32_t count,
                              const cm_prime *prime);
    int (*ternary_transform)(uint32_t *a, const uint8_t *packed, uint32_t factor, const cmi_ring *ring);
    /*
     * The transform of n noise coefficients, each within 21 of 0, folded into the ring or tile: lazy values.
     */
    int (*noise_transform)(uint32_t *a, const int8_t *noise, const cmi_ring *ring);
    /* Whole products: an accelerator that holds u on chip saves two transfers and every intermediate. */
    int (*double_product)(uint32_t *out0, uint32_t *out1, const uint8_t *u, const uint32_t *p0,
                          const uint32_t *p1, const cmi_ring *ring);

    /* Blocks of key stream, at least one, to any address; the counter in input is advanced. */
    int (*chacha20_blocks)(uint8_t *out, uint32_t input[12], size_t blocks);
    /*
     * A block whose words 8 to 15 are zero; total: bytes up to here; last: all ones for the last block, else
     * 0.
     */
    int (*blake2b_short)(uint64_t h[8], const uint64_t m[8], uint32_t total, uint32_t last);
    /*
     * Uniform residues from a ChaCha20 expansion, in two steps, of which a back-end has both or neither.
     * `draw`: to cut *count fields, or fewer if it lowers *count, *bytes of the stream are needed after the
     * bits that are pending. Where it declines, portable C cuts *count fields. `cut`: the bytes are at the
     * end of the count places from residues on; *accepted fields, those below q, are stored there in order,
     * and the pending bits are updated.
     */
    int (*uniform_draw)(uint32_t *count, uint32_t *bytes, unsigned bits, uint32_t q, unsigned pending_bits);
    int (*uniform_cut)(uint32_t *residues, uint32_t count, uint32_t *accepted, uint32_t bytes, unsigned bits,
                       uint32_t q, uint32_t *pending, uint8_t *pending_bits);
    /*
     * Centred binomial coefficients from 42 words: coefficient j takes bit j of each. The words are cleared.
     */
    int (*cbd)(int8_t noise[32], uint32_t words[42]);
    /* The same from the next 168 bytes of a stream. */
    int (*sample_cbd)(cmi_stream *stream, int8_t noise[32]);

    /*
     * CKKS at 31 bits (encode/ckks_transform.h). Two levels of butterflies on the four complex points that
     * begin step numbers apart, at `at` and every 4 step numbers from there to below end. roots: of the
     * second level, then of the first, cosine and sine each; `middle`: the first level's is -i; `exact`: all
     * are 1.
     */
    int (*two_levels_31)(int32_t *at, const int32_t *end, size_t step, const int32_t roots[4]);
    int (*two_levels_middle_31)(int32_t *at, const int32_t *end, size_t step, const int32_t roots[2]);
    int (*two_levels_exact_31)(int32_t *at, const int32_t *end, size_t step);
    /*
     * The split of real samples from u = U[1] and v = U[M-1] to where they meet; unit: pi/n as an index into
     * the table of sines.
     */
    int (*split_real_31)(int32_t *u, int32_t *v, const uint32_t *sine, size_t unit);
    /*
     * Real coefficients and their noise folded into halves, from data[2] on: upwards from out[1] and
     * downwards from out[n/2 - 1], until they meet (encode/ckks_fold.h).
     */
    int (*fold_halves_31)(uint32_t *forward, uint32_t *backward, const int32_t *data, const int8_t *noise,
                          const cmi_fold_constants *constants);
    /* The same, all coefficients, and their transform: lazy values. */
    int (*real_transform_31)(uint32_t *a, const int32_t *data, const int8_t *noise, const cmi_ring *ring);

    /*
     * BFV (encode/bfv_batch.c): half times two levels of butterflies on four numbers that are half places
     * apart.
     */
    int (*batch_levels)(int16_t *at, size_t half, const cmi_batch_factors *by);
    /*
     * Words below 2^31 to residues in half the space; count is a multiple of 4, not 0. inverse: 2^32 / q,
     * rounded to nearest.
     */
    int (*narrow)(uint32_t *a, uint32_t count, uint32_t q, int32_t inverse);
    /* w + half of the reader's values at `at`, at + step and so on; values from count on are zero. */
    int (*read_shifted)(uint16_t *w, const cm_bfv_reader *reader, const cmi_read_scaling *scaling,
                        uint16_t at, uint16_t step, uint8_t terms);
    /*
     * (start + the sum of w[j] weights[j]) / 2^32 mod q, within q of 0; the sum is below 2^46 in magnitude.
     */
    int (*dot)(int32_t *sum, const uint16_t *w, const int32_t *weights, uint8_t terms, const int64_t *start,
               const cm_prime *prime);

    /*
     * a[i] += noise[i] p mod q, from below 4q to below 2q, for noise within 21 of 0; factor holds the
     * residues of p and -21 p. Only called with CM_NOISE_FACTORS.
     */
    int (*noise_add)(uint32_t *a, const int8_t *noise, uint8_t count, const uint32_t factor[2],
                     const cm_prime *prime);

    /* Decryption; count is a multiple of 4, not 0. tile[i] += q - residues[i]. */
    int (*take_off)(uint32_t *tile, const uint32_t *residues, uint32_t count, uint32_t q);
    /* sums[i] += x high + (x low + 2^31) / 2^32 modulo 2^32, for x = tile[i], signed, as low is. */
    int (*add_multiples)(uint32_t *sums, const uint32_t *tile, uint32_t count, uint32_t high, int32_t low);
    /* sums[i] = (sums[i] t + 2^31) / 2^32, for signed sums, and t more if that is negative. */
    int (*round_sums)(uint32_t *sums, uint32_t count, uint32_t t);

    /*
     * The compact lane (scheme/compact.c): sums[i] += the sum over j of residues[j] trits[i + block - 1 - j],
     * modulo 2^32, for trits of -1, 0 and 1.
     */
    int (*ternary_products)(uint32_t *sums, uint16_t count, const uint32_t *residues, uint8_t block,
                            const int8_t *trits);
    /*
     * The same for the next `terms` residues of an expansion, a multiple of 32, and the packed secret s,
     * which is stored with the constants: sums[i] -= the sum over j of residue[j] s[from + i - j], modulo q.
     * Sums are residues before and after; with CM_TARGET_WIDE_TERMS, within 2^(30 - bits) q of 0, for q of so
     * many bits. There are at most 2^(30 - bits) terms. room: CM_COMPACT_ROOM bytes.
     */
    int (*ternary_terms)(uint32_t *sums, uint16_t count, cmi_uniform *uniform, const uint8_t *ternary,
                         int16_t from, uint16_t terms, void *room);
    /* Blocks of a tag (wire/tag.c, absorb_block); top is 1 for whole ones, else 0. */
    int (*poly1305_blocks)(uint32_t h[5], const uint32_t r[4], const uint8_t *bytes, size_t blocks,
                           uint32_t top);

    /* Frames (wire/frame.c): as cm_crc32c. */
    int (*crc32c)(uint32_t *crc, const uint8_t *bytes, size_t length);
    /*
     * Pack residues of `bits` bits, a multiple of 32 of them, into the writer's pieces and send these to its
     * sink: CM_ERR_SINK, or CM_OK.
     */
    int (*pack)(cm_status *status, cm_frame_writer *writer, const uint32_t *residues, uint32_t count,
                unsigned bits);
    /* The inverse: *below says whether all are below q. The checksum is updated by the packed bytes. */
    int (*unpack)(bool *below, uint32_t *residues, uint32_t count, const uint8_t *bytes, unsigned bits,
                  uint32_t q, uint32_t *crc);
} cmi_arch;

#endif
