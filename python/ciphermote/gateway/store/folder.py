# SPDX-License-Identifier: Apache-2.0
"""A store in a directory: ciphertexts in append-only segments, and whole objects as files.

A segment is a concatenation of deliveries of all fleets: frames contain their own lengths and checksums. What
workers store, who may not append to segments, is in batches: files beside the segments, each written once.
"""

from __future__ import annotations

import contextlib
import itertools
import mmap
import os
import secrets
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from ciphermote.base.errors import KeyFileError
from ciphermote.base.files import sync_directory, write_atomically
from ciphermote.base.number_text import is_natural
from ciphermote.gateway.gateway_files import OBJECTS, SEGMENTS
from ciphermote.gateway.store.extents import DIGEST_BYTES, Extent, digest_of
from ciphermote.gateway.store.interface import Owner, Stored

SEGMENT_BYTES = 256 << 20
_BATCH_PREFIX, _BATCH_SUFFIX = "b", ".batch"
_BATCH_NAME_BYTES = 12


class FolderStore:
    """The store in a gateway's directory, of which one process at a time may append."""

    most_in_flight = 1
    has_orphans = False
    trouble = None
    url = None

    def __init__(self, folder: Path, segment_bytes: int = SEGMENT_BYTES) -> None:
        self._folder = folder / SEGMENTS
        self._objects = folder / OBJECTS
        self._segment_bytes = segment_bytes
        self._segments: Segments | None = None
        for each in (self._folder, self._objects):
            each.mkdir(parents=True, exist_ok=True)
        self.disk = self._folder

    # --- deliveries -----------------------------------------------------------------------------------------

    def append(self, pieces: Sequence[bytes], owners: Sequence[Owner], now: float) -> list[Extent]:
        if self._segments is None:
            self._segments = Segments(self._folder, self._segment_bytes)
        return self._segments.append(pieces)

    def append_apart(self, pieces: Sequence[bytes], owner: Owner, now: float) -> list[Extent]:
        place = f"{_BATCH_PREFIX}{secrets.token_hex(_BATCH_NAME_BYTES)}"
        ends = list(itertools.accumulate(map(len, pieces)))
        write_atomically(_path_of(self._folder, place), b"".join(pieces), 0o600)
        return [Extent(place, end - len(piece), len(piece)) for piece, end in zip(pieces, ends, strict=True)]

    def reader(self) -> SegmentReader:
        return SegmentReader(self._folder)

    def growing(self) -> set[str]:
        return {str(number) for number in segment_numbers(self._folder)[-1:]}

    def places(self) -> Iterator[Stored]:
        for number in segment_numbers(self._folder):
            found = segment_path(self._folder, number).stat()
            yield Stored(str(number), found.st_size, found.st_mtime)
        for path in self._folder.glob(f"*{_BATCH_SUFFIX}"):
            found = path.stat()
            yield Stored(path.stem, found.st_size, found.st_mtime)

    def remove_places(self, places: Sequence[str]) -> None:
        for place in places:
            _path_of(self._folder, place).unlink(missing_ok=True)
        sync_directory(self._folder)

    # --- whole objects --------------------------------------------------------------------------------------

    def put(self, content: bytes) -> str:
        digest = digest_of(content)
        path = self._objects / digest
        try:
            os.utime(path)  # whoever deletes old ones leaves it
        except FileNotFoundError:
            write_atomically(path, content, 0o600)
        return digest

    def get(self, digest: str) -> bytes:
        path = self._objects / digest
        try:
            content = path.read_bytes()
        except OSError as error:
            raise KeyFileError(f"{path} cannot be read ({error.strerror}): restore a backup.") from None
        if digest_of(content) != digest:
            raise KeyFileError(f"{path} is damaged: restore a backup.")
        return content

    def sizes(self, digests: Iterable[str]) -> dict[str, int]:
        found = {}
        for digest in digests:
            with contextlib.suppress(FileNotFoundError):
                found[digest] = (self._objects / digest).stat().st_size
        return found

    def objects(self) -> Iterator[Stored]:
        with os.scandir(self._objects) as entries:
            for entry in entries:
                if len(entry.name) == 2 * DIGEST_BYTES:
                    found = entry.stat()
                    yield Stored(entry.name, found.st_size, found.st_mtime)

    def delete(self, digest: str, seconds: float) -> int:
        path = self._objects / digest
        try:
            found = path.stat()
        except FileNotFoundError:
            return 0
        if found.st_mtime >= seconds:
            return 0
        path.unlink()
        return found.st_size

    def in_backups(self, names: set[str]) -> set[str]:
        return set()  # a backup has copies

    def close(self) -> None:
        if self._segments is not None:
            self._segments.close()


def segment_path(folder: Path, number: int) -> Path:
    return folder / f"{number:08d}.segment"


def _path_of(folder: Path, place: str) -> Path:
    """Return a place's segment or batch. Raises KeyFileError for a place in another kind of store."""
    if is_natural(place):
        return segment_path(folder, int(place))
    if place.startswith(_BATCH_PREFIX):
        return folder / f"{place}{_BATCH_SUFFIX}"
    raise KeyFileError(f"{place} is in no segment, but in an object store: name that (--store).")


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
        self._place = str(self._number)
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
            extents.append(Extent(self._place, self._end, len(piece)))
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
        self._place = str(self._number)
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
        self._files: dict[str, int] = {}
        self._maps: dict[str, memoryview] = {}

    def prefetch(self, windows: Iterable[Sequence[Extent]]) -> None:
        """Do nothing: the kernel reads ahead."""

    def read(self, extents: Sequence[Extent]) -> bytes:
        return b"".join(self._read(extent) for extent in extents)

    def view(self, extents: Sequence[Extent]) -> bytes | memoryview:
        if len(extents) != 1:
            return self.read(extents)
        (extent,) = extents
        end = extent.offset + extent.size
        mapped = self._maps.get(extent.place)
        if mapped is None or len(mapped) < end:
            mapped = self._maps[extent.place] = self._mapped(extent.place)
            while len(self._maps) > self._most_open:
                del self._maps[next(iter(self._maps))]
        if len(mapped) < end:
            raise self._too_short(extent.place)
        return mapped[extent.offset : end]

    def _mapped(self, place: str) -> memoryview:
        """Map the segment's present content."""
        path = _path_of(self._folder, place)
        try:
            with path.open("rb") as file:
                return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        except (OSError, ValueError) as error:  # it is not there, or empty
            raise KeyFileError(f"{path} cannot be read ({error}): restore a backup.") from None

    def _too_short(self, place: str) -> KeyFileError:
        path = _path_of(self._folder, place)
        return KeyFileError(f"{path} is shorter than the database says: restore a backup of both.")

    def _read(self, extent: Extent) -> bytes:
        file = self._files.get(extent.place)
        path = _path_of(self._folder, extent.place)
        try:
            if file is None:
                if len(self._files) == self._most_open:
                    os.close(self._files.pop(next(iter(self._files))))
                file = self._files[extent.place] = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            data = os.pread(file, extent.size, extent.offset)
        except OSError as error:
            raise KeyFileError(f"{path} cannot be read ({error.strerror}): restore a backup.") from None
        if len(data) != extent.size:
            raise self._too_short(extent.place)
        return data

    def close(self) -> None:
        """Close all files, so that deleted ones take no room; they are reopened when read."""
        for file in self._files.values():
            os.close(file)
        self._files.clear()
        self._maps.clear()
