/* SPDX-License-Identifier: Apache-2.0 */
/* The network of the simulated board: lwIP at one address over Ethernet, polled, and what lwIP asks for. */
#include "board.h"
#include "clock.h"
#include "ethernet.h"
#include "lwip/init.h"
#include "lwip/timeouts.h"
#include "netif/ethernet.h"
#include "network.h"
#include "network_settings.h"
#include "port.h"
#include "text.h"
#include "work.h"

static struct netif interface;

_Noreturn void network_assert(const char *sentence)
{
    text_print("error: lwIP: ");
    text_print(sentence);
    text_print("\n");
    host_exit(2);
}

uint32_t network_random(void)
{
    uint32_t drawn = 0;
    const cm_platform *platform = port_platform();
    if (platform->random(platform->context, (uint8_t *)&drawn, sizeof drawn) != 0) {
        network_assert("the port's random source failed");
    }
    return drawn;
}

u32_t sys_now(void)
{
    return clock_ms();
}

outcome network_start(void)
{
    ip4_addr_t own, mask, next;
    if (!ip4addr_aton(NETWORK_OWN_ADDRESS, &own) || !ip4addr_aton(NETWORK_NETMASK, &mask) ||
        !ip4addr_aton(NETWORK_ROUTER, &next)) {
        return outcome_set(REFUSED, "network_settings.h has an address that is not four numbers with dots: "
                                    "mend it and build again.");
    }
    lwip_init();
    if (!netif_add(&interface, &own, &mask, &next, NULL, ethernet_init, ethernet_input)) {
        return outcome_set(REFUSED,
                           "The board's Ethernet controller does not answer: run it on an mps2-an386.");
    }
    netif_set_default(&interface);
    netif_set_up(&interface);
    return DONE;
}

void network_poll(void)
{
    ethernet_poll(&interface);
    sys_check_timeouts();
}

void network_wait(void)
{
    work_pause();
    ethernet_sleep();
    work_resume();
    network_poll();
}
