/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Marks that ../cycles.c sees: the beginning and the end of a region, numbered 0 to 31. Each is a reserved
 * hint, which a core executes as a NOP and the cycle model counts as free. Regions neither nest nor overlap.
 */
#ifndef MARK_H
#define MARK_H

#define MARK_TEXT_(x) #x
#define MARK_TEXT(x) MARK_TEXT_(x)
#ifdef __riscv /* slti zero, zero, 64 + region or 96 + region */
#define MARK_BEGIN(region) __asm__ volatile("slti zero, zero, 64 + " MARK_TEXT(region)::: "memory")
#define MARK_END(region) __asm__ volatile("slti zero, zero, 96 + " MARK_TEXT(region)::: "memory")
#else
#define MARK_BEGIN(region) __asm__ volatile(".inst.w 0xF3AF8040 + " MARK_TEXT(region)::: "memory")
#define MARK_END(region) __asm__ volatile(".inst.w 0xF3AF8060 + " MARK_TEXT(region)::: "memory")
#endif

#endif
