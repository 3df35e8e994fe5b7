/* SPDX-License-Identifier: Apache-2.0 */
/* Where the radio keeps its calibration. Declared as in ESP-IDF's programming guide (v5); see esp_err.h. */
#ifndef NVS_FLASH_H
#define NVS_FLASH_H

#include "esp_err.h"

esp_err_t nvs_flash_init(void);

#endif
