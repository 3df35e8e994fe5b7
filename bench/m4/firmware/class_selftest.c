/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sequences whose instructions of each class (../classes.h) are counted by hand: test_core_models.py compares
 * them with what the plugin counted. A comment before each says them; "other" is the rest.
 */
#include "mark.h"
#include "report.h"

static uint32_t words[8];

/* Runs code as a region; base points at words in RAM, which hold zeros. */
#define SEQUENCE(region, code) \
    do { \
        register uint32_t *base __asm__(BASE) = words; \
        __asm__ volatile("" : "+r"(base)); \
        MARK_BEGIN(region); \
        __asm__ volatile(UNIFIED(code) : "+r"(base) : : CLOBBERS); \
        MARK_END(region); \
    } while (0)

#ifdef __riscv
#define BASE "a0"
#define CLOBBERS "t0", "t1", "t2", "ra", "memory"
#elif defined(__ARM_FEATURE_MVE)
#define BASE "r0"
#define CLOBBERS "r2", "r3", "r4", "lr", "cc", "memory", "q0", "q1"
#else
#define BASE "r0"
#define CLOBBERS "r2", "r3", "r4", "lr", "cc", "memory"
#endif
#ifdef __ARM_ARCH_6M__ /* for which this compiler still writes the older syntax */
#define UNIFIED(code) ".syntax unified\n " code "\n .syntax divided"
#else
#define UNIFIED(code) code
#endif

int main(void)
{
#ifdef __riscv
    /* load 2, used 1, store 1, other 1: what is loaded first is read at once */
    SEQUENCE(0, "lw t0, 0(%0)\n addi t1, t0, 1\n lw t2, 4(%0)\n sw t1, 0(%0)");
    /* multiply 1, divide 1 */
    SEQUENCE(1, "mul t0, %0, %0\n divu t1, %0, %0");
    /* a loop of 10: other 11 and 10 branches, taken 9 */
    SEQUENCE(2, "li t0, 10\n 1: addi t0, t0, -1\n bnez t0, 1b");
    /* call 3 (there, back, on), taken 3 */
    SEQUENCE(3, "jal ra, 1f\n j 2f\n 1: jr ra\n 2:");
    /* compressed: load 1, used 1, other 1 */
    SEQUENCE(4, "mv a5, %0\n c.lw a4, 0(a5)\n c.add a5, a4");
#else
    /* load 2, store 1, other 1 */
    SEQUENCE(0, "ldr r2, [%0]\n adds r3, r2, #1\n str r3, [%0]\n ldr r4, [%0, #4]");
    /* multiply 1, other 1 */
    SEQUENCE(1, "movs r2, #3\n muls r2, r2, r2");
    /* a loop of 10: other 21, taken 9 */
    SEQUENCE(2, "movs r2, #10\n 1: subs r2, r2, #1\n bne 1b");
    /* multiple 2, moved 6, return 1, call 1, taken 2: a call that pushes two registers and pops two */
    SEQUENCE(3, "bl 1f\n b 2f\n 1: push {r2, r3, lr}\n pop {r2, r3, pc}\n 2:");
    /* system 2 */
    SEQUENCE(4, "mrs r2, apsr\n dsb");
#ifdef __ARM_FEATURE_MVE
    /* vector 4 (a load, a sum, a product, a store), other 1 (a lane) */
    SEQUENCE(5, "vldrw.u32 q0, [%0]\n vadd.i32 q1, q0, q0\n vmul.i32 q1, q1, q0\n vstrw.32 q1, [%0]\n"
                "vmov r2, s4");
    /* a loop of 10 by LE: other 2 + 20, taken 9, looped 9 */
    SEQUENCE(6, "movs r2, #10\n dls lr, r2\n 1: nop\n le lr, 1b");
#endif
#endif
    report("sequences", 1);
    return 0;
}
