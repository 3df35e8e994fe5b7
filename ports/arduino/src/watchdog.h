/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An AVR's raw noise: how long the watchdog takes from one time-out to the next. Its oscillator is an RC
 * circuit of its own, near 128 kHz, whose period thermal noise disturbs; the time is counted by the clock of
 * the core, in turns of a loop of 8 cycles.
 *
 * The watchdog is watched, never heard: between start and stop interrupts are off, so that no vector is
 * needed (a sketch may have its own) and nothing else runs that would show in the counts. Timer, ADC and pins
 * are left alone.
 */
#ifndef CM_WATCHDOG_H
#define CM_WATCHDOG_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What start found, for stop. */
typedef struct cm_watchdog {
    uint8_t control;
    uint8_t interrupts;
} cm_watchdog;

/*
 * Turn interrupts off and let the watchdog time out every 16 ms, without a reset. False if it does not: its
 * oscillator stands still, or the fuse WDTON forbids it. Clears WDRF in MCUSR, which would force resets.
 * Then, in any case, stop.
 */
bool cm_watchdog_start(cm_watchdog *found);

/* Turns of the loop until the next time-out, from the call on; 0 if it was late, or does not come within
   twice its time. */
uint16_t cm_watchdog_next(void);

/* Watchdog and interrupts as they were, but that the sketch's own watchdog begins its time anew. */
void cm_watchdog_stop(const cm_watchdog *found);

#ifdef __cplusplus
}
#endif
#endif
