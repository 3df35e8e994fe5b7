/* SPDX-License-Identifier: Apache-2.0 */
/* What programs on the chip of rtl/soc say and send. */
#ifndef PICORV32_CONSOLE_H
#define PICORV32_CONSOLE_H

#include <stddef.h>
#include <stdint.h>

/* A line on the UART: what, and a number. */
void console_say(const char *what, uint32_t number);

/*
 * A sink: bytes leave by transfers, of whole words. Returns once they are out, or 1 if they are not words.
 */
int console_leave(void *context, const uint8_t *bytes, size_t length);

#endif
