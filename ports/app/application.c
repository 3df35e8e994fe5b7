/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests in, encrypted frames out. The keys and the model are compiled in from two generated headers, and
 * stay in flash; all memory that changes is in one static structure and on the stack.
 */
#include "application.h"

#include <stdbool.h>
#include <string.h>

#include "bytes.h"
#include "ciphermote/ciphermote.h"
#include "phase.h"
#include "port.h"
#include "protocol.h"
#include "provisioned_keys.h"

/* 0: the port takes values only; neither a model nor floating-point arithmetic is compiled in. */
#ifndef APP_WINDOWS
#define APP_WINDOWS 1
#endif
#if APP_WINDOWS
#include "app_model.h"
#include "window_features.h"
#endif

/* 1: a network's layers are computed by a server in client-aided rounds, which takes a secret key. */
#ifndef APP_AIDED
#define APP_AIDED 0
#endif
#if APP_AIDED
#include "aided_model.h"
#include "device_record.h"
#include "rounds.h"

/* Client-aided sessions that a key serves before it is replaced; docs/client-aided.md says why so few. */
#ifndef APP_SESSION_BUDGET
#define APP_SESSION_BUDGET 256u
#endif
#endif

/* Encryption works on n / 2^APP_LOG2_TILES coefficients at a time: the dial between RAM and time. */
#ifndef APP_LOG2_TILES
#define APP_LOG2_TILES CM_LOG2_TILES
#endif

#ifndef CM_PROVISIONED_SECRET_KEY
#define CM_PROVISIONED_SECRET_KEY 0
#endif
#ifndef CM_PROVISIONED_PUBLIC_KEY
#define CM_PROVISIONED_PUBLIC_KEY 0
#endif
/* 1: the public key arrives over the link while it is used, and the header has its digests. */
#ifndef CM_PROVISIONED_STREAMED_KEY
#define CM_PROVISIONED_STREAMED_KEY 0
#endif
/* 1: frames are tagged, and a window's readings are kept until its receipt has come. */
#ifndef CM_PROVISIONED_TAGGED
#define CM_PROVISIONED_TAGGED 0
#endif
#if CM_PROVISIONED_TAGGED
#include "window.h"

/* 1: the port has port_window_read and port_window_write, so an unreceipted window survives restarts. */
#ifndef APP_WINDOW_STORE
#define APP_WINDOW_STORE 0
#endif
#endif
#if !CM_PROVISIONED_SECRET_KEY && !CM_PROVISIONED_PUBLIC_KEY
#error "provisioned_keys.h holds no key: make it with `ciphermote provision`."
#endif

#if CM_PROVISIONED_N >> CM_CONFIG_MAX_LOG2_N > 1
#error "The keys' n is above this firmware's: provision a smaller n, or build with MAX_LOG2_N=13 or 14."
#endif

#define MESSAGE_BYTES CM_CKKS_MESSAGE_BYTES(CM_PROVISIONED_N, CM_SLOTS_REAL, CM_FIXED_31)
#define SYMMETRIC_BYTES \
    CM_CKKS_SYMMETRIC_ARENA_BYTES(CM_PROVISIONED_N, CM_SLOTS_REAL, CM_FIXED_31, APP_LOG2_TILES)
#define ASYMMETRIC_BYTES \
    CM_CKKS_ASYMMETRIC_ARENA_BYTES(CM_PROVISIONED_N, CM_SLOTS_REAL, CM_FIXED_31, APP_LOG2_TILES)
#define ENCRYPTION_BYTES (CM_PROVISIONED_PUBLIC_KEY ? ASYMMETRIC_BYTES : SYMMETRIC_BYTES)
#if APP_AIDED
#define ARENA_BYTES CM_AIDED_LARGER(ENCRYPTION_BYTES, ROUNDS_ARENA_BYTES(CM_PROVISIONED_N))
#define RESULT_PIECE_BYTES 1024u
_Static_assert(CM_PROVISIONED_SECRET_KEY, "client-aided rounds decrypt: provision the secret key");
#else
#define ARENA_BYTES ENCRYPTION_BYTES
#endif

_Static_assert(ASYMMETRIC_BYTES >= SYMMETRIC_BYTES, "one arena serves both kinds of key");
_Static_assert(CM_FRAME_PIECE_BYTES <= REPLY_MAX_PAYLOAD, "what the frame writer hands over fits a record");

static struct {
    /* A request's values arrive in the arena's first MESSAGE_BYTES, and are encrypted in place. */
    uint64_t arena[(ARENA_BYTES + 7u) / 8u];
    cm_device device;
    cm_frame_writer writer;
    cm_status device_status; /* from cm_device_init; nothing is encrypted unless it is CM_OK */
    uint32_t frame_bytes;    /* sent for the current request */
    uint32_t deepest_stack;  /* since the start */
    uint16_t sequence;       /* of the current request */
    bool link_broken;
#if CM_PROVISIONED_STREAMED_KEY
    uint32_t key_polynomials[2u * CM_PROVISIONED_N]; /* of the public key, at the prime in use */
#endif
#if CM_PROVISIONED_TAGGED
    cm_frame_sender sender;
    window_head window;
    uint8_t record[WINDOW_RECORD_BYTES(MESSAGE_BYTES)]; /* the window's, with its values */
    uint8_t window_state;
    bool window_lost; /* what was stored at the start is damaged, or of an earlier enrolment */
#endif
#if APP_AIDED
#if CM_PROVISIONED_TAGGED
    cm_frame_expected results;
#endif
    rounds rounds;
    uint8_t piece[RESULT_PIECE_BYTES]; /* of a result, while the arena holds a decryption */
#endif
} app;

static uint8_t *message(void)
{
    return (uint8_t *)app.arena;
}

/* Through a volatile pointer, so that it is not optimised away. */
static void wipe(volatile uint8_t *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        bytes[i] = 0;
    }
}

/* Leave no values behind that were not encrypted. */
static void wipe_message(void)
{
    wipe(message(), MESSAGE_BYTES);
}

#if CM_PROVISIONED_TAGGED

enum { NO_WINDOW, WINDOW_BEGINS, WINDOW_OPEN }; /* app.window_state */

static uint64_t own_key_id(void)
{
#if CM_PROVISIONED_SECRET_KEY
    return cm_provisioned_secret_key.key_id;
#else
    return cm_provisioned_public_key.key_id;
#endif
}

static int store_window(void)
{
    const size_t length = window_pack(app.record, &app.window);
#if APP_WINDOW_STORE
    return port_window_write(app.record, length);
#else
    (void)length;
    return 0;
#endif
}

static int forget_window(void)
{
    wipe(app.record, sizeof app.record);
    app.window_state = NO_WINDOW;
#if APP_WINDOW_STORE
    return port_window_write(app.record, 0);
#else
    return 0;
#endif
}

static void start_windows(void)
{
    cm_frame_sender_init(&app.sender, cm_provisioned_tag_key, CM_PROVISIONED_DEVICE, CM_PROVISIONED_EPOCH);
    app.window = (window_head){.sent = {.device = CM_PROVISIONED_DEVICE, .epoch = CM_PROVISIONED_EPOCH},
                               .key_id = own_key_id()};
    app.window_state = NO_WINDOW;
    app.window_lost = false;
#if APP_WINDOW_STORE
    size_t length = 0;
    const int failed = port_window_read(app.record, sizeof app.record, &length);
    if (!failed && length == 0) {
        return;
    }
    app.window_lost = failed || !window_unpack(app.record, length, &app.window);
    app.window_state = app.window_lost ? NO_WINDOW : WINDOW_OPEN;
#endif
}

/*
 * Before the first byte of a new window leaves, its number is known, and the record is stored: from here on
 * it is open.
 */
static int open_window(void)
{
    if (app.window_state != WINDOW_BEGINS) {
        return 0;
    }
    app.window.sent.window = app.sender.window;
    app.window.sent.counter = WINDOW_NOT_SENT;
    app.window_state = WINDOW_OPEN;
    return store_window();
}

#else

static int open_window(void)
{
    return 0;
}

#endif

static int send_frame_bytes(void *context, const uint8_t *bytes, size_t length)
{
    (void)context;
    if (open_window() != 0) {
        return -1;
    }
    const phase interrupted = phase_enter(PHASE_NONE);
    const int failed = protocol_reply(REPLY_DATA, app.sequence, bytes, length);
    (void)phase_enter(interrupted);
    if (failed) {
        app.link_broken = true;
    } else {
        app.frame_bytes += (uint32_t)length;
    }
    return failed;
}

#if CM_PROVISIONED_STREAMED_KEY

static cm_status load_key_polynomial(void *context, unsigned component, unsigned prime, uint8_t *bytes,
                                     size_t length)
{
    (void)context;
    const phase interrupted = phase_enter(PHASE_NONE);
    const cm_status status = protocol_ask_polynomial(app.sequence, component, prime,
                                                     cm_provisioned_public_key.key_id, bytes, length);
    (void)phase_enter(interrupted);
    return status;
}

static void start_key(void)
{
    cm_provisioned_streamed_key.residues = app.key_polynomials;
    cm_provisioned_streamed_key.load = load_key_polynomial;
    cm_provisioned_streamed_key.held = 0;
}

/* Why the key did not come, where that is known. */
static cm_status explain(cm_status status)
{
    return status == CM_ERR_PUBLIC_KEY ? cm_provisioned_streamed_key.status : status;
}

#else

static void start_key(void)
{
}

static cm_status explain(cm_status status)
{
    return status;
}

#endif

/* A new ciphertext's frames are sent as records. */
static cm_encryptor_setup open_writer(cm_xof_kind xof)
{
    cm_frame_writer_init(&app.writer, (cm_sink){.write = send_frame_bytes});
#if CM_PROVISIONED_TAGGED
    cm_frame_writer_tag(&app.writer, &app.sender);
#endif
    return (cm_encryptor_setup){.device = &app.device,
                                .emitter = &app.writer.emitter,
                                .arena = app.arena,
                                .arena_bytes = sizeof app.arena,
                                .xof = xof,
                                .log2_tiles = APP_LOG2_TILES};
}

/* CM_ERR_UNSUPPORTED if that kind of key is not compiled in. */
static cm_status open_encryptor(const request *asked, cm_encryptor *encryptor)
{
    const cm_encryptor_setup setup = open_writer((cm_xof_kind)asked->xof);
#if CM_PROVISIONED_SECRET_KEY
    if (asked->key == KEY_SYMMETRIC) {
        return cm_encryptor_init_symmetric(encryptor, &cm_provisioned_secret_key, &setup);
    }
#endif
#if CM_PROVISIONED_PUBLIC_KEY
    if (asked->key == KEY_ASYMMETRIC) {
        return cm_encryptor_init_asymmetric(encryptor, &cm_provisioned_public_key, &setup);
    }
#endif
    return CM_ERR_UNSUPPORTED;
}

static bool key_fields_valid(const request *asked)
{
    if (asked->key == KEY_SYMMETRIC) {
        return asked->xof >= CM_XOF_BLAKE2XB && asked->xof <= CM_XOF_CHACHA20;
    }
    return asked->key == KEY_ASYMMETRIC && asked->xof == CM_XOF_NONE;
}

static cm_status check_encryption(const request *asked)
{
    return key_fields_valid(asked) ? app.device_status : CM_ERR_FRAME_FIELD;
}

/* Encrypt the count values at the start of the arena. */
static cm_status encrypt_arena(const request *asked, uint32_t count, int16_t log2_scale)
{
    const cm_ckks_values values = {.data = app.arena,
                                   .count = count,
                                   .number = CM_FLOAT32,
                                   .slots = CM_SLOTS_REAL,
                                   .log2_scale = log2_scale,
                                   .precision = CM_FIXED_31,
                                   .largest = CM_PROVISIONED_LARGEST};
    cm_encryptor encryptor;
    const cm_status status = open_encryptor(asked, &encryptor);
    return status == CM_OK ? explain(cm_ckks_encrypt(&encryptor, &values)) : status;
}

#if CM_PROVISIONED_TAGGED

/* An attempt to send the window, which a receipt then has to name; one that fails leaves the earlier one. */
static cm_status attempt(const request *asked)
{
    memcpy(message(), app.record + WINDOW_HEAD_BYTES, app.window.value_bytes);
    const uint32_t count = app.window.value_bytes / (uint32_t)sizeof(float);
    const cm_status status = encrypt_arena(asked, count, app.window.log2_scale);
    if (status != CM_OK) {
        return status;
    }
    app.window.sent = cm_frame_writer_attempt(&app.writer);
    return store_window() == 0 ? CM_OK : CM_ERR_COUNTER;
}

static cm_status encrypt(const request *asked, uint32_t count, int16_t log2_scale)
{
    cm_status status = check_encryption(asked);
    if (status != CM_OK) {
        return status;
    }
    if (app.window_state == WINDOW_OPEN) {
        return CM_ERR_UNRECEIPTED;
    }
    app.window.value_bytes = count * (uint32_t)sizeof(float);
    app.window.log2_scale = (uint8_t)log2_scale;
    memcpy(app.record + WINDOW_HEAD_BYTES, message(), app.window.value_bytes);
    cm_frame_sender_begin_window(&app.sender);
    app.window_state = WINDOW_BEGINS;
    status = attempt(asked);
    if (app.window_state == WINDOW_BEGINS) { /* nothing of it has left */
        wipe(app.record, sizeof app.record);
        app.window_state = NO_WINDOW;
    }
    return status;
}

static cm_status encrypt_again(const request *asked)
{
    if (asked->length != 0 || asked->log2_scale != 0 || app.window_state != WINDOW_OPEN) {
        return CM_ERR_FRAME_FIELD;
    }
    const cm_status status = check_encryption(asked);
    cm_frame_sender_resume_window(&app.sender, app.window.sent.window);
    return status == CM_OK ? attempt(asked) : status;
}

/* Whatever its verdict, the gateway needs the readings no more. */
static cm_status take_receipt(const request *asked)
{
    if (app.window_state != WINDOW_OPEN) {
        return CM_ERR_FRAME_FIELD;
    }
    cm_verdict verdict;
    const cm_status status =
        cm_receipt_check(message(), asked->length, cm_provisioned_receipt_key, &app.window.sent, &verdict);
    if (status != CM_OK) {
        return status;
    }
    return forget_window() == 0 ? CM_OK : CM_ERR_COUNTER;
}

#else

static cm_status encrypt(const request *asked, uint32_t count, int16_t log2_scale)
{
    const cm_status status = check_encryption(asked);
    return status == CM_OK ? encrypt_arena(asked, count, log2_scale) : status;
}

static cm_status encrypt_again(const request *asked)
{
    (void)asked;
    return CM_ERR_FRAME_FIELD;
}

static cm_status take_receipt(const request *asked)
{
    (void)asked;
    return CM_ERR_FRAME_FIELD;
}

#endif

#if APP_WINDOWS

#define WINDOW_BYTES ((uint32_t)APP_CHANNELS * APP_SAMPLES * sizeof(float))
#define SLOTS ((uint32_t)CM_PROVISIONED_N / 2u)

_Static_assert(APP_FEATURES == FEATURES_OF(APP_CHANNELS, APP_SAMPLES),
               "app_model.h: three features a sample");
_Static_assert(WINDOW_BYTES <= PROTOCOL_MAX_PAYLOAD, "a window fits a request");

static cm_status encrypt_window(const request *asked)
{
    static const standardisation standard = {app_mean, app_inverse_deviation, APP_CLIP};
    if (asked->length != WINDOW_BYTES || asked->log2_scale != 0) {
        return CM_ERR_FRAME_FIELD;
    }
    if (APP_FEATURES > SLOTS) {
        return CM_ERR_TOO_MANY;
    }
    const cm_status status = features_compute(message(), APP_CHANNELS, APP_SAMPLES, &standard);
    return status == CM_OK ? encrypt(asked, APP_FEATURES, APP_LOG2_SCALE) : status;
}

#else

static cm_status encrypt_window(const request *asked)
{
    (void)asked;
    return CM_ERR_UNSUPPORTED;
}

#endif

static cm_status encrypt_values(const request *asked)
{
    if (asked->length % sizeof(float) != 0) {
        return CM_ERR_FRAME_FIELD;
    }
    return encrypt(asked, asked->length / (uint32_t)sizeof(float), asked->log2_scale);
}

#if APP_AIDED

#define CLASS_CHARACTERS 4u
_Static_assert(ROUNDS_MAX_VECTORS *CLASS_CHARACTERS <= RESULT_PIECE_BYTES,
               "the piece holds a line of classes");

/*
 * Show the owner the classes of count vectors. Three digits and a space each, whatever the class, because the
 * time this takes can be seen on the link.
 */
static cm_status show_classes(uint32_t count)
{
    char *const text = (char *)app.piece;
    for (uint32_t i = 0; i < count; i++) {
        char *const characters = text + CLASS_CHARACTERS * i;
        const uint32_t class = app.rounds.classes[i];
        const uint32_t hundreds = class * 41u >> 12; /* class / 100 and class / 10, below 256 */
        const uint32_t tens = class * 205u >> 11;
        characters[0] = (char)('0' + hundreds);
        characters[1] = (char)('0' + tens - 10u * hundreds);
        characters[2] = (char)('0' + class - 10u * tens);
        characters[3] = i + 1u == count ? '\n' : ' ';
    }
    const int failed = port_show(text, CLASS_CHARACTERS * count);
    wipe(app.piece, sizeof app.piece);
    return failed ? CM_ERR_SINK : CM_OK;
}

static cm_status aided_begin(const request *asked)
{
    if ((asked->key != CM_BFV && asked->key != CM_CKKS) || asked->xof != 0 || asked->log2_scale != 0) {
        return CM_ERR_FRAME_FIELD;
    }
    if (app.device_status != CM_OK) {
        return app.device_status;
    }
    const cm_encryptor_setup setup = open_writer(CM_XOF_CHACHA20);
    cm_status status = rounds_open(&app.rounds, &aided_model, (cm_scheme)asked->key, asked->length,
                                   &cm_provisioned_secret_key, &setup);
#if CM_PROVISIONED_TAGGED
    if (status == CM_OK) {
        cm_frame_expected_init(&app.results, cm_provisioned_result_key, CM_PROVISIONED_DEVICE,
                               CM_PROVISIONED_EPOCH);
        status = cm_aided_tag(&app.rounds.aided, &app.sender, &app.results);
    }
#endif
    if (status == CM_OK) {
        status = show_classes(0);
    }
    if (status == CM_OK) {
        status = device_session_spend(cm_provisioned_secret_key.key_id, APP_SESSION_BUDGET);
    }
    return status == CM_OK ? rounds_send(&app.rounds) : status;
}

/* The next ciphertext; after the last round nothing, because the classes are for the owner only. */
static cm_status aided_answer(const request *asked)
{
    if (asked->length != 0) {
        return CM_ERR_FRAME_FIELD;
    }
    const cm_status status = rounds_answer(&app.rounds);
    return status == CM_OK && !app.rounds.awaiting ? show_classes(app.rounds.vectors) : status;
}

static cm_status answer_aided(const request *asked)
{
    if (asked->kind == REQUEST_AIDED_BEGIN && !app.rounds.awaiting) {
        return aided_begin(asked);
    }
    if (asked->kind == REQUEST_AIDED_RESULT && app.rounds.awaiting) {
        return rounds_feed(&app.rounds, app.piece, asked->length);
    }
    if (asked->kind == REQUEST_AIDED_ANSWER && app.rounds.awaiting) {
        return aided_answer(asked);
    }
    return CM_ERR_FRAME_FIELD;
}

/* Whether the arena holds a decryption in progress. */
static bool busy(void)
{
    return app.rounds.awaiting;
}

/* Where the next request's payload goes. */
static bool receive(request *asked, cm_status *status)
{
    return busy() ? protocol_receive(asked, app.piece, sizeof app.piece, status)
                  : protocol_receive(asked, message(), MESSAGE_BYTES, status);
}

/* After an answer, nothing is kept but a decryption in progress. */
static void settle(const request *asked, cm_status status)
{
    if (status != CM_OK || asked->kind == REQUEST_STOP || !busy()) {
        rounds_stop(&app.rounds);
    }
    if (!busy()) {
        wipe_message();
    }
}

#else

static cm_status answer_aided(const request *asked)
{
    (void)asked;
    return CM_ERR_FRAME_FIELD;
}

static bool busy(void)
{
    return false;
}

static bool receive(request *asked, cm_status *status)
{
    return protocol_receive(asked, message(), MESSAGE_BYTES, status);
}

static void settle(const request *asked, cm_status status)
{
    (void)asked;
    (void)status;
    wipe_message();
}

#endif

static void note_stack(void)
{
    const uint32_t used = (uint32_t)port_stack_used();
    if (used > app.deepest_stack) {
        app.deepest_stack = used;
    }
}

#if CM_PROVISIONED_TAGGED
#define REPORT_BYTES 64u
enum { WINDOWS_SURVIVE = 1, WINDOW_UNRECEIPTED = 2, WINDOW_LOST = 4 };
#else
#define REPORT_BYTES 48u
#endif

static cm_status send_report(const request *asked)
{
    if (asked->length != 0) {
        return CM_ERR_FRAME_FIELD;
    }
#if CM_PROVISIONED_SECRET_KEY
    const cm_params *params = cm_provisioned_secret_key.params;
    const uint64_t key_id = cm_provisioned_secret_key.key_id;
#else
    const cm_params *params = cm_provisioned_public_key.params;
    const uint64_t key_id = cm_provisioned_public_key.key_id;
#endif
    const uint32_t static_bytes = (uint32_t)port_static_bytes();
    const uint8_t keys = (CM_PROVISIONED_SECRET_KEY ? KEY_SYMMETRIC : 0) |
                         (CM_PROVISIONED_PUBLIC_KEY ? KEY_ASYMMETRIC : 0) |
                         (CM_PROVISIONED_STREAMED_KEY ? KEY_STREAMED : 0);
    note_stack();
    uint8_t report[REPORT_BYTES] = {CM_VERSION_MAJOR, CM_VERSION_MINOR, CM_VERSION_PATCH, keys};
    store32(report + 4, params->id);
    store64(report + 8, key_id);
    store32(report + 16, CM_PROVISIONED_N);
    store32(report + 20, static_bytes);
    store32(report + 24, (uint32_t)sizeof app.arena);
    store32(report + 28, (uint32_t)sizeof app.writer.piece);
    store32(report + 32, app.deepest_stack);
    store32(report + 36, static_bytes + app.deepest_stack);
    store32(report + 40, (uint32_t)port_ram_bytes());
    store32(report + 44, (uint32_t)app.device_status);
#if CM_PROVISIONED_TAGGED
    const bool open = app.window_state == WINDOW_OPEN;
    store32(report + 48, CM_PROVISIONED_DEVICE);
    store16(report + 52, CM_PROVISIONED_EPOCH);
    report[54] = (uint8_t)((APP_WINDOW_STORE ? WINDOWS_SURVIVE : 0) | (open ? WINDOW_UNRECEIPTED : 0) |
                           (app.window_lost ? WINDOW_LOST : 0));
    store64(report + 56, open ? app.window.sent.window : 0);
#endif
    app.link_broken = protocol_reply(REPLY_REPORT, app.sequence, report, sizeof report) != 0;
    return CM_OK;
}

static bool encrypts(const request *asked)
{
    return asked->kind == REQUEST_ENCRYPT_WINDOW || asked->kind == REQUEST_ENCRYPT_VALUES ||
           asked->kind == REQUEST_ENCRYPT_AGAIN;
}

static cm_status answer(const request *asked)
{
    if (busy() && (encrypts(asked) || asked->kind == REQUEST_RECEIPT)) {
        return CM_ERR_FRAME_FIELD;
    }
    switch (asked->kind) {
    case REQUEST_ENCRYPT_WINDOW:
        return encrypt_window(asked);
    case REQUEST_ENCRYPT_VALUES:
        return encrypt_values(asked);
    case REQUEST_ENCRYPT_AGAIN:
        return encrypt_again(asked);
    case REQUEST_RECEIPT:
        return take_receipt(asked);
    case REQUEST_REPORT:
        return send_report(asked);
    case REQUEST_STOP:
        return asked->length == 0 ? CM_OK : CM_ERR_FRAME_FIELD;
    default:
        return answer_aided(asked);
    }
}

static uint32_t arena_used(const request *asked)
{
    if (!encrypts(asked)) {
        return 0;
    }
    return (uint32_t)(asked->key == KEY_SYMMETRIC ? SYMMETRIC_BYTES : ASYMMETRIC_BYTES);
}

static void send_end(const request *asked, cm_status status)
{
    const bool encrypted = status == CM_OK && app.frame_bytes != 0;
    uint8_t end[16];
    store32(end, (uint32_t)status);
    store32(end + 4, app.frame_bytes);
    store32(end + 8, encrypted ? arena_used(asked) : 0);
    store32(end + 12, (uint32_t)port_stack_used());
    note_stack();
    if (protocol_reply(REPLY_END, app.sequence, end, sizeof end) != 0) {
        app.link_broken = true;
    }
}

int application_run(void)
{
    app.device_status = cm_device_init(&app.device, cm_provisioned_device_secret, port_platform());
    start_key();
#if CM_PROVISIONED_TAGGED
    start_windows();
#endif
    request asked;
    cm_status status;
    bool stop = false;
    port_stack_watch();
    while (!stop && !app.link_broken && receive(&asked, &status)) {
        app.sequence = asked.sequence;
        app.frame_bytes = 0;
        if (status == CM_OK) {
            status = answer(&asked);
        }
        settle(&asked, status);
        send_end(&asked, status);
        stop = status == CM_OK && asked.kind == REQUEST_STOP;
        port_stack_watch();
    }
    /* A link that closed may have left a decryption in progress. */
    settle(&(request){.kind = REQUEST_STOP}, CM_OK);
    cm_device_wipe(&app.device);
    return app.link_broken ? 1 : 0;
}
