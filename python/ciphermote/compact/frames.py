# SPDX-License-Identifier: Apache-2.0
"""Gather packets of the compact lane into windows: check every tag, and name everything wrong.

A window is what a device measured at one time, and is sent in one or more packets. All packets of an attempt
share a counter and random bytes, and a window's number is the counter of its first attempt. Only packets of
one attempt are put together, and a window counts once: by its first complete attempt.

No packet says how many belong to a window, so a reader is told which positions to expect. It stores a few
open windows of each device and the numbers of the latest, so that senders cannot fill its memory; a packet
without the device's tag leaves no trace but a fault.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from ciphermote import _core
from ciphermote.base.errors import Error, FrameError, ParameterError
from ciphermote.compact.keys import GatewayEntry, GatewayKeys
from ciphermote.compact.sets import CompactSet

_HALF = 1 << 32
_REMEMBERED = 1024
"""Number of windows of a device that are distinguished, at least; older ones count as seen."""


class FaultKind(StrEnum):
    """A kind of fault in a packet."""

    FOREIGN = "foreign"  # no packet of these keys: of another format, set, device or epoch
    DAMAGED = "damaged"  # altered or forged: its tag or its fields are wrong
    REPEATED = "repeated"  # it came before, or its window is complete, or too old to tell
    MIXED = "mixed"  # under one counter, of another window or other random bytes, or other values
    REORDERED = "reordered"  # it came late, behind a newer window's; it is taken all the same
    LOST = "lost"  # a window whose packets never all came


@dataclass(frozen=True)
class Fault:
    """A sentence for people about the fault."""

    kind: FaultKind
    sentence: str


@dataclass(frozen=True, eq=False)
class Window:
    """A device's readings of one time. number: of the window; counter, random: of the attempt that counts;
    positions: uint32, ascending; payload: uint64, the coefficients there without their low bits."""

    set: CompactSet
    key_id: int
    device: int
    epoch: int
    number: int
    counter: int
    random: bytes
    largest_value: int
    positions: NDArray[np.uint32]
    payload: NDArray[np.uint64]


@dataclass(frozen=True)
class Reception:
    """The outcome of a packet: the window that it completed, if any, and its faults."""

    windows: tuple[Window, ...] = ()
    faults: tuple[Fault, ...] = ()


@dataclass(frozen=True)
class Seen:
    """State of a device in its epoch that a reader hands to the next one. newest: the highest counter;
    oldest: windows below it count as seen; done: later windows that are complete."""

    epoch: int
    newest: int
    oldest: int
    done: tuple[int, ...] = ()


@dataclass(eq=False)
class _Attempt:
    """The packets received under one counter."""

    number: int
    random: bytes
    values: dict[int, int] = field(default_factory=dict)


@dataclass(eq=False)
class _Device:
    """A reader's state of a device in its epoch: the fields of Seen, and the open attempts. done: with the
    counter and random bytes of the attempt that counts, if this reader saw it."""

    entry: GatewayEntry
    newest: int = 0
    oldest: int = 0
    done: dict[int, tuple[int, bytes] | None] = field(default_factory=dict)
    attempts: dict[int, _Attempt] = field(default_factory=dict)


class CompactReader:
    """Takes the packets of a fleet in any order and returns windows.

    keys: the gateway's. positions: those that every window must hold. seen: an earlier reader's ``seen``, by
    device; a device without an entry has a counter below 2^32. max_open: the most open attempts of a device;
    when one more begins, the oldest is dropped and named.
    """

    def __init__(
        self,
        keys: GatewayKeys,
        positions: Iterable[int],
        *,
        seen: Mapping[int, Seen] | None = None,
        max_open: int = 4,
    ) -> None:
        self.keys = keys
        self.positions = check_positions(keys.set, positions)
        self.counts: Counter[str] = Counter()
        """Counts of windows ("window") and of faults of each kind."""
        self._expected = frozenset(self.positions.tolist())
        self._max_open = max_open
        self._devices: dict[int, _Device] = {}
        self._before = dict(seen or {})

    @property
    def seen(self) -> dict[int, Seen]:
        """State by device, to store for the next reader, without packets of incomplete windows."""
        now = {
            number: Seen(device.entry.epoch, device.newest, device.oldest, tuple(sorted(device.done)))
            for number, device in self._devices.items()
        }
        return {**self._before, **now}

    def feed(self, packet: bytes) -> Reception:
        """Take one packet."""
        try:
            reception = self._take(bytes(packet))
        except _Refusal as refusal:
            reception = Reception((), (refusal.fault,))
        self._count(reception)
        return reception

    def finish(self) -> Reception:
        """Finish: name the windows that are incomplete, and drop their packets."""
        faults = []
        for device in self._devices.values():
            numbers = sorted({attempt.number for attempt in device.attempts.values()})
            faults += [self._lost(device, number) for number in numbers]
            device.attempts.clear()
        reception = Reception((), tuple(faults))
        self._count(reception)
        return reception

    def _count(self, reception: Reception) -> None:
        self.counts["window"] += len(reception.windows)
        self.counts.update(fault.kind.value for fault in reception.faults)

    def _take(self, data: bytes) -> Reception:
        packet = self._parse(data)
        device = self._device_of(packet)
        counter = self._authentic_counter(packet, device)
        number = counter - packet.since_window
        place = f"Device {packet.device}, window {number}, positions {_span(packet.first, packet.count)}"
        newest = device.newest
        device.newest = max(device.newest, counter)
        self._check_new(device, packet, counter, number, place)
        attempt = self._attempt(device, packet, counter, number, place)
        faults = self._make_room(device, counter)
        late = counter < newest or max(attempt.values, default=0) > packet.first
        self._place(attempt, packet, place)
        if late:
            faults.append(Fault(FaultKind.REORDERED, f"{place}: came behind later packets; it is taken."))
        if len(attempt.values) < len(self._expected):
            return Reception((), tuple(faults))
        return Reception((self._complete(device, counter),), tuple(faults))

    def _parse(self, data: bytes) -> _core.CompactPacket:
        try:
            packet = _core.CompactPacket(data)
        except Error as error:
            kind = (
                FaultKind.FOREIGN
                if error.status in ("CM_ERR_FRAME_VERSION", "CM_ERR_PARAMS")
                else FaultKind.DAMAGED
            )
            raise _Refusal(kind, f"Not a sound compact packet ({len(data)} bytes): {error}") from None
        if packet.set != self.keys.set.id:
            raise _Refusal(
                FaultKind.FOREIGN,
                f"Device {packet.device}: the packet is of compact set {packet.set} and the keys of "
                f"{self.keys.set.id} ({self.keys.set.name}): give the keys of its fleet.",
            )
        return packet

    def _device_of(self, packet: _core.CompactPacket) -> _Device:
        entry = self.keys.by_device.get(packet.device)
        if entry is None:
            raise _Refusal(
                FaultKind.FOREIGN,
                f"Device {packet.device} is not enrolled: drop its packet, or have the owner's newest "
                "gateway keys.",
            )
        if packet.epoch != entry.epoch:
            raise _Refusal(
                FaultKind.FOREIGN,
                f"Device {packet.device}: the packet is of epoch {packet.epoch} and the device is in epoch "
                f"{entry.epoch}: drop it, or have the owner's newest gateway keys.",
            )
        known = self._devices.get(packet.device)
        if known is None:
            seen = self._before.get(packet.device)
            if seen is not None and seen.epoch > entry.epoch:
                raise _Refusal(
                    FaultKind.FOREIGN,
                    f"Device {packet.device}: windows of epoch {seen.epoch} were counted, and the gateway "
                    f"keys are of epoch {entry.epoch}: have the owner's newest gateway keys.",
                )
            if seen is None or seen.epoch != entry.epoch:
                return _Device(entry)
            return _Device(entry, seen.newest, seen.oldest, dict.fromkeys(seen.done))
        return known  # a new one is kept once a tag is right

    def _authentic_counter(self, packet: _core.CompactPacket, device: _Device) -> int:
        """Return the 64-bit counter nearest the newest with this low half, if the tag authenticates it."""
        base = device.newest - (_HALF >> 1)
        counter = base + (packet.counter_low - base) % _HALF
        if counter < 0:
            counter += _HALF
        if (
            counter >> 64
            or packet.since_window > counter
            or not packet.verify(device.entry.key, counter >> 32)
        ):
            raise _Refusal(
                FaultKind.DAMAGED,
                f"Device {packet.device}, counter {packet.counter_low} (low half): the tag does not match, "
                "so the packet was altered or forged, or is of other keys; drop it.",
            )
        self._devices[packet.device] = device
        return counter

    def _check_new(
        self, device: _Device, packet: _core.CompactPacket, counter: int, number: int, place: str
    ) -> None:
        counted, random = device.done.get(number) or (None, b"")
        if counted == counter and random != bytes(packet.random):
            raise _Refusal(
                FaultKind.MIXED,
                f"{place}: the window is complete, and counter {counter} came then with other random bytes, "
                "so the device has lost its counter: drop the packet and enroll it anew.",
            )
        if number in device.done:
            raise _Refusal(
                FaultKind.REPEATED, f"{place}: the window is complete, and counts once; drop the packet."
            )
        if number < device.oldest:
            raise _Refusal(
                FaultKind.REPEATED,
                f"{place}: too old to tell from a replay (windows below {device.oldest} count as seen); drop "
                "the packet.",
            )

    def _attempt(
        self, device: _Device, packet: _core.CompactPacket, counter: int, number: int, place: str
    ) -> _Attempt:
        """Return the packet's attempt, which is begun if the packet is sound and the first."""
        positions = range(packet.first, packet.first + packet.count)
        if not self._expected.issuperset(positions):
            raise _Refusal(
                FaultKind.FOREIGN,
                f"{place}: these are not among the {len(self._expected)} positions that windows have here: "
                "drop the packet, or read it with its own positions.",
            )
        random = bytes(packet.random)
        attempt = device.attempts.setdefault(counter, _Attempt(number, random))
        if (attempt.number, attempt.random) != (number, random):
            raise _Refusal(
                FaultKind.MIXED,
                f"{place}: counter {counter} came before with other random bytes or of window "
                f"{attempt.number}, so the device has lost its counter: drop the packet and enroll it anew.",
            )
        return attempt

    def _make_room(self, device: _Device, counter: int) -> list[Fault]:
        """Drop the oldest attempt if there are too many, so that replayed packets cannot push out newer
        ones."""
        if len(device.attempts) <= self._max_open:
            return []
        oldest = min(device.attempts)
        number = device.attempts[oldest].number
        if oldest == counter:
            del device.attempts[oldest]
            raise _Refusal(
                FaultKind.LOST,
                f"Device {device.entry.device}, window {number}: {self._max_open} newer windows are open, "
                "so it is given up; ask the device for it again, or leave it out.",
            )
        fault = self._lost(device, number)
        del device.attempts[oldest]
        return [] if any(attempt.number == number for attempt in device.attempts.values()) else [fault]

    def _place(self, attempt: _Attempt, packet: _core.CompactPacket, place: str) -> None:
        values = dict(enumerate(packet.values().tolist(), packet.first))
        known = attempt.values.keys() & values.keys()
        if any(attempt.values[position] != values[position] for position in known):
            raise _Refusal(
                FaultKind.MIXED,
                f"{place}: they came before under one counter with other values, so the device has lost its "
                "counter: drop the packet and enroll it anew.",
            )
        if known:
            raise _Refusal(FaultKind.REPEATED, f"{place}: came twice; drop the copy.")
        attempt.values.update(values)

    def _complete(self, device: _Device, counter: int) -> Window:
        """Complete a window with the attempt that counts; its other attempts do not count."""
        attempt = device.attempts[counter]
        device.done[attempt.number] = counter, attempt.random
        if len(device.done) == 2 * _REMEMBERED:
            newest = sorted(device.done)[_REMEMBERED:]
            device.oldest, device.done = newest[0], {number: device.done[number] for number in newest}
        for other in [c for c, a in device.attempts.items() if a.number == attempt.number]:
            del device.attempts[other]
        entry = device.entry
        payload = np.array([attempt.values[p] for p in self.positions.tolist()], dtype=np.uint64)
        return Window(
            self.keys.set,
            self.keys.key_id,
            entry.device,
            entry.epoch,
            attempt.number,
            counter,
            attempt.random,
            entry.largest_value,
            self.positions,
            payload,
        )

    def _lost(self, device: _Device, number: int) -> Fault:
        """Drop a window, and name what its fullest attempt lacks."""
        attempts = [attempt for attempt in device.attempts.values() if attempt.number == number]
        fullest = max(attempts, key=lambda attempt: len(attempt.values))
        missing = sorted(self._expected - fullest.values.keys())
        return Fault(
            FaultKind.LOST,
            f"Device {device.entry.device}, window {number}: positions {spans(missing)} never came; ask the "
            "device for the window again, or leave it out.",
        )


class _Refusal(Exception):
    def __init__(self, kind: FaultKind, sentence: str) -> None:
        self.fault = Fault(kind, sentence)


def check_positions(compact: CompactSet, positions: Iterable[int]) -> NDArray[np.uint32]:
    """Return positions as uint32, ascending, each once. Raises ParameterError if there are none or one is not
    a coefficient of the ring."""
    found = sorted(set(positions))
    if not found or found[0] < 0 or found[-1] >= compact.n:
        raise ParameterError(
            f"Positions are coefficients 0 to {compact.n - 1} of set {compact.name}, one or more: give those."
        )
    return np.array(found, dtype=np.uint32)


def spans(positions: Iterable[int]) -> str:
    """Write ascending positions for people, such as 0-3, 7."""
    parts: list[list[int]] = []
    for position in positions:
        if parts and position == parts[-1][1] + 1:
            parts[-1][1] = position
        else:
            parts.append([position, position])
    return ", ".join(_span(first, last - first + 1) for first, last in parts)


def _span(first: int, count: int) -> str:
    return f"{first}-{first + count - 1}" if count > 1 else f"{first}"


def read_packets(text: str) -> list[bytes]:
    """Read packets from lines of hexadecimal digits, as network servers export them. Empty lines and text
    after # are ignored. Raises FrameError for anything else."""
    packets = []
    for number, line in enumerate(text.splitlines(), 1):
        digits = line.partition("#")[0].strip()
        if not digits:
            continue
        try:
            packets.append(bytes.fromhex(digits))
        except ValueError:
            raise FrameError(
                f"Line {number} is not a packet in hexadecimal: give one packet a line, such as 2101...."
            ) from None
    return packets
