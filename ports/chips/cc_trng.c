/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arm's CryptoCell generator, which the nRF5340 and the RP2350 have: ring oscillators, sampled, balanced and
 * tested in hardware (von Neumann balancer, continuous test of 16-bit words, autocorrelation), in blocks of
 * 192 bits. RP2350 Datasheet, section 12.12 (TRNG); nRF5340 Product Specification, "CRYPTOCELL - TRNG".
 *
 * The tests stay on. One fails now and then on good noise (two equal words in a row: once in 5,000 blocks),
 * so a block may be begun again ATTEMPTS times; noise that fails more often in a row is an error.
 */
#include "cc_trng.h"

#include "board.h"
#include "registers.h"

#define ISR (CC_TRNG_BASE + 0x104u)
#define ISR_VALID 1u
#define ISR_ERRORS (2u | 4u | 8u) /* autocorrelation, continuous test, balancer */
#define ICR (CC_TRNG_BASE + 0x108u)
#define ICR_ALL 0x3Fu
#define CONFIG (CC_TRNG_BASE + 0x10Cu)
#define CONFIG_LONGEST 3u /* chain of inverters */
#define EHR(word) (CC_TRNG_BASE + 0x114u + 4u * (word))
#define SOURCE (CC_TRNG_BASE + 0x12Cu)
#define SAMPLE_COUNT (CC_TRNG_BASE + 0x130u)
#define CYCLES_PER_SAMPLE 1000u /* 6.6 us or more, so that jitter builds up */
#define DEBUG (CC_TRNG_BASE + 0x138u)
#define RESET (CC_TRNG_BASE + 0x140u)
#define RESET_PATIENCE 100u

#define BLOCK_WORDS 6u
#define ATTEMPTS 8u

static struct {
    uint32_t block[BLOCK_WORDS];
    unsigned left;   /* bytes of the block */
    unsigned failed; /* attempts in a row */
} state;

static void begin_block(void)
{
    unsigned patience = RESET_PATIENCE;
    reg_write(RESET, 1);
    /* It lasts a few cycles, in which writes are ignored, and stops the clock of the nRF5340's generator, as
       Arm's drivers take it. If it never ends, no block comes, which is noticed. */
    do {
        cc_trng_power(true);
        reg_write(SAMPLE_COUNT, CYCLES_PER_SAMPLE);
        patience--;
    } while (patience > 0 && reg_read(SAMPLE_COUNT) != CYCLES_PER_SAMPLE);
    reg_write(DEBUG, 0); /* no test is bypassed */
    reg_write(CONFIG, CONFIG_LONGEST);
    reg_write(ICR, ICR_ALL);
    reg_write(SOURCE, 1);
}

void generator_start(void)
{
    cc_trng_power(true);
    state.left = 0;
    begin_block();
}

/* GENERATED: there is a new block. */
static generated next_block(void)
{
    const uint32_t status = reg_read(ISR);
    if (status & ISR_ERRORS) {
        state.failed++;
        if (state.failed >= ATTEMPTS) {
            return GENERATOR_FAILED;
        }
        begin_block();
        return GENERATOR_WAITS;
    }
    if (!(status & ISR_VALID)) {
        return GENERATOR_WAITS;
    }
    for (unsigned i = 0; i < BLOCK_WORDS; i++) {
        state.block[i] = reg_read(EHR(i));
    }
    state.failed = 0;
    state.left = sizeof state.block;
    begin_block();
    return GENERATED;
}

generated generator_next(uint8_t *out)
{
    if (state.left == 0) {
        const generated found = next_block();
        if (found != GENERATED) {
            return found;
        }
    }
    state.left--;
    uint32_t *word = &state.block[state.left / 4u];
    *out = (uint8_t)*word;
    *word >>= 8;
    return GENERATED;
}

void generator_stop(void)
{
    for (unsigned i = 0; i < BLOCK_WORDS; i++) {
        *(volatile uint32_t *)&state.block[i] = 0;
    }
    state.left = 0;
    reg_write(SOURCE, 0);
    cc_trng_power(false);
}
