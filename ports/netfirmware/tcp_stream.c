/* SPDX-License-Identifier: Apache-2.0 */
#include "tcp_stream.h"

#include "lwip/tcp.h"

static struct {
    struct tcp_pcb *connection; /* null: lwIP has none of ours */
    struct pbuf *received;
    size_t at; /* in received's first piece */
    stream_state state;
} net;

static err_t took_bytes(void *context, struct tcp_pcb *connection, struct pbuf *packet, err_t error)
{
    (void)context;
    (void)connection;
    (void)error;
    if (!packet) {
        net.state = STREAM_PEER_CLOSED;
    } else if (!net.received) {
        net.received = packet;
    } else {
        pbuf_cat(net.received, packet);
    }
    return ERR_OK;
}

/* lwIP has freed the connection already. */
static void failed(void *context, err_t error)
{
    (void)context;
    (void)error;
    net.connection = NULL;
    net.state = STREAM_CLOSED;
}

static err_t connected(void *context, struct tcp_pcb *connection, err_t error)
{
    (void)context;
    (void)connection;
    (void)error; /* always ERR_OK */
    net.state = STREAM_OPEN;
    return ERR_OK;
}

outcome tcp_stream_connect(const char *address, uint16_t port)
{
    ip_addr_t peer;
    tcp_stream_close();
    if (!ip4addr_aton(address, &peer)) {
        return outcome_set(REFUSED, "network_settings.h has a server's address that is not four numbers with "
                                    "dots: mend it and build again.");
    }
    net.connection = tcp_new();
    if (!net.connection) {
        return outcome_set(TRY_AGAIN, "lwIP had no connection left.");
    }
    tcp_nagle_disable(net.connection);
    tcp_recv(net.connection, took_bytes);
    tcp_err(net.connection, failed);
    net.state = STREAM_CONNECTING;
    if (tcp_connect(net.connection, &peer, port, connected) != ERR_OK) {
        tcp_stream_close();
        return outcome_set(TRY_AGAIN, "lwIP had no memory left for a connection.");
    }
    return DONE;
}

stream_state tcp_stream_state(void)
{
    return net.state;
}

size_t tcp_stream_write(const uint8_t *bytes, size_t length)
{
    if (!net.connection || net.state != STREAM_OPEN) {
        return 0;
    }
    const size_t room = tcp_sndbuf(net.connection);
    size_t taken = length < room ? length : room;
    while (taken > 0 && tcp_write(net.connection, bytes, (u16_t)taken, TCP_WRITE_FLAG_COPY) != ERR_OK) {
        taken /= 2; /* its memory is in pieces: a smaller one may fit */
    }
    (void)tcp_output(net.connection); /* what fails is sent at the next timer */
    return taken;
}

static void drop_first(void)
{
    struct pbuf *first = net.received;
    net.received = first->next;
    if (net.received) {
        pbuf_ref(net.received);
    }
    (void)pbuf_free(first);
    net.at = 0;
}

size_t tcp_stream_read(uint8_t *out, size_t length)
{
    size_t got = 0;
    while (got < length && net.received) {
        const size_t left = net.received->len - net.at;
        const size_t piece = left < length - got ? left : length - got;
        (void)pbuf_copy_partial(net.received, out + got, (u16_t)piece, (u16_t)net.at);
        got += piece;
        net.at += piece;
        if (net.at == net.received->len) {
            drop_first();
        }
    }
    if (got > 0 && net.connection) {
        tcp_recved(net.connection, (u16_t)got);
    }
    return got;
}

void tcp_stream_close(void)
{
    while (net.received) {
        drop_first();
    }
    if (net.connection) {
        struct tcp_pcb *closing = net.connection;
        net.connection = NULL;
        tcp_recv(closing, NULL);
        tcp_err(closing, NULL);
        if (tcp_close(closing) != ERR_OK) {
            tcp_abort(closing);
        }
    }
    net.state = STREAM_CLOSED;
}
