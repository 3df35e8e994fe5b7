# SPDX-License-Identifier: Apache-2.0
"""Packed numbers and runs of positions in the compact lane's results, whose bytes come from outside."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ciphermote.base.errors import FrameError, ParameterError
from ciphermote.compact.sets import CompactSet, compact_set_by_id

DIGEST_BYTES = 16
RUN = struct.Struct("<HH")
"""The first position of a run, and their number."""
_AT_ONCE = 1 << 16
"""Numbers that are packed at a time: whole bytes of any width."""
_SENT_WINDOW = struct.Struct("<IHQQ8s")
SENT_WINDOW_BYTES = _SENT_WINDOW.size


class SentWindow(NamedTuple):
    """A window: its number, and the counter and random bytes of the attempt that counts."""

    device: int
    epoch: int
    window: int
    counter: int
    random: bytes

    @property
    def place(self) -> tuple[int, int, int]:
        return self.device, self.epoch, self.window


class Reader:
    """Reads the fields of a result, from byte `at` on. what: names the file in errors."""

    def __init__(self, data: bytes, at: int, what: str) -> None:
        self._data, self._at, self._what = data, at, what

    @property
    def at_end(self) -> bool:
        return self._at == len(self._data)

    def hostile(self) -> FrameError:
        """Return the error for values that no version writes."""
        return FrameError(
            f"{self._what} holds values that no version writes, so it is damaged or hostile: drop it."
        )

    def take(self, count: int) -> bytes:
        """Return the next bytes. Raises FrameError if there are fewer."""
        taken = self._data[self._at : self._at + count]
        if len(taken) != count:
            raise self.hostile()
        self._at += count
        return taken

    def numbers(self, count: int, bits: int, most: int) -> NDArray[np.uint64]:
        """Return packed numbers. Raises FrameError for one above `most`, and for padding that is not zero."""
        found, rest = _unpacked(self.take((count * bits + 7) // 8), count, bits)
        if (found > most).any() or rest:
            raise self.hostile()
        return found

    def positions(self, compact: CompactSet, runs: int) -> NDArray[np.uint32]:
        """Return the positions of so many runs. Raises FrameError unless they go up and are apart."""
        end, found = -1, []
        for first, count in RUN.iter_unpack(self.take(runs * RUN.size)):
            if count < 1 or first <= end or first + count > compact.n:
                raise self.hostile()
            end = first + count
            found.append(np.arange(first, end, dtype=np.uint32))
        if not found:
            raise self.hostile()
        return np.concatenate(found)

    def sent_windows(self, count: int) -> tuple[SentWindow, ...]:
        """Return so many windows. Raises FrameError unless they ascend by device, epoch and number."""
        entries = _SENT_WINDOW.iter_unpack(self.take(count * SENT_WINDOW_BYTES))
        found = tuple(SentWindow(*values) for values in entries)
        if any(a.place >= b.place for a, b in pairwise(found)):
            raise self.hostile()
        return found


def open_result(
    data: bytes, head_bytes: int, version: int, newest: int, identifier: int, what: str
) -> tuple[Reader, CompactSet]:
    """Return a result's reader, behind its head, and its set. version, identifier: as its head says; newest:
    the version that this package reads. Raises FrameError for another one, a wrong digest or an unknown
    set."""
    if version != newest:
        raise FrameError(
            f"{what} is of version {version} and this package reads {newest}: update the package."
        )
    body = data[:-DIGEST_BYTES]
    if digest(body) != data[-DIGEST_BYTES:]:
        raise FrameError(f"{what} is damaged, for its digest does not match: have it sent again.")
    try:
        return Reader(body, head_bytes, what), compact_set_by_id(identifier)
    except ParameterError as error:
        raise FrameError(f"{what}: {error}") from None


def digest(body: bytes) -> bytes:
    """Return the digest that ends a result."""
    return hashlib.blake2b(body, digest_size=DIGEST_BYTES).digest()


def packed(numbers: NDArray[np.uint32] | NDArray[np.uint64], bits: int) -> bytes:
    """Pack numbers in so many bits each, low bits first, with zero bits up to a byte."""
    places = np.arange(bits, dtype=np.uint64)

    def parts() -> Iterator[bytes]:
        for at in range(0, len(numbers), _AT_ONCE):
            rows = numbers[at : at + _AT_ONCE].astype(np.uint64)[:, np.newaxis] >> places & np.uint64(1)
            yield np.packbits(rows.astype(np.uint8).reshape(-1), bitorder="little").tobytes()

    return b"".join(parts())


def _unpacked(data: bytes, count: int, bits: int) -> tuple[NDArray[np.uint64], bool]:
    """Unpack numbers; also return whether a padding bit is set."""
    found = np.empty(count, dtype=np.uint64)
    places = np.arange(bits, dtype=np.uint64)
    rest = False
    for at in range(0, count, _AT_ONCE):
        some = min(_AT_ONCE, count - at)
        part = np.frombuffer(data, dtype=np.uint8)[at * bits // 8 : ((at + some) * bits + 7) // 8]
        single = np.unpackbits(part, bitorder="little")
        rows = single[: some * bits].reshape(some, bits).astype(np.uint64)
        found[at : at + some] = (rows << places).sum(axis=1, dtype=np.uint64)
        rest = bool(single[some * bits :].any())
    return found, rest


def runs(positions: NDArray[np.uint32]) -> list[tuple[int, int]]:
    """Return (first, count) of each run of consecutive positions."""
    breaks = np.flatnonzero(np.diff(positions.astype(np.int64)) != 1) + 1
    return [(int(run[0]), len(run)) for run in np.split(positions, breaks)]


def pack_runs(found: Iterable[Sequence[int]]) -> bytes:
    """Write runs as `Reader.positions` reads them."""
    return b"".join(RUN.pack(*run) for run in found)


def pack_sent_windows(windows: Iterable[SentWindow]) -> bytes:
    """Write windows as `Reader.sent_windows` reads them."""
    return b"".join(_SENT_WINDOW.pack(*window) for window in windows)
