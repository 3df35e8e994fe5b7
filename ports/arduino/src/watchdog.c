/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The watchdog as a noise source. Registers and bits are as in the data sheets of the ATmega328P and the
 * ATmega2560.
 */
#include "watchdog.h"

#include <avr/interrupt.h>
#include <avr/io.h>
#include <avr/wdt.h>

#if !defined(WDTCSR) || !defined(WDIE)
#error "This AVR's watchdog has no flag to watch, so no entropy: take an ATmega328P or 2560."
#endif

#define CHANGE_ENABLE (_BV(WDCE) | _BV(WDE))
#define TIME_OUTS_ALONE _BV(WDIE) /* after the shortest time, 2048 cycles of its oscillator; no reset */

/* The second write must follow the first within four cycles, however the compiler optimises. */
static void configure(uint8_t control)
{
    __asm__ volatile("sts %0, %1\n\tsts %0, %2"
                     :
                     : "n"(_SFR_MEM_ADDR(WDTCSR)), "r"((uint8_t)CHANGE_ENABLE), "r"(control));
}

bool cm_watchdog_start(cm_watchdog *found)
{
    found->interrupts = SREG;
    cli();
    wdt_reset();
    found->control = WDTCSR;
    MCUSR &= (uint8_t)~_BV(WDRF);
    configure(_BV(WDIF) | TIME_OUTS_ALONE);
    if ((WDTCSR & (_BV(WDIE) | _BV(WDE))) != TIME_OUTS_ALONE) {
        return false; /* WDTON: WDE cannot be cleared */
    }
    return cm_watchdog_next() != 0; /* the oscillator runs; this period was cut short */
}

uint16_t cm_watchdog_next(void)
{
    uint16_t count = 0;
    while (!(WDTCSR & _BV(WDIF)) && ++count != 0) {
    }
    WDTCSR = _BV(WDIF) | TIME_OUTS_ALONE; /* WDIF is cleared by writing 1 */
    return count;
}

void cm_watchdog_stop(const cm_watchdog *found)
{
    wdt_reset();
    configure((uint8_t)(found->control & ~_BV(WDCE)) | _BV(WDIF));
    SREG = found->interrupts;
}
