/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The network, and one TCP connection at a time over it. Nothing here waits but network_wait: the other calls
 * do what can be done at once. What is received waits in lwIP's pool, whose size closes the peer's window.
 */
#ifndef TCP_STREAM_H
#define TCP_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "outcome.h"

/* Addresses as four numbers with dots. REFUSED if there is no controller, or an address is none. */
outcome network_start(const char *address, const char *netmask, const char *router);

/* Take what has come, and do what is due. */
void network_poll(void);

/* The same, after a sleep of at most 10 ms. */
void network_wait(void);

typedef enum stream_state { STREAM_CLOSED, STREAM_CONNECTING, STREAM_OPEN, STREAM_PEER_CLOSED } stream_state;

/* Begin to connect, in place of any connection before. */
outcome tcp_stream_connect(const char *address, uint16_t port);
stream_state tcp_stream_state(void);

/* How many of the bytes were taken, or got; 0 for none now. */
size_t tcp_stream_write(const uint8_t *bytes, size_t length);
size_t tcp_stream_read(uint8_t *out, size_t length);

void tcp_stream_close(void);

#endif
