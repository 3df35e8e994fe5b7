/* SPDX-License-Identifier: Apache-2.0 */
/*
 * QSPI flash behind the boot ROM's functions, which cannot be read while they run; the RP2040's oscillator or
 * the RP2350's generator; the timer; and what start-up finds after a power-on reset.
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

/* ---- clocks and resets ---- */

#ifdef CC_TRNG
#define RESET_IO_BANK0 (1u << 6)
#define RESET_PADS_BANK0 (1u << 9)
#define RESET_PLL_SYS (1u << 14)
#define RESET_UART0 (1u << 26)
#else
#define RESET_IO_BANK0 (1u << 5)
#define RESET_PADS_BANK0 (1u << 8)
#define RESET_PLL_SYS (1u << 12)
#define RESET_UART0 (1u << 22)
#endif

/* As other tests find them: the chip has started. */
static struct {
    uint32_t in_reset;
    bool crystal;
    uint32_t ref; /* the clocks' sources */
    uint32_t sys;
    uint32_t peri;
    uint32_t pll_power;
    uint32_t pll_feedback;
    uint32_t uart[4]; /* from its divider on */
} clocks = {.crystal = true};

void before_start(void);
void before_start(void)
{
    memset(&clocks, 0, sizeof clocks);
    clocks.in_reset = UINT32_MAX;
    clocks.pll_power = 0x2Du;
}

/* RP2040 Datasheet, 2.14, and RP2350 Datasheet, 7.5: a peripheral leaves its reset by its own clock. */
static uint32_t out_of_reset(void)
{
    const bool clocked = clocks.crystal && clocks.peri == CLOCK_PERI_CRYSTAL;
    return ~clocks.in_reset & (clocked ? UINT32_MAX : ~RESET_UART0);
}

static bool within(uint32_t address, uint32_t base)
{
    return address >= base && address < base + 0x1000u;
}

/* False if there is no such peripheral; a misuse if it is still in its reset. */
static bool peripheral(uint32_t address)
{
    static const struct {
        uint32_t base;
        uint32_t bit;
    } peripherals[] = {{IO_BANK0_BASE, RESET_IO_BANK0},
                       {PADS_BANK0_BASE, RESET_PADS_BANK0},
                       {PLL_SYS_BASE, RESET_PLL_SYS},
                       {UART0_BASE, RESET_UART0}};
    for (unsigned i = 0; i < sizeof peripherals / sizeof peripherals[0]; i++) {
        if (within(address, peripherals[i].base)) {
            misuses += !(out_of_reset() & peripherals[i].bit);
            return true;
        }
    }
    return false;
}

static bool pll_locked(void)
{
    return clocks.crystal && clocks.pll_feedback == 125u && !(clocks.pll_power & PLL_POWER_CORE);
}

/* Whether the register is one of these. */
static bool read_clocks(uint32_t address, uint32_t *value)
{
    const bool known = peripheral(address);
    *value = address == XOSC_STATUS                  ? (clocks.crystal ? XOSC_STABLE : 0)
             : address == CLOCK_REF + CLOCK_SELECTED ? 1u << clocks.ref
             : address == CLOCK_SYS + CLOCK_SELECTED ? 1u << clocks.sys
             : address == RESETS_DONE                ? out_of_reset()
             : address == PLL_STATUS                 ? (pll_locked() ? PLL_LOCKED : 0)
             : address == PLL_POWER                  ? clocks.pll_power
                                                     : 0;
    return known || address == XOSC_STATUS || within(address, CLOCKS_BASE) || address == RESETS_DONE;
}

static bool write_clocks(uint32_t address, uint32_t value)
{
    if (peripheral(address)) {
        if (address == PLL_POWER) {
            clocks.pll_power = value;
        } else if (address == PLL_FEEDBACK) {
            clocks.pll_feedback = value;
        } else if (address >= UART_DIVIDER && address <= UART_CONTROL) {
            clocks.uart[(address - UART_DIVIDER) / 4u] = value;
        }
        return true;
    }
    if (address == CLOCK_REF) {
        misuses += value == CLOCK_REF_CRYSTAL && !clocks.crystal;
        clocks.ref = value;
    } else if (address == CLOCK_SYS) {
        misuses += value == CLOCK_SYS_PLL && (!pll_locked() || (clocks.pll_power & PLL_POWER_DIVIDER));
        clocks.sys = value;
    } else if (address == CLOCK_PERI) {
        clocks.peri = value;
    } else if (address == XOSC_CONTROL) {
        clocks.crystal = value == XOSC_ON;
    } else if (address == RESETS_RESET + RP2_CLEAR) {
        clocks.in_reset &= ~value;
#ifdef TICK_CYCLES
    } else if (address == TICK_CYCLES) {
        misuses += value != 12u;
#endif
    } else {
        return address == XOSC_STARTUP || address == TICK_CONTROL;
    }
    return true;
}

bool started(void);
bool started(void)
{
    static const uint32_t uart[] = {6, 33, UART_LINE_8_BITS_FIFO, UART_ON};
    return clocks.sys == CLOCK_SYS_PLL && memcmp(clocks.uart, uart, sizeof uart) == 0;
}

uint32_t reg_read(uint32_t address)
{
    uint32_t value = 0;
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
    if (read_clocks(address, &value)) {
        within_patience();
        return value;
    }
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
    misuses += !write_clocks(address, value);
}
