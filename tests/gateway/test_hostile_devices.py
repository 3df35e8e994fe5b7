# SPDX-License-Identifier: Apache-2.0
"""A device that is enrolled and hostile encrypts what it likes: what it moves a checked sum by, and what the
owner is told about it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ciphermote import MismatchError, ValueRangeError
from ciphermote.compact.sets import A16, C
from ciphermote.rest.grouping import groups_of
from ciphermote.rest.requests import Groups
from gateway_support import (
    LARGEST,
    FullDevice,
    Server,
)
from hostile_support import (
    HOSTILE,
    CompactFleet,
    FullFleet,
    T,
    constant_for,
    in_the_clear,
    left_out,
    moved,
    shift_frames,
    shift_packet,
)

MADE: dict[str, Callable[[Server, str, Path], Any]] = {
    "compact": lambda server, name, folder: CompactFleet(server, name, folder, C, 12),
    "ckks": lambda server, name, folder: FullFleet(server, name, folder, 12),
    "bfv": lambda server, name, folder: FullFleet(server, name, folder, 12, T),
}


@pytest.mark.parametrize("lane", MADE)
@pytest.mark.parametrize("groups", [None, 4])
def test_a_hostile_device_moves_a_sum_by_no_more_than_is_said(
    server: Server, tmp_path: Path, lane: str, groups: int | None
) -> None:
    """Whatever it sends: a little more than its largest, much more, below zero, and what wraps around."""
    fleet = MADE[lane](server, f"hostile-{lane}-{groups or 'each'}", tmp_path)
    honest = {number: float(number % 3) for number in fleet.devices}
    largest, modulus = fleet.largest, fleet.modulus
    factors = (0.5, 1, 1.5, 2, 3, 5, 20, 900, -0.5, -1, -1.5, -3, -900)
    wrapped = (modulus / 2, modulus / 4, modulus - 3 * largest, modulus - 900 * largest)
    most = 1 if groups is None else 3 if lane == "compact" else 5
    caught = []
    for cheat in (*(factor * largest for factor in factors), *wrapped):
        fleet.send_all(honest, cheat)
        reading = fleet.read(fleet.compute(groups))
        out = left_out(reading)
        assert reading.most_moved == most and moved(reading, honest, largest) <= most + 1e-4, cheat
        assert len(out) in (0, 1 if groups is None else 3) and out <= set(honest)
        assert not out or HOSTILE in out, "groups of honest devices count"
        assert reading.windows == reading.devices == len(honest) - len(out)
        caught.append(HOSTILE in out)
        if abs(cheat) > 2 * most * largest and abs(cheat) < modulus - 2 * most * largest:
            assert caught[-1], cheat
    if groups is None:
        allowed = 2 if lane == "compact" else 4
        assert caught.count(False) == allowed


def test_what_hides_in_imaginary_parts_is_found(server: Server, tmp_path: Path) -> None:
    """They would drown real parts in rounding, and widen their errors."""
    fleet = FullFleet(server, "imaginary", tmp_path, 4)
    n = fleet.keys.parameters.n
    honest = dict.fromkeys(fleet.devices, 1.0)
    for imaginary in (fleet.modulus / 3, 2.0 * LARGEST):
        fleet.round += 1
        for number in honest:
            device = fleet.devices[number]
            frames = device.encrypt([1.0])
            if number == HOSTILE:
                frames = shift_frames(device, frames, constant_for(device, imaginary), n // 2)
            fleet.deliver(frames)
        reading = fleet.read(fleet.compute(None))
        assert left_out(reading) == {HOSTILE}
        assert reading.errors.max() < 0.01 and abs(reading.values[0, 0] - 3) < 0.01


@pytest.mark.parametrize("lane", MADE)
def test_noise_is_found_or_moves_little(server: Server, tmp_path: Path, lane: str) -> None:
    """At the edge of what decrypts, where sums of different groups round to different values."""
    fleet = MADE[lane](server, f"noisy-{lane}", tmp_path)
    honest = {number: float(number % 2) for number in fleet.devices}
    step = fleet.modulus_of_ciphertexts / fleet.modulus if lane != "ckks" else 2.0**25 * LARGEST
    for share in (0.5, 0.499, 0.25):
        fleet.round += 1
        for number, value in honest.items():
            device = fleet.devices[number]
            if lane == "compact":
                (data,) = device.encrypt([int(value)] * fleet.values)
                if number == HOSTILE:
                    data = shift_packet(device, data, [round(share * step)] * fleet.values)
            else:
                data = device.encrypt([value] * 8)
                if number == HOSTILE:
                    data = shift_frames(device, data, round(share * step), 1)
            fleet.deliver(data)
        for groups in (None, 4):
            reading = fleet.read(fleet.compute(groups))
            assert reading.most_moved is not None
            assert moved(reading, honest, fleet.largest) <= reading.most_moved + 1e-4
            assert not left_out(reading) or HOSTILE in left_out(reading)


def test_a_ciphertext_in_the_clear_ends_no_job(server: Server, tmp_path: Path) -> None:
    """SEAL's bytes have none, so its group has no sum; the others' count."""
    fleet = FullFleet(server, "in-the-clear", tmp_path, 4)
    device = FullDevice(fleet.keys, 9, log2_scale=25, public=True).enroll(server.owner(), "in-the-clear")
    fleet.send_all({1: 1.0, 2: 2.0, HOSTILE: 0, 4: 4.0}, 0)
    for _ in range(2):
        fleet.deliver(in_the_clear(device, device.encrypt([3.0])))
    reading = fleet.read(fleet.compute(None, per_device=2))
    assert left_out(reading) == {9} and "noise" in reading.left_out[0].why
    assert abs(reading.values[0, 0] - 7) < 0.01


def test_a_hostile_device_is_left_out_with_all_its_windows(server: Server, tmp_path: Path) -> None:
    fleet = CompactFleet(server, "several", tmp_path, C, 4)
    honest = {1: 1.0, 2: 2.0, HOSTILE: 0.0, 4: 4.0}
    fleet.send_all(honest, 5)  # within its bound
    fleet.round -= 1
    fleet.send_all(honest, 5000)
    reading = fleet.read(fleet.compute(None, per_device=2))
    assert left_out(reading) == {HOSTILE} and (reading.windows, reading.devices) == (6, 3)
    assert reading.values.tolist() == [[14, 14]]
    mean = fleet.read(fleet.compute(None, "mean", per_device=2))
    np.testing.assert_allclose(mean.values, [[14 / 6, 14 / 6]])


def test_two_jobs_have_different_groups_and_name_the_device(server: Server, tmp_path: Path) -> None:
    fleet = CompactFleet(server, "groups", tmp_path, A16, 16, 1)
    honest = dict.fromkeys(fleet.devices, 1.0)
    fleet.send_all(honest, 300 + fleet.largest * 4)
    found = [left_out(fleet.read(fleet.compute(4))) for _ in range(4)]
    assert all(len(each) == 4 for each in found)
    assert set.intersection(*found) == {HOSTILE}


def test_a_sum_in_which_nothing_can_be_right_is_refused(server: Server, tmp_path: Path) -> None:
    fleet = FullFleet(server, "nothing", tmp_path, 2, T)
    fleet.round += 1
    for number in fleet.devices:
        fleet.send(number, 0, 1000)
    found = fleet.compute(None)
    with pytest.raises(MismatchError, match="No sum of the result can be right, of 2 devices"):
        fleet.read(found)
    with pytest.raises(ValueRangeError, match="no integer is beyond 20"):
        fleet.read(fleet.compute(0))


def test_unsigned_integers_are_not_below_zero(server: Server, tmp_path: Path) -> None:
    fleet = FullFleet(server, "unsigned", tmp_path, 4, T)
    fleet.send_all(dict.fromkeys(fleet.devices, 2.0), -2)
    found = fleet.compute(None)
    assert left_out(fleet.read(found)) == set()
    reading = fleet.read(found, signed=False)
    assert left_out(reading) == {HOSTILE} and reading.values[0, 0] == 6 and reading.most_moved == 1


def test_groups_are_even_and_depend_on_seed_and_job() -> None:
    seed = Groups(count=32, seed="00" * 16)
    groups = groups_of(range(1000), seed, 1, is_compact=False)
    assert sorted(device for group in groups for device in group) == list(range(1000))
    assert {len(group) for group in groups} == {31, 32} and len(groups) == 32
    assert groups == groups_of(reversed(range(1000)), seed, 1, is_compact=True)
    assert groups != groups_of(range(1000), seed, 2, is_compact=False)
    assert groups != groups_of(range(1000), Groups(count=32, seed="01" * 16), 1, is_compact=False)
    either = Groups(seed="00" * 16)
    assert len(groups_of(range(1000), either, 1, is_compact=False)) == 32
    assert len(groups_of(range(1000), either, 1, is_compact=True)) == 1000
    assert groups_of([5, 5, 7], seed, 1, is_compact=False) == [[5], [7]]
