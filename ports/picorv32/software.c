/* SPDX-License-Identifier: Apache-2.0 */
/* The build in software alone. */
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

uint32_t board_failures(void)
{
    return 0;
}
