/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ESP_RANDOM_H
#define ESP_RANDOM_H

#include <stddef.h>

void esp_fill_random(void *buffer, size_t length);

#endif
