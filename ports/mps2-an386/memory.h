/* SPDX-License-Identifier: Apache-2.0 */
/* Figures about a device's memory, from its linker script (sections.ld). The same on every Cortex-M here. */
#ifndef MEMORY_H
#define MEMORY_H

#include <stddef.h>

void stack_paint(void);
size_t stack_used(void);
size_t static_bytes(void);
size_t ram_bytes(void);

#endif
