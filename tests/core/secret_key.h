/* SPDX-License-Identifier: Apache-2.0 */
/* The secret key in the form that the build's options ask for. */
#ifndef CM_TESTS_SECRET_KEY_H
#define CM_TESTS_SECRET_KEY_H

#include "ciphermote/keys.h"

/* ternary remains the caller's; a transformed key is in static memory, valid until the next call. */
cm_secret_key test_secret_key(const cm_params *params, uint64_t key_id, const uint8_t *ternary);

#endif
