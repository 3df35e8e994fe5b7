/* SPDX-License-Identifier: Apache-2.0 */
#include "tls.h"

#include <string.h>

#include "clock.h"
#include "mbedtls/entropy.h"
#include "mbedtls/memory_buffer_alloc.h"
#include "mbedtls/platform.h"
#include "mbedtls/ssl.h"
#include "mbedtls/x509_crt.h"
#include "network.h"
#include "port.h"
#include "psa/crypto.h"
#include "tcp_stream.h"
#include "work.h"

#define CONNECT_MS 30000u
#define WRITE_MS 20000u
#define FIRST_RECORD_BYTES 256u /* room for what an empty pool has at its start */
#define PAINT 0xA5u             /* of what the pool never gave away; it gives from its start */
#ifndef TLS_POOL_BYTES
#define TLS_POOL_BYTES 40960u
#endif

mbedtls_time_t host_date(mbedtls_time_t *out); /* clock.c */

static struct {
    uint64_t pool[TLS_POOL_BYTES / 8u];
    mbedtls_ssl_context session;
    mbedtls_ssl_config config;
    mbedtls_x509_crt authority;
    uint8_t record[TLS_RECORD_BYTES];
    size_t filled;
} tls;

/* ---- what Mbed TLS asks of the port ---- */

static int draw_random(void *context, unsigned char *out, size_t length)
{
    (void)context;
    const cm_platform *platform = port_platform();
    return platform->random(platform->context, out, length) == 0 ? 0 : MBEDTLS_ERR_ENTROPY_SOURCE_FAILED;
}

psa_status_t mbedtls_psa_external_get_random(mbedtls_psa_external_random_context_t *context, uint8_t *out,
                                             size_t length, size_t *drawn)
{
    (void)context;
    *drawn = length;
    return draw_random(NULL, out, length) == 0 ? PSA_SUCCESS : PSA_ERROR_INSUFFICIENT_ENTROPY;
}

static int send_bytes(void *context, const unsigned char *bytes, size_t length)
{
    (void)context;
    const size_t taken = tcp_stream_write(bytes, length);
    if (taken > 0) {
        return (int)taken;
    }
    return tcp_stream_state() == STREAM_OPEN ? MBEDTLS_ERR_SSL_WANT_WRITE : MBEDTLS_ERR_SSL_CONN_EOF;
}

static int receive_bytes(void *context, unsigned char *out, size_t length)
{
    (void)context;
    const size_t got = tcp_stream_read(out, length);
    if (got > 0) {
        return (int)got;
    }
    return tcp_stream_state() == STREAM_OPEN ? MBEDTLS_ERR_SSL_WANT_READ : MBEDTLS_ERR_SSL_CONN_EOF;
}

/* ---- set-up ---- */

static bool configure(void)
{
    if (mbedtls_ssl_config_defaults(&tls.config, MBEDTLS_SSL_IS_CLIENT, MBEDTLS_SSL_TRANSPORT_STREAM,
                                    MBEDTLS_SSL_PRESET_DEFAULT) != 0) {
        return false;
    }
    mbedtls_ssl_conf_authmode(&tls.config, MBEDTLS_SSL_VERIFY_REQUIRED);
    mbedtls_ssl_conf_ca_chain(&tls.config, &tls.authority, NULL);
    mbedtls_ssl_conf_rng(&tls.config, draw_random, NULL);
    return mbedtls_ssl_setup(&tls.session, &tls.config) == 0;
}

outcome tls_start(const uint8_t *authority, size_t length)
{
    mbedtls_memory_buffer_alloc_init((unsigned char *)tls.pool, sizeof tls.pool);
    memset((uint8_t *)tls.pool + FIRST_RECORD_BYTES, PAINT, sizeof tls.pool - FIRST_RECORD_BYTES);
    (void)mbedtls_platform_set_time(host_date);
    mbedtls_ssl_init(&tls.session);
    mbedtls_ssl_config_init(&tls.config);
    mbedtls_x509_crt_init(&tls.authority);
    if (psa_crypto_init() != PSA_SUCCESS) {
        return outcome_set(REFUSED,
                           "TLS could not draw random bytes from the port's source: mend that first.");
    }
    if (mbedtls_x509_crt_parse_der(&tls.authority, authority, length) != 0) {
        return outcome_set(REFUSED,
                           "network_settings.h holds no authority that TLS can read: make the header "
                           "again from the device's connection file.");
    }
    return configure() ? DONE : outcome_set(REFUSED, "TLS's pool is too small: raise TLS_POOL_BYTES.");
}

/* ---- a connection ---- */

static outcome await_tcp(uint32_t began)
{
    while (tcp_stream_state() == STREAM_CONNECTING && !clock_passed(began, CONNECT_MS)) {
        network_wait();
    }
    return tcp_stream_state() == STREAM_OPEN
               ? DONE
               : outcome_set(TRY_AGAIN, "The server does not take connections at its address and port.");
}

typedef struct certificate_fault {
    uint32_t flag;
    const char *sentence;
} certificate_fault;

/* The first that applies is told. */
static const certificate_fault certificate_faults[] = {
    {MBEDTLS_X509_BADCERT_NOT_TRUSTED,
     "The server's certificate is not signed by the authority in network_settings.h, so nothing was sent: "
     "build with that of the right gateway, or look for who answers in its place."},
    {MBEDTLS_X509_BADCERT_CN_MISMATCH,
     "The server's certificate is for another name than network_settings.h has, so nothing was sent: give "
     "the name that the certificate has, or look for who answers in the server's place."},
    {MBEDTLS_X509_BADCERT_EXPIRED, "The server's certificate has expired, so nothing was sent: renew it."},
    {MBEDTLS_X509_BADCERT_FUTURE, "The server's certificate is not valid yet, so nothing was sent: set the "
                                  "device's clock, or the server's "
                                  "when it makes the certificate."},
};

static outcome refuse_certificate(void)
{
    const uint32_t flags = mbedtls_ssl_get_verify_result(&tls.session);
    for (size_t i = 0; i < sizeof certificate_faults / sizeof *certificate_faults; i++) {
        if (flags & certificate_faults[i].flag) {
            return outcome_set(REFUSED, certificate_faults[i].sentence);
        }
    }
    return outcome_set(REFUSED, "The server's certificate was refused, so nothing was sent: it must have an "
                                "ECDSA key on P-256 or P-384 and be made for servers.");
}

static outcome judge_handshake(int status)
{
    switch (status) {
    case MBEDTLS_ERR_X509_CERT_VERIFY_FAILED:
    case MBEDTLS_ERR_SSL_BAD_CERTIFICATE:
        return refuse_certificate();
    case MBEDTLS_ERR_SSL_ALLOC_FAILED:
    case MBEDTLS_ERR_X509_ALLOC_FAILED:
        return outcome_set(REFUSED, "The handshake did not fit TLS's pool: raise TLS_POOL_BYTES.");
    case MBEDTLS_ERR_SSL_BAD_PROTOCOL_VERSION:
        return outcome_set(REFUSED, "The server does not speak TLS 1.3: update it.");
    default:
        return outcome_set(TRY_AGAIN, "The connection ended during TLS's handshake.");
    }
}

static outcome shake_hands(const tls_server *server, uint32_t began)
{
    (void)mbedtls_ssl_session_reset(&tls.session);
    if (mbedtls_ssl_set_hostname(&tls.session, server->name) != 0) {
        return outcome_set(REFUSED, "The server's name in network_settings.h is too long for TLS.");
    }
    mbedtls_ssl_set_bio(&tls.session, NULL, send_bytes, receive_bytes, NULL);
    int status = mbedtls_ssl_handshake(&tls.session);
    while ((status == MBEDTLS_ERR_SSL_WANT_READ || status == MBEDTLS_ERR_SSL_WANT_WRITE) &&
           !clock_passed(began, CONNECT_MS)) {
        network_wait();
        status = mbedtls_ssl_handshake(&tls.session);
    }
    return status == 0 ? DONE : judge_handshake(status);
}

outcome tls_connect(const tls_server *server)
{
    const uint32_t began = clock_ms();
    tls.filled = 0;
    outcome result = tcp_stream_connect(server->address, server->port);
    if (result == DONE) {
        work_begin(WORK_HANDSHAKE);
        result = await_tcp(began);
        if (result == DONE) {
            result = shake_hands(server, began);
        }
        work_end();
    }
    if (result != DONE) {
        tls_close();
    }
    return result;
}

outcome tls_flush(void)
{
    const uint32_t began = clock_ms();
    size_t done = 0;
    while (done < tls.filled) {
        const int status = mbedtls_ssl_write(&tls.session, tls.record + done, tls.filled - done);
        if (status > 0) {
            done += (size_t)status;
        } else if (status != MBEDTLS_ERR_SSL_WANT_WRITE && status != MBEDTLS_ERR_SSL_WANT_READ) {
            return outcome_set(TRY_AGAIN, "The connection ended while the device was sending.");
        } else if (clock_passed(began, WRITE_MS)) {
            return outcome_set(TRY_AGAIN, "The server took nothing for 20 seconds.");
        } else {
            network_wait();
        }
    }
    tls.filled = 0;
    network_poll();
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
        if (tls.filled == TLS_RECORD_BYTES) {
            const outcome result = tls_flush();
            if (result != DONE) {
                return result;
            }
        }
    }
    return DONE;
}

static bool comes_later(int status)
{
    return status == MBEDTLS_ERR_SSL_WANT_READ || status == MBEDTLS_ERR_SSL_WANT_WRITE ||
           status == MBEDTLS_ERR_SSL_RECEIVED_NEW_SESSION_TICKET;
}

outcome tls_read(uint8_t *out, size_t length, uint32_t patience_ms, size_t *got)
{
    const uint32_t began = clock_ms();
    *got = 0;
    for (;;) {
        const int status = mbedtls_ssl_read(&tls.session, out, length);
        if (status > 0) {
            *got = (size_t)status;
            return DONE;
        }
        if (!comes_later(status)) {
            return outcome_set(TRY_AGAIN, "The server closed the connection.");
        }
        if (status != MBEDTLS_ERR_SSL_RECEIVED_NEW_SESSION_TICKET) {
            if (clock_passed(began, patience_ms)) {
                return DONE;
            }
            network_wait();
        }
    }
}

void tls_close(void)
{
    (void)mbedtls_ssl_close_notify(&tls.session);
    network_poll();
    tcp_stream_close();
    (void)mbedtls_ssl_session_reset(&tls.session);
    tls.filled = 0;
}

size_t tls_pool_bytes(void)
{
    return sizeof tls.pool;
}

size_t tls_pool_used(void)
{
    const uint8_t *const bytes = (const uint8_t *)tls.pool;
    size_t used = sizeof tls.pool;
    while (used > 0 && bytes[used - 1u] == PAINT) {
        used--;
    }
    return used;
}
