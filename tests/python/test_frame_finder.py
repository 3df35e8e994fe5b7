# SPDX-License-Identifier: Apache-2.0
"""Complete frames are found in any stream, with bounded work and memory, and the rest is counted."""

from __future__ import annotations

import random
import struct
import sys
from collections.abc import Callable
from types import FrameType

import numpy as np
import pytest
from ciphermote import _core
from ciphermote.formats import frame_finder
from ciphermote.formats.frame_finder import HEADER_BYTES, FrameFinder, Gap
from ciphermote.formats.frames import FrameReader, FrameSet
from ciphermote.parameters import ParameterSet, by_name
from ciphermote.parameters.native import core_params
from sensor import patched

SMALL = by_name("n1024_q26")
LARGE = by_name("n16384_q26x15_p27")
KEY_ID = 0x1234
COUNTER = 20


def frame(parameters: ParameterSet, component: int, log2_tiles: int = 0, counter: int = 0) -> bytes:
    """A CKKS frame of random residues at the first prime."""
    words = np.random.default_rng(component).integers(
        1, parameters.primes[0], parameters.n >> log2_tiles, dtype=np.uint32
    )
    (scale,) = struct.unpack("<Q", struct.pack("<d", 2.0**20))
    core = core_params(parameters)
    return _core.write_frame(core, 2, 1, log2_tiles, KEY_ID, counter, scale, component, 0, 0, words)


SET = (frame(SMALL, 1), frame(SMALL, 0))
TILE = frame(SMALL, 0, 4)
LARGEST = len(frame(LARGE, 0))


def whole_set(counter: int) -> list[bytes]:
    return [patched(one, COUNTER, struct.pack("<Q", counter)) for one in SET]


def lying_header(parameters: ParameterSet = SMALL) -> bytes:
    """The header of a frame whose remainder never comes."""
    return frame(parameters, 0)[:HEADER_BYTES]


JUNK = {
    "noise": b"noise on the line",
    "one byte": b"C",
    "magic": b"CM" * 40,
    "version": b"CM\x01" * 40,
    "beginnings": (b"CM\x01" + bytes(5) + SMALL.id.to_bytes(4, "little")) * 10,
    "a header": lying_header(),
    "headers": lying_header() * 7,
    "a cut frame": SET[0][:700],
    "a frame without its end": SET[0][:-1],
    "a damaged frame": SET[0][:700] + b"\xff" + SET[0][701:],
    "another set's frame": frame(by_name("std2018_n1024_q27"), 0),
}


def counters(sets: list[FrameSet]) -> list[int]:
    return [found.header.counter for found in sets]


@pytest.mark.parametrize("junk", JUNK.values(), ids=JUNK)
def test_a_burst_of_junk_in_every_piece_delays_no_set(junk: bytes) -> None:
    reader = FrameReader(SMALL, KEY_ID)
    for counter in range(200):
        first, second = whole_set(counter)
        received = reader.feed(junk + first + junk + second)
        assert counters(received.sets) == [counter]
        assert f"{2 * len(junk):,} bytes were dropped" in str(received.fault)
        assert reader.bytes_kept == 0
    assert reader.bytes_dropped == 400 * len(junk)
    assert reader.faults >= 400
    assert not reader._complete and not reader._open


@pytest.mark.parametrize("junk", JUNK.values(), ids=JUNK)
@pytest.mark.parametrize("size", [1, 7, 44, 1000])
def test_junk_between_frames_in_small_pieces_hides_none(junk: bytes, size: int) -> None:
    reader = FrameReader(SMALL, KEY_ID)
    stream = b"".join(junk + one for counter in range(3) for one in whole_set(counter))
    sets = []
    for at in range(0, len(stream), size):
        sets += reader.feed(stream[at : at + size]).sets
        assert reader.bytes_kept < len(SET[0]) + 1000
    assert counters(sets) == [0, 1, 2]
    assert reader.bytes_dropped == 6 * len(junk)
    assert reader.finish().fault is None


def test_a_frame_within_a_frame_that_lies_about_its_length_is_found_at_once() -> None:
    finder = FrameFinder(LARGE)
    tile = frame(LARGE, 0, 4)
    assert list(finder.feed(lying_header(LARGE) + tile)) == [Gap(HEADER_BYTES, lying_header(LARGE)), tile]
    assert finder.kept == 0


def test_a_frame_whose_header_alone_was_cut_off_ends_with_the_stream() -> None:
    reader = FrameReader(SMALL, KEY_ID)
    assert reader.feed(lying_header() + SET[0][:100]).sets == []
    last = reader.finish()
    assert "bytes at the end are not a whole frame" in str(last.fault)
    assert reader.bytes_dropped == HEADER_BYTES + 100
    assert counters(reader.feed(b"".join(SET)).sets) == [0], "the reader serves the next stream"


def headers_in_a_row(parameters: ParameterSet, count: int) -> bytes:
    return lying_header(parameters) * (count // HEADER_BYTES)


@pytest.mark.parametrize("parameters", [SMALL, LARGE], ids=lambda p: p.name)
def test_work_and_memory_a_byte_are_bounded_whatever_the_bytes(
    parameters: ParameterSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counted, not timed: the bytes summed, and the headers inspected."""
    summed = headers = 0
    sum_bytes, length_of = _core.crc32c, _core.frame_length

    class Counting:
        @staticmethod
        def crc32c(data: bytes, crc: int = 0) -> int:
            nonlocal summed
            summed += len(data)
            return sum_bytes(data, crc)

        @staticmethod
        def frame_length(params: _core.Params, data: bytes) -> int:
            nonlocal headers
            headers += 1
            return length_of(params, data)

    monkeypatch.setattr(frame_finder, "_core", Counting)
    stream = headers_in_a_row(parameters, 1 << 20)
    finder = FrameFinder(parameters)
    dropped = kept = most = 0
    for at in range(0, len(stream), 5000):
        for found in finder.feed(stream[at : at + 5000]):
            assert isinstance(found, Gap)
            dropped += found.size
        kept = finder.kept
        most = max(most, kept)
    assert dropped + kept == len(stream)
    assert most <= len(frame(parameters, 0)) + 5000
    assert len(finder._candidates) <= most // HEADER_BYTES + 1
    assert headers <= len(stream) // HEADER_BYTES + 1
    assert summed <= 3 * len(stream)


class Stop(Exception):
    """Enough was counted."""


def count_lines(run: Callable[[], object], most: int) -> int:
    """Count the lines of frame_finder.py that run, including each step of a loop within a line. Stop at more
    than `most`."""
    lines = 0

    def trace(frame_of: FrameType, event: str, argument: object) -> Callable[..., object] | None:
        nonlocal lines
        if frame_of.f_code.co_filename != frame_finder.__file__:
            return None
        lines += 1
        if lines > most:
            raise Stop
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        run()
    finally:
        sys.settrace(before)
    return lines


@pytest.mark.parametrize("parameters", [SMALL, LARGE], ids=lambda p: p.name)
def test_headers_that_lie_cost_no_more_work_a_byte_in_single_bytes(parameters: ParameterSet) -> None:
    """Each leaves another place where a frame may begin: no byte may be checked against all of them."""
    stream = lying_header(parameters) * 300
    finder = FrameFinder(parameters)

    def feed() -> None:
        for at in range(len(stream)):
            list(finder.feed(stream[at : at + 1]))

    count_lines(feed, 60 * len(stream))
    assert finder.may_begin


@pytest.mark.parametrize("seed", range(30))
def test_every_whole_frame_of_a_random_stream_is_found_and_every_other_byte_counted(seed: int) -> None:
    chance = random.Random(seed)
    sent, parts = [], []
    for counter in range(60):
        one = patched(chance.choice([*SET, TILE]), COUNTER, struct.pack("<Q", counter))
        kind = chance.choice(["whole", "whole", "cut", "damaged", "junk", "random"])
        if kind == "whole":
            sent.append(one)
        elif kind == "cut":
            one = one[: chance.randrange(len(one))]
        elif kind == "damaged":
            at = chance.randrange(len(one))
            one = one[:at] + bytes([one[at] ^ 1 << chance.randrange(8)]) + one[at + 1 :]
        elif kind == "junk":
            one = chance.choice(list(JUNK.values()))
        else:
            one = chance.randbytes(chance.randrange(300))
        parts.append(one)
    stream = b"".join(parts)
    finder, found, dropped = FrameFinder(SMALL), [], 0
    at = 0
    while at < len(stream):
        size = chance.choice([1, 11, 43, 44, 45, 400, 5000, 100_000])
        for piece in finder.feed(stream[at : at + size]):
            if isinstance(piece, Gap):
                dropped += piece.size
            else:
                found.append(piece)
        at += size
        assert finder.kept < len(SET[0])
    dropped += finder.finish()
    assert found == sent
    assert dropped + sum(map(len, sent)) == len(stream)
