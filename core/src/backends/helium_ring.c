/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ring on Helium: products, and levels of the transform with roots from tables, for backends/armv7em.c.
 * Bounds are as there, but that a quotient is off by 3/4 |b| / 2^31 before it is rounded, because a vector's
 * product by a word has room for half of it: b root is within (x / 43 + 1/2) q of 0 for |b| <= x q and q <
 * 2^26, and within (x / 21 + 1/2) q for q < 2^27. Fourteen and twelve levels, respectively, stay within 31
 * bits.
 */
#include "arch/backends.h"

#if CM_HELIUM

#include <arm_mve.h>

#include "common/compiler.h"
#include "ring/ring.h"

#include "backends/armv7em/levels.h" /* behind ring.h */

/* ---- products, for q < 2^26, else in assembly ---- */

/* a b / 2^32 mod q, above -q and below q. */
static CM_ALWAYS_INLINE uint32x4_t helium_montgomery(uint32x4_t a, uint32x4_t b, uint32_t q_inv, uint32x4_t q)
{
    const uint32x4_t multiple = vmulq_n_u32(vmulq_u32(a, b), q_inv);
    return vsubq_u32(vmulhq_u32(a, b), vmulhq_u32(multiple, q));
}

int cmi_helium_multiply(uint32_t *out, const uint32_t *a, const uint32_t *b, uint32_t count,
                        const cm_prime *prime)
{
    if (prime->q >> 26 || count % 4u != 0) {
        return cmi_armv7em_multiply(out, a, b, count, prime);
    }
    const uint32x4_t q = vdupq_n_u32(prime->q);
    for (const uint32_t *const end = a + count; a < end; a += 4, b += 4, out += 4) {
        const uint32x4_t product = helium_montgomery(vld1q_u32(a), vld1q_u32(b), 0u - prime->neg_q_inv, q);
        vst1q_u32(out, vminq_u32(product, vaddq_u32(product, q)));
    }
    return 1;
}

/* The sum is at most 32 q, and the product with q more below 34 q. The quotient is at most 1 too small. */
int cmi_helium_multiply_add(uint32_t *out, const uint32_t *a, const uint32_t *b, uint32_t count,
                            const cm_prime *prime)
{
    if (prime->q >> 26 || count % 4u != 0) {
        return cmi_armv7em_multiply_add(out, a, b, count, prime);
    }
    const uint32_t minus_q = 0u - prime->q;
    const uint32_t q_inv = 0u - prime->neg_q_inv;
    const uint32x4_t q = vdupq_n_u32(prime->q);
    const uint32x4_t inverse = vdupq_n_u32(prime->r1 * prime->neg_q_inv); /* 2^32 / q, rounded down */
    for (const uint32_t *const end = a + count; a < end; a += 4, b += 4, out += 4) {
        uint32x4_t sum = vaddq_u32(vld1q_u32(out), q);
        sum = vaddq_u32(sum, helium_montgomery(vld1q_u32(a), vld1q_u32(b), q_inv, q));
        sum = vmlaq_n_u32(sum, vmulhq_u32(sum, inverse), minus_q);
        vst1q_u32(out, vminq_u32(sum, vaddq_n_u32(sum, minus_q)));
    }
    return 1;
}

/* ---- levels ---- */

#if CM_CONFIG_NTT_ROOTS

typedef struct helium_root {
    int32_t root;
    int32_t quotient; /* half of the table's */
} helium_root;

static inline helium_root helium_root_of(const cm_root *root)
{
    return (helium_root){root->root, root->quotient >> 1};
}

/* a, b = a + b w, a - b w */
static CM_ALWAYS_INLINE void helium_butterfly(int32x4_t *a, int32x4_t *b, helium_root by, int32_t minus_q)
{
    const int32x4_t quotient = vqrdmulhq_n_s32(*b, by.quotient);
    const int32x4_t product = vmlaq_n_s32(vmulq_n_s32(*b, by.root), quotient, minus_q);
    *b = vsubq_s32(*a, product);
    *a = vaddq_s32(*a, product);
}

/* A column of four vectors. */
static CM_ALWAYS_INLINE void helium_four(int32_t *at, size_t quarter, const helium_root by[3],
                                         int32_t minus_q)
{
    int32x4_t x0 = vld1q_s32(at);
    int32x4_t x1 = vld1q_s32(at + quarter);
    int32x4_t x2 = vld1q_s32(at + 2u * quarter);
    int32x4_t x3 = vld1q_s32(at + 3u * quarter);
    helium_butterfly(&x0, &x2, by[0], minus_q);
    helium_butterfly(&x1, &x3, by[0], minus_q);
    helium_butterfly(&x0, &x1, by[1], minus_q);
    helium_butterfly(&x2, &x3, by[2], minus_q);
    vst1q_s32(at, x0);
    vst1q_s32(at + quarter, x1);
    vst1q_s32(at + 2u * quarter, x2);
    vst1q_s32(at + 3u * quarter, x3);
}

/* Blocks of four quarters of so many coefficients, a multiple of 4. */
static CM_ALWAYS_INLINE void helium_two_levels(cmi_level_blocks *blocks, const size_t quarter)
{
    const int32_t minus_q = -(int32_t)blocks->q;
    const cm_root *outer = blocks->outer;
    const cm_root *inner = blocks->inner;
    int32_t *at = (int32_t *)blocks->a;
    for (; (const uint32_t *)at < blocks->end; at += 3u * quarter, outer++, inner += 2) {
        const helium_root by[3] = {helium_root_of(outer), helium_root_of(inner), helium_root_of(inner + 1)};
        for (size_t columns = quarter / 4u; columns > 0; columns--, at += 4) {
            helium_four(at, quarter, by, minus_q);
        }
    }
}

void cmi_helium_two_levels_4(cmi_level_blocks *blocks)
{
    helium_two_levels(blocks, 4);
}

void cmi_helium_two_levels_16(cmi_level_blocks *blocks)
{
    helium_two_levels(blocks, 16);
}

void cmi_helium_two_levels_64(cmi_level_blocks *blocks)
{
    helium_two_levels(blocks, 64);
}

void cmi_helium_two_levels_256(cmi_level_blocks *blocks)
{
    helium_two_levels(blocks, 256);
}

void cmi_helium_two_levels_1024(cmi_level_blocks *blocks)
{
    helium_two_levels(blocks, 1024);
}

void cmi_helium_one_level(cmi_level_blocks *blocks)
{
    const int32_t minus_q = -(int32_t)blocks->q;
    const helium_root by = helium_root_of(blocks->outer);
    int32_t *low = (int32_t *)blocks->a;
    int32_t *high = low + blocks->half_bytes / 4u;
    for (const int32_t *const end = high; low < end; low += 4, high += 4) {
        int32x4_t a = vld1q_s32(low);
        int32x4_t b = vld1q_s32(high);
        helium_butterfly(&a, &b, by, minus_q);
        vst1q_s32(low, a);
        vst1q_s32(high, b);
    }
}

/* The same where each lane has a root of its own. */
static CM_ALWAYS_INLINE void helium_butterfly_by(int32x4_t *a, int32x4_t *b, int32x4_t root,
                                                 int32x4_t quotient, int32_t minus_q)
{
    const int32x4_t multiple = vrmulhq_s32(*b, quotient);
    const int32x4_t product = vmlaq_n_s32(vmulq_s32(*b, root), multiple, minus_q);
    *b = vsubq_s32(*a, product);
    *a = vaddq_s32(*a, product);
}

/* Four blocks of four coefficients at a time: a lane each. The first roots are loaded twice, for want of
   registers. */
void cmi_helium_two_levels_1(cmi_level_blocks *blocks)
{
    const int32_t minus_q = -(int32_t)blocks->q;
    const int32_t *outer = &blocks->outer->root;
    const int32_t *inner = &blocks->inner->root;
    const uint32x4_t places = vmulq_n_u32(vidupq_n_u32(0, 1), 16); /* of blocks and of pairs of roots */
    for (int32_t *at = (int32_t *)blocks->a; (const uint32_t *)at < blocks->end;
         at += 16, outer += 8, inner += 16) {
        int32x4_t x0 = vldrwq_gather_offset_s32(at, places);
        int32x4_t x1 = vldrwq_gather_offset_s32(at + 1, places);
        int32x4_t x2 = vldrwq_gather_offset_s32(at + 2, places);
        int32x4_t x3 = vldrwq_gather_offset_s32(at + 3, places);
        int32x4x2_t first = vld2q_s32(outer);
        helium_butterfly_by(&x0, &x2, first.val[0], first.val[1], minus_q);
        __asm__("" : "+r"(outer));
        first = vld2q_s32(outer);
        helium_butterfly_by(&x1, &x3, first.val[0], first.val[1], minus_q);
        helium_butterfly_by(&x0, &x1, vldrwq_gather_offset_s32(inner, places),
                            vldrwq_gather_offset_s32(inner + 1, places), minus_q);
        vstrwq_scatter_offset_s32(at, places, x0);
        vstrwq_scatter_offset_s32(at + 1, places, x1);
        helium_butterfly_by(&x2, &x3, vldrwq_gather_offset_s32(inner + 2, places),
                            vldrwq_gather_offset_s32(inner + 3, places), minus_q);
        vstrwq_scatter_offset_s32(at + 2, places, x2);
        vstrwq_scatter_offset_s32(at + 3, places, x3);
    }
}

#endif

#endif
