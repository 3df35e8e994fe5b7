/* SPDX-License-Identifier: Apache-2.0 */
/* Deliveries over HTTPS: a POST, whose answer ends with the connection or its Content-Length. */
#include <stdbool.h>
#include <string.h>

#include "delivery.h"
#include "network_settings.h"
#include "sensor.h"
#include "text.h"
#include "tls.h"

#define LINE_BYTES 128u

static const char target[] = "POST /v1/fleets/" NETWORK_FLEET "/deliveries";
static const char head[] = " HTTP/1.1\r\n"
                           "Host: " NETWORK_GATEWAY_NAME "\r\n"
                           "Authorization: Bearer " NETWORK_TOKEN "\r\n"
                           "Content-Type: application/octet-stream\r\n"
                           "Connection: close\r\n"
                           "Content-Length: ";

static outcome write_text(const char *text)
{
    return tls_write((const uint8_t *)text, strlen(text));
}

static outcome write_number(uint64_t number)
{
    char buffer[TEXT_NUMBER_BYTES];
    return write_text(text_number(buffer, number));
}

static outcome send_head(void)
{
    outcome result = write_text(target);
    if (result == DONE && sensor_measured() != 0) {
        result = write_text("?measured=");
        if (result == DONE) {
            result = write_number(sensor_measured());
        }
    }
    if (result == DONE) {
        result = write_text(head);
    }
    if (result == DONE) {
        result = write_number(sensor_window_bytes());
    }
    return result == DONE ? write_text("\r\n\r\n") : result;
}

/* The answer's bytes, one by one. */
typedef struct source {
    uint8_t piece[64];
    size_t at, filled;
} source;

static bool next_byte(source *from, uint8_t *byte)
{
    if (from->at == from->filled) {
        from->at = 0;
        if (tls_read(from->piece, sizeof from->piece, ANSWER_MS, &from->filled) != DONE ||
            from->filled == 0) {
            from->filled = 0;
            return false;
        }
    }
    *byte = from->piece[from->at++];
    return true;
}

/* A line of the head without its end, cut to what the buffer takes. */
static bool next_line(source *from, char line[LINE_BYTES])
{
    size_t length = 0;
    uint8_t byte;
    while (next_byte(from, &byte)) {
        if (byte == '\n') {
            line[length] = '\0';
            return true;
        }
        if (byte != '\r' && length < LINE_BYTES - 1u) {
            line[length++] = (char)byte;
        }
    }
    return false;
}

static outcome no_answer(void)
{
    return outcome_set(TRY_AGAIN, "The gateway's answer did not come, or not whole.");
}

static bool starts_with(const char *line, const char *lower_case)
{
    for (; *lower_case; line++, lower_case++) {
        const char letter = *line >= 'A' && *line <= 'Z' ? (char)(*line + ('a' - 'A')) : *line;
        if (letter != *lower_case) {
            return false;
        }
    }
    return true;
}

static outcome read_answer(answer *out)
{
    static const char length_field[] = "content-length:";
    source from = {.filled = 0};
    char line[LINE_BYTES];
    uint32_t status, length = 0;
    if (!next_line(&from, line)) {
        return no_answer();
    }
    if (!starts_with(line, "http/1.1 ") || !text_parse(line + 9, &status)) {
        return outcome_set(REFUSED,
                           "What answered at the gateway's port does not speak HTTP/1.1: see the port.");
    }
    do {
        if (!next_line(&from, line)) {
            return no_answer();
        }
        if (starts_with(line, length_field) && !text_parse(line + sizeof length_field - 1u, &length)) {
            return no_answer();
        }
    } while (line[0] != '\0');
    for (uint32_t i = 0; i < length; i++) {
        uint8_t byte;
        if (!next_byte(&from, &byte)) {
            return no_answer();
        }
        if (out->length < sizeof out->bytes) {
            out->bytes[out->length++] = byte;
        }
    }
    return judge_status(status);
}

outcome https_deliver(answer *out)
{
    static const tls_server gateway = {NETWORK_GATEWAY_ADDRESS, NETWORK_GATEWAY_PORT, NETWORK_GATEWAY_NAME};
    out->length = 0;
    mqtt_close(); /* there is one connection at a time */
    outcome result = tls_connect(&gateway);
    if (result != DONE) {
        return result;
    }
    result = send_head();
    if (result == DONE) {
        result = stream_window();
    }
    /* A gateway that refuses a delivery may say so, and close, before all of it was sent. */
    if (result == DONE || result == TRY_AGAIN) {
        const char *why = outcome_sentence();
        const outcome answered = read_answer(out);
        if (result == DONE || out->length > 0) {
            result = answered;
        } else {
            (void)outcome_set(result, why);
        }
    }
    tls_close();
    return result;
}
