/*
 * THE SIMULATOR'S persistent counter: the file ciphermote-counter in QEMU's working directory, through
 * semihosting. It is replaced by a rename, so that a simulation that is killed leaves the old record or the
 * new one. Semihosting cannot ask for fsync: a power cut of the host may lose the last records. A device
 * keeps its counter in flash or FRAM.
 */
#include "simulator_platform.h"

#include "board.h"
#include "counter_record.h"

#define COUNTER_FILE "ciphermote-counter"
#define NEW_FILE "ciphermote-counter.new"
#define NO_SUCH_FILE 2 /* ENOENT */

int simulator_counter_read(void *context, uint64_t *value)
{
    (void)context;
    *value = 0;
    const int32_t handle = host_open(COUNTER_FILE, HOST_READ);
    if (handle < 0) {
        return host_errno() == NO_SUCH_FILE ? 0 : -1; /* a new device has no file yet */
    }
    uint8_t record[COUNTER_RECORD_BYTES];
    const bool complete = host_read(handle, record, sizeof record);
    const bool closed = host_close(handle);
    return complete && closed && counter_record_unpack(record, value) ? 0 : -1;
}

int simulator_counter_write(void *context, uint64_t value)
{
    (void)context;
    uint8_t record[COUNTER_RECORD_BYTES];
    counter_record_pack(record, value);
    const int32_t handle = host_open(NEW_FILE, HOST_WRITE);
    if (handle < 0) {
        return -1;
    }
    const bool complete = host_write(handle, record, sizeof record);
    const bool closed = host_close(handle);
    return complete && closed && host_rename(NEW_FILE, COUNTER_FILE) ? 0 : -1;
}
