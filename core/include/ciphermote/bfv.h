/* SPDX-License-Identifier: Apache-2.0 */
/*
 * BFV on the device: exact integers modulo t, encoded and encrypted one prime at a time into an emitter
 * (frame.h, seal.h).
 *
 * As with CKKS (ckks.h), nothing is allocated, and each residue polynomial is emitted as soon as it is
 * computed. Rounding is SEAL's own, so SEAL adds, multiplies and decrypts these ciphertexts exactly
 * (docs/encoding.md). Sources: BFV (Fan, Vercauteren, ePrint 2012/144); batching (Smart, Vercauteren, ePrint
 * 2011/133).
 */
#ifndef CIPHERMOTE_BFV_H
#define CIPHERMOTE_BFV_H

#include <stddef.h>
#include <stdint.h>

#include "ciphermote/config.h"
#include "ciphermote/encryptor.h"
#include "ciphermote/params.h"
#include "ciphermote/status.h"
#include "ciphermote/values.h"

#ifdef __cplusplus
extern "C" {
#endif

CM_REFUSE_PACKING(bfv);

/*
 * Decryption is exact while the noise is below q / 2t, where q is the product of the data primes. So t must
 * satisfy 44 t <= q under the secret key, where fresh noise is at most 21, and 45 t 2^ceil(log2(n) / 2) <= q
 * under the public key, which allows for six standard deviations (CM_ERR_PLAIN_MODULUS). In sets with several
 * data primes every valid t does.
 */

/* Bytes of an encryptor's arena: integer constant expressions. n is the ring degree, width a cm_bfv_width. */
#define CM_BFV_SYMMETRIC_ARENA_BYTES(n, width, log2_tiles) \
    (CM_BFV_MESSAGE_BYTES(n, width) + CM_SYMMETRIC_WORK_BYTES(n, log2_tiles))
#define CM_BFV_ASYMMETRIC_ARENA_BYTES(n, width, log2_tiles) \
    (CM_BFV_MESSAGE_BYTES(n, width) + CM_ASYMMETRIC_WORK_BYTES(n, log2_tiles))
/* Under the secret key, in coefficient form, which takes whole polynomials. */
#define CM_BFV_COEFFICIENT_ARENA_BYTES(n, width) \
    (CM_BFV_SYMMETRIC_ARENA_BYTES(n, width, 0) + (CM_CONFIG_TRANSFORMED_SECRET ? CM_TILE_BYTES(n, 0) : 0u))
/* For cm_bfv_encrypt_read: the arena holds no message. */
#define CM_BFV_READ_ARENA_BYTES(n, log2_tiles) CM_SYMMETRIC_WORK_BYTES(n, log2_tiles)

/*
 * Encrypt integers; the plaintext polynomial m becomes round(q m / t) in the ciphertext. Under the secret
 * key, the public seed expands directly to residues in the ciphertext's domain.
 *
 * Errors before the first byte is emitted: CM_ERR_ARGUMENT, CM_ERR_ARENA if there is no room for the
 * message, CM_ERR_TOO_MANY, CM_ERR_PLAIN_MODULUS, CM_ERR_VALUE_RANGE, CM_ERR_RANDOM, CM_ERR_COUNTER,
 * CM_ERR_UNSUPPORTED (coefficient form with log2_tiles above 0). Errors at any time: CM_ERR_SINK and any
 * other status of the emitter, and CM_ERR_ARGUMENT for a public key that returns no polynomial. The
 * encryptor's arena is wiped in every case, and with it the values, if they are there.
 */
CM_MUST_CHECK cm_status cm_bfv_encrypt(const cm_encryptor *encryptor, const cm_bfv_values *values);

/*
 * The same for coefficients that are read on demand, under the secret key and in NTT form, without an
 * encryptor: for devices without RAM for the values. They are read once beforehand, to be checked
 * (CM_ERR_VALUE_RANGE if one is above largest), and once for each tile of each prime. Errors are also those
 * of cm_encryptor_init_symmetric, after which the arena is untouched.
 */
CM_MUST_CHECK cm_status cm_bfv_encrypt_read(const cm_secret_key *key, const cm_encryptor_setup *setup,
                                            const cm_bfv_reader *reader);

#ifdef __cplusplus
}
#endif
#endif
