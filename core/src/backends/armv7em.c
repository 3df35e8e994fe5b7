/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The back-end for ARMv7E-M around the assembly of this folder: which levels of a transform are combined,
 * and where their roots come from.
 *
 * Bounds. The transform's values are signed. A Montgomery product of |b| <= x q and a root of at most q in
 * magnitude is at most |b| q / 2^32 + q / 2 <= (x / 32 + 1/2) q, for q < 2^27; with a quotient, at most (x /
 * 64 + 1/2) q. From inputs below 4q, fourteen steps from x to x + x / 32 + 1/2 end below 15: so every value
 * fits 31 bits and a sign, and the results lie between -11 q and 15 q. To make them positive, 12 q is added
 * to the first coefficient alone, and through it to every result: the first value of a block is never
 * multiplied, so it may exceed 31 bits.
 */
#include "arch/backends.h"

#if CM_ARMV7EM

#include <string.h>

#include "common/compiler.h"
#include "common/masks.h"
#include "common/wipe.h"
#include "ring/ring.h"
#include "wire/frame.h"

#include "backends/armv7em/levels.h" /* behind ring.h */

/* The state of packing a frame's residues into pieces; armv7em_pack.S depends on the order of the fields. */
struct cmi_armv7em_packing {
    uint8_t *at;
    uint8_t *end;     /* of the piece */
    cm_sink sink;     /* gets each full piece */
    uint32_t sums[7]; /* that the checksum is made of, the latest first */
};

CMI_HIDDEN_BEGIN

/* Two levels of blocks of four times as many coefficients as the name says. May advance outer and inner. */
void cmi_armv7em_two_levels_1(cmi_level_blocks *blocks); /* of a multiple of 4 blocks */
void cmi_armv7em_two_levels_4(cmi_level_blocks *blocks);
void cmi_armv7em_two_levels_16(cmi_level_blocks *blocks);
void cmi_armv7em_two_levels_64(cmi_level_blocks *blocks);
void cmi_armv7em_two_levels_256(cmi_level_blocks *blocks);
void cmi_armv7em_two_levels_1024(cmi_level_blocks *blocks); /* of one block */

/* One level of one block. */
void cmi_armv7em_one_level(cmi_level_blocks *blocks);

#if CM_CONFIG_NTT_ROOTS
/* The same for the inverse transform. outer and inner point past the roots of the opposite blocks. */
void cmi_armv7em_two_inverse_levels_1(cmi_level_blocks *blocks);
void cmi_armv7em_two_inverse_levels_4(cmi_level_blocks *blocks);
void cmi_armv7em_two_inverse_levels_16(cmi_level_blocks *blocks);
void cmi_armv7em_two_inverse_levels_64(cmi_level_blocks *blocks);
void cmi_armv7em_two_inverse_levels_256(cmi_level_blocks *blocks);
void cmi_armv7em_two_inverse_levels_1024(cmi_level_blocks *blocks); /* of one block */
void cmi_armv7em_one_inverse_level(cmi_level_blocks *blocks);
#else
/*
 * out[i] = in[i] factor / 2^32 mod q, below q in magnitude, for factor <= q. count: a multiple of 4, not 0.
 */
void cmi_armv7em_scale(uint32_t *out, const uint32_t *in, uint32_t count, uint32_t factor,
                       const cm_prime *prime);
#endif

/* For folding into two quarters at once, of n/4 coefficients each. */
void cmi_armv7em_fold_ternary(uint32_t *out, const uint8_t *packed, const cmi_small_constants *constants,
                              uint32_t quarter);
void cmi_armv7em_fold_noise(uint32_t *out, const int8_t *noise, const cmi_small_constants *constants,
                            uint32_t quarter);

/* Roots with quotients: of the half's first level, and what its upper coefficients are folded by. */
typedef struct real_fold_constants {
    cm_root level;
    cm_root fold;
    uint32_t q;
} real_fold_constants;

/* For folding real slots likewise (encode/ckks_fold.h), but for coefficients i and M + i, i = 0 and M/2. */
void cmi_armv7em_fold_real_31(uint32_t *out, const int32_t *data, const int8_t *noise,
                              const real_fold_constants *constants, uint32_t half_bytes);

CMI_HIDDEN_END

/* ---- roots ---- */

#if !CM_CONFIG_NTT_ROOTS

enum { LOG2_CHUNK = 4, CHUNK = 1 << LOG2_CHUNK };

/* The roots of a chunk of blocks at a time; bits and lower as open_bits gives them. */
typedef struct root_source {
    const cmi_ring *ring;
    uint32_t bits[LOG2_CHUNK + 1];
    uint32_t lower[LOG2_CHUNK + 2];
    uint32_t outer[CHUNK];
    uint32_t inner[2 * CHUNK];
} root_source;

/*
 * Setting bit p of a block's number multiplies its twiddle by bits[p]; lower[p] is the product bits[0] ..
 * bits[p - 1]. step[p] sets bit p and clears all bits below it.
 */
CM_NOINLINE static void open_bits(const cmi_ring *ring, unsigned count, uint32_t *bits, uint32_t *lower)
{
    lower[0] = ring->prime->r1;
    for (unsigned p = 0; p < count; p++) {
        bits[p] = cmi_montgomery_residue(ring->step[p], lower[p], ring->prime);
        lower[p + 1u] = cmi_montgomery_residue(lower[p], bits[p], ring->prime);
    }
}

static void scale_roots(uint32_t *out, const uint32_t *in, uint32_t count, uint32_t factor,
                        const cm_prime *prime)
{
    if (count >= 4) {
        cmi_armv7em_scale(out, in, count, factor, prime);
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        out[i] = cmi_montgomery_residue(in[i], factor, prime);
    }
}

/* The twiddles of the first 2^log2_count blocks of a level, as in a table. */
CM_NOINLINE static void first_roots(const cmi_ring *ring, unsigned level, const uint32_t *bits,
                                    unsigned log2_count, uint32_t *roots)
{
    roots[0] = ring->first[level];
    for (unsigned p = 0; p < log2_count; p++) {
        scale_roots(roots + ((size_t)1 << p), roots, (uint32_t)1 << p, bits[p], ring->prime);
    }
}

static int open_roots(root_source *source, const cmi_ring *ring)
{
    source->ring = ring;
    open_bits(ring, LOG2_CHUNK + 1u, source->bits, source->lower);
    return 1;
}

/* From the roots of blocks i 2^log2_step + j of a level to those of blocks (i + 1) 2^log2_step + j. */
static void advance_roots(const root_source *source, uint32_t *roots, uint32_t count, uint32_t i,
                          unsigned log2_step)
{
    const cm_prime *prime = source->ring->prime;
    const uint32_t step = source->ring->step[log2_step + cmi_trailing_ones(i)];
    cmi_armv7em_scale(roots, roots, count, cmi_montgomery_residue(step, source->lower[log2_step], prime),
                      prime);
}

/* Blocks of a level from number i 2^log2_count on. They must be requested in order. */
static void point_to_roots(cmi_level_blocks *blocks, root_source *source, unsigned level, uint32_t i,
                           unsigned log2_count)
{
    if (i == 0) {
        first_roots(source->ring, level, source->bits, LOG2_CHUNK, source->outer);
        first_roots(source->ring, level + 1u, source->bits, LOG2_CHUNK + 1u, source->inner);
    } else {
        advance_roots(source, source->outer, CHUNK, i - 1u, log2_count);
        advance_roots(source, source->inner, 2 * CHUNK, i - 1u, log2_count + 1u);
    }
    blocks->outer = source->outer;
    blocks->inner = source->inner;
}

#else

enum { LOG2_CHUNK = CM_CONFIG_MAX_LOG2_N };

typedef const cmi_ring *root_source;

static int open_roots(root_source *source, const cmi_ring *ring)
{
    *source = ring;
    return ring->roots != NULL;
}

static void point_to_roots(cmi_level_blocks *blocks, root_source *source, unsigned level, uint32_t i,
                           unsigned log2_count)
{
    blocks->outer = cmi_ring_roots(*source, level) + ((size_t)i << log2_count);
    blocks->inner = cmi_ring_roots(*source, level + 1u) + ((size_t)i << (log2_count + 1u));
}

#endif

/* ---- levels ---- */

typedef void levels_function(cmi_level_blocks *blocks);

/* For 2, 4 .. 12 levels left. */
static levels_function *const two_levels[] = {
    cmi_armv7em_two_levels_1,  cmi_armv7em_two_levels_4,   cmi_armv7em_two_levels_16,
    cmi_armv7em_two_levels_64, cmi_armv7em_two_levels_256, cmi_armv7em_two_levels_1024,
};

#if CM_HELIUM && CM_CONFIG_NTT_ROOTS

static levels_function *const two_levels_on_helium[] = {
    cmi_helium_two_levels_1,  cmi_helium_two_levels_4,   cmi_helium_two_levels_16,
    cmi_helium_two_levels_64, cmi_helium_two_levels_256, cmi_helium_two_levels_1024,
};

/* One level, or two of those left. */
static levels_function *levels_to_run(const cmi_ring *ring, unsigned together, unsigned left)
{
    if (ring->prime->q >> 26 && ring->log2_n - ring->log2_tiles > 12) { /* helium_ring.c */
        return together == 1u ? cmi_armv7em_one_level : two_levels[left / 2u - 1u];
    }
    return together == 1u ? cmi_helium_one_level : two_levels_on_helium[left / 2u - 1u];
}

#else

static inline levels_function *levels_to_run(const cmi_ring *ring, unsigned together, unsigned left)
{
    (void)ring;
    return together == 1u ? cmi_armv7em_one_level : two_levels[left / 2u - 1u];
}

#endif

/* Starting at this level: one level if the number left is odd or more than 12, else two. Returns how many. */
static unsigned transform_levels(uint32_t *a, const cmi_ring *ring, root_source *source, unsigned level)
{
    const unsigned left = ring->log2_n - level;
    const unsigned together = left % 2u || left > 12u ? 1u : 2u;
    const unsigned log2_blocks = level - ring->log2_tiles;
    const unsigned log2_most = together == 1u || left == 12u ? 0u : LOG2_CHUNK;
    const unsigned log2_count = log2_blocks < log2_most ? log2_blocks : log2_most;
    levels_function *const transform = levels_to_run(ring, together, left);
    const uint32_t words = (uint32_t)1 << (left + log2_count);
    cmi_level_blocks blocks;
    blocks.half_bytes = (uint32_t)2 << left;
    blocks.q = ring->prime->q;
    blocks.neg_q_inv = ring->prime->neg_q_inv;
    for (uint32_t i = 0; i < (uint32_t)1 << (log2_blocks - log2_count); i++) {
        blocks.a = a + (size_t)i * words;
        blocks.end = blocks.a + words;
        point_to_roots(&blocks, source, level, i, log2_count);
        transform(&blocks);
    }
    return together;
}

static void transform_from(uint32_t *a, const cmi_ring *ring, root_source *source, unsigned level)
{
    const uint32_t points = cmi_ring_points(ring);
    for (uint32_t first = 0; first < points; first += (uint32_t)1 << (ring->log2_n - level)) {
        a[first] += 12u * ring->prime->q;
    }
    while (level < ring->log2_n) {
        level += transform_levels(a, ring, source, level);
    }
}

int cmi_armv7em_ntt_forward(uint32_t *a, const cmi_ring *ring)
{
    root_source source;
    if (!open_roots(&source, ring)) {
        return 0;
    }
    transform_from(a, ring, &source, ring->log2_tiles);
    return 1;
}

/* ---- small polynomials ---- */

int cmi_armv7em_ternary_transform(uint32_t *a, const uint8_t *packed, uint32_t factor, const cmi_ring *ring)
{
    root_source source;
    if (ring->log2_tiles != 1 || !open_roots(&source, ring)) {
        return 0;
    }
    const cmi_small_constants constants = cmi_small_constants_of(ring, factor);
    cmi_armv7em_fold_ternary(a, packed, &constants, cmi_ring_points(ring) / 2u);
    transform_from(a, ring, &source, ring->log2_tiles + 1u);
    return 1;
}

/* x less q times its rounded quotient, which is off by less than 0.1. */
static inline uint32_t less_quotient(uint32_t x, const cmi_small_constants *constants)
{
    const int64_t quotient = cmi_product_signed((int32_t)x, constants->inverse);
    return x - constants->q * cmi_upper_word((uint64_t)quotient + 0x80000000u);
}

/*
 * Folded noise is below 11.1 q if q < 2^26, and fits 31 bits to the end: twelve steps from x to x + x / 64 +
 * 1/2 end below 20.1, on Helium below 21.7. Only the first coefficient of a block is never multiplied. With
 * that one reduced, the results are within 0.6 q and what the steps add, 10.6 q at most.
 */
int cmi_armv7em_noise_transform(uint32_t *a, const int8_t *noise, const cmi_ring *ring)
{
    root_source source;
    const uint32_t quarter = cmi_ring_points(ring) / 2u;
    if (ring->log2_tiles != 1 || !open_roots(&source, ring)) {
        return 0;
    }
    const cmi_small_constants constants = cmi_small_constants_of(ring, 1);
    cmi_armv7em_fold_noise(a, noise, &constants, quarter);
    a[0] = less_quotient(a[0], &constants);
    a[quarter] = less_quotient(a[quarter], &constants);
    transform_from(a, ring, &source, ring->log2_tiles + 1u);
    return 1;
}

/* ---- real slots ---- */

#if CM_CONFIG_PRECISION_31

/* A root with its quotient, from its Montgomery form. */
static inline cm_root whole_root(uint32_t montgomery, const cm_prime *prime)
{
    const int32_t form = cmi_centred(montgomery, prime->q);
    return (cm_root){cmi_montgomery_reduce_signed(form, prime), (int32_t)((uint32_t)form * prime->neg_q_inv)};
}

/* x root, within 0.6 q of 0 for |x| < 2^30. */
static inline uint32_t by_root(uint32_t x, const cm_root *root, uint32_t q)
{
    const int64_t quotient = cmi_product_signed((int32_t)x, root->quotient);
    return x * (uint32_t)root->root - q * cmi_upper_word((uint64_t)quotient + 0x80000000u);
}

/* Coefficients i and M + i of the half, of two numbers each and their noise, and the first level of both. */
CM_NOINLINE static void fold_column(uint32_t *low, uint32_t *high, const uint32_t numbers[4],
                                    const int8_t noise[4], const real_fold_constants *by)
{
    uint32_t parts[4];
    for (unsigned i = 0; i < 4; i++) {
        const int32_t own = noise[i];
        parts[i] = numbers[i] + (uint32_t)own;
    }
    const uint32_t sum = parts[0] + by_root(parts[2], &by->fold, by->q);
    const uint32_t product = by_root(parts[1] + by_root(parts[3], &by->fold, by->q), &by->level, by->q);
    *low = sum + product;
    *high = sum - product;
}

/*
 * Bounds, in multiples of 2^26 > q. Folded coefficients are below 2^29.6 + 0.6 q, 11.2. Thirteen steps from x
 * to x + x / 64 + 1/2 end below 21: that fits 31 bits. The first coefficient, which alone is never
 * multiplied, is within 1.2 q of 0 and the results within what the steps add to it, 11 q.
 */
int cmi_armv7em_real_transform_31(uint32_t *a, const int32_t *data, const int8_t *noise, const cmi_ring *ring)
{
    root_source source;
    const cm_prime *const prime = ring->prime;
    const uint32_t m = cmi_ring_points(ring) / 2u;
    if (ring->log2_tiles != 1 || prime->q >> 26 || !open_roots(&source, ring)) {
        return 0;
    }
    const uint32_t q = prime->q;
    const real_fold_constants by = {whole_root(ring->first[1], prime),
                                    whole_root(q - cmi_ring_fold_ratio(ring), prime), q};
    const cmi_small_constants whole = {{0}, q, cmi_prime_inverse(prime)};
    cmi_armv7em_fold_real_31(a, data, noise, &by, 4u * m);
    const uint32_t middle = (uint32_t)data[1];
    const uint32_t even = (uint32_t)data[m];
    const uint32_t odd = (uint32_t)data[m + 1u];
    const uint32_t first[4] = {less_quotient((uint32_t)data[0], &whole), middle, 0, middle};
    const uint32_t pair[4] = {even, odd, odd, even};
    fold_column(a, a + m, first, noise, &by);
    fold_column(a + m / 2u, a + m + m / 2u, pair, noise + 2u * (size_t)m, &by);
    transform_from(a, ring, &source, ring->log2_tiles + 1u);
    return 1;
}

#endif

/* ---- the inverse transform ---- */

#if CM_CONFIG_NTT_ROOTS

/* For 2, 4 .. 12 levels done. */
static levels_function *const two_inverse_levels[] = {
    cmi_armv7em_two_inverse_levels_1,   cmi_armv7em_two_inverse_levels_4,
    cmi_armv7em_two_inverse_levels_16,  cmi_armv7em_two_inverse_levels_64,
    cmi_armv7em_two_inverse_levels_256, cmi_armv7em_two_inverse_levels_1024,
};

/* Past the roots of a level's blocks in the opposite tile. */
static const cm_root *end_across(const cmi_ring *ring, unsigned level)
{
    const size_t tiles = (size_t)1 << ring->log2_tiles;
    return ring->roots + ((size_t)1 << level) + ((tiles - ring->tile) << (level - ring->log2_tiles));
}

/* From the smallest blocks up: two levels at a time for up to twelve, then single levels of one block. */
int cmi_armv7em_ntt_inverse_lazy(uint32_t *a, const cmi_ring *ring)
{
    const cm_prime *prime = ring->prime;
    if (!ring->roots) {
        return 0;
    }
    cmi_level_blocks blocks;
    blocks.q = prime->q;
    blocks.neg_q_inv = (uint32_t)cmi_prime_inverse(prime);
    for (unsigned level = ring->log2_n; level > ring->log2_tiles;) {
        const unsigned done = ring->log2_n - level;
        const unsigned together = level - ring->log2_tiles >= 2u && done < 12u ? 2u : 1u;
        level -= together;
        blocks.outer = end_across(ring, level);
        blocks.inner = end_across(ring, level + 1u);
        if (together == 2u) {
            blocks.a = a;
            blocks.end = a + cmi_ring_points(ring);
            two_inverse_levels[done / 2u](&blocks);
        } else {
            blocks.half_bytes = (uint32_t)4 << done;
            for (uint32_t *block = a; block < a + cmi_ring_points(ring); block += (size_t)2 << done) {
                blocks.a = block;
                cmi_armv7em_one_inverse_level(&blocks);
                blocks.outer--;
            }
        }
    }
    return 1;
}

#endif

/* ---- frames ---- */

#if CM_CONFIG_CRC_TABLE == CM_CONFIG_CRC_TABLE_WORD

_Static_assert(CM_FRAME_PIECE_BYTES == 64, "armv7em_pack.S returns to the start of a piece of 64 bytes");

/* A writer's piece, of a tagged frame's payload: it goes into the tag, then to the sink. */
static int send_tagged(void *context, const uint8_t *piece, size_t length)
{
    cm_frame_writer *writer = context;
    writer->sender->absorb(writer->sender, piece, length);
    return writer->sink.write(writer->sink.context, piece, length);
}

/* The word that takes a checksum of 0 to this one, both inverted: thirty-two of its steps undone. */
static uint32_t word_before(uint32_t inverted)
{
    for (unsigned i = 0; i < 32; i++) {
        inverted = inverted << 1 ^ (cmi_mask_of_top(inverted) & 0x05EC76F1u);
    }
    return inverted;
}

/* What armv7em_pack.S adds to a word, of the sums from sum on: those before it. */
static uint32_t dropped(const uint32_t *sum)
{
    return sum[2] << 1 ^ sum[3] >> 31 ^ sum[4] << 27 ^ sum[5] >> 5 ^ sum[5] << 10 ^ sum[6] >> 22 ^
           sum[6] << 3 ^ sum[6] << 17 ^ sum[7] >> 29 ^ sum[7] >> 15;
}

/*
 * The checksum of what has been packed. The last seven words are not to be dropped after all: what they have
 * added to one another is taken back, and the others are gone.
 */
static uint32_t checksum_of(const uint32_t sums[7])
{
    uint32_t latest[14] = {0};
    uint32_t words[7];
    memcpy(latest, sums, 7 * sizeof *sums);
    for (unsigned i = 0; i < 7; i++) {
        words[i] = latest[6u - i] ^ dropped(latest + 6u - i);
    }
    return cm_crc32c(~(uint32_t)0, (const uint8_t *)words, sizeof words);
}

int cmi_armv7em_pack(cm_status *status, cm_frame_writer *writer, const uint32_t *residues, uint32_t count,
                     unsigned bits)
{
    if (count == 0 || (bits != 26u && bits != 27u)) {
        return 0;
    }
    cm_frame_sender *const sender = writer->sender;
    uint8_t *const piece = writer->piece;
    const cm_sink tagged = {send_tagged, writer};
    cmi_armv7em_packing state = {piece + writer->filled,
                                 piece + CM_FRAME_PIECE_BYTES,
                                 sender ? tagged : writer->sink,
                                 {word_before(~writer->crc)}};
    const int refused = bits == 26u ? cmi_armv7em_pack_26(&state, residues, count / 16u)
                                    : cmi_armv7em_pack_27(&state, residues, count / 32u);
    if (sender && refused) {
        cmi_wipe(&sender->state, sizeof sender->state);
    } else if (sender) {
        sender->absorb(sender, piece, (size_t)(state.at - piece));
    }
    writer->crc = checksum_of(state.sums);
    writer->filled = (uint8_t)(state.at - piece);
    *status = refused ? CM_ERR_SINK : CM_OK;
    return 1;
}

#endif

#endif
