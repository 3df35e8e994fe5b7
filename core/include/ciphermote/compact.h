/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The compact lane: a few small integers in a packet of some 40 bytes, for encrypted sums.
 *
 * BFV under the secret key, with one value in each coefficient. Only the coefficients that carry a value are
 * sent, without their low bits, and no seed is sent: both sides derive it from the counter and 8 random bytes
 * in the header. Sums, differences, means, histograms and weighted sums over devices and time decrypt
 * exactly; products and rotations do not exist (docs/compact.md has bounds and limits). Every packet has a
 * tag of 8 bytes.
 *
 *     cm_counter counter;
 *     status = cm_counter_init(&counter, &platform);
 *     const cm_compact_setup setup = {.counter = &counter, .sink = radio, .packet_bytes = 51,
 *                                     .arena = arena, .arena_bytes = sizeof arena};
 *     status = cm_compact_init(&encryptor, &cm_provisioned_compact_key, &setup);
 *     ...
 *     uint64_t window = CM_NEW_WINDOW;
 *     status = cm_compact_encrypt(&encryptor, readings, 0, 8, &window);
 */
#ifndef CIPHERMOTE_COMPACT_H
#define CIPHERMOTE_COMPACT_H

#include <stddef.h>
#include <stdint.h>

#include "ciphermote/compact_key.h"
#include "ciphermote/config.h"
#include "ciphermote/device.h"
#include "ciphermote/emitter.h"
#include "ciphermote/frame.h"
#include "ciphermote/status.h"

#ifdef __cplusplus
extern "C" {
#endif

CM_REFUSE_PACKING(compact);

/*
 * sink takes a whole packet at each call. While a call runs, nothing may set its encryptor up, nor use its
 * arena: a sink that does the latter ends it with CM_ERR_ARENA. Where the platform has no random source
 * (platform.random is null), salt points at 8 bytes that are different at every start, as far as the board
 * can make them so; they are copied.
 */
typedef struct cm_compact_setup {
    cm_counter *counter;
    cm_sink sink;
    void *arena;           /* aligned to CM_COMPACT_ALIGNMENT; used and wiped by each call */
    size_t arena_bytes;    /* CM_COMPACT_ARENA_BYTES or CM_COMPACT_TRANSFORM_ARENA_BYTES */
    uint16_t packet_bytes; /* the most in a packet: room for at least one value */
    const uint8_t *salt;   /* 8 bytes, or null */
} cm_compact_setup;

/* Treat as opaque. */
typedef struct cm_compact_encryptor {
    cm_compact_setup setup;
    const cm_compact_key *key;
    uint16_t at_once;       /* values that the arena has room for */
    uint16_t in_packet;     /* values of a whole packet */
    uint8_t last_random[8]; /* or the salt */
} cm_compact_encryptor;

#define CM_COMPACT_HEADER_BYTES 27
#define CM_COMPACT_OVERHEAD_BYTES (CM_COMPACT_HEADER_BYTES + CM_TAG_BYTES)

/* Bytes of a packet with so many values of so many bits: an integer constant expression. */
#define CM_COMPACT_PACKET_BYTES(values, wire_bits) \
    ((size_t)(CM_COMPACT_OVERHEAD_BYTES + ((uint32_t)(values) * (wire_bits) + 7u) / 8u))

/*
 * Arenas: integer constant expressions. A call computes as many values at a time as its arena has room for,
 * and expands the public seed once for each time. With a transform arena, many values take two transforms
 * instead of n masked additions each; not on AVR.
 */
#ifndef __AVR__
#define CM_COMPACT_TAG_WORKSPACE_BYTES 128u
#define CM_COMPACT_ALIGNMENT 8u
#else
#define CM_COMPACT_TAG_WORKSPACE_BYTES 113u
#define CM_COMPACT_ALIGNMENT 1u
#endif
#define CM_COMPACT_ALIGNED(bytes) \
    (((size_t)(bytes) + CM_COMPACT_ALIGNMENT - 1u) / CM_COMPACT_ALIGNMENT * CM_COMPACT_ALIGNMENT)
#define CM_COMPACT_LARGER(a, b) ((a) > (b) ? (a) : (b))
#define CM_COMPACT_MARK_BYTES CM_COMPACT_ALIGNMENT
#define CM_COMPACT_ARENA_BYTES(primes, values, packet_bytes) \
    (CM_COMPACT_MARK_BYTES + CM_COMPACT_ALIGNED(4u * (size_t)(primes) * (values)) + \
     CM_COMPACT_LARGER(CM_COMPACT_WORKSPACE_BYTES, CM_COMPACT_SENDING_BYTES(packet_bytes)))
/* On AVR, for as many values of a set with one prime as one packet takes. */
#define CM_COMPACT_ONE_PACKET_ARENA_BYTES(values, packet_bytes) \
    (CM_COMPACT_MARK_BYTES + \
     CM_COMPACT_LARGER(CM_COMPACT_ALIGNED(4u * (size_t)(values)) + CM_COMPACT_WORKSPACE_BYTES, \
                       CM_COMPACT_SENDING_BYTES(packet_bytes)))
/* A packet, and what its tag takes. */
#define CM_COMPACT_SENDING_BYTES(packet_bytes) \
    (CM_COMPACT_ALIGNED(packet_bytes) + CM_COMPACT_TAG_WORKSPACE_BYTES)
#define CM_COMPACT_TRANSFORM_ARENA_BYTES(n, primes, values, packet_bytes) \
    (CM_COMPACT_ARENA_BYTES(primes, values, packet_bytes) + CM_COMPACT_RING_BYTES + (size_t)8u * (n))

/*
 * Set up once. CM_ERR_ARGUMENT for null pointers, a key whose arrays were never filled in, a largest value
 * that the set does not allow, and packets too small for a value; CM_ERR_PARAMS for a set that the build
 * cannot use (CM_CONFIG_MAX_LOG2_N); CM_ERR_ARENA for an arena without room for a value, or that overlaps the
 * key, what it points at or the counter; CM_ERR_RANDOM for neither a random source nor a salt, unless
 * CM_CONFIG_COMPACT_COUNTER_ONLY accepts that.
 */
CM_MUST_CHECK cm_status cm_compact_init(cm_compact_encryptor *encryptor, const cm_compact_key *key,
                                        const cm_compact_setup *setup);

/*
 * Encrypt values 0 .. count - 1 to the coefficients first .. first + count - 1, in as many packets as it
 * takes. Each call takes a new counter. A window's number is the counter of its first attempt: with
 * CM_NEW_WINDOW it is left in *window, to be handed in again for another attempt, which then counts in place
 * of the first, not beside it.
 * Keep the packets, or the values and the window's number, until they are acknowledged.
 *
 * Errors before the counter is taken: CM_ERR_ARGUMENT, CM_ERR_TOO_MANY (past the last coefficient),
 * CM_ERR_VALUE_RANGE (a value above the key's largest). Then CM_ERR_COUNTER, CM_ERR_RANDOM, CM_ERR_SINK. The
 * arena is wiped in every case.
 */
CM_MUST_CHECK cm_status cm_compact_encrypt(cm_compact_encryptor *encryptor, const uint16_t *values,
                                           uint16_t first, uint16_t count, uint64_t *window);

/* ---- for who receives packets ---- */

/* A packet whose fields are valid. What it says is not to be trusted until its tag has been checked. */
typedef struct cm_compact_frame {
    const cm_compact_set *set;
    uint16_t epoch;
    uint32_t device;
    uint32_t counter_low;
    uint32_t since_window; /* the counter less the window's number */
    uint8_t random[8];
    uint16_t first;
    uint16_t count;
    const uint8_t *payload; /* points into the caller's bytes, as packet does */
    const uint8_t *packet;
    size_t packet_bytes;
} cm_compact_frame;

/*
 * Check a packet, of which length is the whole. CM_ERR_FRAME_SHORT, CM_ERR_FRAME_VERSION (no compact packet),
 * CM_ERR_PARAMS (a set that is not known), CM_ERR_FRAME_FIELD (positions past the ring, a length that does
 * not belong to their number, padding that is not zero), CM_ERR_RESIDUE (a value above the largest of the
 * set).
 */
CM_MUST_CHECK cm_status cm_compact_frame_parse(const uint8_t *bytes, size_t length, cm_compact_frame *frame);

/*
 * Check the tag of a parsed packet, whose counter is counter_high 2^32 + frame->counter_low. The key is in
 * flash (PROGMEM) on AVR. The time does not depend on where tags differ. CM_ERR_FRAME_TAG.
 */
CM_MUST_CHECK cm_status cm_compact_frame_verify(const cm_compact_frame *frame,
                                                const uint8_t tag_key[CM_TAG_KEY_BYTES],
                                                uint32_t counter_high);

/* c0's coefficients first .. first + count - 1 as they were sent: less their low bits. Add 2^(d-1) after
   shifting by d. */
void cm_compact_frame_values(const cm_compact_frame *frame, uint64_t *values);

#ifdef __cplusplus
}
#endif
#endif
