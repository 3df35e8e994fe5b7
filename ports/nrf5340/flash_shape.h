/* SPDX-License-Identifier: Apache-2.0 */
/* An nRF5340's pages of 4 KB, programmed by words: the counter's are erased once in 510 records. */
#ifndef FLASH_SHAPE_H
#define FLASH_SHAPE_H

#define FLASH_PAGE_WORDS 1024u
#define FLASH_UNIT_WORDS 1u

#endif
