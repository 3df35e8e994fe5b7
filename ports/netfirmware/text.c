/* SPDX-License-Identifier: Apache-2.0 */
#include "text.h"

#include <string.h>

#include "board.h"

const char *text_number(char buffer[TEXT_NUMBER_BYTES], uint64_t number)
{
    size_t at = TEXT_NUMBER_BYTES - 1u;
    buffer[at] = '\0';
    do {
        buffer[--at] = (char)('0' + number % 10u);
        number /= 10u;
    } while (number != 0);
    return &buffer[at];
}

bool text_parse(const char *text, uint32_t *number)
{
    while (*text == ' ') {
        text++;
    }
    uint64_t value = 0;
    const char *first = text;
    while (*text >= '0' && *text <= '9' && value <= UINT32_MAX) {
        value = 10u * value + (uint64_t)(*text++ - '0');
    }
    *number = (uint32_t)value;
    return text != first && value <= UINT32_MAX;
}

void text_print(const char *text)
{
    uart_send((const uint8_t *)text, strlen(text));
}

void text_print_number(uint64_t number)
{
    char buffer[TEXT_NUMBER_BYTES];
    text_print(text_number(buffer, number));
}

void text_print_bytes(const uint8_t *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        const uint8_t shown = bytes[i] >= ' ' && bytes[i] <= '~' ? bytes[i] : (uint8_t)'.';
        uart_send(&shown, 1);
    }
}
