/* SPDX-License-Identifier: Apache-2.0 */
/* The CKKS encoder at 31 bits on Helium: its first levels, and folding into halves. */
#include "arch/backends.h"

#if CM_HELIUM

#include <arm_mve.h>

#include "common/compiler.h"
#include "ring/ring.h"

/* ---- the first two levels, whose roots are 1 and -i ---- */

/* (a + b) / 2, halves up, and what a exceeds it by. */
static CM_ALWAYS_INLINE void helium_halve(int32x4_t *a, int32x4_t *b)
{
    const int32x4_t sum = vrhaddq_s32(*a, *b);
    *b = vsubq_s32(*a, sum);
    *a = sum;
}

/* Four groups of eight numbers at a time, a lane each. Later levels, with larger steps, are left to the
   assembly. */
int cmi_helium_two_levels_exact_31(int32_t *at, const int32_t *end, size_t step)
{
    const uint32x4_t groups = vmulq_n_u32(vidupq_n_u32(0, 1), 32);
    if (step != 2u || (end - at) % 32 != 0) {
        cmi_armv7em_two_levels_exact_31(at, end, 4u * step);
        return 1;
    }
    for (; at < end; at += 32) {
        int32x4_t a = vldrwq_gather_offset_s32(at, groups);
        int32x4_t b = vldrwq_gather_offset_s32(at + 2, groups);
        int32x4_t c = vldrwq_gather_offset_s32(at + 4, groups);
        int32x4_t d = vldrwq_gather_offset_s32(at + 6, groups);
        helium_halve(&a, &b);
        helium_halve(&c, &d);
        helium_halve(&a, &c);
        vstrwq_scatter_offset_s32(at, groups, a);
        vstrwq_scatter_offset_s32(at + 4, groups, c);
        int32x4_t a_im = vldrwq_gather_offset_s32(at + 1, groups);
        int32x4_t b_im = vldrwq_gather_offset_s32(at + 3, groups);
        int32x4_t c_im = vldrwq_gather_offset_s32(at + 5, groups);
        int32x4_t d_im = vldrwq_gather_offset_s32(at + 7, groups);
        helium_halve(&a_im, &b_im);
        helium_halve(&c_im, &d_im);
        helium_halve(&a_im, &c_im);
        vstrwq_scatter_offset_s32(at + 1, groups, a_im);
        vstrwq_scatter_offset_s32(at + 5, groups, c_im);
        /* -i (d + i d_im) is d_im - i d. */
        int32x4_t minus_d = vnegq_s32(d);
        helium_halve(&b, &d_im);
        helium_halve(&b_im, &minus_d);
        vstrwq_scatter_offset_s32(at + 2, groups, b);
        vstrwq_scatter_offset_s32(at + 3, groups, b_im);
        vstrwq_scatter_offset_s32(at + 6, groups, d_im);
        vstrwq_scatter_offset_s32(at + 7, groups, minus_d);
    }
    return 1;
}

/* ---- folding into halves, four pairs at a time ---- */

/* A factor below q/2 in magnitude, and 2^31 factor / q to the nearest. */
typedef struct helium_factor {
    int32_t factor;
    int32_t quotient;
} helium_factor;

/*
 * Both numbers are below 2^29.6, so each rounded quotient is within 1/2 + 3/4 / 2^1.4 of the right one: the
 * sum is within 1.6 q of 2q.
 */
static CM_ALWAYS_INLINE uint32x4_t helium_sum_of_two(int32x4_t x, int32x4_t y, helium_factor by,
                                                     int32_t inverse, int32_t minus_q)
{
    const int32x4_t quotients = vaddq_s32(vqrdmulhq_n_s32(x, inverse), vqrdmulhq_n_s32(y, by.quotient));
    const int32x4_t sum = vmlaq_n_s32(vmlaq_n_s32(x, y, by.factor), quotients, minus_q);
    return vreinterpretq_u32_s32(vaddq_n_s32(sum, -2 * minus_q));
}

/* The constants are in Montgomery form (see word32_encode.c). The last pairs are left to the assembly. */
int cmi_helium_fold_halves_31(uint32_t *forward, uint32_t *backward, const int32_t *data, const int8_t *noise,
                              const cmi_fold_constants *constants)
{
    const int32_t q = (int32_t)constants->q;
    const int32_t quotient = (int32_t)((uint32_t)constants->minus_r * constants->neg_q_inv);
    const int64_t multiple = (int64_t)quotient * q + constants->minus_r;
    const helium_factor minus_r = {(int32_t)(multiple >> 32), (quotient >> 1) + (quotient & 1)};
    const int32_t inverse = (int32_t)((uint32_t)constants->one * constants->neg_q_inv) / 2;
    const uint32x4_t fours = vmulq_n_u32(vidupq_n_u32(0, 1), 4);
    const uint32x4_t places = vsubq_u32(vdupq_n_u32(12), fours);
    for (; backward - forward > 8; forward += 4, backward -= 4, data += 8, noise += 16) {
        const int32x4x2_t pairs = vld2q_s32(data);
        const int32x4_t even = pairs.val[0];
        const int32x4_t odd = pairs.val[1];
        const int32x4_t e0 = vldrbq_gather_offset_s32(noise, fours);
        const int32x4_t e1 = vldrbq_gather_offset_s32(noise + 1, fours);
        const int32x4_t e2 = vldrbq_gather_offset_s32(noise + 2, fours);
        const int32x4_t e3 = vldrbq_gather_offset_s32(noise + 3, fours);
        vst1q_u32(forward, helium_sum_of_two(vaddq_s32(even, e0), vaddq_s32(odd, e2), minus_r, inverse, -q));
        vstrwq_scatter_offset_u32(
            backward - 3, places,
            helium_sum_of_two(vaddq_s32(odd, e1), vaddq_s32(even, e3), minus_r, inverse, -q));
    }
    cmi_armv7em_fold_halves_31(forward, backward, data, noise, constants);
    return 1;
}

#endif
