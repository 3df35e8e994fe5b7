/* SPDX-License-Identifier: Apache-2.0 */
/* The secret key in flash, separate from workload.c so that only firmware that uses it links it. */
#include "workload.h"

cm_secret_key workload_secret(void)
{
    return (cm_secret_key)
    {
        .params = &WORKLOAD_PARAMS, .key_id = WORKLOAD_KEY_ID, .ternary = workload_ternary,
#if CM_CONFIG_TRANSFORMED_SECRET
        .transformed = &workload_transformed[0][0],
#endif
        .roots = workload_roots,
    };
}
