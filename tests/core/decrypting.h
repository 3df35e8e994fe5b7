/* SPDX-License-Identifier: Apache-2.0 */
/* A decryption with its own key and arena: for tests of what a decryptor does between its frames. */
#ifndef CM_TESTS_DECRYPTING_H
#define CM_TESTS_DECRYPTING_H

#include "scheme/decryption.h"

/* The status of the setup or of the beginning, whichever refuses. */
cm_status test_bfv_begin(cm_decryption *decryption, const cm_secret_key *key, const cm_bfv_expected *expected,
                         void *arena, size_t arena_bytes);
cm_status test_ckks_begin(cm_decryption *decryption, const cm_secret_key *key,
                          const cm_ckks_expected *expected, void *arena, size_t arena_bytes);
cm_status test_noise_begin(cm_decryption *decryption, const cm_secret_key *key, uint32_t plain_modulus,
                           unsigned log2_tiles, void *arena, size_t arena_bytes);

#endif
