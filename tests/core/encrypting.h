/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One encryption each, by an encryptor that is set up just for it: for tests that are not about the encryptor
 * itself. Tiles are BUILD_LOG2_TILES, except that coefficient form and accelerators take whole polynomials.
 */
#ifndef CM_TESTS_ENCRYPTING_H
#define CM_TESTS_ENCRYPTING_H

#include "ciphermote/ciphermote.h"

/*
 * The status of the setup or of the encryption, whichever refuses. The arena, if there is one, is left as
 * that call left it.
 */
cm_status test_ckks_symmetric(cm_device *device, const cm_secret_key *key, cm_xof_kind xof,
                              const cm_ckks_values *values, void *arena, size_t arena_bytes,
                              cm_emitter *emitter);
cm_status test_ckks_asymmetric(cm_device *device, const cm_public_key *key, const cm_ckks_values *values,
                               void *arena, size_t arena_bytes, cm_emitter *emitter);
cm_status test_bfv_symmetric(cm_device *device, const cm_secret_key *key, cm_xof_kind xof,
                             const cm_bfv_values *values, void *arena, size_t arena_bytes,
                             cm_emitter *emitter);
cm_status test_bfv_read(cm_device *device, const cm_secret_key *key, cm_xof_kind xof,
                        const cm_bfv_reader *reader, void *arena, size_t arena_bytes, cm_emitter *emitter);
cm_status test_bfv_asymmetric(cm_device *device, const cm_public_key *key, const cm_bfv_values *values,
                              void *arena, size_t arena_bytes, cm_emitter *emitter);
cm_status test_emit_public_key(cm_device *device, const cm_params *params, const uint8_t *ternary,
                               uint64_t key_id, cm_xof_kind xof, void *arena, size_t arena_bytes,
                               cm_emitter *emitter);

#endif
