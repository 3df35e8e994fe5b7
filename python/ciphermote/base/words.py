# SPDX-License-Identifier: Apache-2.0
"""Phrases that messages share."""

from __future__ import annotations

import math


def count_of(count: int, noun: str) -> str:
    """Count something in words, such as "1 prime" or "2 primes"."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def with_article(noun: str) -> str:
    """Put the article in front, such as "a float" or "an int"."""
    return f"{'an' if noun[:1].lower() in set('aeiou') else 'a'} {noun}"


def how_to_install(extra: str) -> str:
    """Tell how to install one of the package's extras; no registry has the package yet."""
    return f"run `pip install '.[{extra}]'` in a clone of Ciphermote's repository"


def scale_name(scale: float) -> str:
    """Write a scale as 2^25, or as 3.3e+07 if it is not a power of two."""
    mantissa, exponent = math.frexp(scale)
    return f"2^{exponent - 1}" if mantissa == 0.5 else f"{scale:.6g}"


def error_text(error: float, why_unknown: str = "") -> str:
    """Write how far a value may be off."""
    if math.isnan(error):
        return why_unknown
    return "exact" if error == 0 else f"{error:.1g}"


def rounded(value: float, error: float) -> str:
    """Round a value to the first digit of its error: all digits if it is exact, six if the error is
    unknown."""
    if math.isnan(error):
        return f"{value:.6g}"
    if error == 0:
        return str(int(value)) if value == int(value) else repr(value)
    places = -math.floor(math.log10(error))
    if places > 0:
        return f"{value:z.{min(places, 12)}f}"
    step = 10.0**-places
    return f"{round(value / step) * step:z.0f}"
