/* SPDX-License-Identifier: Apache-2.0 */
/* Centred binomial noise: sampled, and added to a polynomial or folded. */
#include "scheme/noise.h"

#include "arch/backends.h"
#include "common/bytes.h"
#include "common/compiler.h"
#include "common/wipe.h"
#include "random/sample.h"

/* Start the stream at this coefficient, a multiple of CM_SAMPLE_BLOCK. */
CM_NOINLINE static void open_stream(cmi_stream *stream, unsigned component, uint32_t coefficient)
{
    const uint32_t nonce[3] = {CM_LABEL_NOISE, component, 0};
    cmi_stream_restart(stream, nonce, coefficient / CM_SAMPLE_BLOCK * CM_CBD_BLOCK_BYTES);
}

/* Wipe the key stream in it; the key stays. */
static void wipe_stream(cmi_stream *stream)
{
    cmi_wipe(stream->block, sizeof stream->block);
}

#if CM_KEPT_NOISE

void cmi_noise_keep_first(cmi_stream *stream, int8_t kept[CM_KEPT_NOISE])
{
    open_stream(stream, 0, 0);
    for (uint32_t start = 0; start < CM_KEPT_NOISE; start += CM_SAMPLE_BLOCK) {
        cmi_sample_cbd(stream, kept + start);
    }
    wipe_stream(stream);
}

#endif

#if CM_CONFIG_STORE_NOISE

void cmi_noise_keep(cmi_noise *noise, int8_t *kept, uint32_t n)
{
    open_stream(&noise->stream, 1, 0);
    for (uint32_t start = 0; start < n; start += CM_SAMPLE_BLOCKS * CM_SAMPLE_BLOCK) {
        cmi_sample_cbd_blocks(&noise->stream, kept + start);
    }
    wipe_stream(&noise->stream);
}

void cmi_noise_keep_for(cmi_noise *noise, const cm_message_source *source, int8_t *kept, uint32_t n)
{
    int8_t blocks[CM_SAMPLE_BLOCKS * CM_SAMPLE_BLOCK];
    open_stream(&noise->stream, 0, 0);
    for (uint32_t start = 0; start < n; start += CM_SAMPLE_BLOCK) {
        const uint32_t within = start % sizeof blocks;
        if (within == 0) {
            cmi_sample_cbd_blocks(&noise->stream, blocks);
        }
        source->keep_noise(source, start, blocks + within, kept);
    }
    cmi_wipe(blocks, sizeof blocks);
    wipe_stream(&noise->stream);
}

/* Four coefficients of each stretch at a time. |e| < 32: the reduced sums are within q/4 + q/2 of 0. */
static inline void fold_stretches(const int8_t *noise, const cmi_ring *ring, const int32_t *powers,
                                  unsigned tiles, uint32_t *out)
{
    const cm_prime prime = *ring->prime; /* a copy, which out cannot alias */
    const uint32_t points = cmi_ring_points(ring);
    for (uint32_t i = 0; i < points; i += 4u) {
        int64_t sums[4] = {0, 0, 0, 0};
        const uint8_t *next = (const uint8_t *)noise + i;
        for (unsigned j = 0; j < tiles; j++) {
            const uint32_t four = cmi_load32(next);
            for (unsigned k = 0; k < 4u; k++) {
                sums[k] += cmi_product_signed((int8_t)(uint8_t)(four >> 8u * k), powers[j]);
            }
            next += points;
        }
        for (unsigned k = 0; k < 4u; k++) {
            out[i + k] = (uint32_t)(cmi_montgomery_reduce_signed(sums[k], &prime) + (int32_t)prime.q);
        }
    }
}

static void fold_whole(const int8_t *noise, const cmi_ring *ring, uint32_t *out)
{
    const uint32_t points = cmi_ring_points(ring);
    for (uint32_t i = 0; i < points; i++) {
        const int32_t e = noise[i];
        out[i] = ring->prime->q + (uint32_t)e;
    }
}

void cmi_noise_fold(const int8_t *kept, const cmi_ring *ring, uint32_t *out)
{
    int32_t powers[CM_MAX_TILES];
    cmi_ring_fold_powers(ring, ring->prime->r1, powers);
    if (ring->log2_tiles == 0) {
        fold_whole(kept, ring, out);
    } else if (ring->log2_tiles == 1) {
        fold_stretches(kept, ring, powers, 2, out);
    } else if (ring->log2_tiles == 2) {
        fold_stretches(kept, ring, powers, 4, out);
    } else {
        fold_stretches(kept, ring, powers, 1u << ring->log2_tiles, out);
    }
}

void cmi_noise_transform(const int8_t *kept, const cmi_ring *ring, uint32_t *out)
{
    if (CM_ARCH_TRY(noise_transform, out, kept, ring)) {
        return;
    }
    cmi_noise_fold(kept, ring, out);
    cmi_ntt_forward(out, ring);
}

#endif

/* What a stretch of noise is multiplied by. */
typedef struct stretch {
    int32_t power; /* r^j in Montgomery form */
    bool first;    /* r^0 = 1 */
#if CM_NOISE_FACTORS
    uint32_t factor[2]; /* r^j and -21 r^j */
#endif
} stretch;

CM_NOINLINE static void open_stretch(stretch *open, unsigned j, uint32_t power, const cm_prime *prime)
{
    open->power = cmi_centred(power, prime->q);
    open->first = j == 0;
#if CM_NOISE_FACTORS
    open->factor[0] = cmi_montgomery_residue(power, 1, prime);
    open->factor[1] = cmi_reduce(22u * prime->q - 21u * open->factor[0], prime);
#endif
}

/*
 * A sampled block of coefficients of a stretch. The first one takes a below 4q to less than 3q + 32; the
 * others add less than 3q/2 + 32, and subtract 2q from sums of 2q and above.
 */
CM_NOINLINE static void add_block(uint32_t *a, const int8_t *block, const stretch *open,
                                  const cm_prime *prime)
{
#if CM_NOISE_FACTORS
    if (CM_ARCH_TRY(noise_add, a, block, CM_SAMPLE_BLOCK, open->factor, prime)) {
        return;
    }
#endif
    const uint32_t q = prime->q;
    for (uint32_t i = 0; i < CM_SAMPLE_BLOCK; i++) {
        const int32_t e = block[i];
        if (open->first) {
            a[i] = cmi_subtract_once(a[i], 2u * q) + q + (uint32_t)e;
        } else {
            const int32_t folded = cmi_montgomery_reduce_signed(cmi_product_signed(e, open->power), prime);
            a[i] = cmi_subtract_once(a[i] + q + (uint32_t)folded, 2u * q);
        }
    }
}

CM_NOINLINE void cmi_noise_add(cmi_noise *noise, unsigned component, uint32_t *a, const cmi_ring *ring)
{
    const uint32_t points = cmi_ring_points(ring);
    const uint32_t r = cmi_ring_fold_ratio(ring);
    uint32_t power = ring->prime->r1;
    int8_t block[CM_SAMPLE_BLOCK];
    const uint32_t kept = component == 0 && noise->kept ? CM_KEPT_NOISE : 0u;
    uint32_t at = 0;
    open_stream(&noise->stream, component, kept);
    for (unsigned j = 0; j < 1u << ring->log2_tiles; j++) {
        stretch open;
        open_stretch(&open, j, power, ring->prime);
        power = cmi_montgomery_residue(power, r, ring->prime);
        for (uint32_t start = 0; start < points; start += CM_SAMPLE_BLOCK) {
            const int8_t *next = block;
            if (at < kept) {
                next = noise->kept + at;
            } else {
                cmi_sample_cbd(&noise->stream, block);
            }
            add_block(a + start, next, &open, ring->prime);
            at += CM_SAMPLE_BLOCK;
        }
    }
    cmi_wipe(block, sizeof block);
    wipe_stream(&noise->stream);
}
