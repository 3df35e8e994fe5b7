/* SPDX-License-Identifier: Apache-2.0 */
#include "console.h"

#include "board.h"

_Noreturn void _exit(int code);

static void put(char character)
{
    while (!BOARD_UART) {
    }
    BOARD_UART = (uint8_t)character;
}

void console_say(const char *what, uint32_t number)
{
    char digits[10];
    unsigned count = 0;
    do {
        digits[count++] = (char)('0' + number % 10u);
        number /= 10u;
    } while (number);
    for (; *what; what++) {
        put(*what);
    }
    put(' ');
    while (count--) {
        put(digits[count]);
    }
    put('\n');
}

_Noreturn void _exit(int code)
{
    while (!BOARD_UART) { /* the last byte is out */
    }
    BOARD_EXIT = (uint32_t)code;
    for (;;) {
    }
}

int console_leave(void *context, const uint8_t *bytes, size_t length)
{
    (void)context;
    if ((uintptr_t)bytes % 4u != 0 || length % 4u != 0) {
        return 1;
    }
    board_order();
    BOARD_ADDRESS = (uint32_t)(uintptr_t)bytes;
    BOARD_LEAVE = (uint32_t)length / 4u;
    while (BOARD_LEAVE) {
    }
    return 0;
}
