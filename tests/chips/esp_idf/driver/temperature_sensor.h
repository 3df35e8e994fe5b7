/* SPDX-License-Identifier: Apache-2.0 */
/* The thermometer. Declared as in ESP-IDF's programming guide (v5); see esp_err.h. */
#ifndef DRIVER_TEMPERATURE_SENSOR_H
#define DRIVER_TEMPERATURE_SENSOR_H

#include "esp_err.h"

typedef struct temperature_sensor_obj_t *temperature_sensor_handle_t;
typedef struct temperature_sensor_config {
    int range_min;
    int range_max;
} temperature_sensor_config_t;
#define TEMPERATURE_SENSOR_CONFIG_DEFAULT(min, max) \
    { \
        .range_min = (min), .range_max = (max) \
    }

esp_err_t temperature_sensor_install(const temperature_sensor_config_t *config,
                                     temperature_sensor_handle_t *handle);
esp_err_t temperature_sensor_enable(temperature_sensor_handle_t handle);
esp_err_t temperature_sensor_get_celsius(temperature_sensor_handle_t handle, float *celsius);

#endif
