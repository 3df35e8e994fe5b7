/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stream over TLS 1.3 to a server whose certificate has been checked: its signatures up to the authority of
 * network_settings.h, its name, and its dates. Writes are gathered into records of TLS_RECORD_BYTES, so that
 * frames may be written piece by piece.
 */
#ifndef TLS_H
#define TLS_H

#include <stddef.h>
#include <stdint.h>

#include "outcome.h"

#define TLS_RECORD_BYTES 2048u

typedef struct tls_server {
    const char *address; /* four numbers with dots */
    uint16_t port;
    const char *name; /* that its certificate must have */
} tls_server;

/* Once. authority: the DER of the certificate that signs the servers', which is copied. */
outcome tls_start(const uint8_t *authority, size_t length);

/*
 * Connect within 30 s. REFUSED: the certificate is not the server's that was asked for; nothing was sent to
 * whoever answered.
 */
outcome tls_connect(const tls_server *server);

/* Give bytes to the connection, waiting for room for at most 20 s; the last ones leave with tls_flush. */
outcome tls_write(const uint8_t *bytes, size_t length);
outcome tls_flush(void);

/*
 * What has come, at least a byte, waiting for at most so many milliseconds. *got is 0 if nothing came in
 * that time, and with TRY_AGAIN, when the connection is over.
 */
outcome tls_read(uint8_t *out, size_t length, uint32_t patience_ms, size_t *got);

void tls_close(void);

/* Bytes of the pool that TLS has in place of a heap, and how far it has been used. */
size_t tls_pool_bytes(void);
size_t tls_pool_used(void);

#endif
