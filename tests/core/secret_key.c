/* SPDX-License-Identifier: Apache-2.0 */
#include "secret_key.h"

#include "check.h"
#include "roots.h"

cm_secret_key test_secret_key(const cm_params *params, uint64_t key_id, const uint8_t *ternary)
{
#if CM_CONFIG_TRANSFORMED_SECRET
    static uint32_t transformed[(CM_MAX_PRIMES - 1) << CM_CONFIG_MAX_LOG2_N];
    for (unsigned i = 0; i < params->data_primes; i++) {
        CHECK(cm_secret_key_transform(params, ternary, i, transformed + ((size_t)i << params->log2_n)) ==
              CM_OK);
    }
    const cm_secret_key key = {params, key_id, ternary, transformed, test_roots(params)};
#else
    const cm_secret_key key = {params, key_id, ternary, NULL, test_roots(params)};
#endif
    return key;
}
