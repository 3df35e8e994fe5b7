# SPDX-License-Identifier: Apache-2.0
"""A fleet of the compact lane for the tests: an owner, devices in memory, and what their packets become."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

import numpy as np
from ciphermote import _evaluator, _owner
from ciphermote.compact.bounds import Weights, bias
from ciphermote.compact.device import CompactDevice
from ciphermote.compact.frames import CompactReader, Window
from ciphermote.compact.keys import CompactKeys
from ciphermote.compact.sets import CompactSet
from ciphermote.compact.sums import CompactResult, CompactSum, decrypt_sum
from ciphermote.parameters.native import context_of
from numpy.typing import NDArray

PACKET_BYTES = 51


class Memory:
    """A counter that lasts as long as the test."""

    def __init__(self, value: int = 0) -> None:
        self.value = value

    def read(self) -> int:
        return self.value

    def write(self, value: int) -> None:
        self.value = value


class Fleet:
    """Devices 1, 2, ... of a set. counter: where their counters begin."""

    def __init__(
        self,
        compact: CompactSet,
        devices: int = 1,
        *,
        largest: int | None = None,
        packet_bytes: int = PACKET_BYTES,
        counter: int = 0,
    ) -> None:
        self.set = compact
        self.keys = CompactKeys.generate(compact)
        for device in range(1, devices + 1):
            self.keys, _ = self.keys.enroll(device, largest)
        self.memories = {device: Memory(counter) for device in range(1, devices + 1)}
        self.devices = {device: self.device(device, packet_bytes) for device in self.memories}

    def device(self, number: int, packet_bytes: int = PACKET_BYTES) -> CompactDevice:
        """Return a new device."""
        memory = self.memories[number]
        return CompactDevice(
            self.keys,
            self.keys.enrolment(number),
            packet_bytes=packet_bytes,
            counter_read=memory.read,
            counter_write=memory.write,
            random=os.urandom,
        )

    def reader(self, positions: Iterable[int], **options: object) -> CompactReader:
        return CompactReader(self.keys.gateway(), positions, **options)  # type: ignore[arg-type]

    def window(self, device: int, values: Sequence[int] | NDArray[np.int64], first: int = 0) -> Window:
        """Return a device's window, sent and read without a fault."""
        packets, _ = self.devices[device].encrypt(values, first)
        windows = read_all(self.reader(range(first, first + len(values))), packets)
        assert len(windows) == 1
        return windows[0]

    def sum(self, windows: Iterable[Window], weights: Iterable[int], count: int) -> CompactSum:
        """The sum at positions 0 .. count - 1."""
        total = CompactSum(self.set, self.keys.key_id, range(count))
        for window, weight in zip(windows, weights, strict=True):
            total.add(window, weight)
        return total


def read_all(reader: CompactReader, packets: Iterable[bytes]) -> list[Window]:
    windows: list[Window] = []
    for packet in packets:
        reception = reader.feed(packet)
        assert not reception.faults, reception.faults
        windows += reception.windows
    return windows


def wrong(fleet: Fleet, total: CompactSum, weights: Weights, expected: NDArray[np.int64]) -> int:
    """Count the values of a sum that decrypt wrongly, without the checks that refuse such sums."""
    compact = fleet.set
    residues = total._sum.residues()
    for i, q in enumerate(compact.primes):
        shifted = residues[0, i, total.positions].astype(np.int64) - bias(compact, weights)
        residues[0, i, total.positions] = (shifted % q).astype(np.uint32)
    ciphertext = _evaluator.Ciphertext(
        context_of(compact.parameters), residues, 1.0, _evaluator.Form.coefficients
    )
    found, _ = _owner.decrypt_bfv_at(
        ciphertext, fleet.keys.secret.hosted, compact.plain_modulus, total.positions
    )
    return int((found != expected % compact.plain_modulus).sum())


def sweep(compact: CompactSet, count: int, windows: int, positions: int, seed: int = 0) -> int:
    """Encrypt at least so many random values, add up so many windows at a time, decrypt; how many sums were
    compared. Devices, packets, tags, sums, bytes and decryption are the real ones."""
    rng = np.random.default_rng(seed)
    done = compared = 0
    while done < count:
        fleet = Fleet(compact, 1, packet_bytes=positions * compact.wire_bits // 8 + 36)
        total = CompactSum(compact, fleet.keys.key_id, range(positions))
        expected = np.zeros(positions, dtype=np.int64)
        reader = fleet.reader(range(positions))
        for _ in range(windows):
            values = rng.integers(0, compact.usual_value + 1, positions)
            (packet,) = fleet.devices[1].encrypt(values)[0]
            (window,) = reader.feed(packet).windows
            total.add(window)
            expected += values
        found = decrypt_sum(fleet.keys, CompactResult.from_bytes(total.result().to_bytes()))
        assert np.array_equal(found.values, expected)
        done += windows * positions
        compared += positions
    return compared
