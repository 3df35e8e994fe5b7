/* SPDX-License-Identifier: Apache-2.0 */
/* Events. Declared as in ESP-IDF's programming guide (v5); see esp_err.h. */
#ifndef ESP_EVENT_H
#define ESP_EVENT_H

#include <stdint.h>

#include "esp_err.h"

typedef const char *esp_event_base_t;
#define ESP_EVENT_ANY_ID (-1)

esp_err_t esp_event_loop_create_default(void);
esp_err_t esp_event_handler_register(esp_event_base_t base, int32_t event,
                                     void (*handler)(void *context, esp_event_base_t base, int32_t event,
                                                     void *data),
                                     void *context);

#endif
