/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The RP2040's noise: the random bit of its ring oscillator, which runs beside the crystal that clocks all
 * else (RP2040 Datasheet, section 2.17.5). Its maker says that it does not meet the requirements of security
 * systems, because it can be influenced. Here it is sampled slowly, tested for an eighth of what eight good
 * bits have, hashed at half of that (health_limits.h), and is never the only secret of a seed (random.c). The
 * RP2350 has a real generator.
 */
#include "board.h"
#include "registers.h"
#include "rp2.h"

#define ROSC_CONTROL ROSC_BASE
#define ROSC_ON (0xFABu << 12 | 0xFA4u) /* the low range, as after a reset: the slower, the more jitter */
#define ROSC_STATUS (ROSC_BASE + 0x18u)
#define ROSC_STABLE (1u << 31)
#define ROSC_BIT (ROSC_BASE + 0x1Cu)

#define BITS 8u
#define BIT_MICROSECONDS 4u

static uint32_t last; /* microseconds at the last bit */

void generator_start(void)
{
    reg_write(ROSC_CONTROL, ROSC_ON);
    last = reg_read(TIMER_MICROSECONDS);
}

generated generator_next(uint8_t *out)
{
    if (!(reg_read(ROSC_STATUS) & ROSC_STABLE)) {
        return GENERATOR_WAITS;
    }
    uint32_t sample = 0;
    for (unsigned i = 0; i < BITS; i++) {
        while (reg_read(TIMER_MICROSECONDS) - last < BIT_MICROSECONDS) {
        }
        last = reg_read(TIMER_MICROSECONDS);
        sample = sample << 1 | (reg_read(ROSC_BIT) & 1u);
    }
    *out = (uint8_t)sample;
    return GENERATED;
}

void generator_stop(void)
{
}
