/* Overwrite secrets in a way no compiler removes. */
#ifndef CM_RANDOM_WIPE_H
#define CM_RANDOM_WIPE_H

#include <stddef.h>

/* For a function whose buffers should not be on the stack while its caller calls others. */
#ifdef __GNUC__
#define CM_OUT_OF_LINE __attribute__((noinline))
#else
#define CM_OUT_OF_LINE
#endif

void cm_wipe(void *memory, size_t bytes);

/*
 * Overwrite the stack below the caller, where the functions it called kept key streams and spilled keys. As deep as they
 * went (CM_CONFIG_WIPE_STACK_BYTES), so that it takes no stack that was not taken before.
 */
void cm_wipe_stack(void);

#endif
