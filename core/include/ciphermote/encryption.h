/*
 * What encryption has in common for all schemes (ckks.h, bfv.h): the numbers that go in, and the arena lent to it.
 */
#ifndef CIPHERMOTE_ENCRYPTION_H
#define CIPHERMOTE_ENCRYPTION_H

#include <stddef.h>
#include <stdint.h>

#include "ciphermote/config.h"

#if SIZE_MAX < 0xFFFFFFFFu && CM_CONFIG_MAX_LOG2_N > 11
#error \
    "Sizes on this target have 16 bits, and arenas for n above 2048 have more: set CM_CONFIG_MAX_LOG2_N to 11 or less."
#endif

/* The type of the caller's numbers. No choice that a call takes is 0, so that one that was forgotten is refused. */
typedef enum cm_number {
    CM_FLOAT32 = 1, /* IEEE 754 binary32; CKKS alone */
    CM_INT16 = 2,
    CM_INT32 = 3,
    CM_UINT16 = 4, /* BFV alone */
    CM_UINT32 = 5  /* BFV alone */
} cm_number;

/* What lies behind the message in the arena: workspace, two tiles, and what config.h and the kind of key ask for. */
#if CM_CONFIG_SEAL_XOFS
#define CM_WORKSPACE_BYTES 704u
#elif defined(__AVR__)
#define CM_WORKSPACE_BYTES (248u + 8u * CM_CONFIG_MAX_LOG2_N)
#else
#define CM_WORKSPACE_BYTES 512u
#endif
#define CM_TILE_BYTES(n) (4u * (size_t)(n) >> CM_CONFIG_LOG2_TILES)
#define CM_SYMMETRIC_WORK_BYTES(n) \
    (CM_WORKSPACE_BYTES + (CM_CONFIG_TRANSFORMED_SECRET ? 1u : 2u) * CM_TILE_BYTES(n) + \
     (CM_CONFIG_STORE_NOISE ? (size_t)(n) : CM_KEPT_NOISE))
#define CM_ASYMMETRIC_WORK_BYTES(n) \
    (CM_WORKSPACE_BYTES + 2u * CM_TILE_BYTES(n) + (size_t)(n) / 4u + \
     (CM_CONFIG_STORE_NOISE ? 2u * (size_t)(n) : 0u) + (CM_CONFIG_ACCELERATOR ? 4u * (size_t)(n) : 0u))

#endif
