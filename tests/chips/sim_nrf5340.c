/* SPDX-License-Identifier: Apache-2.0 */
/* The nRF5340's flash controller, generator and timer. */
#include "cc_trng.h"
#include "registers.h"
#include "sim_cc_trng.h"
#include "simulated_chip.h"

#define COUNTER_START 0x000FE000u
#define FLASH_END 0x00100000u

static uint32_t mode;
static bool cell_on;
static bool clock_on;

uint32_t reg_read(uint32_t address)
{
    if (address >= COUNTER_START && address < FLASH_END) {
        return flash_words[(address - COUNTER_START) / 4u];
    }
    if (address >= CC_TRNG_BASE && address < CC_TRNG_BASE + 0x1000u) {
        misuses += !cell_on || !clock_on;
        return cc_trng_read(address - CC_TRNG_BASE);
    }
    switch (address) {
    case 0x50039400u: /* NVMC READY */
        return 1;
    case 0x5000F540u: /* TIMER0 CC[0] */
        return microseconds;
    default:
        misuses++;
        return 0;
    }
}

void reg_write(uint32_t address, uint32_t value)
{
    if (address >= COUNTER_START && address < FLASH_END) {
        const bool torn = cut();
        const uint32_t index = (address - COUNTER_START) / 4u;
        if (mode == 1) {
            program_word(index, value, torn);
        } else if (mode == 2 && value == UINT32_MAX && index % FLASH_PAGE_WORDS == 0) {
            erase_page(index / FLASH_PAGE_WORDS, torn);
        } else {
            misuses++;
        }
        if (torn) {
            mode = 0;
            power_off();
        }
    } else if (address == 0x50039504u) {
        mode = value;
    } else if (address == 0x5000F040u) { /* TIMER0 CAPTURE[0] */
        microseconds++;
    } else if (address == 0x50844500u) {
        cell_on = value == 1;
    } else if (address == CC_TRNG_BASE + 0x1C4u) {
        clock_on = value == 1;
    } else if (address >= CC_TRNG_BASE && address < CC_TRNG_BASE + 0x1000u) {
        misuses += !cell_on || !clock_on;
        cc_trng_write(address - CC_TRNG_BASE, value);
        clock_on = clock_on && address != CC_TRNG_BASE + 0x140u; /* its reset stops its clock */
    } else {
        misuses++;
    }
}
