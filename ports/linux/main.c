/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The application as a Linux process: requests on standard input, replies on standard output. The working
 * directory has the device's record in the file ciphermote-counter, a window that waits for its receipt in
 * ciphermote-window, and what a device would show its owner in ciphermote-display. Only one process at a time
 * may use a directory: two would share counters.
 */
#define _GNU_SOURCE /* makecontext, getrandom, renameat */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <ucontext.h>
#include <unistd.h>

#include "application.h"
#include "port.h"

#define RECORD_FILE "ciphermote-counter"
#define NEW_FILE "ciphermote-counter.new"
#define WINDOW_FILE "ciphermote-window"
#define NEW_WINDOW_FILE "ciphermote-window.new"
#define DISPLAY_FILE "ciphermote-display"
#define STACK_BYTES (64u * 1024u)
#define PAINT 0xA5u

/*
 * The application runs on a stack of its own, so that its depth can be measured: unused bytes keep their
 * paint.
 */
static _Alignas(16) volatile uint8_t stack[STACK_BYTES];
static ucontext_t main_context, application_context;
static int application_result;
static int directory = -1;

extern char __data_start, _end; /* the linker's: from the first byte of .data to the last of .bss */

/* ---- the link ---- */

static bool readable(uint32_t patience_ms)
{
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    int ready;
    do {
        ready = poll(&input, 1, patience_ms == PORT_NO_LIMIT ? -1 : (int)patience_ms);
    } while (ready < 0 && errno == EINTR);
    return ready > 0;
}

size_t port_receive(uint8_t *out, size_t length, uint32_t patience_ms)
{
    size_t received = 0;
    while (received < length && readable(patience_ms)) {
        const ssize_t got = read(STDIN_FILENO, out + received, length - received);
        if (got > 0) {
            received += (size_t)got;
        } else if (got == 0 || errno != EINTR) {
            break;
        }
    }
    return received;
}

/* Write all bytes, however few a single write takes. */
static int write_all(int file, const uint8_t *bytes, size_t length)
{
    while (length > 0) {
        const ssize_t written = write(file, bytes, length);
        if (written < 0 && errno != EINTR) {
            return -1;
        }
        if (written > 0) {
            bytes += written;
            length -= (size_t)written;
        }
    }
    return 0;
}

int port_send(const uint8_t *bytes, size_t length)
{
    return write_all(STDOUT_FILENO, bytes, length);
}

/* ---- the platform ---- */

static int platform_random(void *context, uint8_t *out, size_t length)
{
    (void)context;
    while (length > 0) {
        const ssize_t drawn = getrandom(out, length, 0);
        if (drawn < 0 && errno != EINTR) {
            return -1;
        }
        if (drawn > 0) {
            out += drawn;
            length -= (size_t)drawn;
        }
    }
    return 0;
}

int port_record_read(device_record *record)
{
    memset(record, 0, sizeof *record);
    const int file = openat(directory, RECORD_FILE, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return errno == ENOENT ? 0 : -1; /* a new device has no file yet */
    }
    uint8_t bytes[DEVICE_RECORD_BYTES + 1];
    const ssize_t got = read(file, bytes, sizeof bytes);
    (void)close(file);
    return got == DEVICE_RECORD_BYTES && device_record_unpack(bytes, record) ? 0 : -1;
}

static int write_durably(const char *name, const uint8_t *bytes, size_t length)
{
    const int file = openat(directory, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file < 0) {
        return -1;
    }
    const bool stored = write_all(file, bytes, length) == 0 && fsync(file) == 0;
    return close(file) == 0 && stored ? 0 : -1;
}

/* Whenever the power is cut, the directory names a complete file: the old one, or the new one once it is on
   disk. */
static int replace_durably(const char *name, const char *new_name, const uint8_t *bytes, size_t length)
{
    if (write_durably(new_name, bytes, length) != 0 || renameat(directory, new_name, directory, name) != 0) {
        return -1;
    }
    return fsync(directory);
}

int port_record_write(const device_record *record)
{
    uint8_t bytes[DEVICE_RECORD_BYTES];
    device_record_pack(bytes, record);
    return replace_durably(RECORD_FILE, NEW_FILE, bytes, sizeof bytes);
}

int port_window_read(uint8_t *out, size_t capacity, size_t *length)
{
    *length = 0;
    const int file = openat(directory, WINDOW_FILE, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return errno == ENOENT ? 0 : -1;
    }
    ssize_t got = 0;
    do {
        got = read(file, out + *length, capacity - *length);
        *length += got > 0 ? (size_t)got : 0;
    } while (got > 0 && *length < capacity);
    uint8_t more;
    const bool whole = got >= 0 && read(file, &more, 1) == 0;
    (void)close(file);
    return whole ? 0 : -1;
}

int port_window_write(const uint8_t *record, size_t length)
{
    return replace_durably(WINDOW_FILE, NEW_WINDOW_FILE, record, length);
}

int port_show(const char *text, size_t length)
{
    return write_durably(DISPLAY_FILE, (const uint8_t *)text, length);
}

const cm_platform *port_platform(void)
{
    static const cm_platform platform = {.random = platform_random,
                                         .counter_read = device_counter_read,
                                         .counter_write = device_counter_write};
    return &platform;
}

/* ---- memory ---- */

size_t port_static_bytes(void)
{
    return (size_t)(&_end - &__data_start) - sizeof stack;
}

size_t port_ram_bytes(void)
{
    return 0;
}

/* Paint everything below this function's own frame; the margin covers what that frame itself still needs. */
__attribute__((noinline)) void port_stack_watch(void)
{
    const uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    const size_t margin = 512;
    const size_t free_bytes = here - (uintptr_t)stack - margin;
    for (size_t i = 0; i < free_bytes; i++) {
        stack[i] = PAINT;
    }
}

size_t port_stack_used(void)
{
    size_t untouched = 0;
    while (untouched < sizeof stack && stack[untouched] == PAINT) {
        untouched++;
    }
    return sizeof stack - untouched;
}

/* ---- the process ---- */

static void run_application(void)
{
    application_result = application_run();
}

static int fail(const char *what)
{
    fprintf(stderr, "%s: %s\n", what, strerror(errno));
    return 2;
}

int main(void)
{
    directory = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0) {
        return fail("The working directory, which keeps the device's record, cannot be opened");
    }
    if (flock(directory, LOCK_EX | LOCK_NB) != 0) {
        return fail(
            "Another device process uses this working directory; start each in a directory of its own");
    }
    if (getcontext(&application_context) != 0) {
        return fail("The application's stack cannot be made");
    }
    application_context.uc_stack.ss_sp = (void *)(uintptr_t)stack;
    application_context.uc_stack.ss_size = sizeof stack;
    application_context.uc_link = &main_context;
    makecontext(&application_context, run_application, 0);
    if (swapcontext(&main_context, &application_context) != 0) {
        return fail("The application cannot be started");
    }
    return application_result;
}
