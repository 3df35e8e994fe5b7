/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DRIVER_UART_H
#define DRIVER_UART_H

#include <stddef.h>
#include <stdint.h>

#include "esp_err.h"
#include "freertos/FreeRTOS.h"

typedef enum { UART_NUM_0 } uart_port_t;
typedef enum { UART_DATA_8_BITS = 3 } uart_word_length_t;
typedef enum { UART_PARITY_DISABLE } uart_parity_t;
typedef enum { UART_STOP_BITS_1 = 1 } uart_stop_bits_t;
typedef enum { UART_HW_FLOWCTRL_DISABLE } uart_hw_flowcontrol_t;
typedef struct {
    int baud_rate;
    uart_word_length_t data_bits;
    uart_parity_t parity;
    uart_stop_bits_t stop_bits;
    uart_hw_flowcontrol_t flow_ctrl;
    uint8_t rx_flow_ctrl_thresh;
} uart_config_t;
typedef struct QueueDefinition *QueueHandle_t;

esp_err_t uart_driver_install(uart_port_t port, int receive_bytes, int send_bytes, int queue_size,
                              QueueHandle_t *queue, int interrupt_flags);
esp_err_t uart_param_config(uart_port_t port, const uart_config_t *config);
esp_err_t uart_get_buffered_data_len(uart_port_t port, size_t *size);
int uart_read_bytes(uart_port_t port, void *bytes, uint32_t length, TickType_t ticks);
int uart_write_bytes(uart_port_t port, const void *bytes, size_t length);

#endif
