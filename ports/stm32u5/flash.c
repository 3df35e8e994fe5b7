/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Flash through the controller: RM0456, section 7.3 (FLASH functional description). Words whose programming a
 * power cut tore may have a check code that does not fit: to read them is a non-maskable interrupt, which is
 * noted here instead of ending the program. Elsewhere, in code or keys, it is a fault.
 */
#include "flash.h"

#include <stdbool.h>

#include "cortex_m.h"
#include "registers.h"
#include "stm32u5.h"

#define COUNTER_START 0x081FC000u
#define FIRST_PAGE 126u /* of bank 2 */

#define KEY (FLASH_BASE + 0x08u)
#define KEY_1 0x45670123u
#define KEY_2 0xCDEF89ABu
#define STATUS (FLASH_BASE + 0x20u)
#define STATUS_ERRORS 0x20FAu /* cleared by ones */
#define STATUS_BUSY (1u << 16 | 1u << 17)
#define CONTROL (FLASH_BASE + 0x28u)
#define CONTROL_PROGRAM 1u
#define CONTROL_ERASE_PAGE (1u << 1 | 1u << 11) /* of bank 2 */
#define CONTROL_PAGE(number) ((number) << 3)
#define CONTROL_START (1u << 16)
#define CONTROL_LOCK (1u << 31)
#define ECC (FLASH_BASE + 0x30u)
#define ECC_UNREADABLE (1u << 31) /* cleared by a one */

static volatile bool reading; /* a word of the counter's pages */
static volatile bool unreadable;

static void note_unreadable(void)
{
    if (reg_read(ECC) & ECC_UNREADABLE) {
        reg_write(ECC, ECC_UNREADABLE);
        unreadable = true;
    }
}

void chip_nmi(void);
void chip_nmi(void)
{
    if (!reading) {
        fault();
    }
    note_unreadable();
}

static uint32_t address_of(unsigned page, unsigned word)
{
    return COUNTER_START + 4u * (page * FLASH_PAGE_WORDS + word);
}

uint32_t flash_read(unsigned page, unsigned word)
{
    unreadable = false;
    reading = true;
    const uint32_t value = reg_read(address_of(page, word));
    note_unreadable();
    reading = false;
    return unreadable ? FLASH_UNREADABLE : value;
}

static void unlock(void)
{
    reg_wait(STATUS, STATUS_BUSY, 0);
    reg_write(STATUS, STATUS_ERRORS);
    reg_write(KEY, KEY_1);
    reg_write(KEY, KEY_2);
}

static void finish(void)
{
    reg_wait(STATUS, STATUS_BUSY, 0);
    reg_write(CONTROL, CONTROL_LOCK);
}

void flash_program(unsigned page, unsigned word, const uint32_t unit[FLASH_UNIT_WORDS])
{
    unlock();
    reg_write(CONTROL, CONTROL_PROGRAM);
    for (unsigned i = 0; i < FLASH_UNIT_WORDS; i++) {
        reg_write(address_of(page, word + i), unit[i]);
    }
    finish();
}

void flash_erase(unsigned page)
{
    unlock();
    reg_write(CONTROL, CONTROL_ERASE_PAGE | CONTROL_PAGE(FIRST_PAGE + page));
    reg_set(CONTROL, CONTROL_START);
    finish();
}
