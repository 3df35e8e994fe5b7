/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two pages of flash that hold the counter. Erased bits read 1; programming turns ones into zeros, a unit
 * at a time. A chip's flash_shape.h has FLASH_PAGE_WORDS, and FLASH_UNIT_WORDS: 1, or 4 where words share a
 * check code, so that none can be programmed after the others.
 */
#ifndef FLASH_H
#define FLASH_H

#include <stdint.h>

#include "flash_shape.h"

#define FLASH_ERASED 0xFFFFFFFFu
/* What a word reads as whose check code does not fit: neither erased nor zero. */
#define FLASH_UNREADABLE 0x0BADF1A5u

uint32_t flash_read(unsigned page, unsigned word);
/* The unit that starts at this word. Whoever calls this reads back what it did. */
void flash_program(unsigned page, unsigned word, const uint32_t unit[FLASH_UNIT_WORDS]);
void flash_erase(unsigned page);

#endif
