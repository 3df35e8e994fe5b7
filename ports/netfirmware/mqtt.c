/* SPDX-License-Identifier: Apache-2.0 */
/*
 * As much of MQTT 5 (OASIS Standard, 2019) as a delivery takes: CONNECT, SUBSCRIBE, PUBLISH and PUBACK with
 * QoS 1, and PINGREQ. The session is new with each connection: what was not receipted is sent again anyway.
 */
#include <stdbool.h>
#include <string.h>

#include "clock.h"
#include "delivery.h"
#include "network_settings.h"
#include "sensor.h"
#include "text.h"
#include "tls.h"

#define TOPICS "ciphermote/" NETWORK_MQTT_USER
#define TOPIC_UP TOPICS "/up"
#define TOPIC_DOWN TOPICS "/down"
#define KEEP_ALIVE_SECONDS 60u
#define PING_AFTER_MS 30000u
#define BUFFER_BYTES 1024u /* the broker is told to send no larger packet */
#define ALREADY_HERE 0u    /* patience: take only what has come */

enum packet_type {
    CONNECT = 0x10,
    CONNACK = 0x20,
    PUBLISH = 0x30,
    PUBLISH_QOS_1 = 0x32,
    PUBACK = 0x40,
    SUBSCRIBE = 0x82,
    SUBACK = 0x90,
    PINGREQ = 0xC0,
    PINGRESP = 0xD0,
    DISCONNECT = 0xE0
};
enum property {
    CORRELATION_DATA = 0x09,
    RECEIVE_MAXIMUM = 0x21,
    MAXIMUM_PACKET_SIZE = 0x27,
    USER_PROPERTY = 0x26
};
enum { CONNECT_FLAGS = 0x80 | 0x40 | 0x02 /* user, password, clean start */, FAILED_FROM = 0x80 };
enum { SUBSCRIPTION_ID = 1 }; /* deliveries count on from it */

static struct {
    bool connected;
    uint32_t last_sent; /* clock_ms */
    uint32_t delivery;  /* counts; the correlation data of its answer */
    uint8_t packet[BUFFER_BYTES];
    size_t filled; /* of a packet that is being received */
} mqtt;

/* ---- packets out ---- */

typedef struct out_packet {
    uint8_t bytes[BUFFER_BYTES];
    size_t length;
    bool too_long;
} out_packet;

static void put(out_packet *out, const void *bytes, size_t length)
{
    if (length > sizeof out->bytes - out->length) {
        out->too_long = true;
        return;
    }
    memcpy(out->bytes + out->length, bytes, length);
    out->length += length;
}

static void put8(out_packet *out, unsigned value)
{
    const uint8_t byte = (uint8_t)value;
    put(out, &byte, 1);
}

static void put16(out_packet *out, unsigned value)
{
    put8(out, value >> 8);
    put8(out, value);
}

static void put32(out_packet *out, uint32_t value)
{
    put16(out, value >> 16);
    put16(out, value & 0xFFFFu);
}

static void put_string(out_packet *out, const char *text)
{
    const size_t length = strlen(text);
    put16(out, (unsigned)length);
    put(out, text, length);
}

static outcome send_head(unsigned type, size_t length)
{
    uint8_t head[5] = {(uint8_t)type};
    size_t used = 1;
    do {
        const uint8_t digit = (uint8_t)(length & 0x7Fu);
        length >>= 7;
        head[used++] = length ? digit | 0x80u : digit;
    } while (length);
    mqtt.last_sent = clock_ms();
    return tls_write(head, used);
}

/* The packet, of which more bytes follow if there is a payload. */
static outcome send_packet(unsigned type, const out_packet *out, size_t payload)
{
    if (out->too_long) {
        return outcome_set(REFUSED, "The device's user or token is too long for a packet of MQTT's.");
    }
    outcome result = send_head(type, out->length + payload);
    if (result == DONE) {
        result = tls_write(out->bytes, out->length);
    }
    return result == DONE && payload == 0 ? tls_flush() : result;
}

/* ---- packets in ---- */

typedef struct in_packet {
    uint8_t type; /* the first byte; 0: none came */
    const uint8_t *at;
    size_t left;
} in_packet;

static unsigned take8(in_packet *in)
{
    if (in->left == 0) {
        return 0;
    }
    in->left--;
    return *in->at++;
}

static unsigned take16(in_packet *in)
{
    const unsigned high = take8(in);
    return high << 8 | take8(in);
}

/* So many bytes, or as many as there are. */
static in_packet take(in_packet *in, size_t length)
{
    in_packet part = {.at = in->at, .left = length < in->left ? length : in->left};
    in->at += part.left;
    in->left -= part.left;
    return part;
}

static size_t take_variable(in_packet *in)
{
    size_t value = 0;
    for (unsigned shift = 0; shift < 28; shift += 7) {
        const unsigned digit = take8(in);
        value |= (size_t)(digit & 0x7Fu) << shift;
        if (!(digit & 0x80u)) {
            break;
        }
    }
    return value;
}

/* How many bytes the packet has in all, as far as can be told: at least one more than there are. */
static size_t packet_bytes(void)
{
    size_t length = 0;
    for (size_t i = 1; i < 5; i++) {
        if (mqtt.filled <= i) {
            return mqtt.filled + 1u;
        }
        length |= (size_t)(mqtt.packet[i] & 0x7Fu) << (7u * (i - 1u));
        if (!(mqtt.packet[i] & 0x80u)) {
            return i + 1u + length;
        }
    }
    return SIZE_MAX;
}

/* The next packet, or one of type 0 if none is complete in time. It is in the buffer until the next call. */
static outcome receive(in_packet *in, uint32_t patience_ms)
{
    *in = (in_packet){0};
    while (mqtt.filled < 2 || mqtt.filled < packet_bytes()) {
        const size_t wanted = packet_bytes() - mqtt.filled;
        size_t got = 0;
        if (wanted > sizeof mqtt.packet - mqtt.filled) {
            return outcome_set(TRY_AGAIN, "The broker sent a larger packet than it was told to.");
        }
        const outcome result = tls_read(mqtt.packet + mqtt.filled, wanted, patience_ms, &got);
        mqtt.filled += got;
        if (result != DONE || got == 0) {
            return result;
        }
    }
    *in = (in_packet){.type = mqtt.packet[0], .at = mqtt.packet + 1, .left = mqtt.filled - 1u};
    (void)take_variable(in);
    mqtt.filled = 0;
    return DONE;
}

/* Receive one of this type; anything else before it is of no use. */
static outcome expect(unsigned type, in_packet *in)
{
    const uint32_t began = clock_ms();
    while (!clock_passed(began, ANSWER_MS)) {
        const outcome result = receive(in, ANSWER_MS);
        if (result != DONE || in->type == type) {
            return result;
        }
    }
    return outcome_set(TRY_AGAIN, "The broker did not answer.");
}

/* ---- a connection ---- */

static outcome send_connect(void)
{
    out_packet out = {.length = 0};
    put_string(&out, "MQTT");
    put8(&out, 5);
    put8(&out, CONNECT_FLAGS);
    put16(&out, KEEP_ALIVE_SECONDS);
    put8(&out, 3 + 5); /* the properties' bytes */
    put8(&out, RECEIVE_MAXIMUM);
    put16(&out, 4);
    put8(&out, MAXIMUM_PACKET_SIZE);
    put32(&out, BUFFER_BYTES);
    put_string(&out, NETWORK_MQTT_USER); /* the client's id */
    put_string(&out, NETWORK_MQTT_USER);
    put_string(&out, NETWORK_TOKEN);
    return send_packet(CONNECT, &out, 0);
}

static outcome judge_connack(in_packet *in)
{
    enum { BAD_USER = 0x86, NOT_AUTHORIZED = 0x87 };
    (void)take8(in); /* whether it had a session */
    const unsigned reason = take8(in);
    if (reason < FAILED_FROM) {
        return DONE;
    }
    /* A broker whose gateway is away lets nobody in, so even this may pass. */
    return outcome_set(TRY_AGAIN, reason == BAD_USER || reason == NOT_AUTHORIZED
                                      ? "The broker does not let the device in: its gateway is away, or the "
                                        "device has to be enrolled again."
                                      : "The broker takes no connection now.");
}

static outcome subscribe(void)
{
    out_packet out = {.length = 0};
    put16(&out, SUBSCRIPTION_ID);
    put8(&out, 0);
    put_string(&out, TOPIC_DOWN);
    put8(&out, 1);
    outcome result = send_packet(SUBSCRIBE, &out, 0);
    in_packet in;
    if (result == DONE) {
        result = expect(SUBACK, &in);
    }
    if (result != DONE) {
        return result;
    }
    (void)take16(&in);
    (void)take(&in, take_variable(&in));
    return in.left == 1 && take8(&in) < FAILED_FROM
               ? DONE
               : outcome_set(REFUSED,
                             "The broker refused the subscription to the device's answers: enroll it "
                             "again.");
}

static outcome connect_to_broker(void)
{
    static const tls_server broker = {NETWORK_BROKER_ADDRESS, NETWORK_BROKER_PORT, NETWORK_BROKER_NAME};
    in_packet in;
    mqtt.filled = 0;
    outcome result = tls_connect(&broker);
    if (result != DONE) {
        return result;
    }
    mqtt.connected = true;
    result = send_connect();
    if (result == DONE) {
        result = expect(CONNACK, &in);
    }
    if (result == DONE) {
        result = judge_connack(&in);
    }
    if (result == DONE) {
        result = subscribe();
    }
    return result;
}

void mqtt_close(void)
{
    if (mqtt.connected) {
        mqtt.connected = false;
        tls_close();
    }
}

/* ---- deliveries ---- */

static outcome acknowledge(unsigned identifier)
{
    out_packet out = {.length = 0};
    put16(&out, identifier);
    return send_packet(PUBACK, &out, 0);
}

static uint16_t delivery_id(void)
{
    return (uint16_t)(2u + mqtt.delivery % 60000u);
}

/* What the broker passes on to the gateway: the delivery's number, and when the window was measured. */
static void put_publish_properties(out_packet *out)
{
    static const char name[] = "measured";
    char buffer[TEXT_NUMBER_BYTES];
    const char *date = text_number(buffer, sensor_measured());
    const size_t dated = sensor_measured() == 0 ? 0 : 1 + 2 + sizeof name - 1 + 2 + strlen(date);
    put8(out, (unsigned)(1 + 2 + 4 + dated)); /* the properties' bytes, below 128 */
    if (dated) {
        put8(out, USER_PROPERTY);
        put_string(out, name);
        put_string(out, date);
    }
    put8(out, CORRELATION_DATA);
    put16(out, 4);
    put32(out, mqtt.delivery);
}

static outcome publish_window(void)
{
    out_packet out = {.length = 0};
    mqtt.delivery++;
    put_string(&out, TOPIC_UP);
    put16(&out, delivery_id());
    put_publish_properties(&out);
    const outcome result = send_packet(PUBLISH_QOS_1, &out, sensor_window_bytes());
    return result == DONE ? stream_window() : result;
}

static bool equals(const in_packet *in, const char *text)
{
    return in->left == strlen(text) && memcmp(in->at, text, in->left) == 0;
}

typedef struct message {
    in_packet payload;
    in_packet status; /* the user property */
    bool of_this_delivery;
} message;

static void read_properties(in_packet properties, message *out)
{
    while (properties.left > 0) {
        const unsigned kind = take8(&properties);
        in_packet name = take(&properties, 0), value;
        switch (kind) {
        case CORRELATION_DATA:
            value = take(&properties, take16(&properties));
            out->of_this_delivery =
                value.left == 4 && ((uint32_t)take16(&value) << 16 | take16(&value)) == mqtt.delivery;
            break;
        case USER_PROPERTY:
            name = take(&properties, take16(&properties));
            value = take(&properties, take16(&properties));
            if (equals(&name, "status")) {
                out->status = value;
            }
            break;
        default:
            return; /* the gateway sends no others before these */
        }
    }
}

static outcome read_message(in_packet *in, message *out)
{
    const unsigned quality = in->type >> 1 & 3u;
    *out = (message){.of_this_delivery = false};
    (void)take(in, take16(in)); /* the topic: the only one subscribed to */
    const unsigned identifier = quality ? take16(in) : 0;
    read_properties(take(in, take_variable(in)), out);
    out->payload = *in;
    return quality ? acknowledge(identifier) : DONE;
}

static void copy_answer(const message *from, answer *out)
{
    out->length = from->payload.left < sizeof out->bytes ? from->payload.left : sizeof out->bytes;
    memcpy(out->bytes, from->payload.at, out->length);
}

/* A problem's status as over HTTP; 500 if it has none. */
static uint32_t problem_status(const answer *problem)
{
    static const char field[] = "\"status\":";
    for (size_t i = 0; i + sizeof field + 4u <= problem->length; i++) {
        if (memcmp(problem->bytes + i, field, sizeof field - 1u) == 0) {
            char digits[5] = {0};
            uint32_t status;
            memcpy(digits, problem->bytes + i + sizeof field - 1u, 4);
            return text_parse(digits, &status) ? status : 500u;
        }
    }
    return 500;
}

/* DONE with *answered: a receipt has come; DONE without: it is still to come. */
static outcome take_packet(in_packet *in, answer *out, bool *answered)
{
    message found;
    if (in->type == PUBACK && take16(in) == delivery_id() && take8(in) >= FAILED_FROM) {
        return outcome_set(TRY_AGAIN, "The broker has no room for the window now.");
    }
    if (in->type == DISCONNECT) {
        return outcome_set(TRY_AGAIN, "The broker ended the connection.");
    }
    if ((in->type & 0xF0u) != PUBLISH) {
        return DONE;
    }
    const outcome result = read_message(in, &found);
    if (result != DONE || !found.of_this_delivery) {
        return result;
    }
    copy_answer(&found, out);
    if (equals(&found.status, "receipt")) {
        *answered = true;
        return DONE;
    }
    return judge_status(equals(&found.status, "refused") ? problem_status(out) : 202u);
}

static outcome await_answer(answer *out)
{
    const uint32_t began = clock_ms();
    bool answered = false;
    while (!answered && !clock_passed(began, ANSWER_MS)) {
        in_packet in;
        outcome result = receive(&in, ANSWER_MS);
        if (result == DONE) {
            result = take_packet(&in, out, &answered);
        }
        if (result != DONE) {
            return result;
        }
    }
    return answered ? DONE : outcome_set(TRY_AGAIN, "No receipt came from the gateway.");
}

outcome mqtt_deliver(answer *out)
{
    out->length = 0;
    outcome result = mqtt.connected ? DONE : connect_to_broker();
    if (result == DONE) {
        result = publish_window();
    }
    if (result == DONE) {
        result = await_answer(out);
    }
    if (result != DONE) {
        mqtt_close(); /* the stream may have ended within a packet */
    }
    return result;
}

void mqtt_keep(void)
{
    if (!mqtt.connected) {
        return;
    }
    in_packet in;
    outcome result = receive(&in, ALREADY_HERE);
    if (result == DONE && (in.type & 0xF0u) == PUBLISH) { /* an answer that came too late */
        message found;
        result = read_message(&in, &found);
    }
    if (result == DONE && clock_passed(mqtt.last_sent, PING_AFTER_MS)) {
        result = send_packet(PINGREQ, &(out_packet){.length = 0}, 0);
    }
    if (result != DONE || in.type == DISCONNECT) {
        mqtt_close();
    }
}
