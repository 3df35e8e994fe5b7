# SPDX-License-Identifier: Apache-2.0
"""A clock of this machine that is never set."""

from __future__ import annotations

import time
from pathlib import Path


def boot_clock() -> tuple[str, float]:
    """Return (this boot's name, seconds since it), the same in all processes."""
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return boot, time.clock_gettime(time.CLOCK_BOOTTIME)
