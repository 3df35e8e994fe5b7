/* SPDX-License-Identifier: Apache-2.0 */
/* The transform's roots as tables, for builds that take them from keys (CM_CONFIG_NTT_ROOTS). */
#ifndef CM_TESTS_ROOTS_H
#define CM_TESTS_ROOTS_H

#include "ciphermote/config.h"
#include "ciphermote/params.h"

/*
 * The roots at the data primes, valid until the next call for another set; null if the build or the set is to
 * compute them.
 */
const cm_root_table *test_roots(const cm_params *params);

#endif
