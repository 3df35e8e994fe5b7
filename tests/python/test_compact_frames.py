# SPDX-License-Identifier: Apache-2.0
"""Packets become windows: lost, repeated, reordered, mixed, damaged and foreign ones are named."""

from __future__ import annotations

import random

import numpy as np
import pytest
from ciphermote.base.errors import FrameError, ParameterError
from ciphermote.compact.frames import CompactReader, Fault, FaultKind, Seen, Window, read_packets, spans
from ciphermote.compact.keys import GatewayKeys
from ciphermote.compact.sets import A10, COMPACT_SETS, B
from compact_support import Fleet, Memory, read_all
from hypothesis import given
from hypothesis import strategies as st

POSITIONS = range(20)
VALUES = list(range(100, 120))


@pytest.fixture(scope="module")
def fleet() -> Fleet:
    return Fleet(A10, 2)


def faults_of(reader: CompactReader, packets: list[bytes]) -> tuple[list[Window], list[Fault]]:
    receptions = [reader.feed(packet) for packet in packets]
    return [w for r in receptions for w in r.windows], [f for r in receptions for f in r.faults]


def kinds(faults: list[Fault]) -> list[str]:
    return [fault.kind.value for fault in faults]


def test_packets_of_a_window_are_put_together(fleet: Fleet) -> None:
    packets, number = fleet.devices[1].encrypt(VALUES)
    assert [len(packet) for packet in packets] == [51, 51, A10.packet_bytes(4)]
    (window,) = read_all(reader := fleet.reader(POSITIONS), packets)
    assert (window.device, window.epoch, window.number, window.counter) == (1, 1, number, number)
    assert window.positions.tolist() == list(POSITIONS)
    assert reader.counts == {"window": 1}
    assert not reader.finish().faults


@pytest.mark.parametrize("order", [[2, 1, 0], [1, 0, 2], [0, 2, 1]])
def test_reordered_packets_are_named_and_taken(fleet: Fleet, order: list[int]) -> None:
    packets, _ = fleet.devices[1].encrypt(VALUES)
    whole = read_all(fleet.reader(POSITIONS), packets)
    windows, faults = faults_of(fleet.reader(POSITIONS), [packets[i] for i in order])
    assert set(kinds(faults)) == {"reordered"}
    assert np.array_equal(windows[0].payload, whole[0].payload)


def test_a_window_behind_a_newer_one_is_named_and_taken(fleet: Fleet) -> None:
    first, _ = fleet.devices[1].encrypt(VALUES)
    second, _ = fleet.devices[1].encrypt(VALUES)
    windows, faults = faults_of(fleet.reader(POSITIONS), [*second, *first])
    assert kinds(faults) == ["reordered"] * 3 and len(windows) == 2
    assert "came behind later packets; it is taken" in faults[0].sentence


def test_lost_packets_are_named(fleet: Fleet) -> None:
    packets, number = fleet.devices[1].encrypt(VALUES)
    reader = fleet.reader(POSITIONS)
    assert not faults_of(reader, [packets[0], packets[2]])[0]
    (fault,) = reader.finish().faults
    assert fault.kind is FaultKind.LOST
    assert f"Device 1, window {number}: positions 8-15 never came" in fault.sentence
    assert reader.counts["lost"] == 1


def test_repeated_packets_are_named_and_dropped(fleet: Fleet) -> None:
    packets, _ = fleet.devices[1].encrypt(VALUES)
    reader = fleet.reader(POSITIONS)
    windows, faults = faults_of(reader, [packets[0], packets[0], *packets[1:], packets[1]])
    assert len(windows) == 1 and kinds(faults) == ["repeated", "repeated"]
    assert "came twice" in faults[0].sentence and "complete, and counts once" in faults[1].sentence


def test_the_first_complete_attempt_counts(fleet: Fleet) -> None:
    device = fleet.devices[1]
    first, number = device.encrypt(VALUES)
    second, again = device.encrypt(VALUES, window=number)
    third, _ = device.encrypt(VALUES, window=number)
    assert again == number
    reader = fleet.reader(POSITIONS)
    windows, faults = faults_of(reader, [*first[:2], *second, first[2], *third])
    assert [(w.number, w.counter) for w in windows] == [(number, number + 1)]
    assert kinds(faults) == ["repeated"] * 4
    assert not reader.finish().faults


def test_attempts_are_never_mixed(fleet: Fleet) -> None:
    device = fleet.devices[1]
    first, number = device.encrypt(VALUES)
    second, _ = device.encrypt(VALUES, window=number)
    reader = fleet.reader(POSITIONS)
    windows, faults = faults_of(reader, [first[0], second[1], first[2]])
    assert not windows and kinds(faults) == ["reordered"]
    (lost,) = reader.finish().faults
    assert "positions 8-15 never came" in lost.sentence


def test_a_counter_that_is_set_back_is_named() -> None:
    """Two windows under one counter: other random bytes, and once another window number."""
    fleet = Fleet(A10, 1)
    first, number = fleet.devices[1].encrypt(VALUES)
    fleet.memories[1].value = 0
    restarted = fleet.device(1)
    other, same = restarted.encrypt(VALUES)
    assert same == number
    (whole,) = read_all(fleet.reader(POSITIONS), first)
    windows, faults = faults_of(fleet.reader(POSITIONS), [first[0], other[1], *first[1:]])
    assert len(windows) == 1 and kinds(faults) == ["mixed"]
    assert np.array_equal(windows[0].payload, whole.payload)
    assert "the device has lost its counter" in faults[0].sentence
    windows, faults = faults_of(fleet.reader(POSITIONS), [first[0], other[1], first[2]])
    assert not windows and kinds(faults) == ["mixed"]
    windows, faults = faults_of(fleet.reader(POSITIONS), [*first, *other, first[0]])
    assert len(windows) == 1 and kinds(faults) == ["mixed"] * len(other) + ["repeated"]


def test_other_values_under_one_counter_are_named() -> None:
    """A platform whose random bytes repeat, with a counter that was set back."""
    fleet = Fleet(A10, 1)
    from ciphermote.compact.device import CompactDevice

    def device() -> CompactDevice:
        memory = Memory()
        return CompactDevice(
            fleet.keys,
            fleet.keys.enrolment(1),
            packet_bytes=51,
            counter_read=memory.read,
            counter_write=memory.write,
            random=b"\x05".__mul__,
        )

    first, _ = device().encrypt(VALUES)
    other, _ = device().encrypt([v + 1 for v in VALUES])
    windows, faults = faults_of(fleet.reader(POSITIONS), [first[0], other[0], *first[1:]])
    assert len(windows) == 1 and kinds(faults) == ["mixed"]
    assert "with other values" in faults[0].sentence


@pytest.mark.parametrize("compact", COMPACT_SETS, ids=lambda s: s.name)
def test_every_damaged_bit_is_named(compact: object) -> None:
    fleet = Fleet(compact, 1)  # type: ignore[arg-type]
    packets, _ = fleet.devices[1].encrypt(VALUES[:3])
    (packet,) = packets
    for bit in range(8 * len(packet)):
        damaged = bytearray(packet)
        damaged[bit // 8] ^= 1 << bit % 8
        reader = fleet.reader(range(3))
        windows, faults = faults_of(reader, [bytes(damaged)])
        assert not windows and len(faults) == 1
        assert faults[0].kind in (FaultKind.DAMAGED, FaultKind.FOREIGN), bit
        assert not reader.finish().faults, "damaged packets leave no trace"
        assert len(reader.feed(packet).windows) == 1


def test_foreign_packets_are_named(fleet: Fleet) -> None:
    packets, _ = fleet.devices[1].encrypt(VALUES[:8])
    reader = fleet.reader(range(8))
    stranger = Fleet(A10, 3)
    unknown, _ = stranger.devices[3].encrypt(VALUES[:8])
    of_other_key, _ = stranger.devices[1].encrypt(VALUES[:8])
    of_other_set, _ = Fleet(B, 1).devices[1].encrypt(VALUES[:5])
    elsewhere, _ = fleet.devices[1].encrypt(VALUES[:8], first=8)
    for packet, kind, words in (
        (unknown[0], "foreign", "Device 3 is not enrolled"),
        (of_other_key[0], "damaged", "the tag does not match"),
        (of_other_set[0], "foreign", "of compact set 3 and the keys of 1"),
        (elsewhere[0], "foreign", "not among the 8 positions"),
        (b"CM" + bytes(60), "foreign", "Not a sound compact packet"),
        (packets[0][:-1], "damaged", "Not a sound compact packet"),
        (packets[0] + b"\0", "damaged", "Not a sound compact packet"),
        (b"", "damaged", "Not a sound compact packet"),
    ):
        (fault,) = reader.feed(packet).faults
        assert (fault.kind.value, words in fault.sentence) == (kind, True), fault
    assert len(reader.feed(packets[0]).windows) == 1


def test_packets_of_an_earlier_epoch_are_foreign() -> None:
    fleet = Fleet(A10, 1)
    packets, _ = fleet.devices[1].encrypt(VALUES[:8])
    fleet.keys, _ = fleet.keys.enroll(1)
    (fault,) = fleet.reader(range(8)).feed(packets[0]).faults
    assert fault.kind is FaultKind.FOREIGN
    assert "of epoch 1 and the device is in epoch 2" in fault.sentence
    again, _ = fleet.device(1).encrypt(VALUES[:8])
    assert len(fleet.reader(range(8)).feed(again[0]).windows) == 1


@pytest.mark.parametrize("start", [0, 2**31 - 3, 2**32 - 3, 2**33 + 2**31, 2**40 - 2])
def test_the_whole_counter_follows_from_its_low_half(start: int) -> None:
    fleet = Fleet(A10, 1, counter=start)
    reader = fleet.reader(range(8), seen={1: Seen(1, start - 1, start)} if start else None)
    for _ in range(6):
        packets, number = fleet.devices[1].encrypt(VALUES[:8])
        (window,) = reader.feed(packets[0]).windows
        assert (window.number, window.counter) == (number, number)
    assert number == start + 5
    assert reader.seen == {1: Seen(1, number, start, tuple(range(start, number + 1)))}


def test_a_counter_too_far_ahead_is_not_authentic() -> None:
    fleet = Fleet(A10, 1, counter=2**33)
    packets, number = fleet.devices[1].encrypt(VALUES[:8])
    (fault,) = fleet.reader(range(8)).feed(packets[0]).faults
    assert fault.kind is FaultKind.DAMAGED
    assert fleet.reader(range(8), seen={1: Seen(1, number - 2**30, 0)}).feed(packets[0]).windows


def test_a_later_reader_takes_no_window_again(fleet: Fleet) -> None:
    packets, _ = fleet.devices[1].encrypt(VALUES[:8])
    first = fleet.reader(range(8))
    assert first.feed(packets[0]).windows
    (fault,) = fleet.reader(range(8), seen=first.seen).feed(packets[0]).faults
    assert fault.kind is FaultKind.REPEATED and "counts once" in fault.sentence


def test_a_window_that_was_cut_off_is_taken_by_a_later_reader(fleet: Fleet) -> None:
    """Sent again under its number, with a counter that is past what the first reader saw."""
    packets, number = fleet.devices[1].encrypt(VALUES)
    first = fleet.reader(POSITIONS)
    first.feed(packets[0])
    again, _ = fleet.devices[1].encrypt(VALUES, window=number)
    (window,) = read_all(fleet.reader(POSITIONS, seen=first.seen), again)
    assert window.number == number


def test_what_was_seen_in_an_earlier_epoch_says_nothing_of_a_later_one() -> None:
    fleet = Fleet(A10, 1)
    first = fleet.reader(range(8), seen={1: Seen(1, 2**40, 2**40)})
    fleet.keys, _ = fleet.keys.enroll(1)
    packets, _ = fleet.device(1).encrypt(VALUES[:8])
    assert len(fleet.reader(range(8), seen=first.seen).feed(packets[0]).windows) == 1


def test_a_window_is_not_replayed_after_many_others() -> None:
    fleet = Fleet(A10, 1)
    reader = fleet.reader(range(8))
    oldest, _ = fleet.devices[1].encrypt(VALUES[:8])
    assert reader.feed(oldest[0]).windows
    for _ in range(2100):
        packets, _ = fleet.devices[1].encrypt(VALUES[:8])
        assert reader.feed(packets[0]).windows
    (fault,) = reader.feed(oldest[0]).faults
    assert fault.kind is FaultKind.REPEATED and "too old to tell from a replay" in fault.sentence
    assert 1024 <= len(reader._devices[1].done) <= 2048, "memory is bounded"


def test_open_windows_are_few_and_those_given_up_are_named(fleet: Fleet) -> None:
    reader = fleet.reader(POSITIONS, max_open=2)
    begun = [fleet.devices[1].encrypt(VALUES) for _ in range(3)]
    _, faults = faults_of(reader, [packets[0] for packets, _ in begun])
    assert kinds(faults) == ["lost"]
    assert f"window {begun[0][1]}: positions 8-19 never came" in faults[0].sentence


def test_packets_played_back_push_out_nothing_newer(fleet: Fleet) -> None:
    reader = fleet.reader(POSITIONS, max_open=2)
    old, newer, newest = (fleet.devices[1].encrypt(VALUES) for _ in range(3))
    faults_of(reader, [newer[0][0], newest[0][0]])
    (fault,) = reader.feed(old[0][0]).faults
    assert fault.kind is FaultKind.LOST
    assert f"window {old[1]}: 2 newer windows are open, so it is given up" in fault.sentence
    windows, _ = faults_of(reader, [*newer[0][1:], *newest[0][1:]])
    assert [w.number for w in windows] == [newer[1], newest[1]]


def test_devices_do_not_disturb_each_other(fleet: Fleet) -> None:
    packets = [fleet.devices[device].encrypt(VALUES)[0] for device in (1, 2)]
    mixed = [packet for pair in zip(*packets, strict=True) for packet in pair]
    windows, faults = faults_of(fleet.reader(POSITIONS), mixed)
    assert not faults and {window.device for window in windows} == {1, 2}


def test_any_order_loss_and_copies_give_whole_windows_only(fleet: Fleet) -> None:
    draw = random.Random(14)
    for _ in range(30):
        sent = {}
        stream: list[bytes] = []
        for device in (1, 2):
            for _ in range(3):
                packets, number = fleet.devices[device].encrypt(VALUES)
                sent[device, number] = packets
                stream += [p for p in packets for _ in range(draw.choice((0, 1, 1, 1, 2)))]
        draw.shuffle(stream)
        reader = fleet.reader(POSITIONS, max_open=8)
        windows, faults = faults_of(reader, stream)
        lost = reader.finish().faults
        whole = {place for place, packets in sent.items() if all(p in stream for p in packets)}
        touched = {place for place, packets in sent.items() if any(p in stream for p in packets)}
        assert {(w.device, w.number) for w in windows} == whole
        assert len(lost) == len(touched - whole)
        assert kinds(faults).count("repeated") == len(stream) - len(set(stream))


@given(st.binary(max_size=120))
def test_hostile_bytes_are_faults(data: bytes) -> None:
    reader = CompactReader(GatewayKeys(A10, 1, ()), range(8))
    assert len(reader.feed(data).faults) == 1


_FLEET = Fleet(A10, 1)
_PACKET = _FLEET.devices[1].encrypt(VALUES[:8])[0][0]


@given(st.integers(0, 50), st.binary(min_size=1, max_size=12))
def test_hostile_changes_are_faults(at: int, patch: bytes) -> None:
    changed = (_PACKET[:at] + patch + _PACKET[at + len(patch) :])[: len(_PACKET)]
    reader = _FLEET.reader(range(8))
    reception = reader.feed(changed)
    assert bool(reception.windows) == (changed == _PACKET)
    assert len(reception.faults) == (changed != _PACKET)


def test_positions_are_checked(fleet: Fleet) -> None:
    for positions in ([], [-1], [1024]):
        with pytest.raises(ParameterError, match="coefficients 0 to 1023 of set a10"):
            fleet.reader(positions)


def test_packets_are_read_from_lines() -> None:
    assert read_packets("2101\n\n # a remark\n 21 ff # late\n") == [b"\x21\x01", b"\x21\xff"]
    with pytest.raises(FrameError, match="Line 2 is not a packet"):
        read_packets("00\nzz\n")


def test_spans() -> None:
    assert spans([0, 1, 2, 5, 7, 8]) == "0-2, 5, 7-8"


def test_gateway_keys_older_than_what_was_seen_are_refused() -> None:
    fleet = Fleet(A10, 1)
    old = fleet.keys.gateway()
    packets, _ = fleet.devices[1].encrypt([1])
    newer = {1: Seen(2, 5, 0, (5,))}
    reception = CompactReader(old, range(1), seen=newer).feed(packets[0])
    assert not reception.windows and reception.faults[0].kind is FaultKind.FOREIGN
    assert "epoch 2 were counted" in reception.faults[0].sentence
