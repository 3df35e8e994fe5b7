/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of an encryption, each on its own, for one prime, at 31 bits. run.py names the regions by their
 * numbers.
 */
#include "encode/ckks.h"
#include "mark.h"
#include "random/sample.h"
#include "random/xof.h"
#include "report.h"
#include "ring/ring.h"
#include "workload.h"

#define STREAM_BYTES 16384u

static uint8_t values[4u * WORKLOAD_VALUES];
static int32_t message_data[WORKLOAD_N / 2u];
static uint32_t polynomial[WORKLOAD_N];
static uint8_t packed[CM_TERNARY_BYTES(WORKLOAD_N)];
static _Alignas(4) uint8_t output[STREAM_BYTES];
static const uint8_t seed[64] = {1, 2, 3};

static cm_status measure_encode(void)
{
    workload_values(values, 1);
    const cm_ckks_values described = workload_describe(values);
    cmi_ckks_message message = {.data = message_data};
    MARK_BEGIN(0);
    const cm_status status = cmi_ckks_encode(&WORKLOAD_PARAMS, &described, &message);
    MARK_END(0);
    return status;
}

/* The cost of a prime's roots is counted with the transform. */
static void measure_ntt(void)
{
    cmi_ring ring;
    for (uint32_t i = 0; i < WORKLOAD_N; i++) {
        polynomial[i] = i;
    }
    MARK_BEGIN(1);
    cmi_ring_init(&ring, &WORKLOAD_PARAMS.primes[0], WORKLOAD_PARAMS.log2_n, workload_roots);
    cmi_ntt_forward(polynomial, &ring);
    MARK_END(1);
}

static void measure_uniform(void)
{
    cmi_uniform uniform;
    MARK_BEGIN(2);
    cmi_uniform_init(&uniform, CM_XOF_CHACHA20, seed, WORKLOAD_PARAMS.log2_n, WORKLOAD_PRIMES);
    cmi_uniform_polynomial(&uniform, &WORKLOAD_PARAMS.primes[0], 0, polynomial);
    MARK_END(2);
}

static void measure_ternary(void)
{
    const uint32_t nonce[3] = {CM_LABEL_TERNARY, 0, 0};
    cmi_stream stream;
    MARK_BEGIN(3);
    cmi_stream_init(&stream, seed, nonce);
    cmi_sample_ternary(&stream, packed, WORKLOAD_N);
    MARK_END(3);
}

static void measure_cbd(void)
{
    const uint32_t nonce[3] = {CM_LABEL_NOISE, 0, 0};
    int8_t noise[CM_SAMPLE_BLOCK];
    cmi_stream stream;
    MARK_BEGIN(4);
    cmi_stream_init(&stream, seed, nonce);
    for (uint32_t i = 0; i < WORKLOAD_N; i += CM_SAMPLE_BLOCK) {
        cmi_sample_cbd(&stream, noise);
    }
    MARK_END(4);
}

static void measure_chacha20(void)
{
    const uint32_t nonce[3] = {0, 0, 0};
    cmi_stream stream;
    MARK_BEGIN(5);
    cmi_stream_init(&stream, seed, nonce);
    cmi_stream_read(&stream, output, sizeof output);
    MARK_END(5);
}

#if CM_CONFIG_SEAL_XOFS
static void measure_shake256(void)
{
    MARK_BEGIN(6);
    cmi_shake256(output, sizeof output, seed, sizeof seed);
    MARK_END(6);
}

static void measure_blake2xb(void)
{
    MARK_BEGIN(7);
    cmi_blake2xb(output, sizeof output, seed, sizeof seed, seed, 8);
    MARK_END(7);
}
#endif

int main(void)
{
    const cm_status status = measure_encode();
    measure_ntt();
    measure_uniform();
    measure_ternary();
    measure_cbd();
    measure_chacha20();
#if CM_CONFIG_SEAL_XOFS
    measure_shake256();
    measure_blake2xb();
#endif
    report("status", (uint32_t)status);
    report("stream_bytes", STREAM_BYTES);
    return status == CM_OK ? 0 : 1;
}
