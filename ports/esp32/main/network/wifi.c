/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The network of netfirmware on ESP-IDF: a Wi-Fi station with the name and password of network_settings.h,
 * whose address comes from the access point. ESP-IDF's own tasks do the work; there is nothing to poll.
 */
#include "clock.h"
#include "esp_event.h"
#include "esp_netif.h"
#include "esp_timer.h"
#include "esp_wifi.h"
#include "freertos/FreeRTOS.h"
#include "freertos/task.h"
#include "network.h"
#include "network_settings.h"
#include "nvs_flash.h"

#ifndef NETWORK_WIFI_NAME
#error \
    "network_settings.h has no Wi-Fi: make it with --wifi and --wifi-password (ports/host/net_settings.py)."
#endif

#define JOIN_MS 30000u
#define MICROSECONDS 1000

static volatile bool has_address;

void clock_start(void)
{
}

uint32_t clock_ms(void)
{
    return (uint32_t)(esp_timer_get_time() / MICROSECONDS);
}

/* Nobody whom the device trusts tells it: windows count for the time at which they arrive. */
uint32_t clock_date(void)
{
    return 0;
}

/* In ESP-IDF's task of events. */
static void took_event(void *context, esp_event_base_t base, int32_t event, void *data)
{
    (void)context;
    (void)data;
    if (base == IP_EVENT && event == IP_EVENT_STA_GOT_IP) {
        has_address = true;
    } else if (base == WIFI_EVENT &&
               (event == WIFI_EVENT_STA_START || event == WIFI_EVENT_STA_DISCONNECTED)) {
        has_address = false;
        (void)esp_wifi_connect(); /* what fails ends in another of these events */
    }
}

static bool start_station(void)
{
    wifi_config_t station = {.sta = {.ssid = NETWORK_WIFI_NAME,
                                     .password = NETWORK_WIFI_PASSWORD,
                                     .threshold = {.authmode = WIFI_AUTH_WPA2_PSK}}};
    const wifi_init_config_t defaults = WIFI_INIT_CONFIG_DEFAULT();
    return nvs_flash_init() == ESP_OK && esp_netif_init() == ESP_OK &&
           esp_event_loop_create_default() == ESP_OK && esp_netif_create_default_wifi_sta() &&
           esp_wifi_init(&defaults) == ESP_OK && esp_wifi_set_storage(WIFI_STORAGE_RAM) == ESP_OK &&
           esp_event_handler_register(WIFI_EVENT, ESP_EVENT_ANY_ID, took_event, NULL) == ESP_OK &&
           esp_event_handler_register(IP_EVENT, IP_EVENT_STA_GOT_IP, took_event, NULL) == ESP_OK &&
           esp_wifi_set_mode(WIFI_MODE_STA) == ESP_OK &&
           esp_wifi_set_config(WIFI_IF_STA, &station) == ESP_OK && esp_wifi_start() == ESP_OK;
}

/* An access point that is away now may come later: a delivery then says that it cannot connect. */
outcome network_start(void)
{
    if (!start_station()) {
        return outcome_set(REFUSED, "ESP-IDF cannot start the radio: erase the nvs partition, and restart.");
    }
    const uint32_t began = clock_ms();
    while (!has_address && !clock_passed(began, JOIN_MS)) {
        network_wait();
    }
    return DONE;
}

void network_poll(void)
{
}

void network_wait(void)
{
    vTaskDelay(1);
}
