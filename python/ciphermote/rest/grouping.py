# SPDX-License-Identifier: Apache-2.0
"""The groups of a checked sum, which the gateway adds up and the owner checks: both compute them from the
contributors, so a result does not list them.

A device is in one group, with all its windows. Groups differ in size by at most one device, and nobody who
does not know the seed can tell who is in which.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from ciphermote.rest.requests import Groups

FULL_GROUPS = 32
"""Number of groups in fleets of full frames, unless the owner says otherwise."""


def groups_of(devices: Iterable[int], groups: Groups, job: int, *, is_compact: bool) -> list[list[int]]:
    """Put a job's devices into groups. Each is ascending, and so are the groups, by their first devices."""
    ordered = sorted(set(devices), key=lambda device: _rank(groups.seed, job, device))
    count = groups.count or (len(ordered) if is_compact else FULL_GROUPS)
    return sorted(sorted(ordered[first::count]) for first in range(min(count, len(ordered))))


def _rank(seed: str, job: int, device: int) -> bytes:
    content = job.to_bytes(8, "little") + device.to_bytes(8, "little")
    return hashlib.blake2b(content, key=bytes.fromhex(seed), digest_size=16).digest()
