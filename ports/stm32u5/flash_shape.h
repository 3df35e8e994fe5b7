/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An STM32U5's pages of 8 KB. Four words share a check code, so they are programmed together, and once: a
 * record takes two units, and the counter's pages are erased once in 510 records.
 */
#ifndef FLASH_SHAPE_H
#define FLASH_SHAPE_H

#define FLASH_PAGE_WORDS 2048u
#define FLASH_UNIT_WORDS 4u

#endif
