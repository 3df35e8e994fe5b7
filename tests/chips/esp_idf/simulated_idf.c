/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ESP-IDF on this machine: UART 0 is standard input and output, the counter's partition a file in the working
 * directory, and the random numbers those of the system, or zeros where NOISE_IS_STUCK is set. The random
 * source must be switched on before it is used. Ends with the application.
 */
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "bootloader_random.h"
#include "driver/uart.h"
#include "esp_partition.h"
#include "esp_random.h"
#include "esp_sleep.h"
#include "esp_timer.h"
#include "freertos/task.h"

#define COUNTER_BYTES 8192u

uint8_t _data_start[1], _data_end[1], _bss_start[1], _bss_end[1];

static bool noise_on;
static bool installed;

void app_main(void);

/* ---- flash ---- */

static int partition_file(void)
{
    const int file = open("ciphermote-flash", O_RDWR | O_CREAT, 0600);
    uint8_t erased[COUNTER_BYTES];
    memset(erased, 0xFF, sizeof erased);
    if (lseek(file, 0, SEEK_END) == 0 && pwrite(file, erased, sizeof erased, 0) != sizeof erased) {
        abort();
    }
    return file;
}

const esp_partition_t *esp_partition_find_first(esp_partition_type_t type, esp_partition_subtype_t subtype,
                                                const char *label)
{
    static const esp_partition_t counter = {ESP_PARTITION_TYPE_DATA, (esp_partition_subtype_t)0x40, 0xF000,
                                            COUNTER_BYTES};
    const bool found = type == counter.type && subtype == counter.subtype && strcmp(label, "counter") == 0;
    return found && !getenv("NO_PARTITION") ? &counter : NULL;
}

esp_err_t esp_partition_read(const esp_partition_t *partition, size_t from, void *to, size_t size)
{
    const int file = partition_file();
    const bool read_all =
        from + size <= partition->size && pread(file, to, size, (off_t)from) == (ssize_t)size;
    close(file);
    return read_all ? ESP_OK : ESP_FAIL;
}

esp_err_t esp_partition_write(const esp_partition_t *partition, size_t to, const void *from, size_t size)
{
    uint8_t bytes[4];
    if (size != sizeof bytes || esp_partition_read(partition, to, bytes, size) != ESP_OK) {
        return ESP_FAIL;
    }
    for (size_t i = 0; i < size; i++) {
        bytes[i] &= ((const uint8_t *)from)[i];
    }
    const int file = partition_file();
    const bool written = pwrite(file, bytes, size, (off_t)to) == (ssize_t)size;
    close(file);
    return written ? ESP_OK : ESP_FAIL;
}

esp_err_t esp_partition_erase_range(const esp_partition_t *partition, size_t offset, size_t size)
{
    uint8_t erased[COUNTER_BYTES];
    if (offset % 4096u || size % 4096u || offset + size > partition->size) {
        return ESP_FAIL;
    }
    memset(erased, 0xFF, size);
    const int file = partition_file();
    const bool written = pwrite(file, erased, size, (off_t)offset) == (ssize_t)size;
    close(file);
    return written ? ESP_OK : ESP_FAIL;
}

/* ---- random numbers ---- */

void bootloader_random_enable(void)
{
    noise_on = true;
}

void bootloader_random_disable(void)
{
    noise_on = false;
}

void esp_fill_random(void *buffer, size_t length)
{
    if (!noise_on || getrandom(buffer, length, 0) != (ssize_t)length) {
        abort();
    }
    if (getenv("NOISE_IS_STUCK")) {
        memset(buffer, 0, length);
    }
}

/* ---- time and tasks ---- */

int64_t esp_timer_get_time(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

void vTaskDelay(const TickType_t ticks)
{
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    (void)poll(&input, 1, (int)ticks * 10);
}

UBaseType_t uxTaskGetStackHighWaterMark(TaskHandle_t task)
{
    (void)task;
    return CONFIG_ESP_MAIN_TASK_STACK_SIZE / 2;
}

void esp_deep_sleep_start(void)
{
    exit(0);
}

/* ---- the UART ---- */

esp_err_t uart_driver_install(uart_port_t port, int receive_bytes, int send_bytes, int queue_size,
                              QueueHandle_t *queue, int interrupt_flags)
{
    (void)port, (void)send_bytes, (void)queue_size, (void)queue, (void)interrupt_flags;
    installed = receive_bytes > 128; /* more than the hardware's FIFO, as ESP-IDF demands */
    return installed ? ESP_OK : ESP_FAIL;
}

esp_err_t uart_param_config(uart_port_t port, const uart_config_t *config)
{
    (void)port;
    return config->baud_rate == 115200 && config->data_bits == UART_DATA_8_BITS ? ESP_OK : ESP_FAIL;
}

esp_err_t uart_get_buffered_data_len(uart_port_t port, size_t *size)
{
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    (void)port;
    if (poll(&input, 1, 0) > 0 && input.revents == POLLHUP) {
        exit(0); /* whoever started this has gone */
    }
    *size = input.revents & POLLIN ? 1 : 0;
    return installed ? ESP_OK : ESP_FAIL;
}

int uart_read_bytes(uart_port_t port, void *bytes, uint32_t length, TickType_t ticks)
{
    (void)port, (void)ticks;
    const ssize_t count = read(STDIN_FILENO, bytes, length);
    if (count == 0) {
        exit(0);
    }
    return (int)count;
}

int uart_write_bytes(uart_port_t port, const void *bytes, size_t length)
{
    (void)port;
    return (int)write(STDOUT_FILENO, bytes, length);
}
