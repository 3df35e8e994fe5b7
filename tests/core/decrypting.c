/* SPDX-License-Identifier: Apache-2.0 */
#include "decrypting.h"

cm_status test_bfv_begin(cm_decryption *decryption, const cm_secret_key *key, const cm_bfv_expected *expected,
                         void *arena, size_t arena_bytes)
{
    const cm_status status = cmi_decryption_init(decryption, key, arena, arena_bytes);
    return status == CM_OK ? cmi_bfv_decryption_begin(decryption, expected) : status;
}

cm_status test_ckks_begin(cm_decryption *decryption, const cm_secret_key *key,
                          const cm_ckks_expected *expected, void *arena, size_t arena_bytes)
{
    const cm_status status = cmi_decryption_init(decryption, key, arena, arena_bytes);
    return status == CM_OK ? cmi_ckks_decryption_begin(decryption, expected) : status;
}

cm_status test_noise_begin(cm_decryption *decryption, const cm_secret_key *key, uint32_t plain_modulus,
                           unsigned log2_tiles, void *arena, size_t arena_bytes)
{
    const cm_status status = cmi_decryption_init(decryption, key, arena, arena_bytes);
    return status == CM_OK ? cmi_noise_begin(decryption, plain_modulus, log2_tiles) : status;
}
