/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clock of the simulated board, and Mbed TLS's: it asks for the date, by which certificates are valid. A
 * device without a battery-backed clock must fetch the date from somebody whom it trusts.
 */
#include "clock.h"

#include <time.h>

#include "board.h"
#include "mbedtls/platform_time.h"
#include "mbedtls/platform_util.h"

/* Arm CMSDK APB timer, counting down at the processor's clock. */
#define TIMER_CONTROL (*(volatile uint32_t *)0x40000000u)
#define TIMER_VALUE (*(volatile uint32_t *)0x40000004u)
#define TIMER_RELOAD (*(volatile uint32_t *)0x40000008u)
#define TIMER_ON 1u
#define TICKS_PER_MS 25000u

static struct {
    uint32_t value; /* the timer's, when it was last asked */
    uint32_t rest;  /* ticks that are no whole millisecond yet */
    uint32_t ms;
} timer;

void clock_start(void)
{
    TIMER_RELOAD = UINT32_MAX;
    TIMER_VALUE = UINT32_MAX;
    TIMER_CONTROL = TIMER_ON;
    timer.value = TIMER_VALUE;
}

uint32_t clock_ms(void)
{
    const uint32_t value = TIMER_VALUE;
    const uint64_t ticks = (uint64_t)(timer.value - value) + timer.rest;
    timer.value = value;
    timer.ms += (uint32_t)(ticks / TICKS_PER_MS);
    timer.rest = (uint32_t)(ticks % TICKS_PER_MS);
    return timer.ms;
}

mbedtls_ms_time_t mbedtls_ms_time(void)
{
    return (mbedtls_ms_time_t)clock_ms();
}

uint32_t clock_date(void)
{
    return host_seconds();
}

mbedtls_time_t host_date(mbedtls_time_t *out);

mbedtls_time_t host_date(mbedtls_time_t *out)
{
    const mbedtls_time_t seconds = (mbedtls_time_t)clock_date();
    if (out) {
        *out = seconds;
    }
    return seconds;
}

struct tm *mbedtls_platform_gmtime_r(const mbedtls_time_t *seconds, struct tm *out)
{
    return gmtime_r(seconds, out);
}
