/* Overwrite secrets in a way no compiler removes. */
#ifndef CM_RANDOM_WIPE_H
#define CM_RANDOM_WIPE_H

#include <stddef.h>

void cm_wipe(void *memory, size_t bytes);

#endif
