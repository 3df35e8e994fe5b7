/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The chip's random source, and a counter. The chip has no flash, so each run needs a new device secret; a
 * real device stores its counter for good.
 */
#ifndef PICORV32_PLATFORM_H
#define PICORV32_PLATFORM_H

#include "ciphermote/device.h"

extern const cm_platform picorv32_platform;

#endif
