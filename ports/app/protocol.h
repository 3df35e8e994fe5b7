/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The records of the link: requests in, replies out, each with a magic, its length and a CRC-32C.
 * ports/README.md specifies them. The CRC finds accidents; the link itself is neither secret nor
 * authenticated.
 */
#ifndef APP_PROTOCOL_H
#define APP_PROTOCOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ciphermote/emitter.h"

#define PROTOCOL_VERSION 1
#define PROTOCOL_PATIENCE_MS 2000      /* how long the line may fall silent within a request */
#define PROTOCOL_HOST_PATIENCE_MS 5000 /* how long the host may think before it sends a polynomial */
#define PROTOCOL_MAX_PAYLOAD 65536u
#define PROTOCOL_NO_SEQUENCE 0xFFFFu /* of a reply to bytes that were not a whole request */

typedef enum request_kind {
    REQUEST_ENCRYPT_WINDOW = 1,
    REQUEST_ENCRYPT_VALUES = 2,
    REQUEST_REPORT = 3,
    REQUEST_STOP = 4,
    REQUEST_AIDED_BEGIN = 5,
    REQUEST_AIDED_RESULT = 6,
    REQUEST_AIDED_ANSWER = 7,
    REQUEST_ENCRYPT_AGAIN = 8,
    REQUEST_RECEIPT = 9,
    REQUEST_POLYNOMIAL = 10 /* the answer to REPLY_POLYNOMIAL_WANTED */
} request_kind;

typedef enum key_kind { KEY_NONE = 0, KEY_SYMMETRIC = 1, KEY_ASYMMETRIC = 2 } key_kind;
#define KEY_STREAMED 4 /* in a report: the public key is sent while it is used */

typedef enum reply_kind {
    REPLY_DATA = 1,
    REPLY_REPORT = 2,
    REPLY_END = 3,
    REPLY_POLYNOMIAL_WANTED = 4
} reply_kind;

#define REPLY_MAX_PAYLOAD 64
#define POLYNOMIAL_WANTED_BYTES 12 /* component, prime, 0, 0, key id */

/*
 * A request's header as it came; only kind .. log2_scale are unchecked, because their meaning is the
 * application's.
 */
typedef struct request {
    uint8_t kind;
    uint8_t key;
    uint8_t xof;
    uint8_t log2_scale;
    uint16_t sequence; /* PROTOCOL_NO_SEQUENCE unless the whole record came undamaged */
    uint32_t length;   /* of the payload, in bytes */
} request;

/*
 * Wait for a request and put its payload at buffer. Bytes that are not a request are skipped. Returns false
 * when the link is closed, else true with a status: CM_OK; CM_ERR_TOO_MANY if the payload exceeds capacity
 * (all of it has been read); CM_ERR_FRAME_MAGIC after bytes that were not a request, when the line falls
 * silent; CM_ERR_FRAME_VERSION, CM_ERR_FRAME_FIELD (length), CM_ERR_FRAME_SHORT, CM_ERR_FRAME_CRC as their
 * names say. After an error, the contents of buffer are unspecified.
 */
bool protocol_receive(request *out, uint8_t *buffer, size_t capacity, cm_status *status);

/*
 * Ask the host for a polynomial of the public key, and wait for it, as part of the answer to the request with
 * this sequence number. CM_ERR_SINK if the link is broken; CM_ERR_FRAME_SHORT if the host falls silent;
 * CM_ERR_FRAME_FIELD for a request; CM_ERR_PUBLIC_KEY for another polynomial, or one that has not length
 * bytes; else as protocol_receive. CM_OK says nothing about who sent it. After an error, the contents of
 * buffer are unspecified.
 */
cm_status protocol_ask_polynomial(uint16_t sequence, unsigned component, unsigned prime, uint64_t key_id,
                                  uint8_t *buffer, size_t length);

/* Send one record of at most REPLY_MAX_PAYLOAD bytes. Returns 0 on success. */
int protocol_reply(reply_kind kind, uint16_t sequence, const uint8_t *payload, size_t length);

#endif
