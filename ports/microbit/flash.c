/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Flash through the controller. The processor is halted while a word is programmed (46 us) or a page erased
 * (21 ms).
 */
#include "flash.h"

#include "nrf51.h"

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

void flash_program(const volatile uint32_t *word, uint32_t value)
{
    switch_to(NVMC_WRITE);
    NRF51_REGISTER((uintptr_t)word) = value;
    finish();
}

void flash_erase(const volatile uint32_t *page)
{
    switch_to(NVMC_ERASE);
    NVMC_ERASE_PAGE = (uint32_t)(uintptr_t)page;
    finish();
}
