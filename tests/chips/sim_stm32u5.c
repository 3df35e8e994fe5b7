/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The STM32U5's flash controller, with units of four words that share a check code, generator and timer. A
 * unit that was begun takes no second programming, and a torn one may be unreadable.
 */
#include <setjmp.h>

#include "cortex_m.h"
#include "registers.h"
#include "simulated_chip.h"
#include "stm32u5.h"

#define COUNTER_START 0x081FC000u
#define FLASH_END 0x08200000u
#define UNITS (PAGES * FLASH_PAGE_WORDS / FLASH_UNIT_WORDS)

static bool begun[UNITS];
static bool unreadable[UNITS];
static bool spoiled[UNITS]; /* unreadable, but the words are still there */
static struct {
    uint32_t unlocking; /* keys given */
    uint32_t control;
    uint32_t status;
    uint32_t ecc;
    uint32_t written[FLASH_UNIT_WORDS];
    uint32_t count;
} flash;

static struct {
    uint32_t control;
    uint32_t health;
    uint32_t looks;
    bool bad;
    bool clocked;
} rng;

void placed(void);
void placed(void)
{
    for (uint32_t i = 0; i < UNITS; i++) {
        begun[i] = false;
        unreadable[i] = false;
        spoiled[i] = false;
        for (uint32_t j = 0; j < FLASH_UNIT_WORDS; j++) {
            begun[i] = begun[i] || flash_words[i * FLASH_UNIT_WORDS + j] != UINT32_MAX;
        }
    }
}

void spoil(uint32_t unit);
void spoil(uint32_t unit)
{
    spoiled[unit] = true;
}

static _Noreturn void lock_and_fail(void)
{
    flash.unlocking = 0;
    flash.control = 1u << 31;
    power_off();
}

void chip_nmi(void);

static jmp_buf before_fault;

void fault(void)
{
    longjmp(before_fault, 1);
}

/* Whether the chip resets when a word of code or of a key is unreadable. */
bool resets_at_unreadable_code(void);
bool resets_at_unreadable_code(void)
{
    if (setjmp(before_fault)) {
        return true;
    }
    flash.ecc |= 1u << 31;
    chip_nmi();
    return false;
}

static uint32_t read_flash(uint32_t index)
{
    const uint32_t unit = index / FLASH_UNIT_WORDS;
    if (unreadable[unit] || spoiled[unit]) {
        flash.ecc |= 1u << 31;
        chip_nmi();
    }
    return unreadable[unit] ? chance() : flash_words[index];
}

static void write_flash(uint32_t index, uint32_t value)
{
    const uint32_t unit = index / FLASH_UNIT_WORDS;
    if (!(flash.control & 1u) || index % FLASH_UNIT_WORDS != flash.count) {
        misuses++;
        return;
    }
    flash.written[flash.count] = value;
    flash.count++;
    if (flash.count < FLASH_UNIT_WORDS) {
        return;
    }
    flash.count = 0;
    if (begun[unit]) {
        flash.status |= 1u << 3;
        return;
    }
    const bool torn = cut();
    begun[unit] = true;
    for (uint32_t i = 0; i < FLASH_UNIT_WORDS; i++) {
        program_word(unit * FLASH_UNIT_WORDS + i, flash.written[i], torn);
    }
    if (torn) {
        unreadable[unit] = chance() & 1u;
        lock_and_fail();
    }
}

static void control_flash(uint32_t value)
{
    if (flash.unlocking < 2) {
        misuses++;
        return;
    }
    flash.control = value;
    if (value & 1u << 31) {
        flash.unlocking = 0;
    }
    if ((value & (1u << 16 | 2u)) != (1u << 16 | 2u)) {
        return;
    }
    const uint32_t page = (value >> 3 & 0x7Fu) - 126u;
    if (page >= PAGES || !(value & 1u << 11)) {
        misuses++;
        return;
    }
    const bool torn = cut();
    erase_page(page, torn);
    for (uint32_t i = page * UNITS / PAGES; i < (page + 1u) * UNITS / PAGES; i++) {
        begun[i] = torn && begun[i];
        unreadable[i] = torn && begun[i] && (unreadable[i] || (chance() & 1u));
    }
    if (torn) {
        lock_and_fail();
    }
}

static uint32_t generator_status(void)
{
    if (!rng.clocked || !(rng.control & 4u) || noise_kind == NOISE_NONE) {
        return 0;
    }
    if (noise_kind == NOISE_CLOCK_ERROR) {
        return 1u << 5;
    }
    rng.looks++;
    return rng.bad ? 1u << 6 | 1u << 2 : rng.looks % 3u == 0;
}

uint32_t reg_read(uint32_t address)
{
    if (address >= COUNTER_START && address < FLASH_END) {
        return read_flash((address - COUNTER_START) / 4u);
    }
    switch (address) {
    case FLASH_BASE + 0x20u:
        return flash.status;
    case FLASH_BASE + 0x28u:
        return flash.control;
    case FLASH_BASE + 0x30u:
        return flash.ecc;
    case RNG_BASE:
        return rng.control;
    case RNG_BASE + 4u:
        return generator_status();
    case RNG_BASE + 8u:
        misuses += rng.bad || rng.control != 0x00F60D04u || rng.health != 0x9AAEu;
        return noise_word();
    case RCC_CONTROL:
        return RCC_HSI48_READY;
    case RCC_AHB2_CLOCKS:
        return rng.clocked ? RCC_RNG : 0;
    case TIM2_BASE + 0x24u:
        return microseconds++;
    default:
        misuses++;
        return 0;
    }
}

void reg_write(uint32_t address, uint32_t value)
{
    if (address >= COUNTER_START && address < FLASH_END) {
        write_flash((address - COUNTER_START) / 4u, value);
        return;
    }
    switch (address) {
    case FLASH_BASE + 0x08u:
        misuses += value != (flash.unlocking == 0 ? 0x45670123u : 0xCDEF89ABu);
        flash.unlocking++;
        break;
    case FLASH_BASE + 0x20u:
        flash.status &= ~value;
        break;
    case FLASH_BASE + 0x28u:
        control_flash(value);
        break;
    case FLASH_BASE + 0x30u:
        flash.ecc &= ~(value & 1u << 31);
        break;
    case RNG_BASE: {
        const bool starts = (value & 4u) && !(rng.control & 4u);
        rng.control = value;
        if (starts) {
            rng.bad = noise_kind == NOISE_ERROR && noise_errors > 0;
            noise_errors -= rng.bad;
        }
        break;
    }
    case RNG_BASE + 4u:
        break;
    case RNG_BASE + 0x10u:
        misuses += !(rng.control & 1u << 30);
        rng.health = value;
        break;
    case RCC_CONTROL:
        break;
    case RCC_AHB2_CLOCKS:
        rng.clocked = (value & RCC_RNG) != 0;
        break;
    default:
        misuses++;
    }
}
