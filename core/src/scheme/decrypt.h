/* Whether a decryption could begin, without a touch of the arena: the statuses of cm_..._decrypt_begin. */
#ifndef CM_SCHEME_DECRYPT_H
#define CM_SCHEME_DECRYPT_H

#include "ciphermote/decrypt.h"

CM_MUST_CHECK cm_status cm_bfv_decrypt_check(const cm_secret_key *key, const cm_bfv_expected *expected,
                                             void *arena, size_t arena_bytes);

CM_MUST_CHECK cm_status cm_ckks_decrypt_check(const cm_secret_key *key, const cm_ckks_expected *expected,
                                              void *arena, size_t arena_bytes);

#endif
