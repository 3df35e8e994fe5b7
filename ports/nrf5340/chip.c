/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Start, end and time of the nRF5340's application core, in its secure state, and UARTE 0 on the pins that
 * lead to the development kit's USB interface. Registers: nRF5340 Product Specification, "CLOCK", "TIMER",
 * "UARTE", "GPIO", "FICR", "CRYPTOCELL".
 */
#include "board.h"
#include "cc_trng.h"
#include "registers.h"

#define FICR_TRIM(i) (0x00FF0300u + 8u * (i)) /* an address and its value; ones end them */
#define FICR_TRIMS 32u
#define NO_TRIM 0xFFFFFFFFu

#define CLOCK_START 0x50005000u
#define CLOCK_STARTED 0x50005100u
#define CLOCK_SOURCE 0x50005514u
#define CLOCK_CRYSTAL 1u
#define CLOCK_DIVIDER 0x50005558u
#define CLOCK_128_MHZ 0u

#define TIMER_START 0x5000F000u
#define TIMER_CAPTURE 0x5000F040u
#define TIMER_BITS 0x5000F508u
#define TIMER_32_BITS 3u
#define TIMER_PRESCALER 0x5000F510u
#define TIMER_1_MHZ 4u
#define TIMER_CAPTURED 0x5000F540u
#define TICK_MICROSECONDS (1000u * CLOCK_TICK_MS)

#define UARTE_START_RECEIVER 0x50008000u
#define UARTE_START_TRANSMITTER 0x50008008u
#define UARTE_RECEIVED 0x50008110u
#define UARTE_TRANSMITTED 0x50008120u
#define UARTE_ENABLE 0x50008500u
#define UARTE_ENABLED 8u
#define UARTE_PIN_TXD 0x5000850Cu
#define UARTE_PIN_RXD 0x50008514u
#define UARTE_BAUD_RATE 0x50008524u
#define UARTE_115200_BAUD 0x01D60000u
#define UARTE_RXD_POINTER 0x50008534u
#define UARTE_RXD_COUNT 0x50008538u
#define UARTE_TXD_POINTER 0x50008544u
#define UARTE_TXD_COUNT 0x50008548u
#define PIN_TXD 20u
#define PIN_RXD 22u

#define GPIO_SET 0x50842508u
#define GPIO_PIN(number) (0x50842700u + 4u * (number))
#define GPIO_OUTPUT 3u                 /* and its input buffer disconnected */
#define GPIO_INPUT_PULLED_UP (3u << 2) /* so that a line without a driver is idle */

#define CRYPTOCELL_ENABLE 0x50844500u
#define CRYPTOCELL_RNG_CLOCK (CC_TRNG_BASE + 0x1C4u)

/* The UARTE reads and writes memory. */
static volatile uint8_t received;
static volatile uint8_t sent;

static void trim(void)
{
    for (unsigned i = 0; i < FICR_TRIMS && reg_read(FICR_TRIM(i)) != NO_TRIM; i++) {
        reg_write(reg_read(FICR_TRIM(i)), reg_read(FICR_TRIM(i) + 4u));
    }
}

static void start_clock(void)
{
    reg_write(CLOCK_SOURCE, CLOCK_CRYSTAL);
    reg_write(CLOCK_STARTED, 0);
    reg_write(CLOCK_START, 1);
    reg_wait(CLOCK_STARTED, 1, 1);
    reg_write(CLOCK_DIVIDER, CLOCK_128_MHZ);
    reg_write(TIMER_BITS, TIMER_32_BITS);
    reg_write(TIMER_PRESCALER, TIMER_1_MHZ);
    reg_write(TIMER_START, 1);
}

/* The next byte. Its FIFO keeps more bytes until this is called again. */
static void receive(void)
{
    reg_write(UARTE_RECEIVED, 0);
    reg_write(UARTE_START_RECEIVER, 1);
}

static void start_serial(void)
{
    reg_write(GPIO_SET, 1u << PIN_TXD); /* the line idles high */
    reg_write(GPIO_PIN(PIN_TXD), GPIO_OUTPUT);
    reg_write(GPIO_PIN(PIN_RXD), GPIO_INPUT_PULLED_UP);
    reg_write(UARTE_PIN_TXD, PIN_TXD);
    reg_write(UARTE_PIN_RXD, PIN_RXD);
    reg_write(UARTE_BAUD_RATE, UARTE_115200_BAUD);
    reg_write(UARTE_RXD_POINTER, (uint32_t)(uintptr_t)&received);
    reg_write(UARTE_RXD_COUNT, 1);
    reg_write(UARTE_TXD_POINTER, (uint32_t)(uintptr_t)&sent);
    reg_write(UARTE_TXD_COUNT, 1);
    reg_write(UARTE_ENABLE, UARTE_ENABLED);
    receive();
}

void chip_start(void)
{
    trim();
    start_clock();
    start_serial();
}

void chip_stop(void)
{
    for (;;) {
        wait_for_interrupt();
    }
}

bool clock_ticked(void)
{
    static uint32_t last;
    reg_write(TIMER_CAPTURE, 1);
    const uint32_t now = reg_read(TIMER_CAPTURED);
    if (now - last < TICK_MICROSECONDS) {
        return false;
    }
    last = now;
    return true;
}

/* Not at all: the receiver's few bytes fill up in half a millisecond. */
void sleep_until_event(void)
{
}

bool serial_ready(void)
{
    return reg_read(UARTE_RECEIVED) != 0;
}

uint8_t serial_take(void)
{
    const uint8_t byte = received;
    receive();
    return byte;
}

void serial_put(uint8_t byte)
{
    sent = byte;
    reg_write(UARTE_TRANSMITTED, 0);
    reg_write(UARTE_START_TRANSMITTER, 1);
    reg_wait(UARTE_TRANSMITTED, 1, 1);
}

void cc_trng_power(bool on)
{
    if (on) {
        reg_write(CRYPTOCELL_ENABLE, 1);
        reg_write(CRYPTOCELL_RNG_CLOCK, 1);
    } else {
        reg_write(CRYPTOCELL_RNG_CLOCK, 0);
        reg_write(CRYPTOCELL_ENABLE, 0);
    }
}
