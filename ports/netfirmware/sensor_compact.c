/* SPDX-License-Identifier: Apache-2.0 */
/* Windows of the compact lane, of one packet each. */
#include <string.h>

#include "bytes.h"
#include "clock.h"
#include "compact_keys.h"
#include "port.h"
#include "sensor.h"

#ifndef SENSOR_VALUES
#define SENSOR_VALUES 24u /* the most in a window */
#endif
#define MOST_WIRE_BITS 35u /* of any set */
#define MOST_PACKET_BYTES CM_COMPACT_PACKET_BYTES(SENSOR_VALUES, MOST_WIRE_BITS)
#define ARENA_BYTES CM_COMPACT_ARENA_BYTES(2, SENSOR_VALUES, MOST_PACKET_BYTES)
enum { AT_SINCE_WINDOW = 12 }; /* docs/wire-format.md: the counter less the window's number */

static struct {
    uint64_t arena[(ARENA_BYTES + 7u) / 8u];
    uint16_t readings[SENSOR_VALUES];
    uint32_t count; /* 0: no window is open */
    uint32_t measured;
    uint64_t window;
    cm_counter counter;
    cm_compact_encryptor encryptor;
    cm_attempt sent;
    uint64_t tags;         /* of the packet that is being sent */
    uint32_t since_window; /* the same */
    cm_sink sink;
} sensor;

static int pass_on(void *context, const uint8_t *packet, size_t length)
{
    (void)context;
    sensor.since_window = load32(packet + AT_SINCE_WINDOW);
    cm_tags_add(&sensor.tags, packet + length - CM_TAG_BYTES);
    return sensor.sink.write(sensor.sink.context, packet, length);
}

cm_status sensor_start(void)
{
    const cm_compact_setup setup = {.counter = &sensor.counter,
                                    .sink = {.write = pass_on},
                                    .packet_bytes = MOST_PACKET_BYTES,
                                    .arena = sensor.arena,
                                    .arena_bytes = sizeof sensor.arena};
    const cm_status status = cm_counter_init(&sensor.counter, port_platform());
    return status == CM_OK ? cm_compact_init(&sensor.encryptor, &cm_provisioned_compact_key, &setup) : status;
}

outcome sensor_measure(void)
{
    const outcome result =
        sensor_readings(sensor.readings, sizeof *sensor.readings, SENSOR_VALUES, &sensor.count);
    sensor.window = CM_NEW_WINDOW;
    sensor.measured = clock_date();
    if (result != DONE) {
        sensor.count = 0;
    }
    return result;
}

bool sensor_open(void)
{
    return sensor.count != 0;
}

uint64_t sensor_window(void)
{
    return sensor.window;
}

uint32_t sensor_measured(void)
{
    return sensor.measured;
}

size_t sensor_window_bytes(void)
{
    return CM_COMPACT_PACKET_BYTES(sensor.count, cm_provisioned_compact_key.set->wire_bits);
}

cm_status sensor_send(cm_sink sink)
{
    sensor.sink = sink;
    sensor.tags = 0;
    const cm_status status =
        cm_compact_encrypt(&sensor.encryptor, sensor.readings, 0, (uint16_t)sensor.count, &sensor.window);
    if (status == CM_OK) {
        sensor.sent = (cm_attempt){.window = sensor.window,
                                   .counter = sensor.window + sensor.since_window,
                                   .tags = sensor.tags,
                                   .device = cm_provisioned_compact_key.device,
                                   .epoch = cm_provisioned_compact_key.epoch};
    }
    return status;
}

cm_status sensor_take_receipt(const uint8_t *bytes, size_t length, cm_verdict *verdict)
{
    const cm_status status =
        cm_receipt_check(bytes, length, cm_provisioned_compact_receipt_key, &sensor.sent, verdict);
    if (status == CM_OK) {
        memset(sensor.readings, 0, sizeof sensor.readings);
        sensor.count = 0;
    }
    return status;
}
