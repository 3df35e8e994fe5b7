/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Marks where something derived from a secret becomes public; each call says why. It does nothing except in
 * the constant-time tests (tests/constant_time), where it informs valgrind; there, any other branch or
 * address that depends on a secret is an error.
 */
#ifndef CM_COMMON_DECLASSIFY_H
#define CM_COMMON_DECLASSIFY_H

#include <stdbool.h>
#include <stddef.h>

#ifdef CM_TEST_CONSTANT_TIME
#include <valgrind/memcheck.h>
#endif

static inline void cmi_declassify(const void *memory, size_t bytes)
{
#ifdef CM_TEST_CONSTANT_TIME
    (void)VALGRIND_MAKE_MEM_DEFINED(memory, bytes);
#endif
    (void)memory;
    (void)bytes;
}

static inline bool cmi_declassified(bool known)
{
    cmi_declassify(&known, sizeof known);
    return known;
}

#endif
