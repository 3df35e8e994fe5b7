# SPDX-License-Identifier: Apache-2.0
"""Words and names in requests, answers and paths of the API."""

from __future__ import annotations

from typing import Literal, get_args

NAME = r"[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?"
"""A regular expression for names of tenants, fleets and streams."""
ID = r"[0-9a-f]{16}"
"""A regular expression for the id of a key or a token."""

ComputedKind = Literal["sum", "mean", "variance", "weighted-sum", "linear"]
"""The kinds of jobs that have a result for the owner."""
JobKind = Literal["sum", "mean", "variance", "weighted-sum", "linear", "rekey"]
JOB_KINDS: tuple[JobKind, ...] = get_args(JobKind)
CheckedKind = Literal["sum", "mean"]
CHECKED_KINDS: tuple[CheckedKind, ...] = get_args(CheckedKind)
"""The kinds that can be computed in groups, whose sums the owner checks."""
JobAction = Literal["cancel", "retry", "replay"]
JOB_ACTIONS: tuple[JobAction, ...] = get_args(JobAction)
DeviceAction = Literal["revoke", "quarantine", "activate"]
DEVICE_ACTIONS: tuple[DeviceAction, ...] = get_args(DeviceAction)
KeyKind = Literal["galois", "relin"]
KEY_KINDS: tuple[KeyKind, ...] = get_args(KeyKind)


def one_of(words: tuple[str, ...]) -> str:
    """Return a regular expression for these words."""
    return "|".join(words)
