/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of an ESP-IDF application: all of its static data, ESP-IDF's included, and the main task's stack. */
#include "memory.h"

#include <stdint.h>

#include "freertos/FreeRTOS.h"
#include "freertos/task.h"

extern uint8_t _data_start[], _data_end[], _bss_start[], _bss_end[];

/* FreeRTOS fills stacks itself, once: their deepest point is that since the start. */
void stack_paint(void)
{
}

size_t stack_used(void)
{
    return CONFIG_ESP_MAIN_TASK_STACK_SIZE - (size_t)uxTaskGetStackHighWaterMark(NULL);
}

size_t static_bytes(void)
{
    return (size_t)(_data_end - _data_start) + (size_t)(_bss_end - _bss_start);
}

/* What ESP-IDF leaves is on its heap, which this does not use. */
size_t ram_bytes(void)
{
    return 0;
}
