/*
 * The ring's back-end for ARMv7E-M around the assembly in arch/armv7em: which levels are taken together, and
 * where their roots come from. It declines a transform whose roots should lie in a table and do not.
 *
 * Bounds. The transform's values are signed. A Montgomery product of |b| <= x q and a root of at most q in
 * magnitude is at most |b| q / 2^32 + q / 2 <= (x / 32 + 1/2) q, for q < 2^27; with a quotient, at most
 * (x / 64 + 1/2) q. From inputs below 4q, fourteen steps from x to x + x / 32 + 1/2 end below 15: so every value
 * fits 31 bits and a sign, and the results lie between -11 q and 15 q. To lift them over 0, 12 q is added to the
 * first coefficient alone, and through it to every result: the first value of a block is never multiplied, so it
 * may exceed 31 bits.
 */
#include "ring/arch/api.h"

#if CM_ARMV7EM && !defined(CM_ARCH_HEADER)

/* ---- roots ---- */

#if !CM_CONFIG_NTT_ROOTS

enum { LOG2_CHUNK = 4, CHUNK = 1 << LOG2_CHUNK };

/* The roots of a chunk of blocks at a time; bits and lower as cm_ring_bits gives them. */
typedef struct root_source {
    const cm_ring *ring;
    uint32_t bits[LOG2_CHUNK + 1];
    uint32_t lower[LOG2_CHUNK + 2];
    uint32_t outer[CHUNK];
    uint32_t inner[2 * CHUNK];
} root_source;

static int open_roots(root_source *source, const cm_ring *ring)
{
    source->ring = ring;
    cm_ring_bits(ring, LOG2_CHUNK + 1u, source->bits, source->lower);
    return 1;
}

/* From the roots of blocks i 2^log2_step + j of a level to those of blocks (i + 1) 2^log2_step + j. */
static void advance_roots(const root_source *source, uint32_t *roots, uint32_t count, uint32_t i,
                          unsigned log2_step)
{
    const cm_prime *prime = source->ring->prime;
    const uint32_t step = source->ring->step[log2_step + cm_trailing_ones(i)];
    cm_armv7em_scale(roots, roots, count, cm_montgomery_residue(step, source->lower[log2_step], prime), prime);
}

/* Blocks of a level from number i 2^log2_count on. They are asked for in order. */
static void point_to_roots(cm_armv7em_levels *levels, root_source *source, unsigned level, uint32_t i,
                           unsigned log2_count)
{
    if (i == 0) {
        cm_ring_first_roots(source->ring, level, source->bits, LOG2_CHUNK, source->outer);
        cm_ring_first_roots(source->ring, level + 1u, source->bits, LOG2_CHUNK + 1u, source->inner);
    } else {
        advance_roots(source, source->outer, CHUNK, i - 1u, log2_count);
        advance_roots(source, source->inner, 2 * CHUNK, i - 1u, log2_count + 1u);
    }
    levels->outer = source->outer;
    levels->inner = source->inner;
}

#else

enum { LOG2_CHUNK = CM_CONFIG_MAX_LOG2_N };

typedef const cm_ring *root_source;

static int open_roots(root_source *source, const cm_ring *ring)
{
    *source = ring;
    return ring->roots != NULL;
}

static void point_to_roots(cm_armv7em_levels *levels, root_source *source, unsigned level, uint32_t i,
                           unsigned log2_count)
{
    levels->outer = cm_ring_roots(*source, level) + ((size_t)i << log2_count);
    levels->inner = cm_ring_roots(*source, level + 1u) + ((size_t)i << (log2_count + 1u));
}

#endif

/* ---- levels ---- */

typedef void levels_function(cm_armv7em_levels *levels);

/* For 2, 4 .. 12 levels left. */
static levels_function *const two_levels[] = {
    cm_armv7em_two_levels_1,  cm_armv7em_two_levels_4,   cm_armv7em_two_levels_16,
    cm_armv7em_two_levels_64, cm_armv7em_two_levels_256, cm_armv7em_two_levels_1024,
};

/* From this level on: one level if their number is odd or more than 12, else two. Returns how many. */
static unsigned transform_levels(uint32_t *a, const cm_ring *ring, root_source *source, unsigned level)
{
    const unsigned left = ring->log2_n - level;
    const unsigned together = left % 2u || left > 12u ? 1u : 2u;
    const unsigned log2_blocks = level - ring->log2_tiles;
    const unsigned log2_most = together == 1u || left == 12u ? 0u : LOG2_CHUNK;
    const unsigned log2_count = log2_blocks < log2_most ? log2_blocks : log2_most;
    levels_function *const transform = together == 1u ? cm_armv7em_one_level : two_levels[left / 2u - 1u];
    const uint32_t words = (uint32_t)1 << (left + log2_count);
    cm_armv7em_levels levels;
    levels.half_bytes = (uint32_t)2 << left;
    levels.q = ring->prime->q;
    levels.neg_q_inv = ring->prime->neg_q_inv;
    for (uint32_t i = 0; i < (uint32_t)1 << (log2_blocks - log2_count); i++) {
        levels.a = a + (size_t)i * words;
        levels.end = levels.a + words;
        point_to_roots(&levels, source, level, i, log2_count);
        transform(&levels);
    }
    return together;
}

static void transform_from(uint32_t *a, const cm_ring *ring, root_source *source, unsigned level)
{
    const uint32_t points = cm_ring_points(ring);
    for (uint32_t first = 0; first < points; first += (uint32_t)1 << (ring->log2_n - level)) {
        a[first] += 12u * ring->prime->q;
    }
    while (level < ring->log2_n) {
        level += transform_levels(a, ring, source, level);
    }
}

int cm_armv7em_ntt_forward(uint32_t *a, const cm_ring *ring)
{
    root_source source;
    if (!open_roots(&source, ring)) {
        return 0;
    }
    transform_from(a, ring, &source, ring->log2_tiles);
    return 1;
}

/* ---- small polynomials ---- */

/*
 * A half of the ring, modulo x^(n/2) - w^2, splits by its first level into two quarters, modulo x^(n/4) - w and + w. With
 * small coefficients, folding four stretches into both quarters costs no more than two into the half, so the level
 * comes for nothing.
 */
typedef struct fold_constants {
    int32_t powers[4]; /* factor w^j, below q/2 in magnitude */
    uint32_t q;
    int32_t inverse; /* of q, for quotients */
} fold_constants;

/* fold.S: quarter is n/4. */
void cm_armv7em_fold_ternary(uint32_t *out, const uint8_t *packed, const fold_constants *constants,
                             uint32_t quarter);
void cm_armv7em_fold_noise(uint32_t *out, const int8_t *noise, const fold_constants *constants,
                           uint32_t quarter);

static fold_constants fold_constants_of(const cm_ring *ring, uint32_t factor)
{
    const cm_prime *prime = ring->prime;
    fold_constants constants = {{0}, prime->q, cm_prime_inverse(prime)};
    for (unsigned j = 0; j < 4; j++) {
        constants.powers[j] = cm_centred(factor, prime->q);
        factor = cm_montgomery_residue(factor, ring->first[ring->log2_tiles], prime);
    }
    return constants;
}

int cm_armv7em_ternary_transform(uint32_t *a, const uint8_t *packed, uint32_t factor, const cm_ring *ring)
{
    root_source source;
    if (ring->log2_tiles != 1 || !open_roots(&source, ring)) {
        return 0;
    }
    const fold_constants constants = fold_constants_of(ring, factor);
    cm_armv7em_fold_ternary(a, packed, &constants, cm_ring_points(ring) / 2u);
    transform_from(a, ring, &source, ring->log2_tiles + 1u);
    return 1;
}

int cm_armv7em_noise_transform(uint32_t *a, const int8_t *noise, const cm_ring *ring)
{
    root_source source;
    if (ring->log2_tiles != 1 || !open_roots(&source, ring)) {
        return 0;
    }
    const fold_constants constants = fold_constants_of(ring, 1);
    cm_armv7em_fold_noise(a, noise, &constants, cm_ring_points(ring) / 2u);
    transform_from(a, ring, &source, ring->log2_tiles + 1u);
    return 1;
}

/* ---- the inverse transform ---- */

#if CM_CONFIG_NTT_ROOTS

/* For 2, 4 .. 12 levels done. */
static levels_function *const two_inverse_levels[] = {
    cm_armv7em_two_inverse_levels_1,  cm_armv7em_two_inverse_levels_4,   cm_armv7em_two_inverse_levels_16,
    cm_armv7em_two_inverse_levels_64, cm_armv7em_two_inverse_levels_256, cm_armv7em_two_inverse_levels_1024,
};

/* Behind the roots of a level's blocks in the tile across. */
static const cm_root *end_across(const cm_ring *ring, unsigned level)
{
    const size_t tiles = (size_t)1 << ring->log2_tiles;
    return ring->roots + ((size_t)1 << level) + ((tiles - ring->tile) << (level - ring->log2_tiles));
}

/* From the smallest blocks on: two levels at a time up to twelve, then single ones, of one block. */
int cm_armv7em_ntt_inverse_lazy(uint32_t *a, const cm_ring *ring)
{
    const cm_prime *prime = ring->prime;
    if (!ring->roots) {
        return 0;
    }
    cm_armv7em_levels levels;
    levels.q = prime->q;
    levels.neg_q_inv = (uint32_t)cm_prime_inverse(prime);
    for (unsigned level = ring->log2_n; level > ring->log2_tiles;) {
        const unsigned done = ring->log2_n - level;
        const unsigned together = level - ring->log2_tiles >= 2u && done < 12u ? 2u : 1u;
        level -= together;
        levels.outer = end_across(ring, level);
        levels.inner = end_across(ring, level + 1u);
        if (together == 2u) {
            levels.a = a;
            levels.end = a + cm_ring_points(ring);
            two_inverse_levels[done / 2u](&levels);
        } else {
            levels.half_bytes = (uint32_t)4 << done;
            for (uint32_t *block = a; block < a + cm_ring_points(ring); block += (size_t)2 << done) {
                levels.a = block;
                cm_armv7em_one_inverse_level(&levels);
                levels.outer--;
            }
        }
    }
    return 1;
}

#else

int cm_armv7em_ntt_inverse_lazy(uint32_t *a, const cm_ring *ring)
{
    (void)a;
    (void)ring;
    return 0;
}

#endif

#endif
