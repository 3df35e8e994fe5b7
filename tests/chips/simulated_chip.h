/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Simulated chips for test_chips.py: the two pages of flash that keep the counter, whose power can be cut
 * within any operation, and noise. Each chip's file adds the registers in front of them.
 */
#ifndef SIMULATED_CHIP_H
#define SIMULATED_CHIP_H

#include <stdbool.h>
#include <stdint.h>

#include "flash_shape.h"

#define PAGES 2u

extern uint32_t flash_words[PAGES * FLASH_PAGE_WORDS];
extern uint32_t misuses; /* what a real chip would not have done, or forbids */

/* Noise that the test chooses: good; all zeros; none at all; errors of the hardware's own tests. */
typedef enum noise { NOISE_GOOD, NOISE_STUCK, NOISE_NONE, NOISE_ERROR, NOISE_CLOCK_ERROR } noise;
extern int noise_kind;
extern uint32_t noise_errors; /* how many, with NOISE_ERROR, before it is good */
extern uint32_t microseconds; /* of the chip's timer: one more at each look */

uint32_t chance(void);
uint32_t noise_word(void);
/* An operation of the flash begins: whether the power fails within it. */
bool cut(void);
_Noreturn void power_off(void);
/* Start-up looks at a register once more: where it waits for ever, the test ends it. */
void within_patience(void);

/* Program zeros, not all if torn; erase, not all if torn. */
void program_word(uint32_t index, uint32_t value, bool torn);
void erase_page(uint32_t page, bool torn);

#endif
