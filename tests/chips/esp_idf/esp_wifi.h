/* SPDX-License-Identifier: Apache-2.0 */
/* The radio. Declared as in ESP-IDF's programming guide (v5); see esp_err.h. */
#ifndef ESP_WIFI_H
#define ESP_WIFI_H

#include "esp_err.h"
#include "esp_event.h"

extern esp_event_base_t const WIFI_EVENT;
enum { WIFI_EVENT_STA_START = 2, WIFI_EVENT_STA_DISCONNECTED = 5 };
typedef enum { WIFI_MODE_STA = 1 } wifi_mode_t;
typedef enum { WIFI_IF_STA = 0 } wifi_interface_t;
typedef enum { WIFI_AUTH_WPA2_PSK = 3 } wifi_auth_mode_t;
typedef enum { WIFI_STORAGE_RAM = 1 } wifi_storage_t;
typedef struct wifi_init_config {
    int magic;
} wifi_init_config_t;
#define WIFI_INIT_CONFIG_DEFAULT() \
    { \
        .magic = 1 \
    }
typedef struct wifi_scan_threshold {
    wifi_auth_mode_t authmode;
} wifi_scan_threshold_t;
typedef struct wifi_sta_config {
    uint8_t ssid[32];
    uint8_t password[64];
    wifi_scan_threshold_t threshold;
} wifi_sta_config_t;
typedef union wifi_config {
    wifi_sta_config_t sta;
} wifi_config_t;

esp_err_t esp_wifi_init(const wifi_init_config_t *config);
esp_err_t esp_wifi_set_storage(wifi_storage_t storage);
esp_err_t esp_wifi_set_mode(wifi_mode_t mode);
esp_err_t esp_wifi_set_config(wifi_interface_t interface, wifi_config_t *config);
esp_err_t esp_wifi_start(void);
esp_err_t esp_wifi_connect(void);

#endif
