/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ESP_TIMER_H
#define ESP_TIMER_H

#include <stdint.h>

int64_t esp_timer_get_time(void);

#endif
