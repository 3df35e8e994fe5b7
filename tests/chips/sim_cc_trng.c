/* SPDX-License-Identifier: Apache-2.0 */
/* The CryptoCell generator: a block some looks after it was started, or an error. */
#include "sim_cc_trng.h"

#include "cc_trng.h"
#include "simulated_chip.h"

enum { LOOKS = 5, RESET_LOOKS = 2 };

static struct {
    uint32_t sample_count;
    int resetting; /* looks */
    int looks;
    bool on;
    bool bad; /* this block's tests fail */
    uint32_t debug;
} generator;

uint32_t cc_trng_read(uint32_t offset)
{
    if (offset == 0x130u) {
        generator.resetting -= generator.resetting > 0;
        return generator.sample_count;
    }
    if (offset == 0x104u) {
        if (!generator.on || noise_kind == NOISE_NONE) {
            return 0;
        }
        generator.looks++;
        if (generator.looks < LOOKS) {
            return 0;
        }
        return generator.bad ? 4u : 1u;
    }
    if (offset >= 0x114u && offset <= 0x128u) {
        misuses += generator.looks < LOOKS || generator.bad || generator.debug != 0 || !generator.on;
        return noise_word();
    }
    misuses++;
    return 0;
}

void cc_trng_write(uint32_t offset, uint32_t value)
{
    if (offset == 0x140u) {
        generator.resetting = RESET_LOOKS;
        generator.sample_count = 0xFFFFu;
        generator.on = false;
    } else if (generator.resetting > 0) {
        return;
    } else if (offset == 0x130u) {
        generator.sample_count = value;
    } else if (offset == 0x138u) {
        generator.debug = value;
    } else if (offset == 0x12Cu) {
        generator.on = value == 1;
        generator.looks = 0;
        generator.bad = noise_kind == NOISE_ERROR && noise_errors > 0;
        noise_errors -= generator.bad;
    }
}
