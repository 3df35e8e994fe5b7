/* SPDX-License-Identifier: Apache-2.0 */
/* The sentence for each status. Constant text only. */
#include "ciphermote/status.h"

const char *cm_status_text(cm_status status)
{
    switch (status) {
    case CM_OK:
        return "The call succeeded.";
    case CM_ERR_ARGUMENT:
        return "An argument or a field is null, missing or out of range, or a struct was not set up:"
               " compare each with the call's header.";
    case CM_ERR_PARAMS:
        return "This build or this call cannot use the parameter set, or a frame has another set "
               "than its reader: raise CM_CONFIG_MAX_LOG2_N, or give both sides the same set.";
    case CM_ERR_ARENA:
        return "The arena is too small, not aligned to 8 bytes, overlaps the key or another object of "
               "the setup, or a sink used it meanwhile: size it with the CM_..._ARENA_BYTES macro of "
               "this scheme and kind of key, with the n, slots, precision and log2_tiles of the call, "
               "and leave it to one call at a time.";
    case CM_ERR_TOO_MANY:
        return "There are more values than slots: send the rest in another ciphertext, or take a "
               "larger n.";
    case CM_ERR_NOT_FINITE:
        return "A value is NaN or infinite, which cannot be encrypted: check the sensor, or the "
               "arithmetic between it and the encryption.";
    case CM_ERR_VALUE_RANGE:
        return "A value is too large. Encryption: it is beyond the largest that was declared; raise "
               "that (.largest; `ciphermote provision --largest`) or check the sensor. BFV: it is beyond "
               "t, or beyond half of t if it is signed. CKKS decryption: it exceeds twice the largest "
               "expected, or the key is wrong.";
    case CM_ERR_RANDOM:
        return "The random source failed, is stuck or repeats itself: nothing was encrypted; repair "
               "it first.";
    case CM_ERR_COUNTER:
        return "The persistent counter cannot be read, written or verified, or is used up: nothing "
               "was encrypted; check the storage, or provision the device again.";
    case CM_ERR_SINK:
        return "The sink refused bytes: discard what it has taken so far, and encrypt again.";
    case CM_ERR_UNSUPPORTED:
        return "This build leaves that out, or the format cannot express it: see config.h and the "
               "call's header.";
    case CM_ERR_FRAME_SHORT:
        return "The bytes end before the frame or the ciphertext does: wait for the rest, or have it"
               " sent again.";
    case CM_ERR_FRAME_MAGIC:
        return "The bytes are not a Ciphermote frame: look for the start of one.";
    case CM_ERR_FRAME_VERSION:
        return "This build does not know the frame's version: update the receiver.";
    case CM_ERR_FRAME_FIELD:
        return "A field of the frame's header has a value that the specification forbids: discard "
               "the frame.";
    case CM_ERR_FRAME_CRC:
        return "The frame's checksum does not match, so it was damaged in transit: have it sent "
               "again.";
    case CM_ERR_RESIDUE:
        return "A residue is not below its prime: discard the frame.";
    case CM_ERR_PLAIN_MODULUS:
        return "The plain modulus does not suit the encoding, the width or the number type, or "
               "leaves no room for noise: batching needs a prime that is 1 mod 2n, CM_BFV_16 one up "
               "to 2^16; see the call's header.";
    case CM_ERR_FRAME_ORDER:
        return "A frame came twice, too early or too late: have the whole ciphertext sent again, in "
               "the order that decryption needs.";
    case CM_ERR_FRAME_FOREIGN:
        return "A frame has another key, scheme, plain modulus or number of tiles than expected, or "
               "is of another ciphertext: compare it with what the decryptor was told to expect, or "
               "have the right one sent. A receipt is of another attempt: keep the readings, and wait"
               " for theirs.";
    case CM_ERR_FRAME_SEED:
        return "The ciphertext's second half is a seed: give cm_decryptor_setup a seed expander.";
    case CM_ERR_FRAME_DOMAIN:
        return "The frame is in coefficient form: encrypt with CM_DOMAIN_NTT, or have the host "
               "transform the ciphertext.";
    case CM_ERR_SCALE:
        return "The scale is missing, out of range (2^1 to 2^60) or too large. Encryption needs scale "
               "times largest value up to a quarter of the product of the data primes, and below 2^29 "
               "at 31 bits or 2^58 at 63: lower one of the two. Decryption needs it below a quarter of "
               "the product of the primes in use: one prime at 31 bits, two at 63.";
    case CM_ERR_SHARED_NOISE:
        return "Nothing was shared, because the noise would not hide that of the ciphertext: decrypt"
               " with 63 bits, and flood with 2^b, b from 1 to 49.";
    case CM_ERR_SESSIONS:
        return "The key has served as many client-aided sessions as it may: make new keys, and "
               "provision the device with them.";
    case CM_ERR_EXPANDER:
        return "The seed expander is not set up, or another decryptor has begun to use it: call "
               "cm_seed_expander_init before cm_decryptor_init, and give each decryptor its own.";
    case CM_ERR_FRAME_TAG:
        return "The tag of the frame or receipt does not match: it was altered or forged, or the key "
               "or the counter is another device's; drop it, and compare the enrolment with the "
               "device.";
    case CM_ERR_UNRECEIPTED:
        return "The last window waits for its receipt: hand the device the gateway's, or have it send "
               "that window again.";
    case CM_ERR_PUBLIC_KEY:
        return "A polynomial of the public key did not come, or does not match the digest that the device "
               "was given, so nothing was encrypted with it: discard what was sent of this ciphertext, and "
               "send the device its owner's public key.";
    }
    return "This is not a status of Ciphermote: the value was damaged, or comes from another version.";
}
