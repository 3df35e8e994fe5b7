/* SPDX-License-Identifier: Apache-2.0
 *
 * For LD_PRELOAD: journals what a process does to the files under one directory, in order and with the data,
 * so that a test can say what a power cut at any moment would have left (synced.py).
 *
 * SYNCED_ROOT: the directory, absolute. SYNCED_JOURNAL: where records go; each is one write at the file's
 * end, so several processes may share it. A change is recorded after it was made and a sync both before and
 * after: what is recorded before a sync's beginning was there for it to sync.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum operation { CREATED = 1, WRITTEN, TRUNCATED, RENAMED, LINKED, UNLINKED, MADE, SYNCING, SYNCED };

struct record {
    uint32_t bytes; /* of all that follows it */
    uint32_t operation;
    uint64_t file; /* its inode's number */
    uint64_t offset;
    uint32_t path_bytes, other_bytes;
};

static const char *root(void)
{
    return getenv("SYNCED_ROOT");
}

static int is_below(const char *path)
{
    const char *folder = root();
    size_t length = folder ? strlen(folder) : 0;
    return length && strncmp(path, folder, length) == 0 && (path[length] == '/' || path[length] == 0);
}

/* Absolute, without resolving the last name: it may be about to be made. */
static int absolute(int directory, const char *path, char out[PATH_MAX])
{
    char link[64], base[PATH_MAX];
    ssize_t length;
    if (path[0] == '/') {
        snprintf(out, PATH_MAX, "%s", path);
        return is_below(out);
    }
    snprintf(link, sizeof link, directory == AT_FDCWD ? "/proc/self/cwd" : "/proc/self/fd/%d", directory);
    length = readlink(link, base, sizeof base - 1);
    if (length < 0)
        return 0;
    base[length] = 0;
    if ((size_t)snprintf(out, PATH_MAX, "%s/%s", base, path) >= PATH_MAX)
        return 0;
    return is_below(out);
}

static int of_descriptor(int file, char out[PATH_MAX])
{
    char link[64];
    ssize_t length;
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    length = readlink(link, out, PATH_MAX - 1);
    if (length < 0)
        return 0;
    out[length] = 0;
    return is_below(out);
}

static void note(enum operation operation, uint64_t file, uint64_t offset, const char *path,
                 const char *other, const struct iovec *data, int pieces, size_t data_bytes)
{
    static int journal = -1;
    struct iovec parts[3 + 1024];
    struct record record = {0};
    int at = 0, saved = errno;
    if (journal < 0)
        journal = (int)syscall(SYS_openat, AT_FDCWD, getenv("SYNCED_JOURNAL"),
                               O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    record.operation = operation;
    record.file = file;
    record.offset = offset;
    record.path_bytes = (uint32_t)strlen(path);
    record.other_bytes = (uint32_t)strlen(other);
    record.bytes =
        (uint32_t)(sizeof record - sizeof record.bytes + record.path_bytes + record.other_bytes + data_bytes);
    parts[at++] = (struct iovec){&record, sizeof record};
    parts[at++] = (struct iovec){(void *)path, record.path_bytes};
    parts[at++] = (struct iovec){(void *)other, record.other_bytes};
    for (int i = 0; i < pieces && data_bytes; i++) {
        size_t length = data[i].iov_len < data_bytes ? data[i].iov_len : data_bytes;
        parts[at++] = (struct iovec){data[i].iov_base, length};
        data_bytes -= length;
    }
    if (syscall(SYS_writev, journal, parts, at) < (long)sizeof record)
        abort(); /* a journal with a hole would prove nothing */
    errno = saved;
}

static uint64_t inode(int file)
{
    struct stat found;
    return fstat(file, &found) ? 0 : found.st_ino;
}

/* --- opening -------------------------------------------------------------------------------------------- */

static int open_noted(int directory, const char *path, int flags, mode_t mode)
{
    char name[PATH_MAX];
    struct stat found;
    int below = absolute(directory, path, name), is_new, file;
    is_new =
        below && (flags & O_CREAT) && syscall(SYS_newfstatat, AT_FDCWD, name, &found, AT_SYMLINK_NOFOLLOW);
    file = (int)syscall(SYS_openat, directory, path, flags, mode);
    if (file >= 0 && is_new)
        note(CREATED, inode(file), 0, name, "", NULL, 0, 0);
    else if (file >= 0 && below && (flags & O_TRUNC))
        note(TRUNCATED, inode(file), 0, name, "", NULL, 0, 0);
    return file;
}

static mode_t mode_of(int flags, va_list arguments)
{
    return flags & (O_CREAT | __O_TMPFILE) ? va_arg(arguments, mode_t) : 0;
}

#define OPEN(name) \
    int name(const char *path, int flags, ...) \
    { \
        va_list arguments; \
        mode_t mode; \
        va_start(arguments, flags); \
        mode = mode_of(flags, arguments); \
        va_end(arguments); \
        return open_noted(AT_FDCWD, path, flags, mode); \
    }
#define OPENAT(name) \
    int name(int directory, const char *path, int flags, ...) \
    { \
        va_list arguments; \
        mode_t mode; \
        va_start(arguments, flags); \
        mode = mode_of(flags, arguments); \
        va_end(arguments); \
        return open_noted(directory, path, flags, mode); \
    }

OPEN(open)
OPEN(open64)
OPENAT(openat)
OPENAT(openat64)

int __open_2(const char *path, int flags)
{
    return open_noted(AT_FDCWD, path, flags, 0);
}

int __open64_2(const char *path, int flags)
{
    return open_noted(AT_FDCWD, path, flags, 0);
}

int creat(const char *path, mode_t mode)
{
    return open_noted(AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, mode);
}

int creat64(const char *path, mode_t mode)
{
    return creat(path, mode);
}

/* --- writing -------------------------------------------------------------------------------------------- */

static ssize_t written(int file, const struct iovec *data, int pieces, ssize_t done, off_t offset)
{
    char name[PATH_MAX];
    if (done > 0 && of_descriptor(file, name)) {
        if (offset < 0)
            offset = lseek(file, 0, SEEK_CUR) - done;
        note(WRITTEN, inode(file), (uint64_t)offset, name, "", data, pieces, (size_t)done);
    }
    return done;
}

ssize_t write(int file, const void *data, size_t bytes)
{
    struct iovec whole = {(void *)data, bytes};
    return written(file, &whole, 1, syscall(SYS_write, file, data, bytes), -1);
}

ssize_t writev(int file, const struct iovec *data, int pieces)
{
    return written(file, data, pieces, syscall(SYS_writev, file, data, pieces), -1);
}

ssize_t pwrite64(int file, const void *data, size_t bytes, off_t offset)
{
    struct iovec whole = {(void *)data, bytes};
    return written(file, &whole, 1, syscall(SYS_pwrite64, file, data, bytes, offset), offset);
}

ssize_t pwrite(int file, const void *data, size_t bytes, off_t offset)
{
    return pwrite64(file, data, bytes, offset);
}

ssize_t pwritev64(int file, const struct iovec *data, int pieces, off_t offset)
{
    return written(file, data, pieces, syscall(SYS_pwritev, file, data, pieces, offset, 0), offset);
}

ssize_t pwritev(int file, const struct iovec *data, int pieces, off_t offset)
{
    return pwritev64(file, data, pieces, offset);
}

ssize_t pwritev64v2(int file, const struct iovec *data, int pieces, off_t offset, int flags)
{
    return written(file, data, pieces, syscall(SYS_pwritev2, file, data, pieces, offset, 0, flags), offset);
}

ssize_t pwritev2(int file, const struct iovec *data, int pieces, off_t offset, int flags)
{
    return pwritev64v2(file, data, pieces, offset, flags);
}

int ftruncate64(int file, off_t length)
{
    char name[PATH_MAX];
    int status = (int)syscall(SYS_ftruncate, file, length);
    if (status == 0 && of_descriptor(file, name))
        note(TRUNCATED, inode(file), (uint64_t)length, name, "", NULL, 0, 0);
    return status;
}

int ftruncate(int file, off_t length)
{
    return ftruncate64(file, length);
}

/* --- names ---------------------------------------------------------------------------------------------- */

static int two_names(enum operation operation, int status, int from, const char *old, int to, const char *new)
{
    char first[PATH_MAX], second[PATH_MAX];
    if (status == 0 && absolute(from, old, first) && absolute(to, new, second))
        note(operation, 0, 0, first, second, NULL, 0, 0);
    return status;
}

int renameat(int from, const char *old, int to, const char *new)
{
    return two_names(RENAMED, (int)syscall(SYS_renameat2, from, old, to, new, 0), from, old, to, new);
}

int rename(const char *old, const char *new)
{
    return renameat(AT_FDCWD, old, AT_FDCWD, new);
}

int linkat(int from, const char *old, int to, const char *new, int flags)
{
    return two_names(LINKED, (int)syscall(SYS_linkat, from, old, to, new, flags), from, old, to, new);
}

int link(const char *old, const char *new)
{
    return linkat(AT_FDCWD, old, AT_FDCWD, new, 0);
}

int unlinkat(int directory, const char *path, int flags)
{
    char name[PATH_MAX];
    int below = absolute(directory, path, name);
    int status = (int)syscall(SYS_unlinkat, directory, path, flags);
    if (status == 0 && below)
        note(UNLINKED, 0, 0, name, "", NULL, 0, 0);
    return status;
}

int unlink(const char *path)
{
    return unlinkat(AT_FDCWD, path, 0);
}

int mkdirat(int directory, const char *path, mode_t mode)
{
    char name[PATH_MAX];
    int status = (int)syscall(SYS_mkdirat, directory, path, mode);
    if (status == 0 && absolute(directory, path, name))
        note(MADE, 0, 0, name, "", NULL, 0, 0);
    return status;
}

int mkdir(const char *path, mode_t mode)
{
    return mkdirat(AT_FDCWD, path, mode);
}

/* --- syncing -------------------------------------------------------------------------------------------- */

static int synced(long call, int file)
{
    char name[PATH_MAX];
    int below = of_descriptor(file, name), status;
    if (below)
        note(SYNCING, inode(file), 0, name, "", NULL, 0, 0);
    status = (int)syscall(call, file);
    if (below && status == 0)
        note(SYNCED, inode(file), 0, name, "", NULL, 0, 0);
    return status;
}

int fsync(int file)
{
    return synced(SYS_fsync, file);
}

int fdatasync(int file)
{
    return synced(SYS_fdatasync, file);
}
