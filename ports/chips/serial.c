/* SPDX-License-Identifier: Apache-2.0 */
/* The link of a chip's port, from its bytes and its tick. */
#include "board.h"

static bool wait_for_byte(uint32_t patience_ms)
{
    uint32_t waited_ms = 0;
    (void)clock_ticked();
    while (!serial_ready()) {
        if (patience_ms != 0 && waited_ms >= patience_ms) {
            return false;
        }
        sleep_until_event();
        if (clock_ticked()) {
            waited_ms += CLOCK_TICK_MS;
        }
    }
    return true;
}

size_t uart_receive(uint8_t *out, size_t length, uint32_t patience_ms)
{
    for (size_t i = 0; i < length; i++) {
        if (!wait_for_byte(patience_ms)) {
            return i;
        }
        out[i] = serial_take();
    }
    return length;
}

void uart_send(const uint8_t *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        serial_put(bytes[i]);
    }
}
