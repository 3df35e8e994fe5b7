/* SPDX-License-Identifier: Apache-2.0 */
/* The micro:bit's UART: 115200 baud on the pins that lead to the USB interface. */
#ifndef UART_H
#define UART_H

void start_serial(void);

#endif
