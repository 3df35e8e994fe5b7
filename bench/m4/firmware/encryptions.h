/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Encryptions for runs that differ in every secret: one device, whose ciphertexts go into frames or nowhere.
 */
#ifndef ENCRYPTIONS_H
#define ENCRYPTIONS_H

#include <stdbool.h>

#include "workload.h"

/* What is encrypted, in place. make: fills the arena's start; encrypt: describes what is there. */
typedef struct encryptions {
    uint8_t *arena;
    size_t arena_bytes;
    void (*make)(uint8_t *out, uint32_t run);
    cm_status (*encrypt)(const cm_encryptor *encryptor);
} encryptions;

/* Start the device. Once. */
cm_status encryptions_start(void);

/* Draw the run's secrets and make its values. framed: whether frames are made. */
cm_status encryptions_prepare(const encryptions *of, uint32_t run, bool framed);

/* After that: frames get tags under the run's tag key. */
void encryptions_tag(void);

cm_encryptor_setup encryptions_setup(const encryptions *of, cm_xof_kind xof);
cm_status encryptions_symmetric(const encryptions *of);
cm_status encryptions_asymmetric(const encryptions *of);

#endif
