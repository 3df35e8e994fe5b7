/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions of the boot ROM, by their two letters: RP2040 Datasheet, section 2.8.3; RP2350 Datasheet, section
 * 5.4.
 */
#ifndef ROM_H
#define ROM_H

#include <stddef.h>
#include <stdint.h>

typedef void (*rom_any)(void);
typedef void (*rom_action)(void);
typedef void (*rom_program)(uint32_t offset, const uint8_t *bytes, size_t length);
typedef void (*rom_erase)(uint32_t offset, size_t length, uint32_t block_bytes, uint8_t block_command);

rom_any rom_function(char first, char second);

#endif
