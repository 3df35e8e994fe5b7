/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The generator of an ESP32-C3 or C6, through ESP-IDF ("Random Number Generation"). Without a radio it is
 * truly random only while bootloader_random_enable has switched the noise of the analog-to-digital converter
 * in; an application that uses the radio, or the converter, must not call that and needs the radio on
 * instead. The chip tests nothing and reports nothing: random.c's tests are all there are.
 */
#include "board.h"
#include "bootloader_random.h"
#include "esp_random.h"

#ifndef CHIP_RADIO
#define CHIP_RADIO 0 /* 1: the radio is on whenever numbers are drawn, and must stay so */
#endif

void generator_start(void)
{
#if !CHIP_RADIO
    bootloader_random_enable();
#endif
}

generated generator_next(uint8_t *out)
{
    esp_fill_random(out, 1);
    return GENERATED;
}

void generator_stop(void)
{
#if !CHIP_RADIO
    bootloader_random_disable();
#endif
}
