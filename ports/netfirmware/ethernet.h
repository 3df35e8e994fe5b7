/* SPDX-License-Identifier: Apache-2.0 */
/* The board's Ethernet controller (SMSC LAN9118), polled, as a network interface of lwIP. */
#ifndef ETHERNET_H
#define ETHERNET_H

#include "lwip/netif.h"

/* lwIP's netif_init_fn. ERR_IF if the controller does not answer. */
err_t ethernet_init(struct netif *netif);

/* Hand every frame that has come to lwIP. */
void ethernet_poll(struct netif *netif);

/* Sleep until a frame comes or 10 ms have passed. */
void ethernet_sleep(void);

#endif
