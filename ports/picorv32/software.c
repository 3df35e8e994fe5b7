/* SPDX-License-Identifier: Apache-2.0 */
/* The build in software alone. */
#include <string.h>

#include "board.h"

int board_start(const cm_params *params)
{
    (void)params;
    return 1;
}

void board_hold(const uint8_t *device_secret, const cm_secret_key *key, uint32_t plain_modulus)
{
    (void)device_secret;
    (void)key;
    (void)plain_modulus;
}

/* As the engine does: the key's seed first, then its id. */
cm_status board_make_secret_key(cm_device *device, const cm_params *params, uint8_t *ternary,
                                uint64_t *key_id)
{
    const cm_platform *platform = &device->counter.platform;
    uint8_t drawn[CM_SEED_BYTES + 8];
    if (platform->random(platform->context, drawn, sizeof drawn) != 0) {
        return CM_ERR_RANDOM;
    }
    memcpy(key_id, drawn + CM_SEED_BYTES, 8);
    return cm_secret_key_generate(params, drawn, ternary);
}

void board_report(void)
{
}
