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


def error_text(error: float, why_unknown: str = "") -> str:
    """How far a value may be off, for people."""
    if math.isnan(error):
        return why_unknown
    return "exact" if error == 0 else f"{error:.1g}"


def rounded(value: float, error: float) -> str:
    """A value with digits down to its error's first one; exact if there is none, and six if it is not
    known."""
    if math.isnan(error):
        return f"{value:.6g}"
    if error == 0:
        return str(int(value)) if value == int(value) else repr(value)
    places = -math.floor(math.log10(error))
    if places > 0:
        return f"{value:z.{min(places, 12)}f}"
    step = 10.0**-places
    return f"{round(value / step) * step:z.0f}"
