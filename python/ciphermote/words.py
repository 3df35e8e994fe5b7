# SPDX-License-Identifier: Apache-2.0
"""Words that sentences for people share."""

from __future__ import annotations

import math


def count_of(count: int, noun: str) -> str:
    """As in 1 prime, 2 primes."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def with_article(noun: str) -> str:
    """As in a float, an int."""
    return f"{'an' if noun[:1].lower() in set('aeiou') else 'a'} {noun}"


def how_to_install(extra: str) -> str:
    """For a package's extra; no registry has the package yet."""
    return f"run `pip install '.[{extra}]'` in a clone of Ciphermote's repository"


def scale_name(scale: float) -> str:
    """As in 2^25, or 3.3e+07 for a scale that is no power of two."""
    mantissa, exponent = math.frexp(scale)
    return f"2^{exponent - 1}" if mantissa == 0.5 else f"{scale:.6g}"
