/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Transforms and products in the hardware of rtl/. With CM_CONFIG_ACCELERATOR, encryption uses it
 * transparently: no byte of any ciphertext changes.
 *
 * The application provides the bus (memory-mapped registers and DMA, PCIe, SPI ...) as four functions, opens
 * the accelerator, and says which one serves a ring. Portable C does what an accelerator cannot. One that
 * fails, or returns words that are not residues, is not used again until it is reopened.
 *
 * SECRETS STAY IN THE HARDWARE: the secret key, u and messages with their noise pass through it, and after
 * every call its memories keep the last of them, until a reset overwrites them, such as that of
 * cm_accelerator_open. The bus's own buffers are for the application to wipe. docs/security.md says what that
 * means.
 */
#ifndef CIPHERMOTE_ACCELERATOR_H
#define CIPHERMOTE_ACCELERATOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ciphermote/status.h"

#ifdef __cplusplus
extern "C" {
#endif

CM_REFUSE_PACKING(accelerator);

/*
 * How to reach an accelerator. Registers are those of rtl/accelerator/registers.md, offsets in bytes. A
 * packet is n words, word 0 in the lowest bits of the first beat; it is sent with TLAST in its last beat.
 * send may not use the words' memory after it returns. send and receive return 0 on success, and anything
 * else if the accelerator does not respond in time.
 */
typedef struct cm_accelerator_bus {
    uint32_t (*read)(void *context, uint32_t offset);
    void (*write)(void *context, uint32_t offset, uint32_t value);
    int (*send)(void *context, const uint32_t *words, size_t count);
    int (*receive)(void *context, uint32_t *words, size_t count);
    void *context;
} cm_accelerator_bus;

/* Words of memory that an accelerator for ring degree n needs: for a packet in transit, and for copies of the
   two factors that the hardware holds. */
#define CM_ACCELERATOR_WORDS(n) (3u * (size_t)(n))

/* Allocated by the caller, filled by the library: treat as opaque. */
typedef struct cm_accelerator {
    cm_accelerator_bus bus;
    uint32_t *words;
    uint8_t log2_n; /* 0: closed, or failed */
    uint8_t log2_r;
    uint32_t q; /* the prime it is set to, or 0 */
    bool holds_factors;
} cm_accelerator;

/*
 * Start to use an accelerator, whatever state it is in. Before the call, the bus must have dropped anything
 * in transit on the streams: a stale packet would shift all that follow. words points at count words, lent
 * for as long as the accelerator is used. Secrets in them are wiped after each call, the accelerator's own
 * memories by this one. Errors: CM_ERR_ARGUMENT for a null pointer; CM_ERR_UNSUPPORTED if there is no
 * accelerator on the bus, it does not come to rest, or it is not for 32-bit words and a ring degree of this
 * build; CM_ERR_ARENA if count is below CM_ACCELERATOR_WORDS(n).
 */
CM_MUST_CHECK cm_status cm_accelerator_open(cm_accelerator *accelerator, const cm_accelerator_bus *bus,
                                            uint32_t *words, size_t count);

/*
 * The application defines this function: it returns the accelerator for rings of degree 2^log2_n modulo q, or
 * null. One accelerator may serve all primes, or each prime may have its own, which then keeps its tables.
 * Only a library built with CM_CONFIG_ACCELERATOR calls it.
 */
cm_accelerator *cm_accelerator_for(unsigned log2_n, uint32_t q);

#ifdef __cplusplus
}
#endif
#endif
