/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ESP_SLEEP_H
#define ESP_SLEEP_H

void esp_deep_sleep_start(void) __attribute__((noreturn));

#endif
