/* SPDX-License-Identifier: Apache-2.0 */
/* What firmware reports to the runner, over the UART: lines of a name, a space and a decimal number. */
#ifndef REPORT_H
#define REPORT_H

#include <stdint.h>

void report(const char *name, uint32_t value);

#endif
