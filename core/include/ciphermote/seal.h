/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ciphertexts in Microsoft SEAL's serialization, straight from the device: header version 3.6, which SEAL
 * 3.6 to 4.x all load, without compression. docs/wire-format.md has the layout.
 */
#ifndef CIPHERMOTE_SEAL_H
#define CIPHERMOTE_SEAL_H

#include "ciphermote/emitter.h"

#ifdef __cplusplus
extern "C" {
#endif

CM_REFUSE_PACKING(seal);

typedef enum cm_seal_form {
    CM_SEAL_FULL = 1,  /* both components, for any ciphertext */
    CM_SEAL_SEEDED = 2 /* c0 and the seed, which SEAL expands: symmetric, with SHAKE256 or BLAKE2Xb */
} cm_seal_form;

/* An emitter that writes one SEAL Ciphertext to a sink. */
typedef struct cm_seal_writer {
    cm_emitter emitter; /* first: hand &writer.emitter to the encryptor */
    cm_sink sink;
    cm_seal_form form;
} cm_seal_writer;

void cm_seal_writer_init(cm_seal_writer *writer, cm_seal_form form, cm_sink sink);

/* Bytes of a whole serialized ciphertext. */
size_t cm_seal_ciphertext_bytes(const cm_params *params, cm_seal_form form);

#ifdef __cplusplus
}
#endif
#endif
