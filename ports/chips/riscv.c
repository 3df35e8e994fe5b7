/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From reset to main on a RISC-V core, and from a fault back to reset, as cortex_m.c says. The core's traps
 * are all faults: interrupts stay masked.
 */
#include "riscv.h"

#include "start.h"

_Noreturn void reset(void);

/* The stack may be what failed: nothing is pushed before it is set. */
static IN_FLASH __attribute__((naked, aligned(4))) void fault(void)
{
    __asm__("la sp, stack_top\n\t"
            "la t0, chip_reset\n\t"
            "jr t0");
}

static __attribute__((noinline, used)) _Noreturn void started(void)
{
    run();
}

static IN_FLASH __attribute__((used)) _Noreturn void load_and_start(void)
{
    __asm__ volatile(".option push\n\t"
                     ".option arch, +zicsr\n\t"
                     "csrci mstatus, 8\n\t"
                     "csrw mtvec, %0\n\t"
                     ".option pop" ::"r"(fault));
    load_memory();
    started();
}

IN_FLASH __attribute__((naked)) _Noreturn void reset(void)
{
    __asm__("la sp, stack_top\n\t"
            "j load_and_start");
}
