/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a port provides for the application: a byte link, the platform of cm_device, and figures about its
 * memory. Each port implements every function here, the three from port_record_read on only for client-aided
 * sessions, and the last two only where it is built with APP_WINDOW_STORE; the application calls nothing else
 * outside the C standard library and Ciphermote.
 */
#ifndef PORT_H
#define PORT_H

#include <stddef.h>
#include <stdint.h>

#include "ciphermote/device.h"
#include "device_record.h"

#define PORT_NO_LIMIT 0u

/*
 * Read exactly length bytes from the link. Returns how many came: fewer only if none arrived for patience_ms
 * in a row (PORT_NO_LIMIT: wait forever) or the link was closed.
 */
size_t port_receive(uint8_t *out, size_t length, uint32_t patience_ms);

/* Write all bytes to the link. Returns 0, or anything else if they could not all be written. */
int port_send(const uint8_t *bytes, size_t length);

/* The random source and the persistent counter. Static storage. */
const cm_platform *port_platform(void);

/* .data and .bss: all memory that is permanently in use. The stack is not included. */
size_t port_static_bytes(void);

/* The memory the port may use for static data and stack; 0 if there is no fixed limit. */
size_t port_ram_bytes(void);

/* Forget the stack's deepest point, and measure it again from here on. */
void port_stack_watch(void);

/* The deepest the stack has been since port_stack_watch, in bytes from its top. */
size_t port_stack_used(void);

/*
 * Read the device's record; zeros on a new device. Returns 0, or anything else if it is there but damaged: it
 * must never return an older or an empty record instead.
 */
int port_record_read(device_record *record);

/*
 * Store the record; 0 only when it would survive a power cut. A cut before that leaves either the old or the
 * new record complete.
 */
int port_record_write(const device_record *record);

/*
 * Show the owner a line of text, in place of the one before, or none if length is 0. Never over the link,
 * which anybody may read, nor where its length or timing would reveal its content. Returns 0 on success.
 */
int port_show(const char *text, size_t length);

/*
 * The record of a window without a receipt, readings included: as secret as they are. *length is 0 if there
 * is none. Returns 0, or anything else if there is one that cannot be read or exceeds capacity.
 */
int port_window_read(uint8_t *out, size_t capacity, size_t *length);

/* Store it, in place of the one before; length 0: none. 0 only when that would survive a power cut. */
int port_window_write(const uint8_t *record, size_t length);

#endif
