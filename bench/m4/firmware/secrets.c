/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Secrets determined by a run number, and the draw of seeds that the linker puts in place of the library's.
 */
#include "secrets.h"

#include <string.h>

#include "random/xof.h"
#include "scheme/seeds.h"

#define STREAM_OF_SECRETS 0u
#define STREAM_OF_VALUES 1u

#define __wrap_cmi_seeds_draw CM_SYMBOL(__wrap_cmi_seeds_draw)
cm_status __wrap_cmi_seeds_draw(cm_device *device, cmi_seeds *seeds);

/* What one run keeps secret. */
typedef struct secrets {
    uint8_t device[CM_DEVICE_SECRET_BYTES];
    uint8_t randomness[32];
    uint8_t key[CM_SEED_BYTES];
    uint8_t tag_key[CM_TAG_KEY_BYTES];
} secrets;

static secrets current;
static uint8_t ternary[CM_TERNARY_BYTES(WORKLOAD_N)];
#if CM_CONFIG_TRANSFORMED_SECRET
static uint32_t transformed[WORKLOAD_PRIMES][WORKLOAD_N];
#endif

cm_status __wrap_cmi_seeds_draw(cm_device *unused, cmi_seeds *seeds)
{
    (void)unused;
    cmi_seeds_derive(current.device, current.randomness, 0, seeds);
    memset(seeds->public_seed, 0x5A, sizeof seeds->public_seed);
    return CM_OK;
}

static void draw(uint8_t *out, size_t length, uint32_t run, uint32_t purpose)
{
    static const uint8_t test_key[32] = {1};
    const uint32_t nonce[3] = {run, purpose, 0};
    cmi_stream stream;
    cmi_stream_init(&stream, test_key, nonce);
    cmi_stream_read(&stream, out, length);
}

cm_status secrets_draw(uint32_t run)
{
    draw((uint8_t *)&current, sizeof current, run, STREAM_OF_SECRETS);
    cm_status status = cm_secret_key_generate(&WORKLOAD_PARAMS, current.key, ternary);
#if CM_CONFIG_TRANSFORMED_SECRET
    for (unsigned i = 0; i < WORKLOAD_PRIMES && status == CM_OK; i++) {
        status = cm_secret_key_transform(&WORKLOAD_PARAMS, ternary, i, transformed[i]);
    }
#endif
    return status;
}

cm_secret_key secrets_key(void)
{
    return (cm_secret_key)
    {
        .params = &WORKLOAD_PARAMS, .key_id = WORKLOAD_KEY_ID, .ternary = ternary,
#if CM_CONFIG_TRANSFORMED_SECRET
        .transformed = &transformed[0][0]
#endif
    };
}

const uint8_t *secrets_key_seed(void)
{
    return current.key;
}

const uint8_t *secrets_tag_key(void)
{
    return current.tag_key;
}

void secrets_values(uint8_t *out, uint32_t run)
{
    static const uint32_t ends[4] = {0x00000000u, 0x40FFFFFFu, 0xC0FFFFFFu, 0x80000001u};
    draw(out, 4u * WORKLOAD_VALUES, run, STREAM_OF_VALUES);
    for (uint32_t i = 0; i < WORKLOAD_VALUES; i++) {
        uint32_t bits;
        memcpy(&bits, out + 4u * i, sizeof bits);
        if (run < 4) {
            bits = ends[run];
        } else if ((bits >> 23 & 0xFFu) > 129u) { /* 8 and more: as much smaller */
            bits -= 0x80u << 23;
        }
        memcpy(out + 4u * i, &bits, sizeof bits);
    }
}

void secrets_integers(uint8_t *out, uint32_t run)
{
    static const uint16_t ends[2] = {0, WORKLOAD_T - 1u};
    draw(out, 2u * WORKLOAD_N, run, STREAM_OF_VALUES);
    for (uint32_t i = 0; i < WORKLOAD_N; i++) {
        uint16_t integer;
        memcpy(&integer, out + 2u * i, sizeof integer);
        integer = run < 2 ? ends[run] : (uint16_t)(integer * WORKLOAD_T >> 16);
        memcpy(out + 2u * i, &integer, sizeof integer);
    }
}
