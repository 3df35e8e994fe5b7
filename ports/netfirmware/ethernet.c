/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SMSC's LAN9118 by its data sheet: frames go through two queues of words, each with two command words before
 * it when sent, and a status word when received. The processor copies; there is no DMA.
 */
#include "ethernet.h"

#include <stdbool.h>
#include <string.h>

#include "lwip/etharp.h"
#include "lwip/pbuf.h"

#define BASE 0x40200000u
#define REGISTER(offset) (*(volatile uint32_t *)(BASE + (offset)))
#define RX_DATA REGISTER(0x00)
#define TX_DATA REGISTER(0x20)
#define RX_STATUS REGISTER(0x40)
#define TX_STATUS REGISTER(0x48)
#define IRQ_CONFIG REGISTER(0x54)
#define IRQ_STATUS REGISTER(0x58)
#define IRQ_ENABLE REGISTER(0x5C)
#define BYTE_TEST REGISTER(0x64)
#define FIFO_LEVELS REGISTER(0x68)
#define TX_CONFIG REGISTER(0x70)
#define HARDWARE_CONFIG REGISTER(0x74)
#define RX_WAITING REGISTER(0x7C)
#define TX_FREE REGISTER(0x80)
#define MAC_COMMAND REGISTER(0xA4)
#define MAC_DATA REGISTER(0xA8)

#define BYTE_ORDER_PATTERN 0x87654321u
#define STORE_AND_FORWARD (1u << 20) /* must be set whenever the register is written */
#define TX_ON (1u << 1)
#define IRQ_ON (1u << 8 | 1u << 4 | 1u) /* active high, pushed */
#define IRQ_RX_STATUS (1u << 3)
#define FRAMES_WAITING(word) ((word) >> 16 & 0xFFu)
#define FREE_BYTES(word) ((word)&0xFFFFu)
#define RX_LENGTH(status) ((status) >> 16 & 0x3FFFu)
#define RX_ERROR (1u << 15)
#define CHECKSUM_BYTES 4u
#define TX_FIRST_AND_LAST (1u << 13 | 1u << 12)

#define MAC_BUSY (1u << 31)
#define MAC_READ (1u << 30)
enum { MAC_CONTROL = 1, MAC_ADDRESS_HIGH = 2, MAC_ADDRESS_LOW = 3 };
#define MAC_RECEIVE (1u << 2)
#define MAC_TRANSMIT (1u << 3)
#define MAC_FULL_DUPLEX (1u << 20)

#define INTERRUPT_BIT (1u << 13) /* the controller's, at this board's interrupt controller */
#define UART_BIT 1u
#define NVIC_ENABLE (*(volatile uint32_t *)0xE000E100u)
#define NVIC_CLEAR_PENDING (*(volatile uint32_t *)0xE000E280u)
#define ICSR (*(volatile uint32_t *)0xE000ED04u)
#define ICSR_CLEAR_SYSTICK (1u << 25)

#define MTU 1500
#define FRAME_BYTES 1536u

static void mac_wait(void)
{
    while (MAC_COMMAND & MAC_BUSY) {
    }
}

static uint32_t mac_read(uint32_t number)
{
    MAC_COMMAND = MAC_BUSY | MAC_READ | number;
    mac_wait();
    return MAC_DATA;
}

static void mac_write(uint32_t number, uint32_t value)
{
    MAC_DATA = value;
    MAC_COMMAND = MAC_BUSY | number;
    mac_wait();
}

/* The whole frame in one piece, as the controller wants it. */
static err_t transmit(struct netif *netif, struct pbuf *packet)
{
    static uint32_t words[FRAME_BYTES / 4u];
    (void)netif;
    const uint32_t length = packet->tot_len;
    if (length > sizeof words || FREE_BYTES(TX_FREE) < length + 16u) {
        return ERR_BUF; /* TCP sends it again */
    }
    (void)pbuf_copy_partial(packet, words, (u16_t)length, 0);
    TX_DATA = TX_FIRST_AND_LAST | length;
    TX_DATA = length;
    for (uint32_t i = 0; i < (length + 3u) / 4u; i++) {
        TX_DATA = words[i];
    }
    while (FRAMES_WAITING(TX_FREE) != 0) {
        (void)TX_STATUS;
    }
    return ERR_OK;
}

err_t ethernet_init(struct netif *netif)
{
    if (BYTE_TEST != BYTE_ORDER_PATTERN) {
        return ERR_IF;
    }
    HARDWARE_CONFIG = STORE_AND_FORWARD;
    const uint32_t low = mac_read(MAC_ADDRESS_LOW), high = mac_read(MAC_ADDRESS_HIGH);
    memcpy(netif->hwaddr, &low, 4);
    memcpy(netif->hwaddr + 4, &high, 2);
    netif->hwaddr_len = ETH_HWADDR_LEN;
    netif->mtu = MTU;
    netif->name[0] = 'e';
    netif->name[1] = 't';
    netif->flags = NETIF_FLAG_BROADCAST | NETIF_FLAG_ETHARP | NETIF_FLAG_LINK_UP;
    netif->output = etharp_output;
    netif->linkoutput = transmit;
    FIFO_LEVELS = 0; /* an interrupt for each frame */
    IRQ_CONFIG = IRQ_ON;
    IRQ_ENABLE = IRQ_RX_STATUS;
    NVIC_ENABLE = INTERRUPT_BIT;
    TX_CONFIG = TX_ON;
    mac_write(MAC_CONTROL, MAC_TRANSMIT | MAC_RECEIVE | MAC_FULL_DUPLEX);
    return ERR_OK;
}

/* Read the frame from its queue, into the packet unless that is null. */
static void take_frame(struct pbuf *packet, uint32_t length)
{
    static uint32_t words[FRAME_BYTES / 4u];
    for (uint32_t i = 0; i < (length + 3u) / 4u; i++) {
        const uint32_t word = RX_DATA;
        if (i < FRAME_BYTES / 4u) {
            words[i] = word;
        }
    }
    if (packet) {
        (void)pbuf_take(packet, words, packet->tot_len);
    }
}

void ethernet_poll(struct netif *netif)
{
    while (FRAMES_WAITING(RX_WAITING) != 0) {
        const uint32_t status = RX_STATUS;
        const uint32_t length = RX_LENGTH(status);
        const bool usable = !(status & RX_ERROR) && length > CHECKSUM_BYTES && length <= FRAME_BYTES;
        struct pbuf *packet =
            usable ? pbuf_alloc(PBUF_RAW, (u16_t)(length - CHECKSUM_BYTES), PBUF_POOL) : NULL;
        take_frame(packet, length); /* without room it is dropped, and sent again */
        if (packet && netif->input(packet, netif) != ERR_OK) {
            (void)pbuf_free(packet);
        }
    }
    IRQ_STATUS = IRQ_RX_STATUS;
}

/* Interrupts are masked: a pending one ends the sleep, the tick's every 10 ms (uart.c) among them. */
void ethernet_sleep(void)
{
    __asm__ volatile("wfi" ::: "memory");
    NVIC_CLEAR_PENDING = INTERRUPT_BIT | UART_BIT;
    ICSR = ICSR_CLEAR_SYSTICK;
}
