/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a gateway over HTTPS, or a broker, says to the firmware that delivers by itself (ports/netfirmware).
 * Whatever it is, the delivery ends, its answer fits, and what the firmware has sent is whole packets. Two
 * choices: the transport, and how the bytes are cut into pieces. Deliveries are numbered, so the number 1 in
 * an input's correlation data stands for that of the delivery under way.
 */
#include "board.h"
#include "clock.h"
#include "delivery.h"
#include "fuzz.h"
#include "sensor.h"
#include "tls.h"

const size_t fuzz_choices = 2;

enum { WINDOW_BYTES = 100, STEP_MS = 500, PINGS = 3 };

static uint8_t *input;
static size_t input_left;
static unsigned piece_seed;
static bool connected;
static uint32_t now_ms;
static uint8_t sent[4096];
static size_t sent_bytes;
static unsigned published;

/* ---- what the firmware stands on ---- */

uint32_t clock_ms(void)
{
    return now_ms += STEP_MS;
}

void uart_send(const uint8_t *bytes, size_t length)
{
    (void)bytes;
    (void)length;
}

outcome tls_connect(const tls_server *server)
{
    (void)server;
    fuzz_expect(!connected, "there is one connection at a time");
    connected = true;
    sent_bytes = 0;
    return DONE;
}

outcome tls_write(const uint8_t *bytes, size_t length)
{
    fuzz_expect(connected, "only a connection is written to");
    if (length > sizeof sent - sent_bytes) {
        return outcome_set(TRY_AGAIN, "The connection ended."); /* many acknowledgements */
    }
    memcpy(sent + sent_bytes, bytes, length);
    sent_bytes += length;
    return DONE;
}

outcome tls_flush(void)
{
    return DONE;
}

outcome tls_read(uint8_t *out, size_t length, uint32_t patience_ms, size_t *got)
{
    fuzz_expect(connected && length > 0, "only a connection is read from");
    *got = 0;
    if (input_left == 0) {
        now_ms += patience_ms;
        return fuzz_chance(&piece_seed) % 2 ? DONE : outcome_set(TRY_AGAIN, "The connection ended.");
    }
    size_t piece = 1 + fuzz_chance(&piece_seed) % 64;
    piece = piece < length ? piece : length;
    piece = piece < input_left ? piece : input_left;
    memcpy(out, input, piece);
    input += piece;
    input_left -= piece;
    *got = piece;
    return DONE;
}

/* Every packet that was sent over this connection is whole; a window is sent in one of them. */
static void expect_packets(void)
{
    for (size_t at = 0; at < sent_bytes;) {
        const uint8_t type = sent[at++];
        size_t length = 0;
        for (unsigned shift = 0; shift < 28; shift += 7) {
            fuzz_expect(at < sent_bytes, "a packet has its length");
            length |= (size_t)(sent[at] & 0x7Fu) << shift;
            if (!(sent[at++] & 0x80u)) {
                break;
            }
        }
        published += type == 0x32;
        fuzz_expect(length <= sent_bytes - at || sent_bytes + 8 > sizeof sent - WINDOW_BYTES,
                    "a packet is whole");
        at += length;
    }
}

void tls_close(void)
{
    connected = false;
}

uint32_t sensor_measured(void)
{
    return 1800000000u;
}

size_t sensor_window_bytes(void)
{
    return WINDOW_BYTES;
}

/* Over MQTT the delivery's number is what was sent last. */
static void number_answers(void)
{
    static const uint8_t first[] = {0x09, 0, 4, 0, 0, 0, 1};
    for (size_t i = 0; i + sizeof first <= input_left; i++) {
        if (memcmp(input + i, first, sizeof first) == 0) {
            memcpy(input + i + 3, sent + sent_bytes - 4, 4);
        }
    }
}

cm_status sensor_send(cm_sink sink)
{
    number_answers();
    static const uint8_t window[WINDOW_BYTES];
    return sink.write(sink.context, window, sizeof window) == 0 ? CM_OK : CM_ERR_SINK;
}

/* ---- the target ---- */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < fuzz_choices) {
        return 0;
    }
    const bool mqtt = fuzz_choice(data[0], 2);
    answer found;
    piece_seed = data[1];
    uint8_t *const copy = malloc(size);
    memcpy(copy, data, size);
    input = copy + fuzz_choices;
    input_left = size - fuzz_choices;
    const outcome result = mqtt ? mqtt_deliver(&found) : https_deliver(&found);
    fuzz_expect(found.length <= ANSWER_BYTES, "an answer fits");
    fuzz_expect(result == DONE || *outcome_sentence(), "what is not done is explained");
    if (mqtt) {
        fuzz_expect(connected == (result == DONE), "a connection whose end is in doubt is closed");
        for (unsigned i = 0; i < PINGS; i++) {
            now_ms += 20000u;
            mqtt_keep();
        }
        published = 0;
        expect_packets();
        fuzz_expect(result != DONE || published == 1, "an answer is to a window that was sent");
        mqtt_close();
    } else {
        fuzz_expect(memcmp(sent, "POST /v1/fleets/meters/deliveries?measured=1800000000 HTTP/1.1\r\n", 64) ==
                        0,
                    "it is a POST");
    }
    fuzz_expect(!connected, "the connection is closed");
    free(copy);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    (void)seed;
    return LLVMFuzzerMutate(data, size, max_size);
}

void fuzz_first_inputs(fuzz_store store)
{
    static const char https[] = "\0\1HTTP/1.1 200 OK\r\nX: y\r\nContent-Length: 40\r\n\r\n"
                                "0123456789012345678901234567890123456789";
    static const char refused[] = "\0\1HTTP/1.1 403 No\r\nContent-Length: 14\r\n\r\n{\"status\":403}";
    static const char mqtt[] = "\1\1\x20\3\0\0\0\x90\4\0\1\0\1\x40\4\0\3\0\0"
                               "\x32\x2d\0\1x\0\7\x19\x26\0\6status\0\7receipt\x09\0\4\0\0\0\1"
                               "01234567890123";
    static const char problem[] = "\1\2\x20\3\0\0\0\x90\4\0\1\0\1"
                                  "\x30\x2c\0\1x\x19\x26\0\6status\0\7refused"
                                  "\x09\0\4\0\0\0\1{\"status\":503} ";
    store("https", (const uint8_t *)https, sizeof https - 1);
    store("refused", (const uint8_t *)refused, sizeof refused - 1);
    store("mqtt", (const uint8_t *)mqtt, sizeof mqtt - 1);
    store("problem", (const uint8_t *)problem, sizeof problem - 1);
}
