/* SPDX-License-Identifier: Apache-2.0 */
/* Overwrite secrets in a way no compiler removes. */
#ifndef CM_COMMON_WIPE_H
#define CM_COMMON_WIPE_H

#include <stddef.h>

#include "common/names.h"

CMI_HIDDEN_BEGIN

void cmi_wipe(void *memory, size_t bytes);

/*
 * Overwrite the stack below the caller, where the functions it called kept key streams and spilled keys. It
 * reaches as deep as the deepest of them did (CM_CONFIG_WIPE_STACK_BYTES).
 */
void cmi_wipe_stack(void);

CMI_HIDDEN_END

#endif
