/* SPDX-License-Identifier: Apache-2.0 */
/* The registers of rtl/soc/cm_soc.sv. */
#ifndef PICORV32_BOARD_H
#define PICORV32_BOARD_H

#include <stdint.h>

#include "ciphermote/device.h"
#include "ciphermote/keys.h"
#include "ciphermote/params.h"

#define BOARD_REGISTER(number) (*(volatile uint32_t *)(0x10000000u + 4u * (number)))
#define BOARD_UART BOARD_REGISTER(0u)
#define BOARD_EXIT BOARD_REGISTER(1u)
#define BOARD_SENSOR BOARD_REGISTER(2u)
#define BOARD_RANDOM BOARD_REGISTER(3u)
#define BOARD_ADDRESS BOARD_REGISTER(4u)
#define BOARD_SEND BOARD_REGISTER(5u)
#define BOARD_SEND_HALVES ((uint32_t)1 << 20)
#define BOARD_SEND_SIGNED ((uint32_t)1 << 21)
#define BOARD_SEND_PIECES ((uint32_t)1 << 22)
#define BOARD_RECEIVE BOARD_REGISTER(6u)
#define BOARD_LEAVE BOARD_REGISTER(7u)
#define BOARD_TO BOARD_REGISTER(8u)
#define BOARD_TO_MESSAGE 0u
#define BOARD_TO_FRAMES 1u
#define BOARD_TO_ENGINE(offset) (2u | (uint32_t)(offset) << 16)
#define BOARD_MODULUS BOARD_REGISTER(9u)
#define BOARD_CLEAR BOARD_REGISTER(10u)
#define BOARD_TAKE BOARD_REGISTER(11u)
#define BOARD_ENGINE 0x20000000u

/* For buffers that are written before they are read: start-up code does not fill them with zeros. */
#define BOARD_NOT_CLEARED __attribute__((section(".noinit"), aligned(8)))

/* Memory is read and written by transfers too: what was stored before a start must be there. */
static inline void board_order(void)
{
    __asm__ volatile("" ::: "memory");
}

static inline uint32_t board_cycles(void)
{
    uint32_t cycles;
    __asm__ volatile("rdcycle %0" : "=r"(cycles)::"memory");
    return cycles;
}

/* PicoRV32's own interrupts: the timer's, and the engine's (cm_soc.sv). */
#define BOARD_TIMER_IRQ ((uint32_t)1 << 0)
#define BOARD_ENGINE_IRQ ((uint32_t)1 << 3)

/* Stops the core until there is an interrupt, or after so many cycles, and returns which. None is handled. */
static inline uint32_t board_wait(uint32_t cycles)
{
    uint32_t pending;
    uint32_t left;
    __asm__ volatile(".insn r 0x0B, 6, 5, %1, %2, x0\n\t" /* timer */
                     ".insn r 0x0B, 4, 4, %0, x0, x0\n\t" /* waitirq */
                     ".insn r 0x0B, 6, 5, x0, x0, x0"     /* the timer is off */
                     : "=&r"(pending), "=&r"(left)
                     : "r"(cycles)
                     : "memory");
    return pending;
}

/* Whether the client engine is there, or there is none to open in this build. It makes this set's tables. */
int board_start(const cm_params *params);

/* Enters what encryptions under a secret key need, if there is an engine to take it. */
void board_hold(const uint8_t *device_secret, const cm_secret_key *key, uint32_t plain_modulus);

/*
 * Draws a secret key, into the engine if there is one, which ternary then names: client_engine_make_keys. The
 * same random words give the same key without the engine.
 */
cm_status board_make_secret_key(cm_device *device, const cm_params *params, uint8_t *ternary,
                                uint64_t *key_id);

/* Says by the UART how many calls the engine failed at, and how many the library did in its place, if any. */
void board_report(void);

#endif
