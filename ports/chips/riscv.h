/* SPDX-License-Identifier: Apache-2.0 */
/* What a RISC-V chip adds to board.h, because the architecture has no reset by software. */
#ifndef RISCV_H
#define RISCV_H

_Noreturn void chip_reset(void);

#endif
