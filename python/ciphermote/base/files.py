# SPDX-License-Identifier: Apache-2.0
"""Files: read no further than one of their kind can be long, for a device or pipe may never end; written
whole or not at all; and locked while a directory is changed."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import io
import os
import tempfile
import time
from collections.abc import Callable, Iterator
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
"""The most in one file, some 6,000 readings, which adapt and inspect hold in memory."""
MOST_KEYS_BYTES = 1 << 32
"""Galois keys, the largest of all, at n = 16384."""

_PIECE = 1 << 16
_BETWEEN_TRIES = 0.05


def read_bounded(path: Path, most: int | Callable[[bytes], int]) -> bytes:
    """All of a file of at most so many bytes, or so many as `most` makes of its first HEAD_BYTES. OSError, if
    it is longer too."""
    content = io.BytesIO()  # gives its bytes away without a copy
    with path.open("rb") as file:
        content.write(head := file.read(HEAD_BYTES))
        limit = most if isinstance(most, int) else most(head)
        while content.tell() <= limit and (piece := file.read(min(_PIECE, limit + 1 - content.tell()))):
            content.write(piece)
    if content.tell() > limit:
        raise OSError(
            errno.EFBIG, f"it has more than {limit:,} bytes, which is more than such a file can have"
        )
    return content.getvalue()


def write_exclusively(path: Path, content: bytes, mode: int) -> None:
    """Write a file that must not exist yet, and have it on the disk when this returns. OSError."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def write_atomically(path: Path, content: bytes, mode: int = 0o644) -> None:
    """Write or replace a file: a reader sees the old content or the new one, whole, and the new one is on the
    disk when this returns. OSError, of that file."""
    directory = path.absolute().parent
    try:
        _replace(directory, path, content, mode)
    except OSError as error:  # which names a scratch file, or none
        raise OSError(error.errno, error.strerror, str(path)) from error
    sync_directory(directory)


def _replace(directory: Path, path: Path, content: bytes, mode: int) -> None:
    descriptor, scratch = tempfile.mkstemp(prefix=f".{path.name}.", dir=directory)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
        os.replace(scratch, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(scratch)
        raise


def sync_directory(path: Path) -> None:
    """Have a directory's names on the disk when this returns. OSError."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def lock(path: Path, seconds: float) -> Iterator[None]:
    """Hold the lock of this name within the block: processes and threads that ask for it take turns.

    The file is made if it is not there and stays, for whoever waits holds it open; a process that ends gives
    its lock back. TimeoutError if another holds it for so many seconds; OSError.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        deadline = time.monotonic() + seconds
        while not _locked(descriptor):
            if time.monotonic() > deadline:
                raise TimeoutError(errno.ETIMEDOUT, f"another process holds it for over {seconds:g} s")
            time.sleep(_BETWEEN_TRIES)
        yield
    finally:
        os.close(descriptor)


def _locked(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
