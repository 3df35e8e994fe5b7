/* SPDX-License-Identifier: Apache-2.0 */
/*
 * QSPI flash through the boot ROM's functions. The chip cannot read flash while they run: code runs from RAM
 * (ram_code.ld), and nothing here uses constants that are in flash.
 */
#include "flash.h"

#include "registers.h"
#include "rom.h"
#include "rp2_chip.h"

#define PAGE_BYTES 256u /* what the ROM programs at once; ones leave what is there */
#define PAGE_WORDS (PAGE_BYTES / 4u)
#define SECTOR_BYTES (4u * FLASH_PAGE_WORDS)
#define BLOCK_BYTES 65536u
#define BLOCK_ERASE 0xD8u /* the command for whole blocks, which no sector is */

static uint32_t offset_of(unsigned page, unsigned word)
{
    return COUNTER_OFFSET + page * SECTOR_BYTES + 4u * word;
}

uint32_t flash_read(unsigned page, unsigned word)
{
    return reg_read(FLASH_UNCACHED + offset_of(page, word));
}

static void begin(void)
{
    ((rom_action)rom_function('I', 'F'))(); /* connect the flash */
    ((rom_action)rom_function('E', 'X'))(); /* leave execute-in-place */
}

static void end(void)
{
    ((rom_action)rom_function('F', 'C'))(); /* flush the cache, and let go of the chip select */
    ((rom_action)rom_function('C', 'X'))(); /* enter execute-in-place */
}

void flash_program(unsigned page, unsigned word, const uint32_t unit[FLASH_UNIT_WORDS])
{
    uint32_t words[PAGE_WORDS];
    for (unsigned i = 0; i < PAGE_WORDS; i++) {
        words[i] = FLASH_ERASED;
    }
    words[word % PAGE_WORDS] = unit[0];
    const uint32_t offset = offset_of(page, word - word % PAGE_WORDS);
    begin();
    ((rom_program)rom_function('R', 'P'))(offset, (const uint8_t *)words, PAGE_BYTES);
    end();
}

void flash_erase(unsigned page)
{
    begin();
    ((rom_erase)rom_function('R', 'E'))(offset_of(page, 0), SECTOR_BYTES, BLOCK_BYTES, BLOCK_ERASE);
    end();
}
