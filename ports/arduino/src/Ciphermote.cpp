/* SPDX-License-Identifier: Apache-2.0 */
/* Ciphermote for Arduino: the C library's platform and sink on a board. */
#include "Ciphermote.h"

#include <avr/pgmspace.h>

static int drawNumbers(void *context, uint8_t *out, size_t length)
{
    return cm_generator_draw(&static_cast<CiphermoteBoard *>(context)->generator, out, length);
}

/* A few of a draw's bytes. They are sent; two thirds of what was drawn, and the next draw with it, stay
   unknown. */
static int drawFew(void *context, uint8_t *out, size_t length)
{
    uint8_t drawn[CM_GENERATOR_KEY_BYTES];
    if (length > sizeof drawn / 3 || drawNumbers(context, drawn, sizeof drawn) != 0) {
        return 1;
    }
    memcpy(out, drawn, length);
    return 0;
}

static int sendBytes(void *context, const uint8_t *bytes, size_t length)
{
    return static_cast<Print *>(context)->write(bytes, length) == length ? 0 : 1;
}

static cm_status gather(CiphermoteBoard &board, cm_entropy_work *work)
{
    uint8_t salt[CM_SALT_BYTES];
    if (!cm_salt_read(&board.counter, salt)) {
        return CM_ERR_COUNTER;
    }
    return cm_generator_seed(&board.generator, salt, work) ? CM_OK : CM_ERR_RANDOM;
}

Ciphermote::Ciphermote(void *arena, size_t arenaBytes, cm_counter_log counter)
    : setup_{&device_, &writer_.emitter, arena, arenaBytes, CM_XOF_CHACHA20, CM_LOG2_TILES},
      board_{counter, cm_generator()}, device_(), writer_()
{
}

/* During an encryption, that is, in one of its callbacks, the writer is in use. Wiped, it has no begin. */
bool Ciphermote::busy() const
{
    return writer_.emitter.begin != nullptr;
}

cm_status Ciphermote::createCounter()
{
    cm_generator generator;
    uint8_t salt[CM_SALT_BYTES] = {0};
    if (busy()) {
        return CM_ERR_ARGUMENT;
    }
    if (!cm_generator_seed(&generator, salt, &idle_)) {
        return CM_ERR_RANDOM;
    }
    /* The counter first: this refuses if there is one already. Without the salt, it cannot be used yet. */
    if (!cm_counter_log_create(&board_.counter) || !cm_salt_write(&board_.counter, generator.key)) {
        return CM_ERR_COUNTER;
    }
    return CM_OK;
}

cm_status Ciphermote::begin(const uint8_t *secretInFlash)
{
    const cm_platform platform = {drawNumbers, cm_counter_log_read, cm_counter_log_write, &board_};
    uint8_t secret[CM_DEVICE_SECRET_BYTES];
    if (busy()) {
        return CM_ERR_ARGUMENT;
    }
    board_.generator = cm_generator();
    memcpy_P(secret, secretInFlash, sizeof secret);
    const cm_status status = cm_device_init(&device_, secret, &platform);
    memset(secret, 0, sizeof secret);
    __asm__ volatile("" : : "r"(secret) : "memory"); /* so that it is cleared */
    return status == CM_OK ? gather(board_, &idle_) : status;
}

void Ciphermote::stir(const void *bytes, size_t length)
{
    if (!busy()) {
        cm_generator_stir(&board_.generator, static_cast<const uint8_t *>(bytes), length, &idle_);
    }
}

void Ciphermote::open(Print &to, cm_frame_sender *sender)
{
    cm_sink sink;
    sink.write = sendBytes;
    sink.context = &to;
    cm_frame_writer_init(&writer_, sink);
    cm_frame_writer_tag(&writer_, sender);
}

/* No seed is drawn from the same numbers again, and what was drawn cannot be derived from what is left. */
cm_status Ciphermote::close(cm_status status)
{
    cm_generator_forget(&board_.generator, &idle_);
    return status;
}

cm_status Ciphermote::encryptIntegers(Print &to, const cm_secret_key &key, const cm_bfv_reader &values,
                                      cm_frame_sender *sender)
{
    if (busy()) {
        return CM_ERR_ARGUMENT;
    }
    open(to, sender);
    return close(cm_bfv_encrypt_read(&key, &setup_, &values));
}

cm_status Ciphermote::encryptBatch(Print &to, const cm_secret_key &key, const cm_bfv_values &values,
                                   cm_frame_sender *sender)
{
    cm_encryptor encryptor;
    if (busy()) {
        return CM_ERR_ARGUMENT;
    }
    open(to, sender);
    const cm_status status = cm_encryptor_init_symmetric(&encryptor, &key, &setup_);
    return close(status == CM_OK ? cm_bfv_encrypt(&encryptor, &values) : status);
}

cm_status Ciphermote::encryptReals(Print &to, const cm_secret_key &key, const cm_ckks_values &values,
                                   cm_frame_sender *sender)
{
    cm_encryptor encryptor;
    if (busy()) {
        return CM_ERR_ARGUMENT;
    }
    open(to, sender);
    const cm_status status = cm_encryptor_init_symmetric(&encryptor, &key, &setup_);
    return close(status == CM_OK ? cm_ckks_encrypt(&encryptor, &values) : status);
}

/* ---- the compact lane ---- */

CiphermoteCompact::CiphermoteCompact(void *arena, size_t arenaBytes, cm_counter_log counter)
    : arena_(arena), arenaBytes_(arenaBytes), busy_(false), board_{counter, cm_generator()}, counter_(),
      encryptor_()
{
}

cm_status CiphermoteCompact::begin(const cm_compact_key &key, uint16_t packetBytes, const cm_sink &radio)
{
    static_assert(sizeof(cm_entropy_work) <= CM_COMPACT_WORKSPACE_BYTES,
                  "the arena has room for the entropy");
    const cm_platform platform = {drawFew, cm_counter_log_read, cm_counter_log_write, &board_};
    if (busy_) {
        return CM_ERR_ARGUMENT;
    }
    encryptor_ = cm_compact_encryptor();
    board_.generator = cm_generator();
    cm_status status = cm_counter_init(&counter_, &platform);
    if (status == CM_OK) {
        const cm_compact_setup setup = {&counter_, radio, arena_, arenaBytes_, packetBytes, nullptr};
        status = cm_compact_init(&encryptor_, &key, &setup);
    }
    return status == CM_OK ? gather(board_, static_cast<cm_entropy_work *>(arena_)) : status;
}

cm_status CiphermoteCompact::encrypt(const uint16_t *values, uint16_t first, uint16_t count, uint64_t &window)
{
    if (busy_) {
        return CM_ERR_ARGUMENT;
    }
    busy_ = true;
    const cm_status status = cm_compact_encrypt(&encryptor_, values, first, count, &window);
    busy_ = false;
    if (encryptor_.key) {
        cm_generator_forget(&board_.generator, static_cast<cm_entropy_work *>(arena_));
    }
    return status;
}
