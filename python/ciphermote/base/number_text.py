# SPDX-License-Identifier: Apache-2.0
"""Numbers in text from outside, written in ASCII digits.

Python's int and float also take underscores, spaces and the digits of every script, so that a damaged file
or another country's format passes as a number.
"""

from __future__ import annotations

import re

_INTEGER = re.compile(r"[+-]?[0-9]+")
_REAL = re.compile(
    r"[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?|nan|inf|infinity)", re.IGNORECASE | re.ASCII
)


def integer(text: str) -> int:
    """Parse an integer. Raises ValueError for anything else."""
    if not _INTEGER.fullmatch(text):
        raise ValueError("no integer")
    return int(text)


def real(text: str) -> float:
    """Parse a real number, NaN or an infinity. Raises ValueError for anything else."""
    if not _REAL.fullmatch(text):
        raise ValueError("no number")
    return float(text)


def is_natural(text: str) -> bool:
    """Whether the text is digits only."""
    return text.isascii() and text.isdecimal()
