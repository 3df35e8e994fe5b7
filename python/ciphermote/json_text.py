"""JSON from outside: parsed, and its values taken only as what they must be.

Every refusal is a ValueError without a sentence for people: the caller knows which file it reads.
"""

from __future__ import annotations

import json
import re
from typing import Any

U64_MAX = 2**64 - 1

_MOST = (('[{"', 1 << 15), (",", 1 << 20))
"""Of what costs a multiple of its letters. A model of 8,192 classes has 8,194 lists, and two quotes to each
label; one of 128 classes by 8,192 features has 2^20 numbers."""


def fits(text: str | bytes) -> bool:
    """Whether the text has no more pieces than any of ours."""
    return all(
        sum(text.count(mark if isinstance(text, str) else mark.encode()) for mark in marks) <= most
        for marks, most in _MOST
    )


def parse(text: str | bytes) -> Any:
    """What the text holds. ValueError if it is no JSON, or nested too deeply or in too many pieces to be any
    of ours: an empty list takes 64 bytes for its three letters."""
    if not fits(text):
        raise ValueError("in more pieces than a model has")
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def integer(value: Any, least: int, most: int) -> int:
    """An integer from least to most. ValueError for anything else, booleans and 1.0 included."""
    if type(value) is not int or not least <= value <= most:
        raise ValueError("no such integer")
    return value


def boolean(value: Any) -> bool:
    """true or false. ValueError for anything else."""
    if not isinstance(value, bool):
        raise ValueError("neither true nor false")
    return value


def string(value: Any) -> str:
    """A string. ValueError for anything else."""
    if not isinstance(value, str):
        raise ValueError("no string")
    return value


def array(value: Any) -> list[Any]:
    """A list. ValueError for anything else."""
    if not isinstance(value, list):
        raise ValueError("no list")
    return value


def numbers(value: Any) -> list[int | float]:
    """A list of numbers. ValueError for anything else, booleans and numbers in quotes included."""
    found = array(value)
    if not {type(number) for number in found} <= {int, float}:
        raise ValueError("no list of numbers")
    return found


def hexadecimal_u64(value: Any) -> int:
    """16 hexadecimal digits, as key ids are written. ValueError for anything else."""
    if not re.fullmatch(r"[0-9a-f]{16}", string(value)):
        raise ValueError("no 16 hexadecimal digits")
    return int(value, 16)
