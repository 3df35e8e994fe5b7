/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sequences whose cycles are worked out by hand from the manual's timing table and the constants of
 * ../cycles.c; the runner compares them with what the plugin counted.
 */
#include "mark.h"
#include "report.h"

static uint32_t words[8];
static const uint32_t flash_words[4] = {1, 2, 3, 4};

/* Runs code as a region and reports what it must count. r0 points at words in RAM, r1 at words in flash. */
#define SEQUENCE(region, instructions, cycles, code) \
    do { \
        register uint32_t *ram __asm__("r0") = words; \
        register const uint32_t *flash __asm__("r1") = flash_words; \
        words[0] = (uint32_t)(uintptr_t)words; \
        __asm__ volatile(".balign 4"); \
        MARK_BEGIN(region); \
        __asm__ volatile(code \
                         : "+r"(ram), "+r"(flash) \
                         : \
                         : "r2", "r3", "r4", "r5", "lr", "cc", "memory", "s0", "s1"); \
        MARK_END(region); \
        report("instructions." #region, instructions); \
        report("cycles." #region, cycles); \
    } while (0)

int main(void)
{
    SEQUENCE(0, 10, 10, ".rept 10\n nop\n .endr");
    /* A loop of 100 iterations: 2 each, and 2 to refill after all but the last. */
    SEQUENCE(1, 201, 1 + 200 + 99 * 2, "movs.w r2, #100\n 1: subs.w r2, r2, #1\n bne 1b");
    /* Its first instruction straddles two words: 1 more each time it is branched to. */
    SEQUENCE(2, 201, 1 + 200 + 99 * 3, "movs r2, #100\n 1: subs.w r2, r2, #1\n bne 1b");
    /* Single loads overlap, 2 + 1 + 1, but not if the address is what was just loaded, 2 + 2. */
    SEQUENCE(3, 3, 4, "ldr r2, [r0]\n ldr r3, [r0, #4]\n ldr r4, [r0, #8]");
    SEQUENCE(4, 2, 4, "ldr r2, [r0]\n ldr r3, [r2]");
    /* A read from flash competes with fetching: 1 more each. */
    SEQUENCE(5, 2, 3 + 2, "ldr r2, [r1]\n ldr r3, [r1, #4]");
    /* A store takes 1, and a single access right after it 1 more. */
    SEQUENCE(6, 3, 1 + 2 + 3, "str r1, [r0, #4]\n str r1, [r0, #8]\n ldr r2, [r0]");
    SEQUENCE(7, 2, 2, "str r1, [r0, #4]\n nop");
    SEQUENCE(8, 2, 1 + 2, "movs r2, #4\n str r1, [r0, r2]");
    /* Several registers: 1 + N, never overlapped. */
    SEQUENCE(9, 3, 5 + 5 + 3, "ldmia r0, {r2-r5}\n stmia r0, {r2-r5}\n ldrd r2, r3, [r0]");
    /* All products take 1, a division 6. */
    SEQUENCE(10, 5, 5,
             "mul r2, r0, r1\n mla r3, r0, r1, r2\n umull r4, r5, r0, r1\n umlal r4, r5, r0, r1\n"
             "smlal r4, r5, r0, r1");
    SEQUENCE(11, 1, 6, "udiv r2, r0, r1");
    /* A call, its return and a jump: 1 and the refill each; and a nop. */
    SEQUENCE(12, 4, 3 * (1 + 2) + 1, "bl 1f\n b 2f\n 1: bx lr\n 2: nop");
    /* A condition folds into a narrow instruction before it. */
    SEQUENCE(13, 3, 2, "cmp r0, r1\n it eq\n moveq r2, r3");
    /* Single precision: a result needed at once costs 1 more; products with a sum take 3. */
    SEQUENCE(14, 3, 1 + 2 + 4, "vmul.f32 s0, s0, s0\n vadd.f32 s1, s0, s0\n vmla.f32 s0, s1, s1");
    return 0;
}
