/* SPDX-License-Identifier: Apache-2.0 */
/* Decimal numbers, and lines on the UART. */
#ifndef TEXT_H
#define TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TEXT_NUMBER_BYTES 21u

/* The number's first digit, in the buffer. */
const char *text_number(char buffer[TEXT_NUMBER_BYTES], uint64_t number);

/* A number below 2^32 after any spaces; false if there is none. */
bool text_parse(const char *text, uint32_t *number);

void text_print(const char *text);
void text_print_number(uint64_t number);
/* Printable characters; others become dots. */
void text_print_bytes(const uint8_t *bytes, size_t length);

#endif
