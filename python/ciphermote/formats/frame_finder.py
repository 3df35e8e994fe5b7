# SPDX-License-Identifier: Apache-2.0
"""Find whole frames in a stream of bytes that may also hold anything else.

Every place that looks like the beginning of a frame is followed up at once, so neither noise nor a false
length can hide whole frames beside it or within it. Each byte is summed only once: a checksum between two
places follows from those of the stream up to them (CRC-32C is linear). At most the largest frame and one
step's bytes are stored.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from heapq import heappop, heappush
from typing import NamedTuple

from ciphermote import _core
from ciphermote.base.arguments import Bytes
from ciphermote.base.errors import Error
from ciphermote.parameters import ParameterSet
from ciphermote.parameters.native import core_params

HEADER_BYTES = 44
MAGIC = b"CM"

_VERSIONS = rb"[\x01\x03]"
"""The magic numbers of frames and of declarations (declaration.py), which are framed alike."""
_VERSION_AT, DECLARATION_VERSION = 2, 3
_XOF_AT = 36
_START_BYTES = 12
"""Bytes of magic, version, five small fields and the parameter set, which distinguish a frame from noise."""
_CRC_BYTES = 4
DECLARATION_BYTES = HEADER_BYTES + _CRC_BYTES
_STEP = 1 << 16
_POLYNOMIAL = 0x82F63B78
_ONE = 1 << 31
_X8 = 1 << 23


def _times(a: int, b: int) -> int:
    """Multiply two polynomials over GF(2) modulo CRC-32C's; bit 31 is x^0."""
    product = 0
    while a:
        if a & _ONE:
            product ^= b
        a = a << 1 & 0xFFFFFFFF
        b = b >> 1 ^ (_POLYNOMIAL if b & 1 else 0)
    return product


@cache
def _behind(count: int) -> int:
    """Return x^(8 count), by which a checksum is multiplied when `count` bytes follow."""
    power, square = _ONE, _X8
    while count:
        if count & 1:
            power = _times(power, square)
        square = _times(square, square)
        count >>= 1
    return power


def is_declaration(head: bytes) -> bool:
    """Whether a header belongs to a declaration, and not to a frame."""
    return head[: len(MAGIC)] == MAGIC and head[_VERSION_AT : _VERSION_AT + 1] == bytes([DECLARATION_VERSION])


def is_seeded(frame: bytes | memoryview) -> bool:
    """Whether a frame's ciphertext has a seed for one half, which only encryption under a secret key
    makes."""
    return frame[_XOF_AT] != 0


@dataclass(frozen=True)
class Gap:
    """Bytes outside whole frames. head: the header where they begin, if a frame was expected there."""

    size: int
    head: bytes = b""


class _Candidate(NamedTuple):
    """A possible frame, from start to end."""

    end: int
    start: int


class FrameFinder:
    """Takes a stream in pieces of any size and returns its whole frames, and the gaps between them, in order.

    A whole frame has a header that fits the parameters and a checksum that fits the frame; nothing else is
    checked here.
    """

    def __init__(self, parameters: ParameterSet) -> None:
        self._params = core_params(parameters)
        identifier = parameters.id.to_bytes(4, "little")
        self._pattern = re.compile(re.escape(MAGIC) + _VERSIONS + b".{5}" + re.escape(identifier), re.DOTALL)
        self._buffer = bytearray()
        self._base = 0  # where in the stream the buffer begins; so are all that follow
        self._searched = 0
        self._summed, self._sum = 0, 0
        self._candidates: list[_Candidate] = []
        self._sums: OrderedDict[int, int] = OrderedDict()
        """The stream's checksum up to each candidate, by the candidate's start, ascending."""
        self._aligned = True
        """Whether a frame is expected where the buffer begins."""

    @property
    def kept(self) -> int:
        """Number of bytes stored."""
        return len(self._buffer)

    @property
    def may_begin(self) -> bool:
        """Whether the stored bytes may be the beginning of a frame."""
        return bool(self._candidates) or (self._aligned and bool(self._buffer))

    def feed(self, data: bytes | bytearray | memoryview) -> Iterator[bytes | Gap]:
        """Take bytes; return the frames that are now whole, and the gaps."""
        view = memoryview(data).cast("B")
        for at in range(0, len(view), _STEP):
            self._buffer += view[at : at + _STEP]
            yield from self._found()

    def finish(self) -> int:
        """End the stream, and return how many bytes were left; another stream may begin."""
        left = len(self._buffer)
        self._forget_candidates()
        self._drop(self._end)
        self._searched = self._base
        self._aligned = True
        return left

    def _found(self) -> Iterator[bytes | Gap]:
        while True:
            start = self._next_start()
            header_is_whole = start + HEADER_BYTES <= self._end
            first = self._candidates[0] if self._candidates else None
            if first and first.end <= self._end and (first.end - _CRC_BYTES <= start or not header_is_whole):
                heappop(self._candidates)
                if self._sound(first, self._sums.pop(first.start), start):
                    yield from self._gap(first.start)
                    frame = self._bytes(first.start, first.end)
                    self._forget_candidates()
                    self._drop(first.end)
                    self._searched = first.end
                    self._aligned = True
                    yield frame
            elif header_is_whole:
                self._follow(start)
            else:
                break
        yield from self._gap(next(iter(self._sums), self._searched))

    @property
    def _end(self) -> int:
        return self._base + len(self._buffer)

    def _bytes(self, start: int, end: int) -> bytes:
        return bytes(self._buffer[start - self._base : end - self._base])

    def _next_start(self) -> int:
        """Return where the next frame may begin, even with an incomplete header; bytes before it have been
        searched."""
        if not (self._aligned and self._searched == self._base):
            found = self._pattern.search(self._buffer, self._searched - self._base)
            nowhere = max(self._searched, self._end - _START_BYTES + 1)
            self._searched = self._base + found.start() if found else nowhere
        return self._searched

    def _follow(self, start: int) -> None:
        """Add a candidate if the header at start is a frame's."""
        self._searched = start + 1
        head = self._bytes(start, start + HEADER_BYTES)
        try:
            length = DECLARATION_BYTES if is_declaration(head) else _core.frame_length(self._params, head)
        except Error:
            return
        self._sum_to(start)
        heappush(self._candidates, _Candidate(start + length, start))
        self._sums[start] = self._sum

    def _forget_candidates(self) -> None:
        self._candidates.clear()
        self._sums.clear()

    def _sum_to(self, position: int) -> None:
        self._sum = _core.crc32c(self._bytes(self._summed, position), self._sum)
        self._summed = position

    def _sound(self, candidate: _Candidate, sum_before: int, next_start: int) -> bool:
        """Whether a candidate's checksum fits, if the stream's checksum up to it is sum_before."""
        check_sum_at = candidate.end - _CRC_BYTES
        self._sum_to(min(check_sum_at, next_start))
        total = _core.crc32c(self._bytes(self._summed, check_sum_at), self._sum)
        own = total ^ _times(sum_before, _behind(check_sum_at - candidate.start))
        return own == int.from_bytes(self._bytes(check_sum_at, candidate.end), "little")

    def _gap(self, position: int) -> Iterator[Gap]:
        """Drop the bytes before position, where a frame begins or may begin."""
        if position > self._base:
            gap = Gap(position - self._base, bytes(self._buffer[:HEADER_BYTES]) if self._aligned else b"")
            self._aligned = False
            self._drop(position)
            yield gap

    def _drop(self, position: int) -> None:
        del self._buffer[: position - self._base]
        self._base = position
        if self._summed < position:  # no candidate is left that begins before
            self._summed, self._sum = position, 0


def are_frames(data: Bytes) -> bool:
    """Whether data begin like frames, and not like SEAL's bytes."""
    return bytes(data[: len(MAGIC)]) == MAGIC
