/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lwIP's options: TCP over IPv4 at one address, without an operating system or sockets. All its memory is in
 * static pools, so a flood from the network costs no more RAM than is counted here.
 */
#ifndef LWIPOPTS_H
#define LWIPOPTS_H

#define NO_SYS 1
#define SYS_LIGHTWEIGHT_PROT 0 /* everything is polled from one loop */
#define LWIP_NETCONN 0
#define LWIP_SOCKET 0
#define LWIP_IPV4 1
#define LWIP_IPV6 0
#define LWIP_ARP 1
#define LWIP_ICMP 1
#define LWIP_RAW 0
#define LWIP_UDP 0
#define LWIP_TCP 1
#define IP_REASSEMBLY 0
#define IP_FRAG 0
#define LWIP_STATS 0
#define LWIP_NETIF_STATUS_CALLBACK 0

#define MEM_ALIGNMENT 4
#define MEM_SIZE 12288 /* copies of what is sent until it is acknowledged */
#define TCP_MSS 1460
#define TCP_SND_BUF (4 * TCP_MSS)
#define TCP_SND_QUEUELEN 16
#define TCP_WND (4 * TCP_MSS)
#define TCP_QUEUE_OOSEQ 0
#define MEMP_NUM_TCP_SEG 16
#define MEMP_NUM_PBUF 4
#define PBUF_POOL_SIZE 8
#define PBUF_POOL_BUFSIZE 1536 /* a whole Ethernet frame */
#define MEMP_NUM_TCP_PCB 4     /* one in use, others in TIME_WAIT */
#define MEMP_NUM_TCP_PCB_LISTEN 1

#endif
