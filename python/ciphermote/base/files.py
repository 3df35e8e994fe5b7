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
"""Bytes that suffice to tell a file's kind."""

MOST_OBJECT_BYTES = 1 << 24
"""The longest ciphertext, secret key, blob or header of keys, or parameter set."""
MOST_JSON_BYTES = 1 << 24
"""A model of 90 classes by 8,192 features, the slots of the largest set, in 22 letters a weight."""
MOST_NPZ_BYTES = 1 << 26
"""The same for 1,000 classes, in binary64."""
MOST_FRAMES_BYTES = 1 << 28
"""The largest file of readings, some 6,000 of them, which adapt and inspect hold in memory."""
MOST_KEYS_BYTES = 1 << 32
"""Galois keys, the largest of all, at n = 16384."""

_PIECE = 1 << 16
_BETWEEN_TRIES = 0.05


def read_bounded(path: Path, most: int | Callable[[bytes], int]) -> bytes:
    """Read a whole file of at most `most` bytes, or of at most what `most` computes from its first
    HEAD_BYTES. Raises OSError, also for a longer file."""
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
    """Write a file that must not exist yet; it is on the disk on return. Raises OSError."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def write_atomically(path: Path, content: bytes, mode: int = 0o644) -> None:
    """Write or replace a file: a reader sees either the old content or the new one, and the new one is on the
    disk on return. Raises OSError that names the file."""
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
    """Force a directory's entries to the disk. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def lock(path: Path, seconds: float) -> Iterator[None]:
    """Hold the lock of this name within the block: processes and threads that ask for it take turns. The file
    is created if needed and stays, because waiting processes hold it open. A process that ends releases its
    lock. Raises TimeoutError if another holder keeps it for `seconds`, or OSError.
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
