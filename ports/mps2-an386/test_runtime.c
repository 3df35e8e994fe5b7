/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the C library (newlib) requires of a system, for the library's tests only: text goes to the UART, the
 * heap is the remaining RAM, and there are no files.
 */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "board.h"

extern char heap_start[], ram_end[];

void *_sbrk(ptrdiff_t increment);
int _write(int file, const char *bytes, int length);
int _read(int file, char *out, int length);
int _close(int file);
int _lseek(int file, int offset, int whence);
int _fstat(int file, struct stat *status);
int _isatty(int file);
int _getpid(void);
int _kill(int process, int signal_number);
_Noreturn void _exit(int code);

void *_sbrk(ptrdiff_t increment)
{
    static char *end = heap_start;
    if (increment > ram_end - end) {
        errno = ENOMEM;
        return (void *)-1;
    }
    char *start = end;
    end += increment;
    return start;
}

int _write(int file, const char *bytes, int length)
{
    (void)file;
    uart_send((const uint8_t *)bytes, (size_t)length);
    return length;
}

int _read(int file, char *out, int length)
{
    (void)file;
    (void)out;
    (void)length;
    return 0;
}

int _close(int file)
{
    (void)file;
    return -1;
}

int _lseek(int file, int offset, int whence)
{
    (void)file;
    (void)offset;
    (void)whence;
    return 0;
}

int _fstat(int file, struct stat *status)
{
    (void)file;
    status->st_mode = S_IFCHR;
    return 0;
}

int _isatty(int file)
{
    (void)file;
    return 1;
}

int _getpid(void)
{
    return 1;
}

int _kill(int process, int signal_number)
{
    (void)process;
    (void)signal_number;
    errno = EINVAL;
    return -1;
}

_Noreturn void _exit(int code)
{
    host_exit(code);
}
