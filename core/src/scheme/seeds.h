/* The seeds of one ciphertext, as ciphermote/device.h describes them. */
#ifndef CM_SCHEME_SEEDS_H
#define CM_SCHEME_SEEDS_H

#include <stdint.h>

#include "ciphermote/device.h"
#include "ciphermote/emitter.h"
#include "ciphermote/keys.h"
#include "random/xof.h"

typedef struct cm_seeds {
    uint64_t counter;
    uint8_t public_seed[CM_MAX_PUBLIC_SEED_BYTES];
    uint8_t secret_seed[CM_SEED_BYTES];
    /* While they are drawn: here, for this may lie where memory is idle, and the stack is not. Wiped. */
    uint8_t block[CM_CHACHA20_BLOCK_BYTES];
    uint8_t key[32];
} cm_seeds;

/* Take the next counter and fresh randomness. CM_ERR_ARGUMENT (device not ready), CM_ERR_COUNTER, CM_ERR_RANDOM. */
CM_MUST_CHECK cm_status cm_seeds_draw(cm_device *device, cm_seeds *seeds);

/* The derivation alone: a pure function of its inputs. */
void cm_seeds_derive(const uint8_t secret[CM_DEVICE_SECRET_BYTES], const uint8_t randomness[32],
                     uint64_t counter, cm_seeds *seeds);

#endif
