/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Marks for the bench's cycle model (bench/m4/firmware/mark.h), of a build with NET_MARKS=1: what is being
 * computed, sleep left out. Other builds mark nothing.
 */
#ifndef WORK_H
#define WORK_H

typedef enum work { WORK_NONE, WORK_HANDSHAKE, WORK_WINDOW } work;

/* What is computed from here on. */
void work_begin(work kind);
void work_end(void);
/* Around sleep. */
void work_pause(void);
void work_resume(void);

#endif
