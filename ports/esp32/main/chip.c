/* SPDX-License-Identifier: Apache-2.0 */
/* Start, end and time on ESP-IDF, and UART 0, which leads to the USB bridge of Espressif's boards. */
#include "board.h"
#include "driver/uart.h"
#include "esp_err.h"
#include "esp_sleep.h"
#include "esp_timer.h"
#include "freertos/FreeRTOS.h"
#include "freertos/task.h"

#define LINK UART_NUM_0
#define RECEIVE_BYTES 4096 /* 350 ms of them */
#define TICK_MICROSECONDS (1000 * (int64_t)CLOCK_TICK_MS)

int main(void);
void app_main(void);

void chip_start(void)
{
    const uart_config_t config = {.baud_rate = 115200,
                                  .data_bits = UART_DATA_8_BITS,
                                  .parity = UART_PARITY_DISABLE,
                                  .stop_bits = UART_STOP_BITS_1,
                                  .flow_ctrl = UART_HW_FLOWCTRL_DISABLE};
    /* Without a link there is nothing to do: these restart the chip if they fail. */
    ESP_ERROR_CHECK(uart_driver_install(LINK, RECEIVE_BYTES, 0, 0, NULL, 0));
    ESP_ERROR_CHECK(uart_param_config(LINK, &config));
}

void chip_stop(void)
{
    for (;;) {
        esp_deep_sleep_start(); /* nothing is set to wake it but a reset */
    }
}

bool clock_ticked(void)
{
    static int64_t last;
    const int64_t now = esp_timer_get_time();
    if (now - last < TICK_MICROSECONDS) {
        return false;
    }
    last = now;
    return true;
}

void sleep_until_event(void)
{
    vTaskDelay(1);
}

bool serial_ready(void)
{
    size_t buffered = 0;
    return uart_get_buffered_data_len(LINK, &buffered) == ESP_OK && buffered > 0;
}

uint8_t serial_take(void)
{
    uint8_t byte = 0;
    (void)uart_read_bytes(LINK, &byte, 1, 0);
    return byte;
}

void serial_put(uint8_t byte)
{
    (void)uart_write_bytes(LINK, &byte, 1);
}

void app_main(void)
{
    chip_start();
    (void)main();
    chip_stop();
}
