# SPDX-License-Identifier: Apache-2.0
"""JSON from outside: parsed, and each value checked against the type it must have. Refusals are ValueErrors
without a sentence for people, because only the caller knows which file it reads.
"""

from __future__ import annotations

import json
import re
from typing import Any

U64_MAX = 2**64 - 1

_MOST = (('[{"', 1 << 15), (",", 1 << 20))
"""The most brackets and quotes, each of which takes many times its size in memory. A model of 8,192 classes
has 8,194 lists, and two quotes to each label; one of 128 classes by 8,192 features has 2^20 numbers."""


def fits(text: str | bytes) -> bool:
    """Whether the text has at most _MOST_PIECES pieces, as all of our own files do."""
    return all(_count(text, marks) <= most for marks, most in _MOST)


def _count(text: str | bytes, marks: str) -> int:
    if isinstance(text, str):
        return sum(text.count(mark) for mark in marks)
    return sum(text.count(mark) for mark in marks.encode())


def parse(text: str | bytes) -> Any:
    """Parse a text as parse_large does, with a bound on its pieces: an empty list takes 64 bytes of memory
    for its three letters. Raises ValueError."""
    if not fits(text):
        raise ValueError("in more pieces than a model has")
    return parse_large(text)


def parse_large(text: str | bytes) -> Any:
    """Parse a text that means the same to every reader. Raises ValueError if it is not JSON, is nested too
    deeply, repeats a name in one object, or has NaN or an infinity."""
    try:
        return json.loads(text, object_pairs_hook=_object, parse_constant=_no_number)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name stands twice in one object")
    return found


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is no number")


def integer(value: object, least: int, most: int) -> int:
    """An integer from least to most. Raises ValueError for anything else, booleans and 1.0 included."""
    if type(value) is not int or not least <= value <= most:
        raise ValueError("no such integer")
    return value


def boolean(value: object) -> bool:
    """true or false. Raises ValueError for anything else."""
    if not isinstance(value, bool):
        raise ValueError("neither true nor false")
    return value


def string(value: object) -> str:
    """A string. Raises ValueError for anything else."""
    if not isinstance(value, str):
        raise ValueError("no string")
    return value


def array(value: object) -> list[Any]:
    """A list. Raises ValueError for anything else."""
    if not isinstance(value, list):
        raise ValueError("no list")
    return value


def numbers(value: object) -> list[int | float]:
    """A list of numbers. Raises ValueError for anything else, booleans and numbers in quotes included."""
    found = array(value)
    if not {type(number) for number in found} <= {int, float}:
        raise ValueError("no list of numbers")
    return found


def hexadecimal_u64(value: object) -> int:
    """16 hexadecimal digits, as key ids are written. Raises ValueError for anything else."""
    digits = string(value)
    if not re.fullmatch(r"[0-9a-f]{16}", digits):
        raise ValueError("no 16 hexadecimal digits")
    return int(digits, 16)
