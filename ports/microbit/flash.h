/* SPDX-License-Identifier: Apache-2.0 */
/* The two pages of flash that hold the counter. Erased bits read 1; programming turns ones into zeros. */
#ifndef FLASH_H
#define FLASH_H

#include <stdint.h>

#define FLASH_PAGE_WORDS 256u
#define FLASH_ERASED 0xFFFFFFFFu

extern const volatile uint32_t counter_pages[2][FLASH_PAGE_WORDS]; /* placed by the linker script */

void flash_program(const volatile uint32_t *word, uint32_t value);
void flash_erase(const volatile uint32_t *page);

#endif
