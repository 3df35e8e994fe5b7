/* SPDX-License-Identifier: Apache-2.0 */
/* SPI flash has sectors of 4 KB, which take a word at a time. They are erased once in 510 records. */
#ifndef FLASH_SHAPE_H
#define FLASH_SHAPE_H

#define FLASH_PAGE_WORDS 1024u
#define FLASH_UNIT_WORDS 1u

#endif
