/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Semihosting: services of the machine that runs the simulator, as "Semihosting for AArch32 and AArch64"
 * defines them.
 */
#include <string.h>

#include "board.h"

enum {
    SYS_OPEN = 0x01,
    SYS_CLOSE = 0x02,
    SYS_WRITE = 0x05,
    SYS_READ = 0x06,
    SYS_RENAME = 0x0F,
    SYS_TIME = 0x11,
    SYS_ERRNO = 0x13,
    SYS_EXIT_EXTENDED = 0x20
};

#define APPLICATION_EXIT 0x20026u

static int32_t call(uint32_t operation, const void *arguments)
{
    register uint32_t r0 __asm__("r0") = operation;
    register const void *r1 __asm__("r1") = arguments;
    __asm__ volatile("bkpt 0xAB" : "+r"(r0) : "r"(r1) : "memory");
    return (int32_t)r0;
}

int32_t host_open(const char *path, host_mode mode)
{
    const uint32_t arguments[3] = {(uint32_t)(uintptr_t)path, (uint32_t)mode, (uint32_t)strlen(path)};
    return call(SYS_OPEN, arguments);
}

/* SYS_READ and SYS_WRITE return how many bytes they did not transfer. */
static bool transfer(uint32_t operation, int32_t handle, const void *bytes, size_t length)
{
    const uint32_t arguments[3] = {(uint32_t)handle, (uint32_t)(uintptr_t)bytes, (uint32_t)length};
    return call(operation, arguments) == 0;
}

bool host_read(int32_t handle, uint8_t *out, size_t length)
{
    return transfer(SYS_READ, handle, out, length);
}

bool host_write(int32_t handle, const uint8_t *bytes, size_t length)
{
    return transfer(SYS_WRITE, handle, bytes, length);
}

bool host_close(int32_t handle)
{
    const uint32_t arguments[1] = {(uint32_t)handle};
    return call(SYS_CLOSE, arguments) == 0;
}

bool host_rename(const char *from, const char *to)
{
    const uint32_t arguments[4] = {(uint32_t)(uintptr_t)from, (uint32_t)strlen(from), (uint32_t)(uintptr_t)to,
                                   (uint32_t)strlen(to)};
    return call(SYS_RENAME, arguments) == 0;
}

int32_t host_errno(void)
{
    return call(SYS_ERRNO, NULL);
}

uint32_t host_seconds(void)
{
    return (uint32_t)call(SYS_TIME, NULL);
}

_Noreturn void host_exit(int code)
{
    const uint32_t arguments[2] = {APPLICATION_EXIT, (uint32_t)code};
    for (;;) {
        (void)call(SYS_EXIT_EXTENDED, arguments);
    }
}
