/* SPDX-License-Identifier: Apache-2.0 */
/* Ciphermote for Arduino: the C library's platform and sink on a board. */
#include "Ciphermote.h"

#include <avr/pgmspace.h>

static int drawNumbers(void *context, uint8_t *out, size_t length)
{
    return cm_generator_draw(&static_cast<CiphermoteBoard *>(context)->generator, out, length);
}

static int sendBytes(void *context, const uint8_t *bytes, size_t length)
{
    return static_cast<Print *>(context)->write(bytes, length) == length ? 0 : 1;
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
    if (status != CM_OK) {
        return status;
    }
    uint8_t salt[CM_SALT_BYTES];
    if (!cm_salt_read(&board_.counter, salt)) {
        return CM_ERR_COUNTER;
    }
    return cm_generator_seed(&board_.generator, salt, &idle_) ? CM_OK : CM_ERR_RANDOM;
}

void Ciphermote::stir(const void *bytes, size_t length)
{
    if (!busy()) {
        cm_generator_stir(&board_.generator, static_cast<const uint8_t *>(bytes), length, &idle_);
    }
}

void Ciphermote::open(Print &to)
{
    cm_sink sink;
    sink.write = sendBytes;
    sink.context = &to;
    cm_frame_writer_init(&writer_, sink);
}

/* No seed is drawn from the same numbers again, and what was drawn cannot be derived from what is left. */
cm_status Ciphermote::close(cm_status status)
{
    cm_generator_forget(&board_.generator, &idle_);
    return status;
}

cm_status Ciphermote::encryptIntegers(Print &to, const cm_secret_key &key, const cm_bfv_reader &values)
{
    if (busy()) {
        return CM_ERR_ARGUMENT;
    }
    open(to);
    return close(cm_bfv_encrypt_read(&key, &setup_, &values));
}

cm_status Ciphermote::encryptBatch(Print &to, const cm_secret_key &key, const cm_bfv_values &values)
{
    cm_encryptor encryptor;
    if (busy()) {
        return CM_ERR_ARGUMENT;
    }
    open(to);
    const cm_status status = cm_encryptor_init_symmetric(&encryptor, &key, &setup_);
    return close(status == CM_OK ? cm_bfv_encrypt(&encryptor, &values) : status);
}

cm_status Ciphermote::encryptReals(Print &to, const cm_secret_key &key, const cm_ckks_values &values)
{
    cm_encryptor encryptor;
    if (busy()) {
        return CM_ERR_ARGUMENT;
    }
    open(to);
    const cm_status status = cm_encryptor_init_symmetric(&encryptor, &key, &setup_);
    return close(status == CM_OK ? cm_ckks_encrypt(&encryptor, &values) : status);
}
