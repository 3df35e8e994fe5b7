/* SPDX-License-Identifier: Apache-2.0 */
/* Overwriting secrets. Never reads what it overwrites. */
#include "common/wipe.h"

#include <stdint.h>
#include <string.h>

#include "ciphermote/config.h"
#include "common/compiler.h"

#if CM_ARMV7EM

#define WIPE_BLOCK ((size_t)64)

/* Whole blocks, at a word: the C library's memset takes twice as long. */
static void wipe_blocks(uint8_t *at, size_t blocks)
{
    __asm__ volatile("mov r2, #0\n\t"
                     "mov r3, #0\n\t"
                     "mov r4, #0\n\t"
                     "mov r5, #0\n\t"
                     "mov r6, #0\n\t"
                     "mov r8, #0\n\t"
                     "mov r10, #0\n\t"
                     "mov r12, #0\n\t"
                     "1:\n\t"
                     "stmia %0!, {r2-r6, r8, r10, r12}\n\t"
                     "subs %1, %1, #1\n\t"
                     "stmia %0!, {r2-r6, r8, r10, r12}\n\t"
                     "bne 1b"
                     : "+r"(at), "+r"(blocks)
                     :
                     : "r2", "r3", "r4", "r5", "r6", "r8", "r10", "r12", "cc", "memory");
}

#elif CM_WORD32

#define WIPE_BLOCK ((size_t)32)

/* The same in C, because the memset of small C libraries goes byte by byte. */
static void wipe_blocks(uint8_t *at, size_t blocks)
{
    volatile uint32_t *word = (volatile uint32_t *)(void *)at;
    for (; blocks > 0; blocks--, word += 8) {
        word[0] = word[1] = word[2] = word[3] = 0;
        word[4] = word[5] = word[6] = word[7] = 0;
    }
}

#endif

void cmi_wipe(void *memory, size_t bytes)
{
#if defined(WIPE_BLOCK)
    if (bytes >= 2u * WIPE_BLOCK) {
        uint8_t *const first = memory;
        const size_t unaligned = (0u - (uintptr_t)memory) % 4u;
        const size_t blocks = (bytes - unaligned) / WIPE_BLOCK;
        memset(memory, 0, unaligned);
        wipe_blocks(first + unaligned, blocks);
        memory = first + unaligned + blocks * WIPE_BLOCK;
        bytes -= unaligned + blocks * WIPE_BLOCK;
    }
#endif
#if defined(__GNUC__)
    memset(memory, 0, bytes);
    /* To the compiler, this may read the memory, so the zeros must have been written. */
    __asm__ volatile("" : : "r"(memory) : "memory");
#else
    volatile unsigned char *byte = memory;
    while (bytes-- > 0) {
        *byte++ = 0;
    }
#endif
}

#if defined(__GNUC__) && defined(__thumb__)

#define STRING_OF(symbol) #symbol
#define CALL(symbol) "bl " STRING_OF(symbol) "\n\t"

/* Named, so that assembly can call it. */
CMI_HIDDEN_BEGIN
void cmi_wipe_below(void);
CMI_HIDDEN_END

__attribute__((noinline, used)) void cmi_wipe_below(void)
{
    unsigned char below[CM_CONFIG_WIPE_STACK_BYTES];
    cmi_wipe(below, sizeof below);
}

/*
 * To align the stack, a prologue may push r3, too, in which a callee can have left a secret. So the registers
 * that callees may change are cleared before anything is pushed.
 */
__attribute__((naked, noinline)) void cmi_wipe_stack(void)
{
    __asm__(".syntax unified\n\t"
            "movs r0, #0\n\t"
            "movs r1, #0\n\t"
            "movs r2, #0\n\t"
            "movs r3, #0\n\t"
            "mov r12, r3\n\t"
            "push {r3, lr}\n\t" CALL(cmi_wipe_below) "pop {r3, pc}");
}

#else

/* Out of line, so that its buffer covers the callees' frames. */
CM_NOINLINE void cmi_wipe_stack(void)
{
    unsigned char below[CM_CONFIG_WIPE_STACK_BYTES];
    cmi_wipe(below, sizeof below);
}

#endif
