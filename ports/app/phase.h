/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Phases of a device's work, for the simulator's cycle model (bench/m4) to tell apart; without APP_MARKS they
 * are nothing. What the link takes counts to none.
 */
#ifndef APP_PHASE_H
#define APP_PHASE_H

typedef enum phase { PHASE_ENCRYPT = 0, PHASE_DECRYPT = 1, PHASE_STEP = 2, PHASE_NONE = 3 } phase;

/* End the phase at hand, begin another; returns the one that ended. */
phase phase_enter(phase next);

#endif
