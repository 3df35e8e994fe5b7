/* SPDX-License-Identifier: Apache-2.0 */
/* The seeds of one ciphertext, as ciphermote/device.h describes them. */
#ifndef CM_SCHEME_SEEDS_H
#define CM_SCHEME_SEEDS_H

#include <stdint.h>
#include <string.h>

#include "ciphermote/device.h"
#include "ciphermote/emitter.h"
#include "ciphermote/keys.h"
#include "common/declassify.h"
#include "common/names.h"
#include "common/wipe.h"
#include "random/xof.h"

CMI_HIDDEN_BEGIN

typedef struct cmi_seeds {
    uint64_t counter;
    uint8_t public_seed[CM_MAX_PUBLIC_SEED_BYTES];
    uint8_t secret_seed[CM_SEED_BYTES];
    /*
     * Used while drawing: these are here because this struct may be in idle memory, which saves stack. Wiped.
     */
    uint8_t block[CM_CHACHA20_BLOCK_BYTES];
    uint8_t key[32];
} cmi_seeds;

/* Take the next counter: what counter->next was. CM_ERR_COUNTER. */
CM_MUST_CHECK cm_status cmi_counter_take(cm_counter *counter);

/* Take the next counter and fresh randomness. CM_ERR_ARGUMENT (device not ready), CM_ERR_COUNTER,
   CM_ERR_RANDOM. */
CM_MUST_CHECK cm_status cmi_seeds_draw(cm_device *device, cmi_seeds *seeds);

/*
 * The same by way of idle memory of sizeof(cmi_seeds) bytes: the public half goes to info, whose xof says how
 * long it is, and the secret half becomes the key of a stream.
 */
CM_MUST_CHECK static inline cm_status cmi_seeds_draw_into(cm_device *device, void *idle,
                                                          cm_ciphertext_info *info, cmi_stream *stream)
{
    cmi_seeds *seeds = (cmi_seeds *)idle;
    const cm_status status = cmi_seeds_draw(device, seeds);
    if (status == CM_OK) {
        info->counter = seeds->counter;
        /* Where no seed is sent, its first bytes are: they tell attempts apart (wire/frame.c). */
        const size_t length = info->xof == CM_XOF_NONE ? 8 : cm_public_seed_bytes(info->xof);
        memcpy(info->seed, seeds->public_seed, length);
        cmi_declassify(info->seed, length); /* it is sent, and its expansion branches on its residues */
        cmi_stream_set_key(stream, seeds->secret_seed);
    }
    cmi_wipe(seeds, sizeof *seeds);
    return status;
}

/* The derivation alone: a pure function of its inputs. */
void cmi_seeds_derive(const uint8_t secret[CM_DEVICE_SECRET_BYTES], const uint8_t randomness[32],
                      uint64_t counter, cmi_seeds *seeds);

CMI_HIDDEN_END

#endif
