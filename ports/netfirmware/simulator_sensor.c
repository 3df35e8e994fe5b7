/* SPDX-License-Identifier: Apache-2.0 */
/*
 * THE SIMULATOR'S sensor: the file ciphermote-readings in QEMU's working directory, through semihosting. It
 * holds how many readings there are (u32, little-endian) and the readings: binary32, or u16 for the compact
 * lane. It is read anew for each window.
 */
#include "board.h"
#include "bytes.h"
#include "sensor.h"

#define READINGS_FILE "ciphermote-readings"

static bool read_readings(int32_t file, uint8_t *out, uint32_t bytes_each, uint32_t most, uint32_t *count)
{
    uint8_t head[4];
    if (!host_read(file, head, sizeof head)) {
        return false;
    }
    *count = load32(head);
    return *count >= 1 && *count <= most && host_read(file, out, (size_t)*count * bytes_each);
}

outcome sensor_readings(void *out, uint32_t bytes_each, uint32_t most, uint32_t *count)
{
    const int32_t file = host_open(READINGS_FILE, HOST_READ);
    if (file < 0) {
        return outcome_set(REFUSED,
                           "The simulator's sensor has nothing: write the file ciphermote-readings.");
    }
    const bool complete = read_readings(file, out, bytes_each, most, count);
    return host_close(file) && complete
               ? DONE
               : outcome_set(REFUSED,
                             "The file ciphermote-readings is cut off, or holds no number of readings "
                             "that the firmware has room for.");
}
