# SPDX-License-Identifier: Apache-2.0
"""Check windows read from a store again, as they were checked on arrival: length, checksums and tags. A bit
flipped on the disk then causes no wrong result, and the window is named.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ciphermote import _evaluator
from ciphermote.base.errors import FrameError, KeyFileError, MismatchError
from ciphermote.formats.tags import TagKeys
from ciphermote.gateway import rekeyed
from ciphermote.gateway.devices import parts_text, unsigned
from ciphermote.gateway.fleets import Fleet
from ciphermote.gateway.store.extents import parse_extents
from ciphermote.gateway.store.interface import Reader
from ciphermote.gateway.wrapping import Wrapper
from ciphermote.rest.requests import FullFleet

_MOST_KEYS = 10_000
_CHANGED = (
    "Its bytes have changed since they were stored: restore them from a backup, or compute without the "
    "window (--leave-out-damaged)."
)


class StoredWindow(NamedTuple):
    """A window that counts, with its fields in the database. keys: its device's, wrapped; signed_tags: the
    sum of its tags; signed_owner_key: the key that it was switched to, None for a window as its device sent
    it."""

    device: int
    epoch: int
    keys: bytes
    number: int
    counter: int
    signed_tags: int
    extents: str
    signed_owner_key: int | None = None

    @property
    def owner_key(self) -> int | None:
        return None if self.signed_owner_key is None else unsigned(self.signed_owner_key)

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
        given: list[tuple[Any, ...]] = []
        sent: list[int] = []
        places = [parse_extents(window.extents) for window in windows]
        self._reader.prefetch(places)
        for place, (window, extents) in enumerate(zip(windows, places, strict=True)):
            try:
                data = self._reader.read(extents)
                found.append(None)
                if window.owner_key is not None:
                    definition = fleet.definition
                    assert isinstance(definition, FullFleet)
                    rekeyed.from_bytes(window, window.owner_key, fleet.parameters, definition.scheme, data)
                else:
                    given.append((fleet.params, self._frames_key(fleet, window), window.counter, data))
                    sent.append(place)
            except (FrameError, MismatchError):
                found[place] = _CHANGED
            except KeyFileError as error:
                found[place:] = [str(error)]
        for place, delivery in zip(sent, _evaluator.check_deliveries(given), strict=True):
            found[place] = _fault(windows[place], delivery)
        return found

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
        return _CHANGED
    same = (delivery.device, delivery.epoch, delivery.window, delivery.counter, delivery.tags)
    if same != (*window[:2], window.number, window.counter, unsigned(window.signed_tags)):
        return "The bytes are of another window."
    return None


def parts_of(fleet: Fleet, counter: int, data: bytes) -> str | None:
    """Return the tags of a stored window's parts, as the database has them once its frames are gone; None if
    it has one part. Raises Error for bytes that are no window."""
    found = _evaluator.read_stored(fleet.params, counter, data).parts
    return None if len(found) == 1 else parts_text({p: (count, tag) for p, count, tag, _, _ in found})
