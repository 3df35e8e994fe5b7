/* SPDX-License-Identifier: Apache-2.0 */
#include "encrypting.h"

#include "build.h"

static cm_encryptor_setup setup_of(cm_device *device, cm_xof_kind xof, void *arena, size_t arena_bytes,
                                   cm_emitter *emitter)
{
    return (cm_encryptor_setup){.device = device,
                                .emitter = emitter,
                                .arena = arena,
                                .arena_bytes = arena_bytes,
                                .xof = xof,
                                .log2_tiles = BUILD_LOG2_TILES};
}

static void whole_for_coefficients(cm_encryptor_setup *setup, const cm_bfv_values *values)
{
    if (values && values->domain == CM_DOMAIN_COEFFICIENTS) {
        setup->log2_tiles = 0;
    }
}

cm_status test_ckks_symmetric(cm_device *device, const cm_secret_key *key, cm_xof_kind xof,
                              const cm_ckks_values *values, void *arena, size_t arena_bytes,
                              cm_emitter *emitter)
{
    const cm_encryptor_setup setup = setup_of(device, xof, arena, arena_bytes, emitter);
    cm_encryptor encryptor;
    const cm_status status = cm_encryptor_init_symmetric(&encryptor, key, &setup);
    return status == CM_OK ? cm_ckks_encrypt(&encryptor, values) : status;
}

cm_status test_ckks_asymmetric(cm_device *device, const cm_public_key *key, const cm_ckks_values *values,
                               void *arena, size_t arena_bytes, cm_emitter *emitter)
{
    const cm_encryptor_setup setup = setup_of(device, CM_XOF_NONE, arena, arena_bytes, emitter);
    cm_encryptor encryptor;
    const cm_status status = cm_encryptor_init_asymmetric(&encryptor, key, &setup);
    return status == CM_OK ? cm_ckks_encrypt(&encryptor, values) : status;
}

cm_status test_bfv_symmetric(cm_device *device, const cm_secret_key *key, cm_xof_kind xof,
                             const cm_bfv_values *values, void *arena, size_t arena_bytes,
                             cm_emitter *emitter)
{
    cm_encryptor_setup setup = setup_of(device, xof, arena, arena_bytes, emitter);
    whole_for_coefficients(&setup, values);
    cm_encryptor encryptor;
    const cm_status status = cm_encryptor_init_symmetric(&encryptor, key, &setup);
    return status == CM_OK ? cm_bfv_encrypt(&encryptor, values) : status;
}

cm_status test_bfv_read(cm_device *device, const cm_secret_key *key, cm_xof_kind xof,
                        const cm_bfv_reader *reader, void *arena, size_t arena_bytes, cm_emitter *emitter)
{
    const cm_encryptor_setup setup = setup_of(device, xof, arena, arena_bytes, emitter);
    return cm_bfv_encrypt_read(key, &setup, reader);
}

cm_status test_bfv_asymmetric(cm_device *device, const cm_public_key *key, const cm_bfv_values *values,
                              void *arena, size_t arena_bytes, cm_emitter *emitter)
{
    cm_encryptor_setup setup = setup_of(device, CM_XOF_NONE, arena, arena_bytes, emitter);
    whole_for_coefficients(&setup, values);
    cm_encryptor encryptor;
    const cm_status status = cm_encryptor_init_asymmetric(&encryptor, key, &setup);
    return status == CM_OK ? cm_bfv_encrypt(&encryptor, values) : status;
}

cm_status test_emit_public_key(cm_device *device, const cm_params *params, const uint8_t *ternary,
                               uint64_t key_id, cm_xof_kind xof, void *arena, size_t arena_bytes,
                               cm_emitter *emitter)
{
    const cm_encryptor_setup setup = setup_of(device, xof, arena, arena_bytes, emitter);
    return cm_device_emit_public_key(&setup, params, ternary, key_id);
}
