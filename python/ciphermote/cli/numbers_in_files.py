# SPDX-License-Identifier: Apache-2.0
"""Read numbers from files: .npy, or text separated by commas, tabs, spaces or newlines.

Missing cells are refused, because they would move all numbers after them to other slots.
"""

from __future__ import annotations

import codecs
import io
import re
import sys
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from ciphermote.base import npy, number_text
from ciphermote.base.errors import ValueRangeError, about
from ciphermote.base.files import read_bounded
from ciphermote.base.words import count_of

MOST_VALUES_BYTES = 1 << 26
_STDIN = Path("-")
_ZIP = b"PK\x03\x04"
_SEPARATOR = re.compile(r" *[,\t] *| +")


def read_values(path: Path, *, rows: bool = False) -> list[NDArray[Any]]:
    """Read the numbers in a file (-: standard input), by line or by row; with rows, all must have one length.

    Text gives int64 where all of a line are integers, else float64. Raises ValueRangeError for a file without
    numbers or with anything else.
    """
    try:
        with about(name_of(path)):
            if path == _STDIN:
                return parse_values(_bounded(sys.stdin.buffer), rows=rows)
            return parse_values(read_bounded(path, MOST_VALUES_BYTES), rows=rows)
    except OSError as error:
        raise ValueRangeError(f"{path} cannot be read: {error.strerror}.") from None


def name_of(path: Path) -> Path | str:
    """Return the name of a file of numbers in messages."""
    return "standard input" if path == _STDIN else path


def _bounded(stream: IO[bytes]) -> bytes:
    content = stream.read(MOST_VALUES_BYTES + 1)
    if len(content) > MOST_VALUES_BYTES:
        raise ValueRangeError(f"Standard input has over {MOST_VALUES_BYTES:,} bytes: give fewer numbers.")
    return content


def parse_values(content: bytes, *, rows: bool = False) -> list[NDArray[Any]]:
    """Parse a file's content as read_values does."""
    if content.startswith(npy.MAGIC):
        return list(np.atleast_2d(_npy(content)))
    if content.startswith(_ZIP):
        raise ValueRangeError(
            "The values are in a .npz or another archive: save one array as .npy, with numpy.save."
        )
    lines = _text(content).rstrip(" \r\n").splitlines()
    if not lines:
        raise ValueRangeError("There are no numbers: give some, separated by commas, spaces or newlines.")
    found = [np.array(_numbers(text, line)) for line, text in enumerate(lines, 1)]
    for line, row in enumerate(found, 1):
        if rows and len(row) != len(found[0]):
            raise ValueRangeError(
                f"Row {line} has {count_of(len(row), 'number')} and row 1 has {len(found[0])}: with --rows, "
                "give rows of one length."
            )
    return found


def _numbers(text: str, line: int) -> list[int | float]:
    """Parse one line of text. Raises ValueRangeError for a missing cell or one that is not a number."""
    if ";" in text:
        raise ValueRangeError(
            f"Line {line} has a semicolon: separate numbers by commas, spaces or newlines, and write their "
            "fractions with a dot."
        )
    text = text.strip(" \r")
    between = set(_SEPARATOR.findall(text))
    if any("," in each for each in between) and any("," not in each for each in between):  # 21,5 3,4
        raise ValueRangeError(
            f"Line {line} has numbers both with and without a comma between them: separate all by commas or "
            "none, and write their fractions with a dot."
        )
    words = _SEPARATOR.split(text)
    return [_number(word, line, column) for column, word in enumerate(words, 1)]


def _npy(content: bytes) -> NDArray[Any]:
    stream = io.BytesIO(content)
    try:
        shape, by_columns, dtype = npy.read_header(stream, "it")
        if dtype.kind in "fiuc" and len(shape) in (1, 2) and 0 not in shape:
            return npy.make_array(shape, by_columns=by_columns, dtype=dtype, values=stream.read(), name="it")
    except Exception as error:  # numpy has several of its own for a damaged header
        raise ValueRangeError(
            f"The .npy file is damaged ({error}): save it again, with numpy.save."
        ) from None
    raise ValueRangeError(
        f"The .npy file holds {dtype} of shape {list(shape)}: give real or complex numbers in one dimension "
        "or two."
    )


def _text(content: bytes) -> str:
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) or b"\0" in content:
        raise ValueRangeError("The text is in UTF-16 or UTF-32, or is no text: save it as UTF-8.")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ValueRangeError("The values are neither a .npy file nor text: give one of these.") from None


def _number(word: str, line: int, column: int) -> int | float:
    if not word:
        raise ValueRangeError(
            f"Line {line}, column {column} is empty: give a number there, for what follows would move up."
        )
    try:
        if abs(integer := number_text.integer(word)) < 1 << 63:
            return integer
    except ValueError:
        pass
    try:
        return number_text.real(word)
    except ValueError:
        raise ValueRangeError(
            f"{word[:40]!r} (line {line}, column {column}) is not a number: give numbers alone, without a "
            "header line."
        ) from None
