/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The options of ciphermote/config.h on Arduino boards, whose build passes no flags to libraries. A sketch
 * cannot change them; edit them here, in the library's folder.
 *
 * An ATmega with 2 KB of RAM (Uno, Nano) encrypts n = 1024. One with 8 KB (Mega 2560) encrypts n = 2048.
 */
#ifndef CM_ARDUINO_CONFIG_H
#define CM_ARDUINO_CONFIG_H

#include <avr/io.h>

#define CM_CONFIG_PRECISION_63 0
#define CM_CONFIG_COMPLEX 0
#define CM_CONFIG_SEAL_XOFS 0
#define CM_CONFIG_TRANSFORMED_SECRET 1
#define CM_CONFIG_ENCODER_ROOTS CM_CONFIG_ENCODER_ROOTS_COMPUTED

/*
 * CM_CONFIG_WIPE_STACK_BYTES is the stack that code handling secrets takes with link-time optimisation, as
 * the IDE builds it, plus the registers that an interrupt of the core saves below it.
 */
#if RAMEND < 0x1000
#define CM_CONFIG_MAX_LOG2_N 10
#define CM_CONFIG_WIPE_STACK_BYTES 192
#else
#define CM_CONFIG_MAX_LOG2_N 11
#define CM_CONFIG_WIPE_STACK_BYTES 552
#endif

#endif
