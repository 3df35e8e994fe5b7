/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The STM32U5's generator (RM0456, section 48), in the configuration that ST had certified (AN4230, "NIST
 * compliant RNG configuration": the register's value and the health tests' for this family): conditioned
 * noise, tested in hardware. A seed error is recovered from as section 48.3.7 says, by a reset of the
 * conditioner, ATTEMPTS times in a row at most; a clock error at all is a failure.
 */
#include "board.h"
#include "registers.h"
#include "stm32u5.h"

#define CONTROL RNG_BASE
#define CONTROL_ON (1u << 2)
#define CONTROL_CERTIFIED 0x00F60D00u
#define CONTROL_RESET (1u << 30)
#define STATUS (RNG_BASE + 4u)
#define STATUS_READY 1u
#define STATUS_CLOCK_ERROR (1u << 1 | 1u << 5)
#define STATUS_SEED_ERROR (1u << 2 | 1u << 6)
#define DATA (RNG_BASE + 8u)
#define HEALTH (RNG_BASE + 0x10u)
#define HEALTH_CERTIFIED 0x00009AAEu

#define RESET_PATIENCE 10000u
#define ATTEMPTS 4u

static struct {
    uint32_t word;
    unsigned left;   /* bytes of the word */
    unsigned failed; /* attempts in a row */
} state;

/* If the reset never ends, no word comes, which is noticed. */
static void restart(void)
{
    reg_write(CONTROL, CONTROL_CERTIFIED | CONTROL_RESET);
    reg_write(HEALTH, HEALTH_CERTIFIED);
    reg_write(CONTROL, CONTROL_CERTIFIED);
    for (unsigned i = 0; i < RESET_PATIENCE && (reg_read(CONTROL) & CONTROL_RESET); i++) {
    }
    reg_write(STATUS, 0); /* the noted errors */
    reg_write(CONTROL, CONTROL_CERTIFIED | CONTROL_ON);
}

void generator_start(void)
{
    reg_set(RCC_CONTROL, RCC_HSI48_ON); /* its clock, unless chosen otherwise */
    reg_wait(RCC_CONTROL, RCC_HSI48_READY, RCC_HSI48_READY);
    reg_set(RCC_AHB2_CLOCKS, RCC_RNG);
    state.left = 0;
    restart();
}

static generated next_word(void)
{
    const uint32_t status = reg_read(STATUS);
    if (status & STATUS_CLOCK_ERROR) {
        return GENERATOR_FAILED;
    }
    if (status & STATUS_SEED_ERROR) {
        state.failed++;
        if (state.failed >= ATTEMPTS) {
            return GENERATOR_FAILED;
        }
        restart();
        return GENERATOR_WAITS;
    }
    if (!(status & STATUS_READY)) {
        return GENERATOR_WAITS;
    }
    state.word = reg_read(DATA);
    if (state.word == 0) {
        return GENERATOR_WAITS; /* section 48.3.5: an error came between, and the word is none */
    }
    state.failed = 0;
    state.left = sizeof state.word;
    return GENERATED;
}

generated generator_next(uint8_t *out)
{
    if (state.left == 0) {
        const generated found = next_word();
        if (found != GENERATED) {
            return found;
        }
    }
    state.left--;
    *out = (uint8_t)state.word;
    state.word >>= 8;
    return GENERATED;
}

void generator_stop(void)
{
    *(volatile uint32_t *)&state.word = 0;
    state.left = 0;
    reg_write(CONTROL, CONTROL_CERTIFIED);
    reg_clear(RCC_AHB2_CLOCKS, RCC_RNG);
}
