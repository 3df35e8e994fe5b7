/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FREERTOS_H
#define FREERTOS_H

#include <stdint.h>

#define CONFIG_ESP_MAIN_TASK_STACK_SIZE 8192 /* ports/esp32/sdkconfig.defaults */

typedef uint32_t TickType_t;
typedef uint32_t UBaseType_t;

#define pdMS_TO_TICKS(milliseconds) ((TickType_t)(milliseconds) / 10u)

#endif
