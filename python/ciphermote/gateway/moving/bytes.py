# SPDX-License-Identifier: Apache-2.0
"""The bytes that rows refer to: whose they are, what is wrong with them, and which whole objects there
are."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

from ciphermote.base.errors import KeyFileError
from ciphermote.gateway.database.interface import Connection
from ciphermote.gateway.fleets import Fleet
from ciphermote.gateway.moving.bulk import Table
from ciphermote.gateway.retention import USED_OBJECTS
from ciphermote.gateway.store.extents import Extent, parse_extents
from ciphermote.gateway.store.interface import Reader, Store
from ciphermote.gateway.stored import StoredWindow, WindowChecker
from ciphermote.gateway.wrapping import Wrapper

_MOST_KNOWN = 20_000
_BATCH_BYTES = 32 << 20
"""The most bytes of rows, or of whole objects, that are in memory at a time, unless a single one is
larger."""


class Device(NamedTuple):
    """The device of a row, as columns of the database. keys: wrapped; empty once it is deleted."""

    id: int
    number: int
    epoch: int
    keys: bytes
    fleet: Fleet


class Owners:
    """Looks up the devices of rows."""

    def __init__(self, database: Connection) -> None:
        self._database = database
        self._devices: dict[int, Device] = {}
        self._fleets: dict[int, Fleet] = {}

    def of(self, rows: Sequence[Any]) -> dict[int, Device]:
        """Return the devices of rows by their ids."""
        wanted = {int(row["device"]) for row in rows}
        unknown = wanted - self._devices.keys()
        if len(self._devices) + len(unknown) > _MOST_KNOWN:
            self._devices.clear()
            unknown = wanted
        if unknown:
            for row in self._database.execute(
                "SELECT d.id, d.number, d.epoch, d.keys, d.fleet, f.tenant, f.name, f.definition "
                "FROM devices d JOIN fleets f ON f.id = d.fleet "
                "WHERE d.id IN (SELECT CAST(value AS BIGINT) FROM json_each(?))",
                (json.dumps(sorted(unknown)),),
            ):
                identifier, number, epoch, keys, *fleet = tuple(row)
                if fleet[0] not in self._fleets:
                    self._fleets[fleet[0]] = Fleet.from_row(*fleet)
                self._devices[identifier] = Device(identifier, number, epoch, keys, self._fleets[fleet[0]])
        return {device: self._devices[device] for device in wanted}


def groups(rows: Sequence[Any]) -> Iterator[list[Any]]:
    """Divide rows into groups whose bytes fit into memory."""
    return _grouped(rows, lambda row: sum(extent.size for extent in parse_extents(row["extents"])))


def _grouped(items: Iterable[Any], size_of: Callable[[Any], int]) -> Iterator[list[Any]]:
    group: list[Any] = []
    total = 0
    for item in items:
        size = size_of(item)
        if group and total + size > _BATCH_BYTES:
            yield group
            group, total = [], 0
        group.append(item)
        total += size
    if group:
        yield group


class Checker:
    """Reads the bytes of rows, and finds what is wrong with them: of windows by their checksums and tags, of
    incomplete and held deliveries as far as the store can tell."""

    def __init__(self, reader: Reader, wrapper: Wrapper, owners: Owners) -> None:
        self._reader = reader
        self._windows = WindowChecker(reader, wrapper)
        self._owners = owners

    def read(self, table: Table, rows: Sequence[Any]) -> tuple[list[dict[Extent, bytes]], list[str | None]]:
        """Return the bytes of each row by their extents, and its fault, or None."""
        devices = self._owners.of(rows)
        by_fleet: dict[int, list[int]] = {}
        for number, row in enumerate(rows):
            by_fleet.setdefault(devices[row["device"]].fleet.id, []).append(number)
        data: list[dict[Extent, bytes]] = [{} for _ in rows]
        faults: list[str | None] = [None] * len(rows)
        for numbers in by_fleet.values():
            some = [rows[number] for number in numbers]
            self._reader.prefetch([parse_extents(row["extents"]) for row in some])
            found = self._faults(table, some, devices)
            for number, row, fault in zip(numbers, some, found, strict=True):
                try:
                    data[number] = {
                        extent: self._reader.read([extent]) for extent in parse_extents(row["extents"])
                    }
                except KeyFileError as error:
                    fault = fault or str(error)
                if fault is not None:
                    faults[number] = f"{_named(table, row, devices[row['device']])}: {fault}"
        return data, faults

    def _faults(self, table: Table, rows: Sequence[Any], devices: dict[int, Device]) -> list[str | None]:
        """Return the faults of rows of one fleet. A deleted device has no keys to check its windows with,
        which are being deleted."""
        found: list[str | None] = [None] * len(rows)
        if table.name == "windows":
            checked = [i for i, row in enumerate(rows) if row["extents"] and devices[row["device"]].keys]
            windows = [_window(rows[i], devices[rows[i]["device"]]) for i in checked]
            if windows:
                fleet = devices[rows[0]["device"]].fleet
                for i, fault in zip(checked, self._windows.faults(fleet, windows), strict=True):
                    found[i] = fault
        return found

    def close(self) -> None:
        self._reader.close()


def _window(row: Any, device: Device) -> StoredWindow:
    return StoredWindow(
        *(device.number, device.epoch, device.keys, row["number"], row["counter"], row["tags"]),
        *(row["extents"], row["owner_key"]),
    )


def _named(table: Table, row: Any, device: Device) -> str:
    if table.name == "windows":
        return f"Fleet {device.fleet.name}, {_window(row, device)}"
    return (
        f"Fleet {device.fleet.name}, a delivery of device {device.number}, epoch {device.epoch}, under "
        f"counter {row['counter']}"
    )


# --- whole objects ------------------------------------------------------------------------------------------


def named_objects(database: Connection) -> dict[str, bool]:
    """Return the digests of all objects that a database knows, and whether it needs each: a booked one that
    nothing refers to goes with a sweep, and may have gone."""
    found = {digest: False for (digest,) in database.execute("SELECT DISTINCT digest FROM objects")}
    found.update({digest: True for (digest,) in database.execute(USED_OBJECTS) if digest})
    return dict(sorted(found.items()))


def object_groups(digests: Iterable[str], sizes: dict[str, int]) -> Iterator[list[str]]:
    """Divide objects into groups that fit into memory."""
    return _grouped(digests, lambda digest: sizes.get(digest, 0))


def each_object(store: Store, call: Callable[[str], Any], digests: Sequence[str]) -> list[Any]:
    """Call a function for each object, at once if the store takes several requests at a time."""
    if store.most_in_flight == 1 or len(digests) < 2:
        return list(map(call, digests))
    with ThreadPoolExecutor(store.most_in_flight, "objects") as pool:
        return list(pool.map(call, digests))
