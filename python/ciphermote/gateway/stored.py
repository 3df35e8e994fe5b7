# SPDX-License-Identifier: Apache-2.0
"""Check windows read from a store again, as they were checked on arrival: length, checksums and tags. A bit
flipped on the disk then causes no wrong result, and the window is named.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ciphermote import _evaluator
from ciphermote.base.errors import KeyFileError
from ciphermote.formats.tags import TagKeys
from ciphermote.gateway.devices import unsigned
from ciphermote.gateway.fleets import Fleet
from ciphermote.gateway.store.extents import parse_extents
from ciphermote.gateway.store.interface import Reader
from ciphermote.gateway.wrapping import Wrapper

_MOST_KEYS = 10_000


class StoredWindow(NamedTuple):
    """A window that counts, with its fields in the database. keys: its device's, wrapped; signed_tags: the
    sum of its tags."""

    device: int
    epoch: int
    keys: bytes
    number: int
    counter: int
    signed_tags: int
    extents: str

    def __str__(self) -> str:
        where = f", in {self.extents}" if self.extents else ""
        return f"window {self.number} of device {self.device}, epoch {self.epoch}{where}"


class WindowChecker:
    """Checks stored windows of any fleet."""

    def __init__(self, reader: Reader, wrapper: Wrapper) -> None:
        self._reader = reader
        self._wrapper = wrapper
        self._keys: dict[tuple[int, int, int], TagKeys] = {}

    def faults(self, fleet: Fleet, windows: Sequence[StoredWindow]) -> list[str | None]:
        """Return the fault of each window; None for an undamaged one."""
        found: list[str | None] = []
        given = []
        places = [parse_extents(window.extents) for window in windows]
        self._reader.prefetch(places)
        for window, extents in zip(windows, places, strict=True):
            try:
                data = self._reader.read(extents)
                given.append((fleet.params, self._frames_key(fleet, window), window.counter, data))
                found.append(None)
            except KeyFileError as error:
                found.append(str(error))
        checked = iter(_evaluator.check_deliveries(given))
        return [fault or _fault(window, next(checked)) for fault, window in zip(found, windows, strict=True)]

    def _frames_key(self, fleet: Fleet, window: StoredWindow) -> bytes:
        place = fleet.id, window.device, window.epoch
        keys = self._keys.get(place)
        if keys is None:
            while len(self._keys) >= _MOST_KEYS:
                del self._keys[next(iter(self._keys))]
            keys = self._keys[place] = self._wrapper.unwrap(window.keys, *place)
        return keys.frames


def _fault(window: StoredWindow, delivery: _evaluator.Delivery) -> str | None:
    if delivery.status != "CM_OK":
        return (
            "Its bytes have changed since they were stored: restore them from a backup, or compute without "
            "the window (--leave-out-damaged)."
        )
    same = (delivery.device, delivery.epoch, delivery.window, delivery.counter, delivery.tags)
    if same != (*window[:2], window.number, window.counter, unsigned(window.signed_tags)):
        return "The bytes are of another window."
    return None
