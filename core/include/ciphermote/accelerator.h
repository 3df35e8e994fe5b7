/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Transforms and products by the hardware of rtl/, behind the library's back: with CM_CONFIG_ACCELERATOR,
 * encryption uses it and nothing else changes, no byte of any ciphertext.
 *
 * The application brings the bus (memory-mapped registers and DMA, PCIe, SPI ...) as four functions, opens
 * the accelerator, and tells which one serves a ring. What an accelerator cannot do, portable C does. One
 * that fails, or answers with what are no residues, is left alone until it is opened again.
 *
 * SECRETS STAY IN THE HARDWARE: the secret key, u and messages with their noise go through it, and its
 * memories, which no command and no reset clears, keep the last of them after every call. The bus's own
 * buffers are the application's to wipe. docs/security.md says what that means.
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
 * How to reach an accelerator. Registers are those of rtl/accelerator/registers.md. A packet is n words: one
 * goes out with TLAST in its last beat, word 0 at the lowest bits of the first. When send returns, the words'
 * memory may be used anew. Both return 0 when done, anything else when the accelerator does not answer in
 * time.
 */
typedef struct cm_accelerator_bus {
    uint32_t (*read)(void *context, uint32_t offset);
    void (*write)(void *context, uint32_t offset, uint32_t value);
    int (*send)(void *context, const uint32_t *words, size_t count);
    int (*receive)(void *context, uint32_t *words, size_t count);
    void *context;
} cm_accelerator_bus;

/* Words that an accelerator for ring degree n needs: a packet under way, and copies of the two factors it
   holds. */
#define CM_ACCELERATOR_WORDS(n) (3u * (size_t)(n))

/* The caller's to allocate, the library's to fill. */
typedef struct cm_accelerator {
    cm_accelerator_bus bus;
    uint32_t *words;
    uint8_t log2_n; /* 0: closed, or failed */
    uint8_t log2_r;
    uint32_t q; /* the prime that is set, or 0 */
    bool holds_factors;
} cm_accelerator;

/*
 * Take an accelerator into use, from whatever state it is in; the bus is to have dropped what was under way
 * on the streams, or a packet too many would shift all that follow. words, count of them, are lent until it
 * is no longer used. They are wiped of secrets after each call; the accelerator's own memories are not
 * (above). Errors: CM_ERR_ARGUMENT; CM_ERR_UNSUPPORTED if there is none on the bus, or it is not for words of
 * 32 bits and a ring of this build; CM_ERR_ARENA if count is below CM_ACCELERATOR_WORDS(n).
 */
CM_MUST_CHECK cm_status cm_accelerator_open(cm_accelerator *accelerator, const cm_accelerator_bus *bus,
                                            uint32_t *words, size_t count);

/*
 * The application's: the accelerator for rings of degree 2^log2_n modulo q, or null. One may serve all
 * primes, or each prime have its own, which then keeps its tables. The library calls this with
 * CM_CONFIG_ACCELERATOR alone.
 */
cm_accelerator *cm_accelerator_for(unsigned log2_n, uint32_t q);

#ifdef __cplusplus
}
#endif
#endif
