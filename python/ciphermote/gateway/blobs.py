# SPDX-License-Identifier: Apache-2.0
"""Storage of bytes: ciphertexts in append-only segments, and whole files by their digests.

A segment is a concatenation of deliveries: frames contain their own lengths and checksums. The database knows
where each delivery begins; bytes that it does not refer to, which a crash can leave, are never read.
"""

from __future__ import annotations

import contextlib
import hashlib
import mmap
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from ciphermote.base.errors import KeyFileError
from ciphermote.base.files import sync_directory, write_atomically

SEGMENT_BYTES = 256 << 20
_DIGEST_BYTES = 20


class Extent(NamedTuple):
    """The place of bytes in a segment."""

    segment: int
    offset: int
    size: int

    def __str__(self) -> str:
        return f"{self.segment}:{self.offset}:{self.size}"

    @classmethod
    def parse(cls, text: str) -> Extent:
        return cls(*map(int, text.split(":")))


def parse_extents(text: str) -> list[Extent]:
    """Parse extents that were joined with commas."""
    return [Extent.parse(part) for part in text.split(",") if part]


def segment_path(folder: Path, number: int) -> Path:
    return folder / f"{number:08d}.segment"


def segment_numbers(folder: Path) -> list[int]:
    """Return the numbers of all segments, ascending."""
    return sorted(int(path.stem) for path in folder.glob("*.segment"))


class Segments:
    """Appends to segments, in one thread of one process, and begins a new one when one is full."""

    def __init__(self, folder: Path, segment_bytes: int = SEGMENT_BYTES) -> None:
        self._folder = folder
        self._segment_bytes = segment_bytes
        folder.mkdir(parents=True, exist_ok=True)
        numbers = segment_numbers(folder)
        self._number = max(numbers, default=0)
        self._file = -1
        self._end = 0
        if numbers:
            self._open()

    def append(self, pieces: Sequence[bytes]) -> list[Extent]:
        """Append pieces, and return the place of each; they are on the disk on return. Raises OSError if
        there is no room, and stores nothing then."""
        if self._file < 0 or self._end >= self._segment_bytes:
            self._begin_next()
        start = self._end
        extents = []
        for piece in pieces:
            extents.append(Extent(self._number, self._end, len(piece)))
            self._end += len(piece)
        try:
            _write_all(self._file, pieces, start)
            os.fdatasync(self._file)
        except BaseException:
            self._end = start
            with contextlib.suppress(OSError):
                os.ftruncate(self._file, start)
            raise
        return extents

    def close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _begin_next(self) -> None:
        self.close()
        self._number += 1
        self._open()
        sync_directory(self._folder)

    def _open(self) -> None:
        path = segment_path(self._folder, self._number)
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._end = os.fstat(self._file).st_size


def _write_all(file: int, pieces: Sequence[bytes], start: int) -> None:
    at = start
    group = 512  # fewer than IOV_MAX
    for first in range(0, len(pieces), group):
        views = [memoryview(piece) for piece in pieces[first : first + group]]
        while views:
            written = os.pwritev(file, views, at)
            at += written
            while views and written >= len(views[0]):
                written -= len(views.pop(0))
            if views and written:
                views[0] = views[0][written:]


class SegmentReader:
    """Reads segments, in any process."""

    def __init__(self, folder: Path, most_open: int = 16) -> None:
        self._folder = folder
        self._most_open = most_open
        self._files: dict[int, int] = {}
        self._maps: dict[int, memoryview] = {}

    def read(self, extents: Iterable[Extent]) -> bytes:
        """Read the bytes of one or more deliveries, joined. Raises KeyFileError if they are missing."""
        return b"".join(self._read(extent) for extent in extents)

    def view(self, extents: Sequence[Extent]) -> bytes | memoryview:
        """Read as read does, without copying bytes that lie in one place."""
        if len(extents) != 1:
            return self.read(extents)
        (extent,) = extents
        end = extent.offset + extent.size
        mapped = self._maps.get(extent.segment)
        if mapped is None or len(mapped) < end:
            mapped = self._maps[extent.segment] = self._mapped(extent.segment)
            while len(self._maps) > self._most_open:
                del self._maps[next(iter(self._maps))]
        if len(mapped) < end:
            raise self._too_short(extent.segment)
        return mapped[extent.offset : end]

    def _mapped(self, segment: int) -> memoryview:
        """Map the segment's present content."""
        path = segment_path(self._folder, segment)
        try:
            with path.open("rb") as file:
                return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        except (OSError, ValueError) as error:  # it is not there, or empty
            raise KeyFileError(f"{path} cannot be read ({error}): restore a backup.") from None

    def _too_short(self, segment: int) -> KeyFileError:
        path = segment_path(self._folder, segment)
        return KeyFileError(f"{path} is shorter than the database says: restore a backup of both.")

    def _read(self, extent: Extent) -> bytes:
        file = self._files.get(extent.segment)
        path = segment_path(self._folder, extent.segment)
        try:
            if file is None:
                if len(self._files) == self._most_open:
                    os.close(self._files.pop(next(iter(self._files))))
                file = self._files[extent.segment] = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            data = os.pread(file, extent.size, extent.offset)
        except OSError as error:
            raise KeyFileError(f"{path} cannot be read ({error.strerror}): restore a backup.") from None
        if len(data) != extent.size:
            raise self._too_short(extent.segment)
        return data

    def close(self) -> None:
        """Close all files, so that deleted ones take no room; they are reopened when read."""
        for file in self._files.values():
            os.close(file)
        self._files.clear()
        self._maps.clear()


def digest_of(content: bytes) -> str:
    """Return the digest that names a whole file."""
    return hashlib.blake2b(content, digest_size=_DIGEST_BYTES).hexdigest()


class Objects:
    """Whole files by the digest of their content: uploaded keys, and results."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def put(self, content: bytes) -> str:
        """Store content, which is on the disk on return, and return its digest."""
        digest = digest_of(content)
        path = self._folder / digest
        try:
            os.utime(path)  # whoever deletes old ones leaves it
        except FileNotFoundError:
            write_atomically(path, content, 0o600)
        return digest

    def has(self, digest: str) -> bool:
        return (self._folder / digest).exists()

    def size(self, digest: str) -> int | None:
        """Return a file's size in bytes; None if it does not exist."""
        try:
            return (self._folder / digest).stat().st_size
        except FileNotFoundError:
            return None

    def older_than(self, seconds: float) -> list[str]:
        """Return the digests of files not stored again since a time in seconds since 1970."""
        with os.scandir(self._folder) as entries:
            return [
                entry.name
                for entry in entries
                if len(entry.name) == 2 * _DIGEST_BYTES and entry.stat().st_mtime < seconds
            ]

    def delete(self, digest: str, seconds: float) -> int:
        """Delete a file, unless it was stored again since then or does not exist, and return the bytes
        released."""
        path = self._folder / digest
        try:
            found = path.stat()
        except FileNotFoundError:
            return 0
        if found.st_mtime >= seconds:
            return 0
        path.unlink()
        return found.st_size

    def get(self, digest: str) -> bytes:
        """Read a file. Raises KeyFileError if it is missing, or does not match its digest."""
        path = self._folder / digest
        try:
            content = path.read_bytes()
        except OSError as error:
            raise KeyFileError(f"{path} cannot be read ({error.strerror}): restore a backup.") from None
        if digest_of(content) != digest:
            raise KeyFileError(f"{path} is damaged: restore a backup.")
        return content
