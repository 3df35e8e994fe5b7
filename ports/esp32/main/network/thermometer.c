/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sensor of netfirmware on an ESP32: the chip's own thermometer, ten times a second. Full fleets get
 * degrees Celsius; the compact lane gets tenths of a degree above -40.
 */
#include "driver/temperature_sensor.h"
#include "freertos/FreeRTOS.h"
#include "freertos/task.h"
#include "sensor.h"

#define READINGS 24u
#define BETWEEN_MS 100u
#define COLDEST (-40.0f)
#define LARGEST_TENTHS 1650.0f

static outcome no_thermometer(void)
{
    return outcome_set(REFUSED, "The chip's thermometer gave no reading: restart the device.");
}

/* A driver in the form that this file needs, installed at the first reading. */
static temperature_sensor_handle_t thermometer(void)
{
    static temperature_sensor_handle_t handle;
    const temperature_sensor_config_t range = TEMPERATURE_SENSOR_CONFIG_DEFAULT(-10, 80);
    if (!handle && (temperature_sensor_install(&range, &handle) != ESP_OK ||
                    temperature_sensor_enable(handle) != ESP_OK)) {
        handle = NULL;
    }
    return handle;
}

static void put_reading(void *out, uint32_t index, uint32_t bytes_each, float celsius)
{
    if (bytes_each == sizeof(float)) {
        ((float *)out)[index] = celsius;
        return;
    }
    const float tenths = (celsius - COLDEST) * 10.0f;
    ((uint16_t *)out)[index] = (uint16_t)(tenths < 0.0f             ? 0.0f
                                          : tenths > LARGEST_TENTHS ? LARGEST_TENTHS
                                                                    : tenths);
}

outcome sensor_readings(void *out, uint32_t bytes_each, uint32_t most, uint32_t *count)
{
    const temperature_sensor_handle_t handle = thermometer();
    if (!handle) {
        return no_thermometer();
    }
    *count = most < READINGS ? most : READINGS;
    for (uint32_t i = 0; i < *count; i++) {
        float celsius;
        if (temperature_sensor_get_celsius(handle, &celsius) != ESP_OK) {
            return no_thermometer();
        }
        put_reading(out, i, bytes_each, celsius);
        vTaskDelay(pdMS_TO_TICKS(BETWEEN_MS));
    }
    return DONE;
}
