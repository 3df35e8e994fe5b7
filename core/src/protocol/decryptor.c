/* SPDX-License-Identifier: Apache-2.0 */
/* A decryptor: a decryption behind its own frame reader, which starts afresh for each ciphertext. */
#include "protocol/decryptor.h"

#include <string.h>

#include "arch/backends.h"
#include "common/wipe.h"
#include "scheme/decryption.h"
#include "scheme/usable.h"
#include "wire/frame.h"

static bool is_set_up(const cm_seed_expander *expander)
{
    return expander->self == expander;
}

/* Frames that a back-end has gathered for the ciphertext before. */
static void forget_gathered(cm_decryptor *decryptor)
{
    (void)decryptor;
    (void)CM_ARCH_TRY(decrypt_begin, decryptor, false);
}

cm_status cm_decryptor_init(cm_decryptor *decryptor, const cm_secret_key *key,
                            const cm_decryptor_setup *setup)
{
    if (!decryptor) {
        return CM_ERR_ARGUMENT;
    }
    forget_gathered(decryptor);
    cm_decryptor_setup given = setup ? *setup : (cm_decryptor_setup){0};
    const bool expander_usable = !given.expander || is_set_up(given.expander);
    const bool results_usable = !given.results || given.results->begin;
    memset(decryptor, 0, sizeof *decryptor);
    decryptor->expander = given.expander;
    decryptor->reader.expected = given.results;
    if ((given.expander &&
         cmi_in_arena(given.expander, sizeof *given.expander, given.arena, given.arena_bytes)) ||
        (given.results &&
         cmi_in_arena(given.results, sizeof *given.results, given.arena, given.arena_bytes))) {
        given.arena = NULL; /* which is refused */
    }
    const cm_status status =
        cmi_decryption_init(&decryptor->decryption, setup && expander_usable && results_usable ? key : NULL,
                            given.arena, given.arena_bytes);
    return expander_usable ? status : CM_ERR_EXPANDER;
}

/* The reader, for a decryption that has begun; one that could not begin refuses what it reads. What results
   are expected is as it was set up. */
static cm_status open_reader(cm_decryptor *decryptor, cm_status status)
{
    forget_gathered(decryptor);
    cm_frame_expected *results = decryptor->reader.expected;
    cm_receiver *receiver = &decryptor->decryption.receiver;
    if (decryptor->expander && is_set_up(decryptor->expander)) {
        receiver = decryptor->expander->begin(decryptor->expander, receiver);
    }
    const cm_secret_key *key = decryptor->decryption.key;
    cm_frame_reader_init(&decryptor->reader, key ? key->params : NULL, receiver);
    cm_frame_reader_expect(&decryptor->reader, results);
    return status;
}

/* The same for a ciphertext that a back-end may gather. */
static cm_status offer(cm_decryptor *decryptor, cm_status begun)
{
    const cm_status status = open_reader(decryptor, begun);
    if (status == CM_OK) {
        (void)CM_ARCH_TRY(decrypt_begin, decryptor, true);
    }
    return status;
}

cm_status cmi_decryptor_feed(cm_decryptor *decryptor, const uint8_t *bytes, size_t length)
{
    const cm_status status = decryptor->decryption.status;
    if (status != CM_OK) {
        return status;
    }
    cm_receiver *const receiver = &decryptor->decryption.receiver;
    if (decryptor->expander && decryptor->expander->next != receiver) {
        receiver->fail(receiver, CM_ERR_EXPANDER); /* another decryptor has begun with it */
        return CM_ERR_EXPANDER;
    }
    if (cmi_secret_key_named(decryptor->decryption.key)) {
        receiver->fail(receiver, CM_ERR_UNSUPPORTED); /* only hardware has the key */
        return CM_ERR_UNSUPPORTED;
    }
    return cm_frame_reader_feed(&decryptor->reader, bytes, length);
}

cm_status cm_decryptor_feed(cm_decryptor *decryptor, const uint8_t *bytes, size_t length)
{
    if (!decryptor) {
        return CM_ERR_ARGUMENT;
    }
    return CM_ARCH_TRY(decrypt_feed, decryptor, bytes, length) ? CM_OK
                                                               : cmi_decryptor_feed(decryptor, bytes, length);
}

void cm_decryptor_wipe(cm_decryptor *decryptor)
{
    if (decryptor) {
        forget_gathered(decryptor);
        cmi_frame_reader_wipe(&decryptor->reader);
        cmi_decryption_wipe(&decryptor->decryption);
        if (decryptor->decryption.arena) { /* the values too, of a decryption that is over */
            cmi_wipe(decryptor->decryption.arena, decryptor->decryption.arena_bytes);
        }
    }
}

/* ---- BFV ---- */

cm_status cm_bfv_expect(cm_decryptor *decryptor, const cm_bfv_expected *expected)
{
    if (!decryptor) {
        return CM_ERR_ARGUMENT;
    }
    return offer(decryptor, cmi_bfv_decryption_begin(&decryptor->decryption, expected));
}

cm_status cm_bfv_decrypt(cm_decryptor *decryptor)
{
    cm_status status;
    if (!decryptor) {
        return CM_ERR_ARGUMENT;
    }
    if (decryptor->decryption.scheme == CM_BFV && CM_ARCH_TRY(decrypt_end, &status, decryptor)) {
        return status;
    }
    return cmi_bfv_decryption_end(&decryptor->decryption);
}

cm_status cm_bfv_expect_noise(cm_decryptor *decryptor, uint32_t plain_modulus, unsigned log2_tiles)
{
    return decryptor
               ? open_reader(decryptor, cmi_noise_begin(&decryptor->decryption, plain_modulus, log2_tiles))
               : CM_ERR_ARGUMENT;
}

cm_status cm_bfv_noise_budget(cm_decryptor *decryptor, unsigned *bits)
{
    if (!decryptor) {
        return CM_ERR_ARGUMENT;
    }
    return cmi_noise_budget(&decryptor->decryption, bits);
}

/* ---- CKKS ---- */

cm_status cm_ckks_expect(cm_decryptor *decryptor, const cm_ckks_expected *expected)
{
    return decryptor ? offer(decryptor, cmi_ckks_decryption_begin(&decryptor->decryption, expected))
                     : CM_ERR_ARGUMENT;
}

cm_status cm_ckks_decrypt(cm_decryptor *decryptor)
{
    cm_status status;
    if (!decryptor) {
        return CM_ERR_ARGUMENT;
    }
    if (decryptor->decryption.scheme == CM_CKKS && CM_ARCH_TRY(decrypt_end, &status, decryptor)) {
        return status;
    }
    return cmi_ckks_decryption_end(&decryptor->decryption);
}

cm_status cm_ckks_decrypt_shared(cm_decryptor *decryptor, cm_device *device, unsigned log2_noise)
{
    if (!decryptor) {
        return CM_ERR_ARGUMENT;
    }
    (void)CM_ARCH_TRY(decrypt_end, NULL, decryptor); /* it adds no noise */
    return cmi_ckks_decryption_end_shared(&decryptor->decryption, device, log2_noise);
}
