/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A back-end for tests: compile with -DCM_ARCH_HEADER='"recording_arch.h"'. It accepts some calls and
 * declines others, and is chosen at run time.
 */
#ifndef CM_TESTS_RECORDING_ARCH_H
#define CM_TESTS_RECORDING_ARCH_H

typedef struct recording_calls {
    unsigned ntt_taken;
    unsigned ntt_declined;
    unsigned product_taken;
    unsigned product_declined;
    unsigned encryption_declined;
    unsigned decryption_declined;
} recording_calls;

extern recording_calls recorded;
extern const cmi_arch *chosen_arch;

#define CM_ARCH (*chosen_arch)

#endif
