/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A public key that comes a prime at a time. Nothing of it is secret, but nothing of what came is used before
 * all of the prime's has been compared with the owner's digests: under a key of somebody else's, the message
 * would be theirs.
 */
#include "ciphermote/keys.h"

#ifndef __AVR__

#include <stdbool.h>
#include <string.h>

#include "common/bytes.h"
#include "common/wipe.h"
#include "random/xof.h"

static const char digest_label[] = "ciphermote public key";

enum {
    DIGEST_LABEL_BYTES = sizeof digest_label - 1,
    AT_DIGEST_KEY_ID = DIGEST_LABEL_BYTES,
    AT_DIGEST_SET = AT_DIGEST_KEY_ID + 8,
    AT_DIGEST_COMPONENT = AT_DIGEST_SET + 4,
    AT_DIGEST_PRIME = AT_DIGEST_COMPONENT + 1,
    DIGEST_KEY_BYTES = AT_DIGEST_PRIME + 1
};

/* Whether the bytes are the polynomial that the owner's digest is of. */
static bool polynomial_is_owners(const cm_streamed_public_key *key, unsigned component, unsigned prime,
                                 const uint8_t *bytes, size_t length)
{
    const uint8_t *expected = key->digests + (2u * prime + component) * CM_KEY_DIGEST_BYTES;
    uint8_t which[DIGEST_KEY_BYTES];
    uint8_t digest[CM_KEY_DIGEST_BYTES];
    uint8_t differs = 0;
    memcpy(which, digest_label, DIGEST_LABEL_BYTES);
    cmi_store64(which + AT_DIGEST_KEY_ID, key->key_id);
    cmi_store32(which + AT_DIGEST_SET, key->params->id);
    which[AT_DIGEST_COMPONENT] = (uint8_t)component;
    which[AT_DIGEST_PRIME] = (uint8_t)prime;
    cmi_blake2b_long(digest, sizeof digest, which, sizeof which, bytes, length);
    for (unsigned i = 0; i < CM_KEY_DIGEST_BYTES; i++) {
        differs |= digest[i] ^ expected[i];
    }
    return differs == 0;
}

static cm_status load_key_polynomial(const cm_streamed_public_key *key, unsigned component, unsigned prime)
{
    const size_t n = (size_t)1 << key->params->log2_n;
    const size_t length = n * sizeof(uint32_t);
    uint32_t *const residues = key->residues + component * n;
    uint8_t *const bytes = (uint8_t *)residues;
    const cm_status status = key->load(key->context, component, prime, bytes, length);
    if (status != CM_OK) {
        return status;
    }
    if (!polynomial_is_owners(key, component, prime, bytes, length)) {
        return CM_ERR_PUBLIC_KEY;
    }
    cmi_load_words(residues, bytes, (unsigned)n);
    return CM_OK;
}

/* Component 1 first, as it is encrypted with first. */
static cm_status load_key_prime(cm_streamed_public_key *key, unsigned prime)
{
    key->held = 0;
    cm_status status = load_key_polynomial(key, 1, prime);
    if (status == CM_OK) {
        status = load_key_polynomial(key, 0, prime);
    }
    if (status == CM_OK) {
        key->held = (uint8_t)(prime + 1u);
    } else {
        cmi_wipe(key->residues, (size_t)2 * sizeof(uint32_t) << key->params->log2_n);
    }
    return status;
}

const uint32_t *cm_streamed_public_key_polynomial(void *context, unsigned component, unsigned prime)
{
    cm_streamed_public_key *key = context;
    if (!key || !key->params || !key->digests || !key->residues || !key->load || component > 1 ||
        prime >= key->params->data_primes) {
        return NULL;
    }
    if (key->held != prime + 1u) {
        key->status = load_key_prime(key, prime);
        if (key->status != CM_OK) {
            return cm_refused_polynomial;
        }
    }
    return key->residues + ((size_t)component << key->params->log2_n);
}

#endif
