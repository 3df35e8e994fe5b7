# SPDX-License-Identifier: Apache-2.0
"""Files from outside, read no further than one of their kind can be long: a device or pipe may never end."""

from __future__ import annotations

import errno
from collections.abc import Callable
from pathlib import Path

HEAD_BYTES = 128
"""Enough to tell what a file is."""

MOST_OBJECT_BYTES = 1 << 24
"""No ciphertext, secret key, blob or header of keys, or parameter set is longer."""
MOST_JSON_BYTES = 1 << 24
"""A model of 90 classes by 8,192 features, the slots of the largest set, in 22 letters a weight."""
MOST_NPZ_BYTES = 1 << 26
"""The same of 1,000 classes, in binary64."""
MOST_FRAMES_BYTES = 1 << 28
"""Of one file, some 6,000 readings: what adapts or inspects them holds all in memory."""
MOST_KEYS_BYTES = 1 << 32
"""Galois keys, the largest of all, at n = 16384."""

_PIECE = 1 << 16


def read_bounded(path: Path, most: int | Callable[[bytes], int]) -> bytes:
    """All of a file of at most so many bytes, or so many as `most` makes of its first HEAD_BYTES. OSError, if
    it is longer too."""
    with path.open("rb") as file:
        pieces = [file.read(HEAD_BYTES)]
        limit = most if isinstance(most, int) else most(pieces[0])
        size = len(pieces[0])
        while size <= limit and (piece := file.read(min(_PIECE, limit + 1 - size))):
            pieces.append(piece)
            size += len(piece)
    if size > limit:
        raise OSError(
            errno.EFBIG, f"it has more than {limit:,} bytes, which is more than such a file can have"
        )
    return b"".join(pieces)
