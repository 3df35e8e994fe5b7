/* SPDX-License-Identifier: Apache-2.0 */
/* The public key in flash, separate from workload.c so that only firmware that encrypts with it links it. */
#include "workload.h"

/* The encryptor only reads what the context points to. */
cm_public_key workload_public(void)
{
    static const cm_flat_public_key key = {.residues = &workload_public_key[0][0][0], .n = WORKLOAD_N};
    return (cm_public_key){.params = &WORKLOAD_PARAMS,
                           .key_id = WORKLOAD_KEY_ID,
                           .polynomial = cm_flat_public_key_polynomial,
                           .context = (void *)(uintptr_t)&key,
                           .roots = workload_roots};
}
