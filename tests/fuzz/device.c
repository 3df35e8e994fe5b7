/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reference application behind its link: requests of every kind, valid and invalid. Whatever arrives,
 * each request is answered by valid records, the last of them an end record; and after the device has asked
 * for a polynomial of the public key, it sends nothing encrypted unless just that polynomial came. No
 * choices.
 */
#define _GNU_SOURCE /* memmem */
#include "application.h"
#include "bytes.h"
#include "fuzz.h"
#include "port.h"
#include "protocol.h"

enum { REQUEST_HEADER = 16, REPLY_HEADER = 12, CRC = 4, N = 1024, POLYNOMIAL_BYTES = 4 * N };

const size_t fuzz_choices = 0;

static const uint8_t *link_bytes;
static size_t link_length;

size_t port_receive(uint8_t *out, size_t length, uint32_t patience_ms)
{
    (void)patience_ms;
    const size_t count = length < link_length ? length : link_length;
    memcpy(out, link_bytes, count);
    link_bytes += count;
    link_length -= count;
    return count;
}

/* As provisioned_keys.h describes it. */
static void write_polynomial(uint8_t *bytes, unsigned component)
{
    for (uint32_t i = 0; i < N; i++) {
        store32(bytes + 4u * i, 1u + i + 4096u * component);
    }
}

static const uint8_t *wanted_since; /* where the link was when a polynomial was asked for; or null */
static unsigned wanted;

static void note_polynomial(const uint8_t *reply)
{
    if (wanted_since && reply[5] != REPLY_END) {
        uint8_t polynomial[POLYNOMIAL_BYTES];
        write_polynomial(polynomial, wanted);
        fuzz_expect(
            memmem(wanted_since, (size_t)(link_bytes - wanted_since), polynomial, sizeof polynomial) != NULL,
            "nothing goes on without the owner's polynomial");
    }
    wanted_since = reply[5] == REPLY_POLYNOMIAL_WANTED ? link_bytes : NULL;
    wanted = reply[REPLY_HEADER];
    fuzz_expect(!wanted_since || (wanted < 2 && reply[REPLY_HEADER + 1] == 0), "the key has what is wanted");
}

int port_send(const uint8_t *bytes, size_t length)
{
    fuzz_expect(length >= REPLY_HEADER + CRC && memcmp(bytes, "CMRP", 4) == 0, "a reply has its header");
    fuzz_expect(load32(bytes + 8) == length - REPLY_HEADER - CRC && load32(bytes + 8) <= REPLY_MAX_PAYLOAD,
                "a reply is as long as it says");
    fuzz_expect(load32(bytes + length - CRC) == cm_crc32c(0, bytes, length - CRC),
                "a reply has its checksum");
    fuzz_expect(bytes[5] != REPLY_END || load32(bytes + REPLY_HEADER) <= CM_ERR_PUBLIC_KEY,
                "a status is one of ours");
    note_polynomial(bytes);
    return 0;
}

const cm_platform *port_platform(void)
{
    static test_platform state;
    static cm_platform platform;
    state = (test_platform){0};
    platform = (cm_platform){test_random_bytes, device_counter_read, device_counter_write, &state};
    return &platform;
}

static uint8_t record_bytes[DEVICE_RECORD_BYTES];

int port_record_read(device_record *record)
{
    return device_record_unpack(record_bytes, record) ? 0 : -1;
}

int port_record_write(const device_record *record)
{
    device_record_pack(record_bytes, record);
    return 0;
}

int port_show(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        fuzz_expect(text[i] == ' ' || text[i] == '\n' || (text[i] >= '0' && text[i] <= '9'),
                    "what is shown are numbers");
    }
    return 0;
}

size_t port_static_bytes(void)
{
    return 0;
}

size_t port_ram_bytes(void)
{
    return 0;
}

void port_stack_watch(void)
{
}

size_t port_stack_used(void)
{
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *own = malloc(size);
    if (size > 0) {
        memcpy(own, data, size);
    }
    device_record_pack(record_bytes, &(device_record){.counter = 0});
    link_bytes = own;
    link_length = size;
    wanted_since = NULL;
    fuzz_expect(application_run() == 0, "the link does not break");
    free(own);
    return 0;
}

/*
 * Give the requests in the stream, one after the other, a magic, a version, a matching length and a checksum.
 */
static void repair(uint8_t *bytes, size_t length, unsigned *seed)
{
    while (length >= REQUEST_HEADER + CRC) {
        const size_t room = length - REQUEST_HEADER - CRC;
        const bool spare = fuzz_chance(seed) % 64 == 0;
        memcpy(bytes, "CMRQ\1", 5);
        if (!spare && load32(bytes + 12) > room) {
            store32(bytes + 12, (uint32_t)(fuzz_chance(seed) % 256 < room ? fuzz_chance(seed) % 256 : room));
        }
        if (fuzz_chance(seed) % 16 != 0) {
            bytes[5] %= REQUEST_POLYNOMIAL + 1;
            bytes[9] = 0;
        }
        const size_t payload = load32(bytes + 12) < room ? load32(bytes + 12) : room;
        const size_t covered = REQUEST_HEADER + payload;
        if (!spare) {
            store32(bytes + covered, cm_crc32c(0, bytes, covered));
        }
        bytes += covered + CRC;
        length -= covered + CRC;
    }
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    size = LLVMFuzzerMutate(data, size, max_size);
    if (fuzz_chance(&seed) % 8 != 0) {
        repair(data, size, &seed);
    }
    return size;
}

/* ---- first inputs ---- */

static uint8_t stream[1 << 15];
static size_t stream_length;

static void ask(uint8_t kind, uint8_t key, uint8_t xof, uint8_t log2_scale, const void *payload,
                size_t length)
{
    uint8_t *at = stream + stream_length;
    memset(at, 0, REQUEST_HEADER);
    memcpy(at, "CMRQ\1", 5);
    at[5] = kind;
    at[6] = key;
    at[7] = xof;
    at[8] = log2_scale;
    store32(at + 12, (uint32_t)length);
    memcpy(at + REQUEST_HEADER, payload, length);
    store32(at + REQUEST_HEADER + length, cm_crc32c(0, at, REQUEST_HEADER + length));
    stream_length += REQUEST_HEADER + length + CRC;
}

/* A result at one prime, as a server would return it. */
static void ask_result(cm_scheme scheme, uint64_t counter)
{
    static uint8_t frames[1 << 14];
    const size_t length = fuzz_frames(frames, sizeof frames, &cm_n1024_q26, scheme, CM_XOF_NONE, 0, counter);
    for (size_t at = 0; at < length; at += 1024) {
        ask(REQUEST_AIDED_RESULT, 0, 0, 0, frames + at, length - at < 1024 ? length - at : 1024);
    }
    ask(REQUEST_AIDED_ANSWER, 0, 0, 0, "", 0);
}

void fuzz_first_inputs(fuzz_store store)
{
    static const float values[8] = {1.0f, -2.0f, 0.25f};
    static const int16_t vectors[8] = {1, 2, 3, 4, -5, 6, -7, 8};
    ask(REQUEST_REPORT, 0, 0, 0, "", 0);
    ask(REQUEST_ENCRYPT_VALUES, KEY_SYMMETRIC, CM_XOF_CHACHA20, 10, values, sizeof values);
    ask(REQUEST_ENCRYPT_WINDOW, KEY_SYMMETRIC, CM_XOF_SHAKE256, 0, values, sizeof values);
    ask(REQUEST_STOP, 0, 0, 0, "", 0);
    store("requests", stream, stream_length);
    stream_length = 0;
    ask(REQUEST_ENCRYPT_VALUES, KEY_ASYMMETRIC, CM_XOF_NONE, 10, values, sizeof values);
    for (unsigned component = 2; component-- > 0;) {
        uint8_t polynomial[POLYNOMIAL_BYTES];
        write_polynomial(polynomial, component);
        ask(REQUEST_POLYNOMIAL, (uint8_t)component, 0, 0, polynomial, sizeof polynomial);
    }
    store("key", stream, stream_length);
    for (unsigned is_bfv = 0; is_bfv < 2; is_bfv++) {
        const cm_scheme scheme = is_bfv ? CM_BFV : CM_CKKS;
        stream_length = 0;
        ask(REQUEST_AIDED_BEGIN, (uint8_t)scheme, 0, 0, is_bfv ? (const void *)vectors : values,
            is_bfv ? sizeof vectors : sizeof values);
        ask_result(scheme, 0);
        ask_result(scheme, 1);
        store(is_bfv ? "bfv" : "ckks", stream, stream_length);
    }
}
