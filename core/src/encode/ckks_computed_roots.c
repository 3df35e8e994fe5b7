/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The encoder's roots, computed (CM_CONFIG_ENCODER_ROOTS_COMPUTED): each is the product of a coarse and a
 * fine root from two small tables, so exact that rounding it gives the full table's entry.
 */
#include "encode/ckks_roots.h"

#if CM_CONFIG_ENCODER_ROOTS == CM_CONFIG_ENCODER_ROOTS_COMPUTED

#include "encode/wide128.h"

/* A number of magnitude up to 1: high / 2^62 + low / 2^126. */
typedef struct factor {
    int64_t high;
    int64_t low; /* 0 in builds for 31 bits alone */
} factor;

static inline factor factor_of(int64_t high, int32_t low)
{
    return (factor){high, (int64_t)((uint64_t)(int64_t)low << 32)};
}

static inline factor negative_factor(factor a)
{
    return (factor){-a.high, -a.low};
}

/* a b 2^124, the product of the low parts left out */
static cmi_wide128 factor_product(factor a, factor b)
{
    cmi_wide128 whole = cmi_wide128_product(a.high, b.high);
#if CM_CONFIG_PRECISION_63
    const int64_t cross = cmi_wide128_high(cmi_wide128_product(a.high, b.low), 64) +
                          cmi_wide128_high(cmi_wide128_product(a.low, b.high), 64);
    whole = cmi_wide128_add(whole, cmi_wide128_shifted(cross, 0));
#endif
    return whole;
}

typedef struct wide_root {
    cmi_wide128 cosine;
    cmi_wide128 sine;
} wide_root;

#if CM_CONFIG_PRECISION_63
#define ENTRY(table, i) factor_of(table[i], table##_low[i])
#else
#define ENTRY(table, i) factor_of(table[i], 0)
#endif

/*
 * e^(i angle) 2^124. The fine angle is at most half a coarse step, to either side. Entries err by at most
 * 2^-95 (2^-63 at 31 bits), so results by less than 2^-92 (2^-60). No root is that close to the midpoint
 * between two results: tools/generate_tables.py checks every one.
 */
static wide_root root_at(uint32_t angle)
{
    const uint32_t coarse = (angle + (CM_COARSE_STEP >> 1)) / CM_COARSE_STEP;
    const uint32_t start = coarse * CM_COARSE_STEP;
    const bool before = angle < start;
    const uint32_t fine = before ? start - angle : angle - start;
    const factor sine_a = ENTRY(cmi_coarse_sine, coarse);
    const factor cosine_a = ENTRY(cmi_coarse_sine, CM_COARSE_ROOTS - 1u - coarse);
    const factor cosine_b = ENTRY(cmi_fine_cosine, fine);
    const factor size_b = ENTRY(cmi_fine_sine, fine);
    const factor sine_b = before ? negative_factor(size_b) : size_b;
    wide_root root;
    root.cosine =
        cmi_wide128_add(factor_product(cosine_a, cosine_b), factor_product(sine_a, negative_factor(sine_b)));
    root.sine = cmi_wide128_add(factor_product(sine_a, cosine_b), factor_product(cosine_a, sine_b));
    return root;
}

#if CM_CONFIG_PRECISION_31

/* a / 2^93, rounded to nearest */
static int32_t round_31(cmi_wide128 a)
{
    return (int32_t)cmi_wide128_high(cmi_wide128_add(a, cmi_wide128_shifted((int64_t)1 << 40, 52)), 93);
}

void cmi_computed_root_31(uint32_t angle, int32_t *cosine, int32_t *sine)
{
    const wide_root root = root_at(angle);
    *cosine = round_31(root.cosine);
    *sine = round_31(root.sine);
}

#endif

#if CM_CONFIG_PRECISION_63

/* a / 2^61, rounded to nearest, for a < 2^124 */
static int64_t round_63(cmi_wide128 a)
{
    for (unsigned i = 0; i < 3; i++) {
        a = cmi_wide128_add(a, a);
    }
    return cmi_wide128_high(cmi_wide128_add(a, cmi_wide128_shifted(1, 63)), 64);
}

void cmi_computed_root_63(uint32_t angle, int64_t *cosine, int64_t *sine)
{
    const wide_root root = root_at(angle);
    *cosine = round_63(root.cosine);
    *sine = round_63(root.sine);
}

#endif

#endif
