/* SPDX-License-Identifier: Apache-2.0 */
/* The build in software alone. */
#include "board.h"

int board_start(void)
{
    return 1;
}
