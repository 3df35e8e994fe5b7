/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the RP2350's boot ROM looks for in the first 4 KB of flash (RP2350 Datasheet, section 5.9): a block
 * that says which core runs this, and on RISC-V where. On Arm there are vectors, at the start of flash.
 */
#include <stdint.h>

#define BLOCK_START 0xFFFFDED3u
#define BLOCK_END 0xAB123579u
#define IMAGE_TYPE 0x42u
#define ENTRY_POINT 0x44u
#define LAST 0xFFu
#define ITEM(kind, words) ((kind) | (words) << 8)

#define EXECUTABLE 0x1001u /* for an RP2350 */
#define SECURE_ARM 0x20u
#define RISCV 0x100u

typedef union block_word {
    uint32_t value;
    const void *stack;
    void (*code)(void);
} block_word;

extern uint8_t stack_top[];
_Noreturn void reset(void);

__attribute__((section(".image_definition"), used)) static const block_word image_definition[] = {
    {BLOCK_START},
#ifdef __riscv
    {ITEM(IMAGE_TYPE, 1u) | (EXECUTABLE | RISCV) << 16},
    {ITEM(ENTRY_POINT, 3u)},
    {.code = reset},
    {.stack = stack_top},
    {ITEM(LAST, 4u)},
#else
    {ITEM(IMAGE_TYPE, 1u) | (EXECUTABLE | SECURE_ARM) << 16},
    {ITEM(LAST, 1u)},
#endif
    {0}, /* the next block is this one */
    {BLOCK_END}};
