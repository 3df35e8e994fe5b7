# SPDX-License-Identifier: Apache-2.0
"""Compact windows one by one: their bytes, and what the owner learns from each."""

from __future__ import annotations

import dataclasses
import hashlib

import numpy as np
import pytest
from ciphermote import FrameError, MismatchError, ParameterError
from ciphermote.base.files import MOST_OBJECT_BYTES
from ciphermote.compact.sets import A16, COMPACT_SETS, B, CompactSet
from ciphermote.compact.windows import CompactWindows, decrypt_windows, most_windows
from compact_support import Fleet

VALUES = 16


def gathered(fleet: Fleet, values: list[list[int]], positions: int = VALUES) -> CompactWindows:
    windows = [fleet.window(device, each) for device, each in enumerate(values, 1)]
    return CompactWindows.of(fleet.set, fleet.keys.key_id, range(positions), list(reversed(windows)))


@pytest.mark.parametrize("compact", COMPACT_SETS, ids=lambda compact: compact.name)
def test_windows_decrypt_to_what_was_sent(compact: CompactSet) -> None:
    largest = compact.usual_value
    fleet = Fleet(compact, 3)
    values = np.random.default_rng(1).integers(0, largest + 1, (3, VALUES)).tolist()
    values[0][:2] = [0, largest]
    data = gathered(fleet, values).to_bytes()
    assert len(data) == 24 + 4 + 3 * 30 + (3 * VALUES * compact.wire_bits + 7) // 8 + 16
    found = decrypt_windows(fleet.keys, CompactWindows.from_bytes(data))
    assert found.values.tolist() == values and found.in_range.all() and found.quiet.all()
    assert [window.device for window in found.windows] == [1, 2, 3]


def test_a_bad_window_changes_nothing_in_another() -> None:
    fleet = Fleet(B, 4)
    values = [[device] * VALUES for device in range(1, 5)]
    given = gathered(fleet, values)
    payload = given.payload.copy()
    added = round(B.modulus * 2000 / B.plain_modulus) >> B.dropped_bits
    payload[1, 3] = (payload[1, 3] + added) % (B.largest_payload + 1)
    payload[2] = np.random.default_rng(2).integers(0, B.largest_payload + 1, VALUES)
    strangers = (*given.windows[:3], given.windows[3]._replace(counter=given.windows[3].counter + 1))
    found = decrypt_windows(fleet.keys, dataclasses.replace(given, payload=payload, windows=strangers))
    assert found.in_range.tolist() == [True, False, False, False]
    assert found.quiet[:2].tolist() == [True, True] and not found.quiet[2:].any()
    assert found.values[0].tolist() == values[0]


def test_windows_of_other_keys_and_fleets_are_refused() -> None:
    fleet, other = Fleet(B, 2), Fleet(B, 3)
    given = gathered(fleet, [[1] * VALUES, [2] * VALUES])
    with pytest.raises(MismatchError, match="use the keys that its devices were enrolled with"):
        decrypt_windows(other.keys, given)
    unknown = dataclasses.replace(given, windows=(given.windows[0], given.windows[1]._replace(device=9)))
    with pytest.raises(MismatchError, match="Device 9"):
        decrypt_windows(fleet.keys, unknown)
    window = other.window(1, [1] * VALUES)
    for windows in ([window], [dataclasses.replace(window, key_id=fleet.keys.key_id, set=A16)]):
        with pytest.raises(MismatchError, match="of another fleet"):
            CompactWindows.of(B, fleet.keys.key_id, range(VALUES), windows)
    with pytest.raises(MismatchError, match="sent other positions"):
        CompactWindows.of(B, other.keys.key_id, range(VALUES - 1), [window])
    with pytest.raises(ParameterError, match="a file holds 1 to"):
        CompactWindows.of(B, other.keys.key_id, range(VALUES), [])


@pytest.mark.parametrize("positions", [1, 16, 1024])
def test_as_many_windows_as_are_said_fit_into_a_file(positions: int) -> None:
    size = 24 + 4 * positions + 16
    each = 30 + positions * B.wire_bits / 8
    most = most_windows(B, positions)
    assert size + most * each <= MOST_OBJECT_BYTES
    assert size + (most + 2) * each > MOST_OBJECT_BYTES


def test_the_bytes_of_windows() -> None:
    fleet = Fleet(B, 2)
    data = gathered(fleet, [[1] * VALUES, [2] * VALUES]).to_bytes()
    assert data[:8] == b"CMCW\x01\x00\x03\x00" and CompactWindows.from_bytes(data).to_bytes() == data

    def resealed(at: int, content: bytes, body: bytes = data[:-16]) -> bytes:
        changed = body[:at] + content + body[at + len(content) :]
        return changed + hashlib.blake2b(changed, digest_size=16).digest()

    with pytest.raises(FrameError, match="no compact windows"):
        CompactWindows.from_bytes(b"CMCS" + data[4:])
    with pytest.raises(FrameError, match="no compact windows"):
        CompactWindows.from_bytes(data[:30])
    with pytest.raises(FrameError, match="damaged, for its digest"):
        CompactWindows.from_bytes(data[:-20] + bytes([data[-20] ^ 1]) + data[-19:])
    with pytest.raises(FrameError, match="version 2"):
        CompactWindows.from_bytes(resealed(4, b"\x02\x00"))
    with pytest.raises(FrameError, match="No compact set has the id 9"):
        CompactWindows.from_bytes(resealed(6, b"\x09"))
    first, second = data[28:58], data[58:88]
    for at, content in (
        (7, b"\x01"),
        (16, b"\x00\x00\x00\x00"),  # windows
        (16, b"\x03\x00\x00\x00"),
        (16, b"\x01\x00\x10\x00"),
        (20, b"\x00\x00\x00\x00"),  # runs
        (20, b"\x02\x00\x00\x00"),
        (20, b"\x01\x04\x00\x00"),
        (24, b"\xff\x03\x10\x00"),  # positions
        (28, second + first),  # the order of the windows
        (28, second),
        (88, b"\xff\xff\xff\xff"),  # above Q
        (len(data) - 16, b"\x00"),  # a byte more
    ):
        with pytest.raises(FrameError, match="damaged or hostile"):
            CompactWindows.from_bytes(resealed(at, content))
