# SPDX-License-Identifier: Apache-2.0
"""Words that sentences for people share."""

from __future__ import annotations


def count_of(count: int, noun: str) -> str:
    """As in 1 prime, 2 primes."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
