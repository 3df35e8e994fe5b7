/* SPDX-License-Identifier: Apache-2.0 */
/*
 * THE SIMULATOR'S persistent record and display: the files ciphermote-counter and ciphermote-display in
 * QEMU's working directory, through semihosting. The record is replaced by a rename, so that a simulation
 * that is killed leaves the old one or the new one. Semihosting cannot ask for fsync: a power cut on the host
 * may lose the last records. A real device keeps its record in flash or FRAM.
 */
#include <string.h>

#include "board.h"
#include "port.h"

#define RECORD_FILE "ciphermote-counter"
#define NEW_FILE "ciphermote-counter.new"
#define DISPLAY_FILE "ciphermote-display"
#define NO_SUCH_FILE 2 /* ENOENT */

int port_record_read(device_record *record)
{
    memset(record, 0, sizeof *record);
    const int32_t handle = host_open(RECORD_FILE, HOST_READ);
    if (handle < 0) {
        return host_errno() == NO_SUCH_FILE ? 0 : -1; /* a new device has no file yet */
    }
    uint8_t bytes[DEVICE_RECORD_BYTES];
    const bool complete = host_read(handle, bytes, sizeof bytes);
    const bool closed = host_close(handle);
    return complete && closed && device_record_unpack(bytes, record) ? 0 : -1;
}

static bool write_file(const char *name, const uint8_t *bytes, size_t length)
{
    const int32_t handle = host_open(name, HOST_WRITE);
    if (handle < 0) {
        return false;
    }
    const bool complete = host_write(handle, bytes, length);
    return host_close(handle) && complete;
}

int port_record_write(const device_record *record)
{
    uint8_t bytes[DEVICE_RECORD_BYTES];
    device_record_pack(bytes, record);
    return write_file(NEW_FILE, bytes, sizeof bytes) && host_rename(NEW_FILE, RECORD_FILE) ? 0 : -1;
}

int port_show(const char *text, size_t length)
{
    return write_file(DISPLAY_FILE, (const uint8_t *)text, length) ? 0 : -1;
}
