/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FREERTOS_TASK_H
#define FREERTOS_TASK_H

#include <stddef.h>

#include "freertos/FreeRTOS.h"

typedef struct tskTaskControlBlock *TaskHandle_t;

void vTaskDelay(const TickType_t ticks);
UBaseType_t uxTaskGetStackHighWaterMark(TaskHandle_t task); /* in bytes, on ESP-IDF */

#endif
