/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The simulated board: what start-up code, drivers and the host's services offer the rest of this port.
 * Interrupts stay masked; everything is polled.
 */
#ifndef BOARD_H
#define BOARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "memory.h"

/* ---- semihosting.c: files of the host, and the end of the simulation ---- */

typedef enum host_mode { HOST_READ = 1, HOST_WRITE = 5 } host_mode; /* fopen's "rb" and "wb" */

/* A handle, or -1. */
int32_t host_open(const char *path, host_mode mode);
/* Whether all bytes were read or written. */
bool host_read(int32_t handle, uint8_t *out, size_t length);
bool host_write(int32_t handle, const uint8_t *bytes, size_t length);
bool host_close(int32_t handle);
bool host_rename(const char *from, const char *to);
/* The host's errno of the last call that failed. */
int32_t host_errno(void);
/* The host's date in seconds since 1970. */
uint32_t host_seconds(void);
/* End the simulation; code becomes QEMU's exit code. */
_Noreturn void host_exit(int code);

/* ---- uart.c ---- */

void uart_init(void);
/* As port_receive. */
size_t uart_receive(uint8_t *out, size_t length, uint32_t patience_ms);
void uart_send(const uint8_t *bytes, size_t length);

#endif
