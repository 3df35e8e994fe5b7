/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Phases of a device's work, which the simulator's cycle model (bench/m4) counts separately; without
 * APP_MARKS they compile to nothing. Time on the link belongs to no phase.
 */
#ifndef APP_PHASE_H
#define APP_PHASE_H

typedef enum phase { PHASE_ENCRYPT = 0, PHASE_DECRYPT = 1, PHASE_STEP = 2, PHASE_NONE = 3 } phase;

/* End the current phase and begin another; returns the one that ended. */
phase phase_enter(phase next);

#endif
