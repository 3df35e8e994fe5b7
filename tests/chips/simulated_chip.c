/* SPDX-License-Identifier: Apache-2.0 */
#include "simulated_chip.h"

#include <setjmp.h>
#include <stddef.h>

#include "board.h"
#include "registers.h"

uint32_t flash_words[PAGES * FLASH_PAGE_WORDS];
uint32_t page_words = FLASH_PAGE_WORDS;
uint32_t unit_words = FLASH_UNIT_WORDS;
uint32_t worn_bit; /* of the first word: cannot be programmed */
uint32_t misuses;
int noise_kind;
uint32_t noise_errors;
uint32_t microseconds;

static jmp_buf power;
static int operations = -1; /* until the power cut; never, if negative */
static uint32_t state = 1;

uint32_t chance(void)
{
    state ^= state << 13, state ^= state >> 17, state ^= state << 5;
    return state;
}

uint32_t noise_word(void)
{
    return noise_kind == NOISE_STUCK ? 0 : chance() ^ chance() << 16;
}

bool cut(void)
{
    return operations >= 0 && operations-- == 0;
}

void power_off(void)
{
    longjmp(power, 1);
}

void wait_for_interrupt(void)
{
}

void program_word(uint32_t index, uint32_t value, bool torn)
{
    flash_words[index] &= value | (torn ? chance() : 0) | (index == 0 ? worn_bit : 0);
}

void erase_page(uint32_t page, bool torn)
{
    const uint32_t progress = torn ? chance() : UINT32_MAX;
    for (uint32_t bit = 0; bit < FLASH_PAGE_WORDS * 32u; bit++) {
        if (!torn || chance() < progress) {
            flash_words[page * FLASH_PAGE_WORDS + bit / 32u] |= (uint32_t)1 << bit % 32u;
        }
    }
}

void placed(void) __attribute__((weak));
void placed(void)
{
}

enum { PATIENCE = 1000 };
static int looks; /* at registers of start-up */

void within_patience(void)
{
    looks++;
    if (looks > PATIENCE) {
        power_off();
    }
}

/* Not of chips whose start-up is not simulated. */
void before_start(void) __attribute__((weak));
void chip_start(void) __attribute__((weak));

int start(void);
int start(void)
{
    before_start();
    looks = 0;
    if (setjmp(power)) {
        return 2;
    }
    chip_start();
    return 0;
}

int store(uint64_t value, int cut_after, uint32_t seed);
int store(uint64_t value, int cut_after, uint32_t seed)
{
    operations = cut_after;
    state = seed;
    return setjmp(power) ? 2 : counter_write(NULL, value);
}
