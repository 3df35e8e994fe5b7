/*
 * Ciphermote for Arduino: a thin class over the C library (ciphermote/bfv.h, ciphermote/ckks.h), with the board's counter in
 * EEPROM and its frames out over any Print, such as Serial.
 */
#ifndef CIPHERMOTE_ARDUINO_H
#define CIPHERMOTE_ARDUINO_H

#include <Arduino.h>

#include "ciphermote/ciphermote.h"
#include "counter_log.h"

/* Bytes of the arena for encryptIntegers; encryptBatch and encryptReals take CM_BFV_SYMMETRIC_ARENA_BYTES and its like. */
#define CIPHERMOTE_INTEGERS_ARENA_BYTES(n) CM_BFV_READ_ARENA_BYTES(n)

class Ciphermote
{
  public:
    /*
     * An arena is lent for good, aligned to 8 bytes. The counter takes counter.slots * 8 bytes of EEPROM from
     * counter.start on: the same place for every object and every sketch that has this device secret, for two counters
     * repeat each other's seeds.
     */
    Ciphermote(void *arena, size_t arenaBytes, cm_counter_log counter = {8, 32});

    /* Not to be copied, nor passed by value: a copy would use the counters that the original has reserved. */
    Ciphermote(const Ciphermote &) = delete;
    Ciphermote &operator=(const Ciphermote &) = delete;

    /*
     * Begin this board's counter at 0: once in its life, with a new device secret. False where there is one already, or
     * the EEPROM fails.
     */
    bool createCounter() const;

    /*
     * Start with the device secret, CM_DEVICE_SECRET_BYTES in flash (PROGMEM). CM_ERR_COUNTER if the EEPROM holds no
     * sound counter: then nothing is ever encrypted.
     */
    CM_MUST_CHECK cm_status begin(const uint8_t *secretInFlash);

    /*
     * Mix a random source of the sketch's own into every seed; before begin. It returns 0 on success, and must not repeat. Without
     * one, seeds rest on the device secret and the counter alone.
     */
    void setRandom(int (*random)(void *context, uint8_t *out, size_t length));

    /* Encrypt whole numbers that are read when needed (BFV's coefficients); frames leave as they are made. */
    CM_MUST_CHECK cm_status encryptIntegers(Print &to, const cm_secret_key &key, const cm_bfv_reader &values);

    /* Encrypt whole numbers in slots, or any that lie in memory, and real numbers: for boards with 8 KB of RAM. */
    CM_MUST_CHECK cm_status encryptBatch(Print &to, const cm_secret_key &key, const cm_bfv_values &values);
    CM_MUST_CHECK cm_status encryptReals(Print &to, const cm_secret_key &key, const cm_ckks_values &values);

  private:
    cm_emitter *open(Print &to);

    void *arena_;
    size_t arenaBytes_;
    cm_counter_log counter_;
    int (*random_)(void *context, uint8_t *out, size_t length);
    cm_device device_;
    cm_frame_writer writer_;
};

#endif
