# SPDX-License-Identifier: Apache-2.0
"""Numbers in files: .npy, or text with commas, spaces or lines between them."""

from __future__ import annotations

import io
import re
import sys
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from ciphermote import npy
from ciphermote.errors import ValueRangeError
from ciphermote.files import read_bounded

MOST_VALUES_BYTES = 1 << 26
_STDIN = Path("-")


def read_values(path: Path, *, rows: bool = False) -> list[NDArray[Any]]:
    """The numbers in a file (-: standard input) as one array, or with rows one for each row.

    Text gives int64 where all are integers, else float64. ValueRangeError if there are none, or something
    else is there.
    """
    try:
        if path == _STDIN:
            return parse_values(_bounded(sys.stdin.buffer), rows=rows)
        return parse_values(read_bounded(path, MOST_VALUES_BYTES), rows=rows)
    except OSError as error:
        raise ValueRangeError(f"{path} cannot be read: {error.strerror}.") from None


def _bounded(stream: IO[bytes]) -> bytes:
    content = stream.read(MOST_VALUES_BYTES + 1)
    if len(content) > MOST_VALUES_BYTES:
        raise ValueRangeError(f"Standard input has over {MOST_VALUES_BYTES:,} bytes: give fewer numbers.")
    return content


def parse_values(content: bytes, *, rows: bool = False) -> list[NDArray[Any]]:
    """As read_values, of a file's content."""
    if content.startswith(npy.MAGIC):
        found = _npy(content)
        return list(np.atleast_2d(found)) if rows else [found.reshape(-1)]
    lines = (re.split(r"[\s,;]+", line) for line in _text(content).splitlines())
    numbers = ([_number(word) for word in words if word] for words in lines)
    found_rows = [np.array(row) for row in numbers if row]
    if not found_rows:
        raise ValueRangeError("There are no numbers: give some, with commas, spaces or lines between.")
    return found_rows if rows else [np.concatenate(found_rows)]


def _npy(content: bytes) -> NDArray[Any]:
    stream = io.BytesIO(content)
    try:
        shape, by_columns, dtype = npy.read_header(stream, "it")
        if dtype.kind not in "fiuc" or len(shape) not in (1, 2) or 0 in shape:
            raise ValueError(f"it holds {dtype} {list(shape)}, and not numbers in one dimension or two")
        return npy.make_array(shape, by_columns, dtype, stream.read(), "it")
    except Exception as error:  # numpy has several of its own for a damaged header
        raise ValueRangeError(f"The .npy file has no values ({error}): save them with numpy.save.") from None


def _text(content: bytes) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise ValueRangeError("The values are neither a .npy file nor text: give one of these.") from None


def _number(word: str) -> int | float:
    try:
        if abs(integer := int(word)) < 1 << 63:
            return integer
    except ValueError:
        pass
    try:
        return float(word)
    except ValueError:
        raise ValueRangeError(
            f"{word[:40]!r} is not a number: give numbers alone, without a header line."
        ) from None
