/* SPDX-License-Identifier: Apache-2.0 */
/*
 * netfirmware's tls.h over ESP-IDF's esp-tls, which has Mbed TLS, TLS 1.3 and a heap of its own. Its random
 * numbers are the chip's, with the radio on. ESP-IDF checks no dates unless CONFIG_MBEDTLS_HAVE_TIME_DATE is
 * set, which takes a clock that is set from a time that the device trusts.
 */
#include "tls.h"

#include <stdbool.h>
#include <string.h>
#include <sys/select.h>

#include "esp_tls.h"

#define CONNECT_MS 30000

static struct {
    esp_tls_t *connection; /* null: there is none */
    const uint8_t *authority;
    size_t authority_bytes;
    uint8_t record[TLS_RECORD_BYTES];
    size_t filled;
} tls;

outcome tls_start(const uint8_t *authority, size_t length)
{
    tls.authority = authority;
    tls.authority_bytes = length;
    return DONE;
}

static outcome judge_failure(void)
{
    esp_tls_error_handle_t errors;
    int code = 0, certificate = 0;
    if (esp_tls_get_error_handle(tls.connection, &errors) == ESP_OK) {
        (void)esp_tls_get_and_clear_last_error(errors, &code, &certificate);
    }
    return certificate != 0
               ? outcome_set(REFUSED, "The server's certificate is not one that the authority in "
                                      "network_settings.h signed for the server's name, so nothing was sent: "
                                      "mend the header, or look for who answers in the server's place.")
               : outcome_set(TRY_AGAIN, "The server does not take connections of TLS 1.3 now.");
}

outcome tls_connect(const tls_server *server)
{
    const esp_tls_cfg_t settings = {.cacert_buf = tls.authority,
                                    .cacert_bytes = (unsigned)tls.authority_bytes,
                                    .common_name = server->name,
                                    .timeout_ms = CONNECT_MS,
                                    .tls_version = ESP_TLS_VER_TLS_1_3};
    tls_close();
    tls.connection = esp_tls_init();
    if (!tls.connection) {
        return outcome_set(TRY_AGAIN, "ESP-IDF's heap has no room for a connection.");
    }
    if (esp_tls_conn_new_sync(server->address, (int)strlen(server->address), server->port, &settings,
                              tls.connection) == 1) {
        return DONE;
    }
    const outcome result = judge_failure();
    tls_close();
    return result;
}

outcome tls_flush(void)
{
    size_t done = 0;
    while (done < tls.filled) {
        const ssize_t taken = esp_tls_conn_write(tls.connection, tls.record + done, tls.filled - done);
        if (taken > 0) {
            done += (size_t)taken;
        } else if (taken != ESP_TLS_ERR_SSL_WANT_WRITE && taken != ESP_TLS_ERR_SSL_WANT_READ) {
            return outcome_set(TRY_AGAIN, "The connection ended while the device was sending.");
        }
    }
    tls.filled = 0;
    return DONE;
}

outcome tls_write(const uint8_t *bytes, size_t length)
{
    while (length > 0) {
        const size_t room = TLS_RECORD_BYTES - tls.filled;
        const size_t piece = length < room ? length : room;
        memcpy(tls.record + tls.filled, bytes, piece);
        tls.filled += piece;
        bytes += piece;
        length -= piece;
        if (tls.filled == TLS_RECORD_BYTES && tls_flush() != DONE) {
            return TRY_AGAIN;
        }
    }
    return DONE;
}

/* Whether something has come in time; true for a socket that is over, which a read tells. */
static bool await_bytes(uint32_t patience_ms)
{
    int socket = -1;
    if (esp_tls_get_bytes_avail(tls.connection) > 0 ||
        esp_tls_get_conn_sockfd(tls.connection, &socket) != ESP_OK) {
        return true;
    }
    struct timeval patience = {.tv_sec = (time_t)(patience_ms / 1000u),
                               .tv_usec = (suseconds_t)(patience_ms % 1000u * 1000u)};
    fd_set sockets;
    FD_ZERO(&sockets);
    FD_SET(socket, &sockets);
    return select(socket + 1, &sockets, NULL, NULL, &patience) != 0;
}

outcome tls_read(uint8_t *out, size_t length, uint32_t patience_ms, size_t *got)
{
    *got = 0;
    while (await_bytes(patience_ms)) {
        const ssize_t taken = esp_tls_conn_read(tls.connection, out, length);
        if (taken > 0) {
            *got = (size_t)taken;
            return DONE;
        }
        if (taken != ESP_TLS_ERR_SSL_WANT_READ && taken != ESP_TLS_ERR_SSL_WANT_WRITE) {
            return outcome_set(TRY_AGAIN, "The server closed the connection.");
        }
    }
    return DONE;
}

void tls_close(void)
{
    if (tls.connection) {
        (void)esp_tls_conn_destroy(tls.connection);
        tls.connection = NULL;
    }
    tls.filled = 0;
}

/* ESP-IDF's heap is not a pool of this port's. */
size_t tls_pool_bytes(void)
{
    return 0;
}

size_t tls_pool_used(void)
{
    return 0;
}
