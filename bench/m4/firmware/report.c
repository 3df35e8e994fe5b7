/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of text without the C library's own, whose buffers would count as RAM. */
#include "report.h"

#include <string.h>

#include "board.h"

#define DECIMAL_DIGITS 10

void report(const char *name, uint32_t value)
{
    uint8_t digits[DECIMAL_DIGITS];
    size_t first = sizeof digits;
    do {
        digits[--first] = (uint8_t)('0' + value % 10u);
        value /= 10u;
    } while (value);
    uart_send((const uint8_t *)name, strlen(name));
    uart_send((const uint8_t *)" ", 1);
    uart_send(digits + first, sizeof digits - first);
    uart_send((const uint8_t *)"\n", 1);
}
