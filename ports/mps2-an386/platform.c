/* SPDX-License-Identifier: Apache-2.0 */
/* The platform on QEMU's mps2-an386, through the simulator's services; port.c has the rest of port.h. */
#include "board.h"
#include "port.h"
#include "simulator_platform.h"

const cm_platform *port_platform(void)
{
    static const cm_platform platform = {.random = simulator_random,
                                         .counter_read = device_counter_read,
                                         .counter_write = device_counter_write};
    return &platform;
}
