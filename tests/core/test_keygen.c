/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keys made on the device: that a public key is an encryption of zero under its secret key, and what is
 * refused.
 */
#include <string.h>

#include "build.h"
#include "check.h"
#include "encrypting.h"
#include "platform.h"
#include "random/sample.h"
#include "ring/ring.h"

/* A set of two primes, where the build has one. */
#if CM_CONFIG_MAX_LOG2_N > 10
enum { N = 2048, PRIMES = 2 };
static const cm_params *const params = &cm_n2048_q26_p27;
#else
enum { N = 1024, PRIMES = 1 };
static const cm_params *const params = &cm_n1024_q26;
#endif

static uint64_t arena[CM_PUBLIC_KEY_ARENA_BYTES(N, BUILD_LOG2_TILES) / 8 + 1];
static uint8_t ternary[CM_TERNARY_BYTES(N)];
static uint32_t p0[PRIMES][N];
static uint32_t a[N];
static uint32_t s[N];

static cm_status begin(cm_emitter *self, const cm_ciphertext_info *info)
{
    (void)self;
    CHECK(info->scheme == CM_PUBLIC_KEY && info->primes == PRIMES && info->ntt_form && info->components == 2);
    return CM_OK;
}

static cm_status keep(cm_emitter *self, unsigned component, unsigned prime, unsigned tile,
                      const uint32_t *residues)
{
    const size_t points = (size_t)N >> self->info.log2_tiles;
    CHECK(component == 0 && prime < PRIMES);
    memcpy(p0[prime] + tile * points, residues, sizeof *residues * points);
    return CM_OK;
}

static cm_status end(cm_emitter *self)
{
    (void)self;
    return CM_OK;
}

static cm_status refuse(cm_emitter *self, unsigned component, unsigned prime, unsigned tile,
                        const uint32_t *residues)
{
    (void)self;
    (void)component;
    (void)prime;
    (void)tile;
    (void)residues;
    return CM_ERR_SINK;
}

static bool arena_is_zero(void)
{
    uint8_t any = 0;
    for (size_t i = 0; i < sizeof arena; i++) {
        any |= ((const uint8_t *)arena)[i];
    }
    return any == 0;
}

/* p0 + a s, in coefficient form, is small and the same at every prime. */
static void a_public_key_is_an_encryption_of_zero_at_every_prime(void)
{
    static int32_t noise[N];
    const cm_xof_kind xofs[] = {CM_XOF_CHACHA20, CM_XOF_SHAKE256, CM_XOF_BLAKE2XB};
    test_platform platform = {0};
    cm_device device;
    uint64_t key_id = 0;
    uint64_t counter = 0;
    CHECK(test_device_start(&device, &platform) == CM_OK);
    CHECK(cm_device_make_secret_key(&device, params, ternary, &key_id) == CM_OK && key_id != 0);
    for (unsigned x = 0; x < 3; x++) {
        cm_emitter emitter = {begin, keep, end, false, false, {0}};
        const cm_status status =
            test_emit_public_key(&device, params, ternary, key_id, xofs[x], arena, sizeof arena, &emitter);
        if (!build_has_xof(xofs[x])) {
            CHECK(status == CM_ERR_UNSUPPORTED);
            continue;
        }
        CHECK(status == CM_OK);
        CHECK(arena_is_zero());
        CHECK(emitter.info.key_id == key_id && emitter.info.counter == ++counter);
        cmi_uniform uniform;
        cmi_uniform_init(&uniform, xofs[x], emitter.info.seed, params->log2_n, PRIMES);
        uint32_t wrong = 0;
        uint32_t zeros = 0;
        for (unsigned i = 0; i < PRIMES; i++) {
            const cm_prime *prime = &params->primes[i];
            cmi_ring ring;
            cmi_ring_init(&ring, prime, params->log2_n, NULL);
            cmi_uniform_polynomial(&uniform, prime, i, a);
            CHECK(cm_secret_key_residues(params, ternary, i, s) == CM_OK);
            for (uint32_t k = 0; k < N; k++) {
                a[k] = (uint32_t)((p0[i][k] + (uint64_t)a[k] * s[k]) % prime->q);
            }
            cmi_ntt_inverse(a, &ring);
            for (uint32_t k = 0; k < N; k++) {
                const int32_t e = a[k] > prime->q / 2 ? (int32_t)a[k] - (int32_t)prime->q : (int32_t)a[k];
                wrong += e > 21 || e < -21 || (i > 0 && e != noise[k]);
                zeros += e == 0;
                noise[k] = e;
            }
        }
        CHECK(wrong == 0);
        CHECK(zeros < PRIMES * N / 4);
    }
}

static void two_secret_keys_of_one_device_differ(void)
{
    uint8_t other[CM_TERNARY_BYTES(N)];
    test_platform platform = {0};
    cm_device device;
    uint64_t ids[2];
    CHECK(test_device_start(&device, &platform) == CM_OK);
    CHECK(cm_device_make_secret_key(&device, params, ternary, &ids[0]) == CM_OK);
    CHECK(cm_device_make_secret_key(&device, params, other, &ids[1]) == CM_OK);
    CHECK(ids[0] != ids[1]);
    CHECK(memcmp(ternary, other, sizeof other) != 0);
}

static void faults_leave_no_key_behind(void)
{
    test_platform platform = {0};
    cm_device device;
    uint64_t key_id = 1;
    cm_emitter emitter = {begin, refuse, end, false, false, {0}};
    CHECK(test_device_start(&device, &platform) == CM_OK);
    CHECK(cm_device_make_secret_key(&device, params, NULL, &key_id) == CM_ERR_ARGUMENT);
    CHECK(cm_device_make_secret_key(&device, NULL, ternary, &key_id) == CM_ERR_PARAMS);
    const cm_params *const largest = cm_params_all[CM_PARAMS_COUNT - 1u];
    CHECK(build_has_set(largest) ||
          cm_device_make_secret_key(&device, largest, ternary, &key_id) == CM_ERR_PARAMS);
    CHECK(cm_device_make_secret_key(&device, params, ternary, &key_id) == CM_OK);
    CHECK(test_emit_public_key(&device, params, NULL, key_id, CM_XOF_CHACHA20, arena, sizeof arena,
                               &emitter) == CM_ERR_ARGUMENT);
    CHECK(test_emit_public_key(&device, params, ternary, key_id, (cm_xof_kind)9, arena, sizeof arena,
                               &emitter) == CM_ERR_ARGUMENT);
    CHECK(test_emit_public_key(&device, params, ternary, key_id, CM_XOF_NONE, arena, sizeof arena,
                               &emitter) == CM_ERR_ARGUMENT);
    CHECK(test_emit_public_key(&device, params, ternary, key_id, CM_XOF_CHACHA20, arena,
                               CM_PUBLIC_KEY_ARENA_BYTES(N, BUILD_LOG2_TILES) - 1, &emitter) == CM_ERR_ARENA);
    CHECK(test_emit_public_key(&device, params, ternary, key_id, CM_XOF_CHACHA20, arena, sizeof arena,
                               &emitter) == CM_ERR_SINK);
    CHECK(arena_is_zero());
    platform.mode = RANDOM_FAILS;
    CHECK(test_emit_public_key(&device, params, ternary, key_id, CM_XOF_CHACHA20, arena, sizeof arena,
                               &emitter) == CM_ERR_RANDOM);
    CHECK(cm_device_make_secret_key(&device, params, ternary, &key_id) == CM_ERR_RANDOM);
    uint8_t any = 0;
    for (size_t i = 0; i < sizeof ternary; i++) {
        any |= ternary[i];
    }
    CHECK(any == 0 && key_id == 0);
}

void test_keygen(void)
{
    RUN(a_public_key_is_an_encryption_of_zero_at_every_prime);
    RUN(two_secret_keys_of_one_device_differ);
    RUN(faults_leave_no_key_behind);
}
