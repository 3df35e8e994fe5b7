# SPDX-License-Identifier: Apache-2.0
"""Check arguments where they enter the package: types and ranges, with errors that name the argument.

Python takes truth values for integers, numpy text for numbers, and the compiled extension raises its own
errors for what does not fit its types; none of that reaches users.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ciphermote.base.errors import Error, ParameterError
from ciphermote.base.words import with_article

_T = TypeVar("_T")
_MOST_LETTERS = 40


def shown(value: object) -> str:
    """Show a value in a message: on one line, and of bounded length."""
    text = " ".join(repr(value).split())
    return text if len(text) <= _MOST_LETTERS else text[:_MOST_LETTERS] + "..."


def whole(value: Any, name: str, least: int, most: int, most_name: str = "") -> int:
    """Check that a value is an integer (Python's or numpy's) from least to most, and return it. Raises
    ParameterError."""
    try:
        number = operator.index(value)
    except TypeError:
        number = least - 1
    if isinstance(value, bool | np.bool_) or not least <= number <= most:
        raise ParameterError(
            f"{name} is {shown(value)}: give a whole number from {least} to {most_name or most}."
        )
    return number


def flag(value: Any, name: str) -> bool:
    """Check that a value is a bool, not merely truthy, and return it. Raises ParameterError."""
    if not isinstance(value, bool | np.bool_):
        raise ParameterError(f"{name} is {shown(value)}: give True or False.")
    return bool(value)


def choice(value: Any, choices: Mapping[str, _T], name: str) -> _T:
    """Return what a name stands for. Raises ParameterError for an unknown one."""
    if not isinstance(value, str) or value not in choices:
        raise ParameterError(f"{name} is {shown(value)}: choose one of {', '.join(choices)}.")
    return choices[value]


def instance(value: Any, kinds: type[_T] | tuple[type[_T], ...], name: str, wanted: str) -> _T:
    """Check that a value has one of these types, and return it. wanted: what to pass instead, for the
    message. Raises ParameterError."""
    if not isinstance(value, kinds):
        what = (
            f"the class {value.__name__}" if isinstance(value, type) else with_article(type(value).__name__)
        )
        raise ParameterError(f"{name} is {what}: give {wanted}.")
    return value


def stream(values: Any, name: str, wanted: str) -> Iterable[Any]:
    """Check that a value is an iterable and not text, and return it. Raises ParameterError."""
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        raise ParameterError(f"{name} is {shown(values)}: give {wanted}.")
    return values


def each(values: Any, name: str, wanted: str) -> tuple[Any, ...]:
    """Return the items of an iterable that is not text as a tuple. Raises ParameterError."""
    return tuple(stream(values, name, wanted))


def array(values: ArrayLike, kind: type[Error] = ParameterError) -> NDArray[Any]:
    """Convert an argument of any type and shape to an array. Raises `kind` for rows of unequal lengths and
    for masked or missing values: numpy would take the placeholder beneath a mask for a measurement.
    """
    _refuse_masked(values, kind, ())
    try:
        found = np.asarray(values)
    except ValueError:
        raise kind("The numbers are in rows of unequal lengths: give rows of one length.") from None
    if found.dtype == object and found.ndim:
        _refuse_missing(found, kind)
    return found


def _refuse_masked(values: Any, kind: type[Error], place: tuple[int, ...]) -> None:
    if isinstance(values, np.ma.MaskedArray):
        mask = np.broadcast_to(np.asarray(values.mask), values.shape)
        if mask.dtype == bool and mask.any():
            raise _absent(kind, (*place, *np.argwhere(mask)[0].tolist()), "masked")
    elif isinstance(values, Sequence) and not isinstance(values, _WITHOUT) and len(place) < _DEEPEST:
        for index, value in enumerate(values):
            if isinstance(value, np.ma.MaskedArray | Sequence):
                _refuse_masked(value, kind, (*place, index))


def _refuse_missing(found: NDArray[Any], kind: type[Error]) -> None:
    for place, value in np.ndenumerate(found):
        if value is None or value is np.ma.masked or type(value).__name__ in _MISSING:
            raise _absent(kind, place, "missing")


def _absent(kind: type[Error], place: tuple[int, ...], how: str) -> Error:
    where = "The number" if not place else f"Number {', '.join(str(index + 1) for index in place)}"
    return kind(f"{where} is {how}, so nothing is known of it: leave it out, or fill it in first.")


_MISSING = ("NAType", "NaTType")
"""The types of pandas's placeholders for missing values."""
_WITHOUT = (str, bytes, bytearray, memoryview, range)
_DEEPEST = 64
"""The most dimensions that a numpy array can have."""


def path(value: Any, name: str = "The path") -> Path:
    """Convert an argument to the path of a file or directory. Raises ParameterError."""
    if not isinstance(value, str | Path):
        raise ParameterError(f"{name} is {shown(value)}: give a path as text or as a Path.")
    return Path(value)


Bytes = bytes | bytearray | memoryview


def check_bytes(data: object, name: str) -> None:
    """Raises ParameterError unless data are bytes."""
    wanted = "the bytes of frames or of a ciphertext"
    instance(data, (bytes, bytearray, memoryview), name, wanted)
