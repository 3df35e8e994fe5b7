/* SPDX-License-Identifier: Apache-2.0 */
/* The micro:bit's flash, above its registers: QEMU has those. */
#include "flash.h"
#include "simulated_chip.h"

uint32_t flash_read(unsigned page, unsigned word)
{
    return flash_words[page * FLASH_PAGE_WORDS + word];
}

void flash_program(unsigned page, unsigned word, const uint32_t unit[FLASH_UNIT_WORDS])
{
    const bool torn = cut();
    program_word(page * FLASH_PAGE_WORDS + word, unit[0], torn);
    if (torn) {
        power_off();
    }
}

void flash_erase(unsigned page)
{
    const bool torn = cut();
    erase_page(page, torn);
    if (torn) {
        power_off();
    }
}
