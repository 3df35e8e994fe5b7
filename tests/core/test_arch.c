/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The back-end interface: where a back-end accepts, its result is used; where it declines, the portable code
 * does the work; and the output never changes. Built with CM_ARCH_HEADER, all other tests and the pinned
 * vectors run through this back-end too.
 */
#include "check.h"
#include "ciphermote/ciphermote.h"
#include "platform.h"

#ifndef CM_ARCH_HEADER

void test_arch(void)
{
}

#else

#include "arch/backends.h"
#include "ring/ring.h"

recording_calls recorded;

/*
 * Accepts n = 1024 only, and works in another order than the portable code: one output of a level at a time.
 */
static int forward(uint32_t *a, const cmi_ring *ring)
{
    if (ring->log2_n != 10 || ring->log2_tiles != 0) {
        recorded.ntt_declined++;
        return 0;
    }
    recorded.ntt_taken++;
    const cm_prime *prime = ring->prime;
    const uint32_t n = 1024;
    for (uint32_t half = n / 2, blocks = 1; half > 0; half /= 2, blocks *= 2) {
        for (uint32_t block = 0; block < blocks; block++) {
            uint64_t twiddle = 1;
            uint32_t exponent = 0;
            for (uint32_t i = blocks + block, bit = n / 2; i > 0; i /= 2, bit /= 2) {
                exponent += i & 1u ? bit : 0;
            }
            for (uint32_t i = 0; i < exponent; i++) {
                twiddle = twiddle * prime->psi % prime->q;
            }
            for (uint32_t j = 2 * half * block; j < 2 * half * block + half; j++) {
                const uint32_t product = (uint32_t)(a[j + half] % prime->q * twiddle % prime->q);
                const uint32_t low = a[j] % prime->q;
                a[j] = low + product;
                a[j + half] = low + prime->q - product;
            }
        }
    }
    return 1;
}

/* Accepts every second product. */
static int double_product(uint32_t *out0, uint32_t *out1, const uint8_t *u, const uint32_t *p0,
                          const uint32_t *p1, const cmi_ring *ring)
{
    static unsigned calls;
    if (calls++ % 2u) {
        recorded.product_declined++;
        return 0;
    }
    recorded.product_taken++;
    cmi_ternary_fold(out0, u, 1, ring);
    cmi_ntt_forward(out0, ring);
    for (uint32_t i = 0; i < (uint32_t)1 << ring->log2_n; i++) {
        const uint64_t transformed = cmi_reduce(out0[i], ring->prime);
        out0[i] = (uint32_t)(transformed * p0[i] % ring->prime->q);
        out1[i] = (uint32_t)(transformed * p1[i] % ring->prime->q);
    }
    return 1;
}

static const cmi_arch recording_arch = {.ntt_forward = forward, .double_product = double_product};
const cmi_arch *chosen_arch = &recording_arch;

static void the_other_tests_went_through_the_back_end(void)
{
    CHECK(recorded.ntt_taken > 0);
    CHECK(recorded.ntt_declined > 0);
    CHECK(recorded.product_taken > 0);
#if CM_CONFIG_ACCELERATOR
    CHECK(recorded.product_declined > 0);
#endif
}

void test_arch(void)
{
    RUN(the_other_tests_went_through_the_back_end);
}

#endif
