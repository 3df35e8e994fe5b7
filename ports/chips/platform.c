/* SPDX-License-Identifier: Apache-2.0 */
/* The platform of a chip; mps2-an386/port.c has the rest of port.h. */
#include "board.h"
#include "port.h"

const cm_platform *port_platform(void)
{
    static const cm_platform platform = {
        .random = random_bytes, .counter_read = counter_read, .counter_write = counter_write};
    return &platform;
}
