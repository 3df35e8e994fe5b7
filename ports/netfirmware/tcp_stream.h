/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One TCP connection at a time, over lwIP. Nothing here waits: calls do what can be done at once, and
 * network_wait (network.h) passes the time. What is received waits in lwIP's pool, whose size closes the
 * peer's window.
 */
#ifndef TCP_STREAM_H
#define TCP_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "outcome.h"

typedef enum stream_state { STREAM_CLOSED, STREAM_CONNECTING, STREAM_OPEN, STREAM_PEER_CLOSED } stream_state;

/* Begin to connect, in place of any connection before. */
outcome tcp_stream_connect(const char *address, uint16_t port);
stream_state tcp_stream_state(void);

/* How many of the bytes were taken, or got; 0 for none now. */
size_t tcp_stream_write(const uint8_t *bytes, size_t length);
size_t tcp_stream_read(uint8_t *out, size_t length);

void tcp_stream_close(void);

#endif
