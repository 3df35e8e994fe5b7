/* SPDX-License-Identifier: Apache-2.0 */
#include "work.h"

#if NET_MARKS

#include "mark.h"

static work current;

static void mark_begin(void)
{
    if (current == WORK_HANDSHAKE) {
        MARK_BEGIN(1);
    } else if (current == WORK_WINDOW) {
        MARK_BEGIN(2);
    }
}

static void mark_end(void)
{
    if (current == WORK_HANDSHAKE) {
        MARK_END(1);
    } else if (current == WORK_WINDOW) {
        MARK_END(2);
    }
}

void work_begin(work kind)
{
    current = kind;
    mark_begin();
}

void work_end(void)
{
    mark_end();
    current = WORK_NONE;
}

void work_pause(void)
{
    mark_end();
}

void work_resume(void)
{
    mark_begin();
}

#else

void work_begin(work kind)
{
    (void)kind;
}

void work_end(void)
{
}

void work_pause(void)
{
}

void work_resume(void)
{
}

#endif
