/* SPDX-License-Identifier: Apache-2.0 */
/* What start-up code of a Cortex-M offers a chip's non-maskable interrupt. */
#ifndef CORTEX_M_H
#define CORTEX_M_H

/* Resets the chip. */
void fault(void);

#endif
