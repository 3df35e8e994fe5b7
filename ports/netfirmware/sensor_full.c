/* SPDX-License-Identifier: Apache-2.0 */
/* Windows as CKKS ciphertexts, under the secret key or the public key: whichever the header has. */
#include <string.h>

#include "clock.h"
#include "port.h"
#include "provisioned_keys.h"
#include "sensor.h"

/* 1: readings are a sensor's samples, and the features of app_model.h (ports/README.md) are encrypted. */
#ifndef SENSOR_FEATURES
#define SENSOR_FEATURES 0
#endif
#if SENSOR_FEATURES
#include "app_model.h"
#include "window_features.h"
#endif

#if !CM_PROVISIONED_TAGGED
#error "provisioned_keys.h has no identity: make it with `ciphermote owner enroll`."
#endif
#if CM_PROVISIONED_STREAMED_KEY
#error "provisioned_keys.h has digests of the public key: this firmware needs the key."
#endif
#if CM_PROVISIONED_SECRET_KEY && CM_PROVISIONED_PUBLIC_KEY
#error "provisioned_keys.h has both keys: this firmware encrypts with one."
#endif

#define SLOTS (CM_PROVISIONED_N / 2u)
#if CM_PROVISIONED_SECRET_KEY
#define ARENA_BYTES \
    CM_CKKS_SYMMETRIC_ARENA_BYTES(CM_PROVISIONED_N, CM_SLOTS_REAL, CM_PROVISIONED_PRECISION, CM_LOG2_TILES)
#define XOF CM_XOF_CHACHA20
#else
#define ARENA_BYTES \
    CM_CKKS_ASYMMETRIC_ARENA_BYTES(CM_PROVISIONED_N, CM_SLOTS_REAL, CM_PROVISIONED_PRECISION, CM_LOG2_TILES)
#define XOF CM_XOF_NONE
#endif
#define FRAME_OVERHEAD (CM_FRAME_TAGGED_HEADER_BYTES + CM_TAG_BYTES + CM_FRAME_CRC_BYTES)

static struct {
    uint64_t arena[(ARENA_BYTES + 7u) / 8u];
    float readings[SLOTS];
    uint32_t count; /* 0: no window is open */
    uint32_t measured;
    cm_device device;
    cm_frame_writer writer;
    cm_frame_sender sender;
    cm_encryptor encryptor;
    cm_attempt sent;
    cm_sink sink;
} sensor;

static int pass_on(void *context, const uint8_t *bytes, size_t length)
{
    (void)context;
    return sensor.sink.write(sensor.sink.context, bytes, length);
}

cm_status sensor_start(void)
{
    const cm_encryptor_setup setup = {.device = &sensor.device,
                                      .emitter = &sensor.writer.emitter,
                                      .arena = sensor.arena,
                                      .arena_bytes = sizeof sensor.arena,
                                      .xof = XOF,
                                      .log2_tiles = CM_LOG2_TILES};
    cm_frame_writer_init(&sensor.writer, (cm_sink){.write = pass_on});
    cm_frame_sender_init(&sensor.sender, cm_provisioned_tag_key, CM_PROVISIONED_DEVICE, CM_PROVISIONED_EPOCH);
    cm_frame_writer_tag(&sensor.writer, &sensor.sender);
    const cm_status status = cm_device_init(&sensor.device, cm_provisioned_device_secret, port_platform());
    if (status != CM_OK) {
        return status;
    }
#if CM_PROVISIONED_SECRET_KEY
    return cm_encryptor_init_symmetric(&sensor.encryptor, &cm_provisioned_secret_key, &setup);
#else
    return cm_encryptor_init_asymmetric(&sensor.encryptor, &cm_provisioned_public_key, &setup);
#endif
}

#if SENSOR_FEATURES

_Static_assert(APP_FEATURES == FEATURES_OF(APP_CHANNELS, APP_SAMPLES),
               "app_model.h: three features a sample");
_Static_assert(APP_FEATURES <= SLOTS, "app_model.h: no more features than slots");

static outcome read_sensor(void)
{
    static const standardisation standard = {app_mean, app_inverse_deviation, APP_CLIP};
    const uint32_t samples = (uint32_t)APP_CHANNELS * APP_SAMPLES;
    const outcome result = sensor_readings(sensor.readings, sizeof *sensor.readings, samples, &sensor.count);
    if (result != DONE) {
        return result;
    }
    if (sensor.count != samples) {
        return outcome_set(REFUSED, "The sensor gave fewer samples than the window of app_model.h has.");
    }
    const cm_status status =
        features_compute((uint8_t *)sensor.readings, APP_CHANNELS, APP_SAMPLES, &standard);
    sensor.count = APP_FEATURES;
    return status == CM_OK ? DONE : outcome_set(REFUSED, cm_status_text(status));
}

#else

static outcome read_sensor(void)
{
    return sensor_readings(sensor.readings, sizeof *sensor.readings, SLOTS, &sensor.count);
}

#endif

outcome sensor_measure(void)
{
    const outcome result = read_sensor();
    if (result == DONE) {
        cm_frame_sender_begin_window(&sensor.sender);
        sensor.measured = clock_date();
    } else {
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
    return sensor.sender.window;
}

uint32_t sensor_measured(void)
{
    return sensor.measured;
}

static const cm_params *params(void)
{
#if CM_PROVISIONED_SECRET_KEY
    return cm_provisioned_secret_key.params;
#else
    return cm_provisioned_public_key.params;
#endif
}

/* docs/wire-format.md: a frame for each tile of each component at each prime, or a seed for component 1. */
size_t sensor_window_bytes(void)
{
    const uint32_t tile = (uint32_t)CM_PROVISIONED_N >> CM_LOG2_TILES;
    size_t component = 0;
    for (unsigned i = 0; i < params()->data_primes; i++) {
        const uint32_t bits = 32u - (uint32_t)__builtin_clz(params()->primes[i].q);
        component += ((size_t)FRAME_OVERHEAD + tile / 8u * bits) << CM_LOG2_TILES;
    }
    return XOF == CM_XOF_NONE ? 2u * component : component + FRAME_OVERHEAD + cm_public_seed_bytes(XOF);
}

cm_status sensor_send(cm_sink sink)
{
    const cm_ckks_values values = {.data = sensor.readings,
                                   .count = sensor.count,
                                   .number = CM_FLOAT32,
                                   .slots = CM_SLOTS_REAL,
                                   .log2_scale = CM_PROVISIONED_LOG2_SCALE,
                                   .precision = CM_PROVISIONED_PRECISION,
                                   .largest = CM_PROVISIONED_LARGEST};
    sensor.sink = sink;
    const cm_status status = cm_ckks_encrypt(&sensor.encryptor, &values);
    if (status == CM_OK) {
        sensor.sent = cm_frame_writer_attempt(&sensor.writer);
    }
    return status;
}

cm_status sensor_take_receipt(const uint8_t *bytes, size_t length, cm_verdict *verdict)
{
    const cm_status status =
        cm_receipt_check(bytes, length, cm_provisioned_receipt_key, &sensor.sent, verdict);
    if (status == CM_OK) {
        memset(sensor.readings, 0, sizeof sensor.readings);
        sensor.count = 0;
    }
    return status;
}
