/*
 * What a port gives the application: a byte link, the platform of cm_device, and figures about its memory.
 * Each port implements every function here; the application calls nothing else outside the C language and the
 * library.
 */
#ifndef PORT_H
#define PORT_H

#include <stddef.h>
#include <stdint.h>

#include "ciphermote/device.h"

#define PORT_NO_LIMIT 0u

/*
 * Read exactly length bytes from the link. Returns how many came: fewer only if none arrived for patience_ms
 * in a row (PORT_NO_LIMIT: wait for ever) or the link was closed.
 */
size_t port_receive(uint8_t *out, size_t length, uint32_t patience_ms);

/* Write all bytes to the link. Returns 0, or anything else if they could not all be written. */
int port_send(const uint8_t *bytes, size_t length);

/* The random source and the persistent counter. Static storage. */
const cm_platform *port_platform(void);

/* .data and .bss: all memory that is taken for good. The stack is not in it. */
size_t port_static_bytes(void);

/* The memory the port may use for static data and stack; 0 if there is no fixed limit. */
size_t port_ram_bytes(void);

/* Forget the stack's deepest point, and measure it anew from here on. */
void port_stack_watch(void);

/* The deepest the stack has been since port_stack_watch, in bytes from its top. */
size_t port_stack_used(void);

#endif
