/* SPDX-License-Identifier: Apache-2.0 */
/* An nRF51822's pages of 1 KB, programmed by words: the counter's are erased once in 126 records. */
#ifndef FLASH_SHAPE_H
#define FLASH_SHAPE_H

#define FLASH_PAGE_WORDS 256u
#define FLASH_UNIT_WORDS 1u

#endif
