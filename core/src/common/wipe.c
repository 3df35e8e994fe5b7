/* SPDX-License-Identifier: Apache-2.0 */
/* Overwriting secrets. Never reads what it overwrites. */
#include "common/wipe.h"

#include <string.h>

#include "ciphermote/config.h"
#include "common/compiler.h"

void cmi_wipe(void *memory, size_t bytes)
{
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

/* Out of line, so that its buffer covers the callees' frames. */
CM_NOINLINE void cmi_wipe_stack(void)
{
    unsigned char below[CM_CONFIG_WIPE_STACK_BYTES];
    cmi_wipe(below, sizeof below);
}
