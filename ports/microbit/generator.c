/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The nRF51's generator: thermal noise with bias correction on, about 0.7 ms per byte, a few at most. Nordic
 * documents such generators as suitable for cryptography, without health tests of their own.
 */
#include "board.h"
#include "nrf51.h"

void generator_start(void)
{
    RNG_CONFIG = RNG_BIAS_CORRECTION;
    RNG_INTERRUPTS_ON = RNG_INTERRUPT_READY;
    RNG_READY = 0;
    RNG_START = 1;
}

generated generator_next(uint8_t *out)
{
    if (!RNG_READY) {
        return GENERATOR_WAITS;
    }
    RNG_READY = 0; /* before the byte is taken, so that no byte is taken twice */
    *out = (uint8_t)RNG_VALUE;
    return GENERATED;
}

void generator_stop(void)
{
    RNG_STOP = 1;
    RNG_READY = 0;
}
