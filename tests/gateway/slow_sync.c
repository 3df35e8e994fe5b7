/* SPDX-License-Identifier: Apache-2.0
 *
 * For LD_PRELOAD: a disk that is slow to sync. SLOW_SYNC names a file, and each fsync and fdatasync takes as
 * many more milliseconds as the number that stands in it; none if there is no file.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static void wait_a_while(void)
{
    const char *path = getenv("SLOW_SYNC");
    FILE *file = path ? fopen(path, "r") : NULL;
    int milliseconds = 0;
    struct timespec time;
    if (!file)
        return;
    if (fscanf(file, "%d", &milliseconds) != 1)
        milliseconds = 0;
    fclose(file);
    time.tv_sec = milliseconds / 1000;
    time.tv_nsec = milliseconds % 1000 * 1000000L;
    nanosleep(&time, NULL);
}

int fsync(int file)
{
    int (*next)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
    wait_a_while();
    return next(file);
}

int fdatasync(int file)
{
    int (*next)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
    wait_a_while();
    return next(file);
}
