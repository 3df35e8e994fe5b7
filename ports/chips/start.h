/* SPDX-License-Identifier: Apache-2.0 */
/* What start-up code does before anything else: code that runs from RAM (ram_code.ld), data and zeros. */
#ifndef START_H
#define START_H

#include <stdint.h>

#include "board.h"

/* In flash also where the other code is not: it is what copies that. */
#define IN_FLASH __attribute__((section(".start")))

extern uint32_t stack_limit[], stack_top[];
extern uint32_t code_start[], code_end[], code_in_flash[];
extern uint32_t data_start[], data_end[], data_in_flash[];
extern uint32_t bss_start[], bss_end[];

int main(void);

/* volatile: the compiler must not make a call of memcpy of it, which is not there yet. */
static inline __attribute__((always_inline)) void copy_words(uint32_t *start, const uint32_t *end,
                                                             const uint32_t *words)
{
    for (volatile uint32_t *to = start; to < end; to++) {
        *to = *words++;
    }
}

static inline __attribute__((always_inline)) void load_memory(void)
{
    copy_words(code_start, code_end, code_in_flash);
    copy_words(data_start, data_end, data_in_flash);
    for (volatile uint32_t *to = bss_start; to < bss_end; to++) {
        *to = 0;
    }
}

static inline _Noreturn void run(void)
{
    chip_start();
    (void)main();
    chip_stop();
}

#endif
