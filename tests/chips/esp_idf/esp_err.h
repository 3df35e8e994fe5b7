/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of ESP-IDF's interface that ports/esp32 uses, as its programming guide (v5) declares it, because
 * ESP-IDF itself does not install with the tests. simulated_idf.c serves it on this machine.
 */
#ifndef ESP_ERR_H
#define ESP_ERR_H

#include <stdint.h>
#include <stdlib.h>

typedef int esp_err_t;
#define ESP_OK 0
#define ESP_FAIL (-1)
#define ESP_ERROR_CHECK(call) \
    do { \
        if ((call) != ESP_OK) { \
            abort(); \
        } \
    } while (0)

#endif
