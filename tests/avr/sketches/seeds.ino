/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Draws seeds forever, as encryptions do, and sends each one's counter and public seed. The byte 'S' is
 * followed by the status of a start, 'D' by that of a draw.
 */
#include <Ciphermote.h>

extern "C" {
#include <scheme/seeds.h>
}

static cm_counter_log counter = {8, 32};
static cm_device device;
static cmi_seeds seeds;

static int random_bytes(void *, uint8_t *out, size_t length)
{
    static uint32_t state = 1;
    while (length-- > 0) {
        state = state * 1664525u + 1013904223u;
        *out++ = state >> 24;
    }
    return 0;
}

void setup()
{
    const cm_platform platform = {random_bytes, cm_counter_log_read, cm_counter_log_write, &counter};
    const uint8_t secret[CM_DEVICE_SECRET_BYTES] = {1};
    Serial.begin(1000000);
    Serial.write('S');
    Serial.write(cm_device_init(&device, secret, &platform));
}

void loop()
{
    Serial.write('D');
    const cm_status status = cmi_seeds_draw(&device, &seeds);
    Serial.write(status);
    if (status != CM_OK) {
        Serial.flush();
        cli();
        for (;;) {
        }
    }
    Serial.write(reinterpret_cast<const uint8_t *>(&seeds.counter), sizeof seeds.counter);
    Serial.write(seeds.public_seed, sizeof seeds.public_seed);
}
