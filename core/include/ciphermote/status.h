/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Status codes. Every call that can fail returns one. A call that fails leaves no partial result: what it
 * began to write is zeroed. If it refuses its arguments or parameter set, its outputs are unchanged or
 * zeroed.
 */
#ifndef CIPHERMOTE_STATUS_H
#define CIPHERMOTE_STATUS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define CM_MUST_CHECK __attribute__((warn_unused_result))
#else
#define CM_MUST_CHECK
#endif

#ifdef __cplusplus
#define CM_STATIC_ASSERT(condition, sentence) static_assert(condition, sentence)
#else
#define CM_STATIC_ASSERT(condition, sentence) _Static_assert(condition, sentence)
#endif

/* The values are stable: they may cross a wire or a language border. */
typedef enum cm_status {
    CM_OK = 0,
    CM_ERR_ARGUMENT = 1,       /* a null pointer, or a value outside its documented range */
    CM_ERR_PARAMS = 2,         /* a parameter set that this build or this call cannot use */
    CM_ERR_ARENA = 3,          /* the arena is too small, not aligned to 8 bytes, overlaps an object of
                                the setup, or a sink used it meanwhile */
    CM_ERR_TOO_MANY = 4,       /* more values than slots */
    CM_ERR_NOT_FINITE = 5,     /* an input is NaN or infinite */
    CM_ERR_VALUE_RANGE = 6,    /* a value is beyond the declared largest, t or what is expected */
    CM_ERR_RANDOM = 7,         /* the random source failed, is stuck, or repeats itself */
    CM_ERR_COUNTER = 8,        /* the persistent counter cannot be read, written or verified, or is used up */
    CM_ERR_SINK = 9,           /* the sink refused bytes; discard what it took so far */
    CM_ERR_UNSUPPORTED = 10,   /* left out of this build by config.h, or not possible for this format */
    CM_ERR_FRAME_SHORT = 11,   /* the bytes end before the frame or the ciphertext does */
    CM_ERR_FRAME_MAGIC = 12,   /* the bytes are not a Ciphermote frame */
    CM_ERR_FRAME_VERSION = 13, /* a frame version that this build does not know */
    CM_ERR_FRAME_FIELD = 14,   /* a header field holds a value that the specification forbids */
    CM_ERR_FRAME_CRC = 15,     /* the checksum does not match: the frame was damaged in transit */
    CM_ERR_RESIDUE = 16,       /* a residue is not below its prime */
    CM_ERR_PLAIN_MODULUS = 17, /* the plain modulus does not suit the encoding or the parameter set */
    CM_ERR_FRAME_ORDER = 18,   /* a frame came twice, or too early or too late */
    CM_ERR_FRAME_FOREIGN = 19, /* another key, kind, ciphertext or attempt than expected */
    CM_ERR_FRAME_SEED = 20,    /* component 1 is a seed, and there is no expander */
    CM_ERR_FRAME_DOMAIN = 21,  /* a frame in coefficient form where only NTT form is accepted */
    CM_ERR_SCALE = 22,         /* no scale, or one too large for the modulus and the largest value */
    CM_ERR_SHARED_NOISE = 23,  /* noise that cannot hide that of a shared decryption */
    CM_ERR_SESSIONS = 24,      /* for applications: the key's budget of client-aided sessions is spent */
    CM_ERR_EXPANDER = 25,      /* a seed expander that is not set up, or that another decryptor uses */
    CM_ERR_FRAME_TAG = 26,     /* the tag does not match: altered, forged, or of another key or counter */
    CM_ERR_UNRECEIPTED = 27,   /* for applications: the last window's receipt has not come */
    CM_ERR_PUBLIC_KEY = 28     /* a part of the public key did not come, or does not match its digest */
} cm_status;

/* Structs contain enums. On ARM the ABI decides their size, and config.h records it; elsewhere
   -fshort-enums is refused. */
#ifndef __ARM_SIZEOF_MINIMAL_ENUM
CM_STATIC_ASSERT(sizeof(cm_status) == sizeof(int),
                 "Enums must be as large as ints: build without -fshort-enums.");
#endif

/* Packed structs would differ in layout from the library's: each header with structs checks that it is not
   included with packing. */
#if defined(__AVR__)
#define CM_ALIGNMENT_OF_64_BITS 1
#elif defined(__i386__)
#define CM_ALIGNMENT_OF_64_BITS 4
#else
#define CM_ALIGNMENT_OF_64_BITS 8
#endif
#define CM_REFUSE_PACKING(header) \
    typedef struct cm_unpacked_##header { \
        char first; \
        uint64_t second; \
    } cm_unpacked_##header; \
    CM_STATIC_ASSERT(offsetof(cm_unpacked_##header, second) == CM_ALIGNMENT_OF_64_BITS, \
                     "Structs would be packed, and the library's are not: include ciphermote/" #header \
                     ".h without packing.")

/* One sentence for users: what happened and what to do. Never null; static storage. */
const char *cm_status_text(cm_status status);

#ifdef __cplusplus
}
#endif
#endif
