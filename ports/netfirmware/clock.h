/* SPDX-License-Identifier: Apache-2.0 */
/* Milliseconds since the start, and the date. */
#ifndef CLOCK_H
#define CLOCK_H

#include <stdbool.h>
#include <stdint.h>

void clock_start(void);

/* Wraps after 49 days. Asked for at least every 170 s, or time is lost. */
uint32_t clock_ms(void);

/* Seconds since 1970; 0 if the board does not know the date. */
uint32_t clock_date(void);

/* Whether so many milliseconds have passed since then. */
static inline bool clock_passed(uint32_t since, uint32_t milliseconds)
{
    return clock_ms() - since >= milliseconds;
}

#endif
