/* Ciphermote for Arduino: what the C library's platform and sink are on a board. */
#include "Ciphermote.h"

#include <avr/pgmspace.h>

/*
 * A board has no random source, and none is made up: these numbers differ from draw to draw, which the library asks for,
 * and add nothing to the secrecy of seeds, which rests on the device secret and a counter that never repeats.
 */
static int drawNumbers(void *context, uint8_t *out, size_t length)
{
    static uint32_t state = 1;
    (void)context;
    while (length-- > 0) {
        state = state * 1664525u + 1013904223u;
        *out++ = (uint8_t)(state >> 24);
    }
    return 0;
}

static int sendBytes(void *context, const uint8_t *bytes, size_t length)
{
    return static_cast<Print *>(context)->write(bytes, length) == length ? 0 : 1;
}

Ciphermote::Ciphermote(void *arena, size_t arenaBytes, cm_counter_log counter)
    : arena_(arena), arenaBytes_(arenaBytes), counter_(counter), random_(drawNumbers), device_(), writer_()
{
}

bool Ciphermote::createCounter() const
{
    return cm_counter_log_create(&counter_);
}

void Ciphermote::setRandom(int (*random)(void *context, uint8_t *out, size_t length))
{
    random_ = random;
}

cm_status Ciphermote::begin(const uint8_t *secretInFlash)
{
    const cm_platform platform = {random_, cm_counter_log_read, cm_counter_log_write, &counter_};
    uint8_t secret[CM_DEVICE_SECRET_BYTES];
    memcpy_P(secret, secretInFlash, sizeof secret);
    const cm_status status = cm_device_init(&device_, secret, &platform);
    memset(secret, 0, sizeof secret);
    __asm__ volatile("" : : "r"(secret) : "memory"); /* so that it is cleared */
    return status;
}

cm_emitter *Ciphermote::open(Print &to)
{
    cm_sink sink;
    sink.write = sendBytes;
    sink.context = &to;
    cm_frame_writer_init(&writer_, sink);
    return &writer_.emitter;
}

cm_status Ciphermote::encryptIntegers(Print &to, const cm_secret_key &key, const cm_bfv_reader &values)
{
    return cm_bfv_encrypt_symmetric_read(&device_, &key, CM_XOF_CHACHA20, &values, arena_, arenaBytes_,
                                         open(to));
}

cm_status Ciphermote::encryptBatch(Print &to, const cm_secret_key &key, const cm_bfv_values &values)
{
    return cm_bfv_encrypt_symmetric(&device_, &key, CM_XOF_CHACHA20, &values, CM_DOMAIN_NTT, arena_,
                                    arenaBytes_, open(to));
}

cm_status Ciphermote::encryptReals(Print &to, const cm_secret_key &key, const cm_ckks_values &values)
{
    return cm_ckks_encrypt_symmetric(&device_, &key, CM_XOF_CHACHA20, &values, arena_, arenaBytes_, open(to));
}
