/* SPDX-License-Identifier: Apache-2.0 */
/* The smallest C user of the library: prints the name of the first parameter set. */
#include <ciphermote/ciphermote.h>
#include <stdio.h>

int main(void)
{
    const cm_params *params = cm_params_by_id(cm_n1024_q26.id);
    if (params == NULL) {
        return 1;
    }
    return puts(params->name) == EOF;
}
