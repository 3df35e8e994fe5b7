/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Flash through the controller. The processor is halted while a word is programmed (46 us) or a page erased
 * (21 ms).
 */
#include "flash.h"

#include "nrf51.h"

extern const volatile uint32_t counter_pages[2][FLASH_PAGE_WORDS]; /* placed by the linker script */

static void switch_to(uint32_t mode)
{
    NVMC_CONFIG = mode;
    while (!NVMC_READY) {
    }
}

static void finish(void)
{
    while (!NVMC_READY) {
    }
    switch_to(NVMC_READ_ONLY);
}

uint32_t flash_read(unsigned page, unsigned word)
{
    return counter_pages[page][word];
}

void flash_program(unsigned page, unsigned word, const uint32_t unit[FLASH_UNIT_WORDS])
{
    switch_to(NVMC_WRITE);
    NRF51_REGISTER((uintptr_t)&counter_pages[page][word]) = unit[0];
    finish();
}

void flash_erase(unsigned page)
{
    switch_to(NVMC_ERASE);
    NVMC_ERASE_PAGE = (uint32_t)(uintptr_t)counter_pages[page];
    finish();
}
