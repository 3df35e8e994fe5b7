/* SPDX-License-Identifier: Apache-2.0 */
/* The link's records, read and written with the port's two functions. */
#include "protocol.h"

#include <string.h>

#include "bytes.h"
#include "ciphermote/frame.h"
#include "port.h"

enum {
    MAGIC_BYTES = 4,
    AT_VERSION = 4,
    AT_KIND = 5,
    CRC_BYTES = 4,

    REQUEST_AT_KEY = 6, /* or component */
    REQUEST_AT_XOF = 7, /* or prime */
    REQUEST_AT_LOG2_SCALE = 8,
    REQUEST_AT_ZERO = 9,
    REQUEST_AT_SEQUENCE = 10,
    REQUEST_AT_LENGTH = 12,
    REQUEST_HEADER_BYTES = 16,

    REPLY_AT_SEQUENCE = 6,
    REPLY_AT_LENGTH = 8,
    REPLY_HEADER_BYTES = 12,

    DISCARD_BYTES = 64
};

static const uint8_t request_magic[MAGIC_BYTES] = {'C', 'M', 'R', 'Q'};
static const uint8_t reply_magic[MAGIC_BYTES] = {'C', 'M', 'R', 'P'};

typedef enum found { FOUND_MAGIC, FOUND_NOTHING, FOUND_END } found;

/*
 * Skip to just after the next magic, for which the line may be silent for patience at first. FOUND_NOTHING
 * after other bytes, or after a limit, followed by silence; FOUND_END if the link closed before any byte
 * came. No proper prefix of the magic is a suffix of another one but the empty one, so a mismatch can only be
 * a new 'C'.
 */
static found find_magic(uint32_t patience)
{
    size_t matched = 0;
    while (matched < MAGIC_BYTES) {
        uint8_t byte;
        if (port_receive(&byte, 1, patience) != 1) {
            return patience == PORT_NO_LIMIT ? FOUND_END : FOUND_NOTHING;
        }
        if (byte == request_magic[matched]) {
            matched++;
        } else {
            matched = byte == request_magic[0] ? 1 : 0;
        }
        patience = PROTOCOL_PATIENCE_MS;
    }
    return FOUND_MAGIC;
}

/* Read length bytes and continue the CRC over them; bytes beyond capacity are not kept. */
static cm_status receive_payload(uint8_t *buffer, size_t capacity, uint32_t length, uint32_t *crc)
{
    uint8_t discarded[DISCARD_BYTES];
    const bool fits = length <= capacity;
    uint32_t received = 0;
    while (received < length) {
        const uint32_t left = length - received;
        const uint32_t piece = fits || left < DISCARD_BYTES ? left : DISCARD_BYTES;
        uint8_t *target = fits ? buffer : discarded;
        if (port_receive(target, piece, PROTOCOL_PATIENCE_MS) != piece) {
            return CM_ERR_FRAME_SHORT;
        }
        *crc = cm_crc32c(*crc, target, piece);
        received += piece;
    }
    return fits ? CM_OK : CM_ERR_TOO_MANY;
}

static void parse_header(const uint8_t *header, request *out)
{
    out->kind = header[AT_KIND];
    out->key = header[REQUEST_AT_KEY];
    out->xof = header[REQUEST_AT_XOF];
    out->log2_scale = header[REQUEST_AT_LOG2_SCALE];
    out->length = load32(header + REQUEST_AT_LENGTH);
}

/* The rest of a request, after its magic. */
static cm_status receive_request(request *out, uint8_t *buffer, size_t capacity)
{
    uint8_t header[REQUEST_HEADER_BYTES];
    memcpy(header, request_magic, MAGIC_BYTES);
    const size_t rest = REQUEST_HEADER_BYTES - MAGIC_BYTES;
    if (port_receive(header + MAGIC_BYTES, rest, PROTOCOL_PATIENCE_MS) != rest) {
        return CM_ERR_FRAME_SHORT;
    }
    parse_header(header, out);
    if (header[AT_VERSION] != PROTOCOL_VERSION) {
        return CM_ERR_FRAME_VERSION;
    }
    if (out->length > PROTOCOL_MAX_PAYLOAD) {
        return CM_ERR_FRAME_FIELD;
    }
    uint32_t crc = cm_crc32c(0, header, sizeof header);
    const cm_status status = receive_payload(buffer, capacity, out->length, &crc);
    uint8_t sent_crc[CRC_BYTES];
    if (status == CM_ERR_FRAME_SHORT ||
        port_receive(sent_crc, sizeof sent_crc, PROTOCOL_PATIENCE_MS) != sizeof sent_crc) {
        return CM_ERR_FRAME_SHORT;
    }
    if (load32(sent_crc) != crc) {
        return CM_ERR_FRAME_CRC;
    }
    out->sequence = load16(header + REQUEST_AT_SEQUENCE);
    return header[REQUEST_AT_ZERO] == 0 ? status : CM_ERR_FRAME_FIELD;
}

bool protocol_receive(request *out, uint8_t *buffer, size_t capacity, cm_status *status)
{
    memset(out, 0, sizeof *out);
    out->sequence = PROTOCOL_NO_SEQUENCE;
    switch (find_magic(PORT_NO_LIMIT)) {
    case FOUND_MAGIC:
        *status = receive_request(out, buffer, capacity);
        return true;
    case FOUND_NOTHING:
        *status = CM_ERR_FRAME_MAGIC;
        return true;
    case FOUND_END:
    default:
        return false;
    }
}

int protocol_reply(reply_kind kind, uint16_t sequence, const uint8_t *payload, size_t length)
{
    uint8_t record[REPLY_HEADER_BYTES + REPLY_MAX_PAYLOAD + CRC_BYTES];
    if (length > REPLY_MAX_PAYLOAD) {
        return -1;
    }
    memcpy(record, reply_magic, MAGIC_BYTES);
    record[AT_VERSION] = PROTOCOL_VERSION;
    record[AT_KIND] = (uint8_t)kind;
    store16(record + REPLY_AT_SEQUENCE, sequence);
    store32(record + REPLY_AT_LENGTH, (uint32_t)length);
    memcpy(record + REPLY_HEADER_BYTES, payload, length);
    const size_t covered = REPLY_HEADER_BYTES + length;
    store32(record + covered, cm_crc32c(0, record, covered));
    return port_send(record, covered + CRC_BYTES);
}

static bool is_polynomial(const request *came, uint16_t sequence, unsigned component, unsigned prime,
                          size_t length)
{
    return came->sequence == sequence && came->key == component && came->xof == prime &&
           came->log2_scale == 0 && came->length == length;
}

cm_status protocol_ask_polynomial(uint16_t sequence, unsigned component, unsigned prime, uint64_t key_id,
                                  uint8_t *buffer, size_t length)
{
    uint8_t wanted[POLYNOMIAL_WANTED_BYTES] = {(uint8_t)component, (uint8_t)prime};
    store64(wanted + 4, key_id);
    if (protocol_reply(REPLY_POLYNOMIAL_WANTED, sequence, wanted, sizeof wanted) != 0) {
        return CM_ERR_SINK;
    }
    if (find_magic(PROTOCOL_HOST_PATIENCE_MS) != FOUND_MAGIC) {
        return CM_ERR_FRAME_SHORT;
    }
    request came = {0};
    const cm_status status = receive_request(&came, buffer, length);
    if (status != CM_OK && status != CM_ERR_TOO_MANY) {
        return status;
    }
    if (came.kind != REQUEST_POLYNOMIAL) {
        return CM_ERR_FRAME_FIELD;
    }
    return is_polynomial(&came, sequence, component, prime, length) ? CM_OK : CM_ERR_PUBLIC_KEY;
}
