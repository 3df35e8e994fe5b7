/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An AVR's raw noise: how long the watchdog takes from one time-out to the next. Its oscillator is a separate
 * RC circuit, near 128 kHz, whose period thermal noise disturbs; the time is counted by the core's clock, in
 * iterations of an 8-cycle loop.
 *
 * The watchdog is polled: between start and stop, interrupts are off, so that no vector is needed (a sketch
 * may have its own) and nothing else runs that would show in the counts. Timers, ADC and pins are left alone.
 */
#ifndef CM_WATCHDOG_H
#define CM_WATCHDOG_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What start found, for stop to restore. */
typedef struct cm_watchdog {
    uint8_t control;
    uint8_t interrupts;
} cm_watchdog;

/*
 * Turn interrupts off and let the watchdog time out every 16 ms, without a reset. False if it does not: its
 * oscillator stands still, or the fuse WDTON rules it out. Clears WDRF in MCUSR, which would force resets.
 * Call cm_watchdog_stop afterwards in any case.
 */
bool cm_watchdog_start(cm_watchdog *found);

/*
 * Iterations of the loop from the call to the next time-out; 0 if the call was late, or no time-out comes
 * within twice its time.
 */
uint16_t cm_watchdog_next(void);

/* Restore watchdog and interrupts, except that the sketch's own watchdog starts its period again. */
void cm_watchdog_stop(const cm_watchdog *found);

#ifdef __cplusplus
}
#endif
#endif
