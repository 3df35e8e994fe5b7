/* SPDX-License-Identifier: Apache-2.0 */
/* A reset of all but the oscillators by the watchdog: RP2350 Datasheet, sections 7.4 and 12.9. */
#include "registers.h"
#include "riscv.h"
#include "rp2_chip.h"

#define PSM_WATCHDOG_RESETS (PSM_BASE + 8u)
#define ALL_BUT_OSCILLATORS (0x01FFFFFFu & ~(1u << 2 | 1u << 3))
#define WATCHDOG_CONTROL WATCHDOG_BASE
#define WATCHDOG_NOW (1u << 31)

void chip_reset(void)
{
    reg_write(PSM_WATCHDOG_RESETS, ALL_BUT_OSCILLATORS);
    for (;;) {
        reg_write(WATCHDOG_CONTROL, WATCHDOG_NOW);
    }
}
