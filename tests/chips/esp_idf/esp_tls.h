/* SPDX-License-Identifier: Apache-2.0 */
/* TLS. Declared as in ESP-IDF's programming guide (v5); see esp_err.h. */
#ifndef ESP_TLS_H
#define ESP_TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "esp_err.h"

typedef struct esp_tls esp_tls_t;
typedef struct esp_tls_last_error *esp_tls_error_handle_t;
typedef enum { ESP_TLS_VER_ANY = 0, ESP_TLS_VER_TLS_1_3 = 2 } esp_tls_proto_ver_t;
#define ESP_TLS_ERR_SSL_WANT_READ (-0x6900)
#define ESP_TLS_ERR_SSL_WANT_WRITE (-0x6880)
typedef struct esp_tls_cfg {
    const unsigned char *cacert_buf;
    unsigned int cacert_bytes;
    int timeout_ms;
    const char *common_name;
    esp_tls_proto_ver_t tls_version;
} esp_tls_cfg_t;

esp_tls_t *esp_tls_init(void);
int esp_tls_conn_new_sync(const char *host, int host_length, int port, const esp_tls_cfg_t *config,
                          esp_tls_t *tls);
ssize_t esp_tls_conn_write(esp_tls_t *tls, const void *bytes, size_t length);
ssize_t esp_tls_conn_read(esp_tls_t *tls, void *bytes, size_t length);
ssize_t esp_tls_get_bytes_avail(esp_tls_t *tls);
esp_err_t esp_tls_get_conn_sockfd(esp_tls_t *tls, int *socket);
esp_err_t esp_tls_get_error_handle(esp_tls_t *tls, esp_tls_error_handle_t *handle);
esp_err_t esp_tls_get_and_clear_last_error(esp_tls_error_handle_t handle, int *code, int *flags);
int esp_tls_conn_destroy(esp_tls_t *tls);

#endif
