/* SPDX-License-Identifier: Apache-2.0 */
/*
 * QSPI flash behind the boot ROM's functions, which cannot be read while they run; the RP2040's oscillator or
 * the RP2350's generator; the timer.
 */
#include <string.h>

#include "registers.h"
#include "rom.h"
#include "rp2.h"
#include "simulated_chip.h"
#ifdef CC_TRNG
#include "cc_trng.h"
#include "sim_cc_trng.h"
#endif

#define SECTOR (4u * FLASH_PAGE_WORDS)

enum { READABLE, CONNECTED, OUT_OF_PLACE, FLUSHED };
static int state = READABLE;

static void connect_flash(void)
{
    misuses += state != READABLE;
    state = CONNECTED;
}

static void leave_in_place(void)
{
    misuses += state != CONNECTED;
    state = OUT_OF_PLACE;
}

static void flush_cache(void)
{
    misuses += state != OUT_OF_PLACE;
    state = FLUSHED;
}

static void enter_in_place(void)
{
    misuses += state != FLUSHED;
    state = READABLE;
}

static void end_operation(bool torn)
{
    if (torn) {
        state = READABLE;
        power_off();
    }
}

static void program(uint32_t offset, const uint8_t *bytes, size_t length)
{
    const bool torn = cut();
    misuses += state != OUT_OF_PLACE || offset % 256u || length % 256u || offset < COUNTER_OFFSET;
    for (size_t i = 0; i < length; i += 4) {
        uint32_t value;
        memcpy(&value, bytes + i, sizeof value);
        if (value != UINT32_MAX) {
            program_word((uint32_t)(offset - COUNTER_OFFSET + i) / 4u, value, torn);
        }
    }
    end_operation(torn);
}

static void erase(uint32_t offset, size_t length, uint32_t block_bytes, uint8_t command)
{
    const bool torn = cut();
    misuses += state != OUT_OF_PLACE || length != SECTOR || offset % SECTOR || block_bytes != 65536u ||
               command != 0xD8u;
    erase_page((offset - COUNTER_OFFSET) / SECTOR, torn);
    end_operation(torn);
}

rom_any rom_function(char first, char second)
{
    const char name[3] = {first, second, 0};
    if (strcmp(name, "IF") == 0) {
        return connect_flash;
    }
    if (strcmp(name, "EX") == 0) {
        return leave_in_place;
    }
    if (strcmp(name, "FC") == 0) {
        return flush_cache;
    }
    if (strcmp(name, "CX") == 0) {
        return enter_in_place;
    }
    return strcmp(name, "RP") == 0 ? (rom_any)program : strcmp(name, "RE") == 0 ? (rom_any)erase : NULL;
}

uint32_t reg_read(uint32_t address)
{
    const uint32_t start = FLASH_UNCACHED + COUNTER_OFFSET;
    if (address >= start && address < start + PAGES * SECTOR) {
        misuses += state != READABLE;
        return flash_words[(address - start) / 4u];
    }
#ifdef CC_TRNG
    if (address >= CC_TRNG_BASE && address < CC_TRNG_BASE + 0x1000u) {
        return cc_trng_read(address - CC_TRNG_BASE);
    }
#else
    if (address == ROSC_BASE + 0x18u) {
        return noise_kind == NOISE_NONE ? 0 : 1u << 31;
    }
    if (address == ROSC_BASE + 0x1Cu) {
        return noise_word() & 1u;
    }
#endif
    misuses += address != TIMER_MICROSECONDS;
    return microseconds++;
}

void reg_write(uint32_t address, uint32_t value)
{
#ifdef CC_TRNG
    if (address >= CC_TRNG_BASE && address < CC_TRNG_BASE + 0x1000u) {
        cc_trng_write(address - CC_TRNG_BASE, value);
        return;
    }
#else
    if (address == ROSC_BASE && value >> 12 == 0xFABu) {
        return;
    }
#endif
    misuses++;
}
