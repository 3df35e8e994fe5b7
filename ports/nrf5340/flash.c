/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Flash through the controller (nRF5340 Product Specification, "NVMC"), which holds the processor while it
 * works. A page is erased by writing ones to its first word.
 */
#include "flash.h"

#include "registers.h"

#define COUNTER_START 0x000FE000u

#define NVMC_READY 0x50039400u
#define NVMC_CONFIG 0x50039504u
#define NVMC_READ_ONLY 0u
#define NVMC_WRITE 1u
#define NVMC_ERASE 2u

static uint32_t address_of(unsigned page, unsigned word)
{
    return COUNTER_START + 4u * (page * FLASH_PAGE_WORDS + word);
}

static void change(uint32_t mode, uint32_t address, uint32_t value)
{
    reg_write(NVMC_CONFIG, mode);
    reg_wait(NVMC_READY, 1, 1);
    reg_write(address, value);
    reg_wait(NVMC_READY, 1, 1);
    reg_write(NVMC_CONFIG, NVMC_READ_ONLY);
    reg_wait(NVMC_READY, 1, 1);
}

uint32_t flash_read(unsigned page, unsigned word)
{
    return reg_read(address_of(page, word));
}

void flash_program(unsigned page, unsigned word, const uint32_t unit[FLASH_UNIT_WORDS])
{
    change(NVMC_WRITE, address_of(page, word), unit[0]);
}

void flash_erase(unsigned page)
{
    change(NVMC_ERASE, address_of(page, 0), FLASH_ERASED);
}
