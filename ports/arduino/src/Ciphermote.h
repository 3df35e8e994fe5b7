/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ciphermote for Arduino: thin classes over the C library, with the board's counter in EEPROM. Ciphermote
 * encrypts whole ciphertexts (ciphermote/bfv.h, ciphermote/ckks.h) and sends them over any Print, such as
 * Serial. CiphermoteCompact encrypts a few values to a packet (ciphermote/compact.h).
 */
#ifndef CIPHERMOTE_ARDUINO_H
#define CIPHERMOTE_ARDUINO_H

#include <Arduino.h>

#include "ciphermote/ciphermote.h"
#include "counter_log.h"
#include "entropy.h"

/*
 * Bytes of the arena: for encryptIntegers, for encryptBatch of 16-bit integers and for encryptReals of real
 * slots.
 */
#define CIPHERMOTE_INTEGERS_ARENA_BYTES(n) CM_BFV_READ_ARENA_BYTES(n, CM_LOG2_TILES)
#define CIPHERMOTE_BATCH_ARENA_BYTES(n) CM_BFV_SYMMETRIC_ARENA_BYTES(n, CM_BFV_16, CM_LOG2_TILES)
#define CIPHERMOTE_REALS_ARENA_BYTES(n) \
    CM_CKKS_SYMMETRIC_ARENA_BYTES(n, CM_SLOTS_REAL, CM_FIXED_31, CM_LOG2_TILES)

/*
 * What the library's platform is built on. The counter is first: counter_log.h's functions take a pointer to
 * both.
 */
struct CiphermoteBoard {
    cm_counter_log counter;
    cm_generator generator;
};

class Ciphermote
{
  public:
    /*
     * The arena is lent permanently, and aligned to 8 bytes. The counter takes counter.slots * 8 bytes of
     * EEPROM from counter.start on, and the board's salt the CM_SALT_RECORD_BYTES after them. Use the same
     * place in every object and every sketch that has this device secret: two counters would repeat each
     * other's values.
     */
    Ciphermote(void *arena, size_t arenaBytes, cm_counter_log counter = {8, 32});

    /* Must not be copied or passed by value: a copy would use the counters that the original has reserved. */
    Ciphermote(const Ciphermote &) = delete;
    Ciphermote &operator=(const Ciphermote &) = delete;

    /*
     * Begin this board's counter at 0, and draw its salt: once in its life, with a new device secret.
     * CM_ERR_COUNTER if there is a counter already, or the EEPROM fails; CM_ERR_RANDOM as from begin. Takes
     * as long as begin.
     */
    CM_MUST_CHECK cm_status createCounter();

    /*
     * Start with the device secret, CM_DEVICE_SECRET_BYTES in flash (PROGMEM), and gather the entropy of all
     * seeds until the next start: about 4 s with interrupts off, during which millis() stands still and
     * Serial receives nothing. The sketch's own watchdog is suspended meanwhile. Unless this returns CM_OK,
     * nothing is ever encrypted: CM_ERR_COUNTER if the EEPROM holds no valid counter and salt, CM_ERR_RANDOM
     * if the watchdog gives no noise, or the fuse WDTON rules out using it (entropy.h).
     */
    CM_MUST_CHECK cm_status begin(const uint8_t *secretInFlash);

    /*
     * After begin, and not from the reading callback: mix in anything else unpredictable that the sketch has,
     * such as an ADC's noise. It never does harm.
     */
    void stir(const void *bytes, size_t length);

    /*
     * Encrypt whole numbers that are read when needed (BFV's coefficients); frames are sent as they are made.
     * With a sender, of cm_frame_sender_init (ciphermote/frame.h), they say which device sends them, and have
     * tags; set its window for each call.
     */
    CM_MUST_CHECK cm_status encryptIntegers(Print &to, const cm_secret_key &key, const cm_bfv_reader &values,
                                            cm_frame_sender *sender = nullptr);

    /*
     * Encrypt whole numbers in slots, or any that are in memory, and real numbers: for boards with 8 KB of
     * RAM.
     */
    CM_MUST_CHECK cm_status encryptBatch(Print &to, const cm_secret_key &key, const cm_bfv_values &values,
                                         cm_frame_sender *sender = nullptr);
    CM_MUST_CHECK cm_status encryptReals(Print &to, const cm_secret_key &key, const cm_ckks_values &values,
                                         cm_frame_sender *sender = nullptr);

  private:
    bool busy() const;
    void open(Print &to, cm_frame_sender *sender);
    cm_status close(cm_status status);

    cm_encryptor_setup setup_;
    CiphermoteBoard board_;
    cm_device device_;
    union {
        cm_frame_writer writer_;
        cm_entropy_work idle_; /* shares the writer's memory, between encryptions */
    };
};

/*
 * The compact lane: a few small integers in a packet, for a radio. Counter and salt are begun by NewDevice,
 * as for Ciphermote; a board that has objects of both classes gives each a place of its own in EEPROM.
 */
class CiphermoteCompact
{
  public:
    /* The arena, of CM_COMPACT_ARENA_BYTES, is lent permanently. */
    CiphermoteCompact(void *arena, size_t arenaBytes, cm_counter_log counter = {8, 32});

    /* Must not be copied, for the same reason. */
    CiphermoteCompact(const CiphermoteCompact &) = delete;
    CiphermoteCompact &operator=(const CiphermoteCompact &) = delete;

    /*
     * Start with the key of compact_keys.h, packets of at most packetBytes, and what sends one: radio takes a
     * whole packet at each call, and returns 0 if it has. Gathers entropy as Ciphermote::begin does.
     * CM_ERR_COUNTER, CM_ERR_RANDOM, or cm_compact_init's errors: then nothing is ever encrypted. From radio,
     * CM_ERR_ARGUMENT, as encrypt.
     */
    CM_MUST_CHECK cm_status begin(const cm_compact_key &key, uint16_t packetBytes, const cm_sink &radio);

    /* cm_compact_encrypt. */
    CM_MUST_CHECK cm_status encrypt(const uint16_t *values, uint16_t first, uint16_t count, uint64_t &window);

  private:
    void *arena_;
    size_t arenaBytes_;
    bool busy_; /* a packet is with the radio */
    CiphermoteBoard board_;
    cm_counter counter_;
    cm_compact_encryptor encryptor_;
};

#endif
