# SPDX-License-Identifier: Apache-2.0
"""The job that switches a fleet's stored windows to its present key, a batch at a time.

A batch is one transaction: its windows' extents, the key that they are under from then on, and the bytes that
the tenant has. A job that is stopped, or whose worker dies, goes on where it was, since windows that are
switched are not under an earlier key; a window that a sweep deletes meanwhile is left alone. Old bytes stay
as long as a job that ran beside may still read them, and go as all bytes do that nothing refers to
(retention.py).

Damaged windows are left as they are. The job fails at its end, and names them, unless it is to leave them
out.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from ciphermote.base.errors import Error
from ciphermote.ciphertext import Ciphertext
from ciphermote.gateway import contributors, rekeyed
from ciphermote.gateway.computing import Cancelled, Input, Progress, Result, damage_error
from ciphermote.gateway.database.interface import Connection, Database
from ciphermote.gateway.devices import signed, unsigned
from ciphermote.gateway.jobs import Job, is_held
from ciphermote.gateway.quotas import check_bytes, put_object
from ciphermote.gateway.replaced import keep_replaced
from ciphermote.gateway.store.extents import Extent, parse_extents
from ciphermote.gateway.store.interface import Reader, Store
from ciphermote.gateway.stored import WindowChecker, parts_of
from ciphermote.gateway.switching import IS_UNDER, path_of
from ciphermote.gateway.tasks import known_of
from ciphermote.rest.requests import FullFleet

_BATCH = 64
_MOST_NAMED = 100
_OF_JOB = "d.fleet = ? AND d.deleted IS NULL AND w.sequence <= ? AND w.measured >= ? AND w.measured < ?"


class _Window(NamedTuple):
    """A window to switch, by its sequence."""

    sequence: int
    parts: str | None
    input: Input


class _Switched(NamedTuple):
    """A window that is switched. parts: as the database has them of windows without frames."""

    window: _Window
    data: bytes
    parts: str | None


class Rekeying:
    """The work of one such job."""

    def __init__(
        self,
        job: Job,
        database: Database,
        reader: Reader,
        checker: WindowChecker,
        store: Store,
        progress: Progress,
    ) -> None:
        self._job = job
        self._fleet = job.fleet
        definition = job.fleet.definition
        assert isinstance(definition, FullFleet)
        self._definition = definition
        self._database = database
        self._reader = reader
        self._checker = checker
        self._store = store
        self._progress = progress
        self._path = path_of(job.fleet, database.connection, store)
        self._faults: list[str] = []
        self._damaged = 0

    def run(self) -> Result:
        """Switch all windows under earlier keys that were stored before the job was made. Raises EngineError
        that names those that cannot be switched, once all others are."""
        total, done, after = self._count(), 0, 0
        self._progress(0, total)
        while batch := self._next(after):
            self._switch(batch, done, total)
            done, after = done + len(batch), batch[-1].sequence
            self._progress(done, total)
        if self._damaged and not self._job.spec.leave_out_damaged:
            raise damage_error(self._faults, self._damaged)
        return self._result()

    def _place(self) -> tuple[int, int, float, float]:
        job = self._job
        return job.fleet.id, job.cut, job.begins, job.ends

    def _count(self) -> int:
        (found,) = self._database.connection.execute(
            "SELECT count(*) FROM windows w JOIN devices d ON d.id = w.device "
            f"WHERE {_OF_JOB} AND w.extents != '' AND {IS_UNDER} != ?",
            (*self._place(), signed(self._fleet.key_id)),
        ).fetchone()
        return int(found)

    def _next(self, after: int) -> list[_Window]:
        rows = self._database.connection.execute(
            "SELECT w.sequence, w.parts, d.number, d.epoch, d.key_id, d.largest_value, d.rekey, d.keys, "
            "w.number, w.counter, w.random, w.tags, w.extents, w.owner_key, d.owner_key "
            # CROSS: SQLite goes through the windows in order, and does not sort all that are left each time.
            "FROM windows w CROSS JOIN devices d "
            f"WHERE d.id = w.device AND {_OF_JOB} AND w.sequence > ? AND w.extents != '' AND {IS_UNDER} != ? "
            "ORDER BY w.sequence LIMIT ?",
            (*self._place(), after, signed(self._fleet.key_id), _BATCH),
        )
        return [_Window(sequence, parts, Input(*fields)) for sequence, parts, *fields in rows]

    # --- switching ------------------------------------------------------------------------------------------

    def _switch(self, batch: list[_Window], done: int, total: int) -> None:
        faults = self._checker.faults(self._fleet, [window.input.stored for window in batch])
        found = []
        for window, fault in zip(batch, faults, strict=True):
            self._progress(done, total)  # a batch may take longer than a lease
            if fault is None:
                try:
                    found.append(self._switched(window))
                    continue
                except Error as error:
                    fault = str(error)
            self._damaged += 1
            if len(self._faults) < _MOST_NAMED:
                self._faults.append(f"{window.input.stored} ({fault.rstrip('.')})")
        if found:
            self._progress(done, total)
            self._replace(found)

    def _switched(self, window: _Window) -> _Switched:
        given = window.input
        data = self._reader.read(parse_extents(given.extents))
        if given.signed_owner_key is not None:
            definition, key_id = self._definition, given.owner_key(self._fleet)
            of = self._fleet.parameters, definition.scheme
            ciphertext, parts = rekeyed.from_bytes(given.stored, key_id, *of, data), window.parts
        else:
            ciphertext, parts = self._as_sent(given, data), parts_of(self._fleet, given.counter, data)
        ciphertext = self._path.switched(ciphertext, given.owner_key(self._fleet))
        return _Switched(window, rekeyed.to_bytes(given.stored, ciphertext), parts)

    def _as_sent(self, given: Input, data: bytes) -> Ciphertext:
        """Read a window as its device sent it, under an owner's key."""
        definition, parameters = self._definition, self._fleet.parameters
        found = Ciphertext.from_frames(data, parameters, definition.scheme)
        # What the device is enrolled for holds, and no window is in a sum twice: its source needs no name.
        scale = 1.0 if definition.log2_scale is None else 2.0**definition.log2_scale
        known = known_of(parameters, definition.scheme, scale, given.largest, data)
        key_id = unsigned(given.signed_key_id)
        found = Ciphertext(parameters, definition.scheme, key_id, found.hosted, known)
        if not definition.own_keys:
            return found
        return self._path.from_device(found, given.device, given.rekey, given.owner_key(self._fleet))

    # --- storing --------------------------------------------------------------------------------------------

    def _replace(self, found: list[_Switched]) -> None:
        """Store switched windows in place of what they were. Raises Cancelled if the job is no longer this
        worker's, or Refusal if its tenant has no room."""
        tenant, size = self._fleet.tenant, sum(len(each.data) for each in found)
        check_bytes(self._database.connection, tenant, size)
        now = time.time()
        extents = self._store.append_apart([each.data for each in found], self._fleet, now)
        with self._database.writing() as database:
            if not is_held(database, self._job):
                raise Cancelled
            check_bytes(database, tenant, size)
            replaced: list[Extent] = []
            for each, extent in zip(found, extents, strict=True):
                given = each.window.input
                changed = database.execute(
                    "UPDATE windows SET extents = ?, owner_key = ?, parts = ? "
                    "WHERE sequence = ? AND extents = ?",
                    (
                        str(extent),
                        signed(self._fleet.key_id),
                        each.parts,
                        each.window.sequence,
                        given.extents,
                    ),
                )
                if changed.rowcount:
                    replaced += parse_extents(given.extents)
            self._book(database, extents, size)
            keep_replaced(database, self._fleet.id, self._job.id, replaced)

    def _book(self, database: Connection, extents: list[Extent], size: int) -> None:
        sizes: dict[str, int] = {}
        for extent in extents:
            sizes[extent.place] = sizes.get(extent.place, 0) + extent.size
        database.executemany(
            "INSERT INTO place_bytes (place, tenant, bytes) VALUES (?, ?, ?)",
            [(place, self._fleet.tenant, of_place) for place, of_place in sorted(sizes.items())],
        )
        database.execute("UPDATE tenants SET bytes = bytes + ? WHERE id = ?", (size, self._fleet.tenant))

    def _result(self) -> Result:
        rows = self._database.connection.execute(
            "SELECT d.number, d.epoch, w.number FROM windows w JOIN devices d ON d.id = w.device "
            f"WHERE {_OF_JOB} AND w.owner_key = ? ORDER BY d.number, d.epoch, w.number",
            (*self._place(), signed(self._fleet.key_id)),
        )
        of_devices: Counter[int] = Counter()

        def windows() -> Iterator[tuple[int, int, int]]:
            for device, epoch, number in rows:
                of_devices[device] += 1
                yield device, epoch, number

        content = contributors.to_bytes(windows())
        fields = {
            "kind": self._job.spec.kind,
            "windows": of_devices.total(),
            "devices": len(of_devices),
            "parts": 0,
            "contributors": put_object(self._database.connection, self._store, self._fleet.tenant, content),
            **({"damaged": self._damaged} if self._damaged else {}),
        }
        return Result(fields, [])
