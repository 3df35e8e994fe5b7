/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CKKS on the device: encode a vector and encrypt it, one prime at a time, into an emitter (frame.h, seal.h).
 *
 * Nothing is allocated: the caller lends an arena whose size is a compile-time constant, and gets it back
 * wiped. No ciphertext is ever held: each residue polynomial is emitted as soon as it is computed.
 * Sources: CKKS (Cheon, Kim, Kim, Song 2017), full RNS (ePrint 2018/931); the encoder's fixed-point transform
 * and its exact rounding are specified in docs/encoding.md.
 */
#ifndef CIPHERMOTE_CKKS_H
#define CIPHERMOTE_CKKS_H

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

CM_REFUSE_PACKING(ckks);

/* Bytes of an encryptor's arena: integer constant expressions. n is the ring degree, slots a cm_slots,
   precision a cm_precision. */
#define CM_CKKS_SYMMETRIC_ARENA_BYTES(n, slots, precision, log2_tiles) \
    (CM_CKKS_MESSAGE_BYTES(n, slots, precision) + CM_SYMMETRIC_WORK_BYTES(n, log2_tiles))
#define CM_CKKS_ASYMMETRIC_ARENA_BYTES(n, slots, precision, log2_tiles) \
    (CM_CKKS_MESSAGE_BYTES(n, slots, precision) + CM_ASYMMETRIC_WORK_BYTES(n, log2_tiles))

/*
 * Encrypt a vector.
 *
 * Errors before the first byte is emitted: CM_ERR_ARGUMENT, CM_ERR_ARENA if there is no room for the
 * message, CM_ERR_SCALE, CM_ERR_TOO_MANY, CM_ERR_NOT_FINITE, CM_ERR_VALUE_RANGE, CM_ERR_RANDOM,
 * CM_ERR_COUNTER, CM_ERR_UNSUPPORTED (a precision or slots that the build leaves out). Errors at any time:
 * CM_ERR_SINK and any other status of the emitter, and CM_ERR_ARGUMENT for a public key that returns no
 * polynomial. The encryptor's arena is wiped in every case, and with it the values, if they are there.
 */
CM_MUST_CHECK cm_status cm_ckks_encrypt(const cm_encryptor *encryptor, const cm_ckks_values *values);

#ifdef __cplusplus
}
#endif
#endif
