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

/* Declines whole encryptions, unless it is told what to answer; remembers what it was offered. */
static const cm_status *answers;
static const void *offered_key;
static bool offered_public_key;

static int whole_encryption(cm_status *status, const void *key, bool public_key,
                            const cm_encryptor_setup *setup, const cm_message_source *source)
{
    (void)setup;
    (void)source;
    if (!answers) {
        recorded.encryption_declined++;
        return 0;
    }
    offered_key = key;
    offered_public_key = public_key;
    *status = *answers;
    return 1;
}

static const cmi_arch recording_arch = {
    .encrypt = whole_encryption, .ntt_forward = forward, .double_product = double_product};
const cmi_arch *chosen_arch = &recording_arch;

static void the_other_tests_went_through_the_back_end(void)
{
    CHECK(recorded.ntt_taken > 0);
    CHECK(recorded.ntt_declined > 0);
    CHECK(recorded.product_taken > 0);
    CHECK(recorded.encryption_declined > 0);
#if CM_CONFIG_ACCELERATOR
    CHECK(recorded.product_declined > 0);
#endif
}

#define N 1024u
#define UNTOUCHED 0xA5

static int refuse(void *context, const uint8_t *bytes, size_t length)
{
    (void)context;
    (void)bytes;
    (void)length;
    return 1;
}

/* A whole encryption that is taken is over: no byte, no counter, and the arena as it was. */
static void what_it_answers_to_a_whole_encryption_is_the_call_s(void)
{
    static uint8_t ternary[CM_TERNARY_BYTES(N)];
    static uint32_t residues[2 * N];
    static uint8_t arena[CM_BFV_ASYMMETRIC_ARENA_BYTES(N, CM_BFV_16, 0)] __attribute__((aligned(8)));
    const uint16_t numbers[1] = {1};
    const cm_bfv_values values = {.data = numbers,
                                  .count = 1,
                                  .number = CM_UINT16,
                                  .encoding = CM_BFV_COEFFICIENTS,
                                  .width = CM_BFV_16,
                                  .plain_modulus = 17};
    test_platform platform = {RANDOM_GOOD};
    cm_device device;
    cm_frame_writer writer;
    cm_encryptor encryptor;
    const cm_sink sink = {refuse, NULL};
    memset(ternary, 0x12, sizeof ternary);
    memset(residues, 1, sizeof residues);
    CHECK(test_device_start(&device, &platform) == CM_OK);
    cm_frame_writer_init(&writer, sink);
    const cm_encryptor_setup setup = {
        .device = &device, .emitter = &writer.emitter, .arena = arena, .arena_bytes = sizeof arena};
    const cm_secret_key secret = {
        .params = &cm_n1024_q26, .key_id = 7, .ternary = ternary, .transformed = residues};
    cm_flat_public_key flat = {residues, N};
    const cm_public_key public_key = {
        .params = &cm_n1024_q26, .key_id = 7, .polynomial = cm_flat_public_key_polynomial, .context = &flat};
    for (unsigned under = 0; under < 2; under++) {
        const cm_status opened = under ? cm_encryptor_init_asymmetric(&encryptor, &public_key, &setup)
                                       : cm_encryptor_init_symmetric(&encryptor, &secret, &setup);
        CHECK(opened == CM_OK);
        const cm_status either[2] = {CM_OK, CM_ERR_VALUE_RANGE};
        memset(arena, UNTOUCHED, sizeof arena);
        for (unsigned i = 0; i < 2; i++) {
            answers = &either[i];
            CHECK(cm_bfv_encrypt(&encryptor, &values) == either[i]);
            CHECK(offered_public_key == (under == 1));
            CHECK(offered_key == (under ? (const void *)&public_key : (const void *)&secret));
        }
        CHECK(device.counter.next == 0);
        for (size_t i = 0; i < sizeof arena; i++) {
            CHECK(arena[i] == UNTOUCHED);
        }
        answers = NULL;
        CHECK(cm_bfv_encrypt(&encryptor, &values) == CM_ERR_SINK);
        CHECK(arena[0] == 0 && device.counter.next == 1);
        device.counter.next = 0;
    }
}

void test_arch(void)
{
    RUN(the_other_tests_went_through_the_back_end);
    RUN(what_it_answers_to_a_whole_encryption_is_the_call_s);
}

#endif
