# SPDX-License-Identifier: Apache-2.0
"""Copy rows and the bytes that they refer to. A batch's bytes are stored before its rows are committed, and
the next batch begins after the last row that the target has: so a copy goes on wherever it was stopped. What
a crash leaves in the store has no row, and is never read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

from ciphermote.base.errors import KeyFileError
from ciphermote.gateway.database.interface import Connection
from ciphermote.gateway.moving.bulk import Schema, Table, batches
from ciphermote.gateway.moving.bytes import (
    Checker,
    Owners,
    each_object,
    groups,
    named_objects,
    object_groups,
)
from ciphermote.gateway.moving.ends import End
from ciphermote.gateway.store.extents import Extent, extents_text
from ciphermote.gateway.wrapping import Wrapper

ROWS = 5000
"""Rows of a batch."""
_PLACE_BYTES, _STORE = "place_bytes", "store"
_REPLACED = "replaced"
"""What jobs that ran at the source may have read; none runs on."""

Stages = Callable[[str], AbstractContextManager[Callable[[int, int], None]]]
"""Shows the progress of a stage with this name, in a block, by a function that takes (done, total)."""


class Copy:
    """A copy from one end to another. report: called with a sentence for each damaged thing; leave_out: copy
    a damaged row as one whose bytes are deleted, instead of ending with an error."""

    def __init__(
        self,
        source: End,
        target: End,
        schema: Schema,
        wrapper: Wrapper,
        stages: Stages,
        report: Callable[[str], None],
        *,
        leave_out: bool,
    ) -> None:
        self._source = source
        self._target = target
        self._schema = schema
        self._stages = stages
        self._report = report
        self._leave_out = leave_out
        self._owners = Owners(source.connection)
        self._checker = Checker(source.store.reader(), wrapper, self._owners)
        self._damaged = 0
        self.size = 0
        """Bytes of the ciphertexts and objects that this run copied."""

    def run(self) -> None:
        """Copy what the target has not. Raises KeyFileError if something is damaged, after all of it is
        reported."""
        try:
            for table in copied_tables(self._schema, self._target):
                self._copy_table(table)
            self._copy_objects()
        finally:
            self._checker.close()
        if self._damaged and not self._leave_out:
            raise KeyFileError(
                f"{self._damaged:,} damaged at {self._source.place}: restore their segments or objects from "
                "a backup and give the command again, which goes on where it stopped; or move the rest, with "
                "these marked as deleted (--leave-out-damaged)."
            )
        if not self._target.keeps_bytes:
            self._settle_tenants()

    def _copy_table(self, table: Table) -> None:
        has_bytes = "extents" in table.columns
        after = table.last_key(self._target.connection)
        with self._stages(f"Copying {table.name}") as show:
            total, done = table.count(self._source.connection), table.count(self._target.connection)
            show(done, total)
            for rows in batches(table, self._source.connection, after, ROWS):
                for group in groups(rows) if has_bytes else (rows,):
                    if has_bytes:
                        self._copy_group(table, group)
                    elif not self._stopped:
                        with self._target.database.writing() as database:
                            table.insert(database, [tuple(row) for row in group])
                    done += len(group)
                    show(done, total)

    @property
    def _stopped(self) -> bool:
        """Whether nothing is copied any more, and damage is only reported."""
        return self._damaged > 0 and not self._leave_out

    def _copy_group(self, table: Table, rows: Sequence[Any]) -> None:
        data, faults = self._checker.read(table, rows)
        for fault in filter(None, faults):
            self._damaged += 1
            self._report(fault)
        if self._stopped:
            return
        kept = [number for number, row in enumerate(rows) if row["extents"] and faults[number] is None]
        given = {number: extents_text(data[number]) for number in kept}
        places: Counter[tuple[str, int]] = Counter()
        if not self._target.keeps_bytes:
            given = self._append(rows, data, kept, places)
        values = [moved_row(table, row, given.get(number, "")) for number, row in enumerate(rows)]
        with self._target.database.writing() as database:
            table.insert(database, values)
            database.executemany(
                "INSERT INTO place_bytes (place, tenant, bytes) VALUES (?, ?, ?) "
                "ON CONFLICT (place, tenant) DO UPDATE SET bytes = place_bytes.bytes + excluded.bytes",
                [(*key, size) for key, size in sorted(places.items())],
            )

    def _append(
        self,
        rows: Sequence[Any],
        data: Sequence[dict[Extent, bytes]],
        kept: Sequence[int],
        places: Counter[tuple[str, int]],
    ) -> dict[int, str]:
        """Store the bytes of rows, count them by place and tenant, and return the extents of each row."""
        owners = self._owners.of(rows)
        pieces, fleets, numbers = [], [], []
        for number in kept:
            fleet = owners[rows[number]["device"]].fleet
            for content in data[number].values():
                pieces.append(content)
                fleets.append(fleet)
                numbers.append(number)
        if not pieces:
            return {}
        found: dict[int, list[Extent]] = {}
        extents = self._target.store.append(pieces, fleets, rows[kept[0]]["arrived"])
        for number, fleet, extent in zip(numbers, fleets, extents, strict=True):
            found.setdefault(number, []).append(extent)
            places[extent.place, fleet.tenant] += extent.size
            self.size += extent.size
        return {number: extents_text(each) for number, each in found.items()}

    def _copy_objects(self) -> None:
        source, target = self._source.store, self._target.store
        named = named_objects(self._source.connection)
        sizes = {found.name: found.size for found in source.objects()}
        present = set() if self._target.keeps_bytes else {found.name for found in target.objects()}
        missing = [digest for digest in named if digest not in present]
        with self._stages("Copying objects") as show:
            done = len(named) - len(missing)
            show(done, len(named))
            for group in object_groups(missing, sizes):
                each_object(target, lambda digest: self._copy_object(digest, needed=named[digest]), group)
                done += len(group)
                show(done, len(named))

    def _copy_object(self, digest: str, *, needed: bool) -> None:
        try:
            content = self._source.store.get(digest)
        except KeyFileError as error:
            if needed:
                self._damaged += 1
                self._report(str(error))
            return
        if not self._target.keeps_bytes and not self._stopped:
            self._target.store.put(content)
            self.size += len(content)

    def _settle_tenants(self) -> None:
        """Book what each tenant has at the target: bytes in the source's places that no row refers to any
        more stay behind."""
        with self._target.database.writing() as database:
            for tenant, size in tenant_bytes(self._source.connection, database).items():
                database.execute("UPDATE tenants SET bytes = ? WHERE id = ?", (size, tenant))


def copied_tables(schema: Schema, target: End) -> list[Table]:
    """Return the tables whose rows the target has too. Others say where the bytes are."""
    leave_out = {_STORE, _REPLACED} if target.keeps_bytes else {_STORE, _REPLACED, _PLACE_BYTES}
    return [table for table in schema.tables if table.name not in leave_out]


def moved_row(table: Table, row: Any, extents: str) -> tuple[Any, ...]:
    """Return a row with its extents at the target; none for one whose bytes were left out, of which nothing
    is known then (devices.deleted_parts)."""
    changed = {"extents": extents}
    if row["extents"] and not extents and table.name == "windows" and row["owner_key"] is None:
        changed["parts"] = ""
    return tuple(changed.get(column, row[column]) for column in table.columns)


def tenant_bytes(source: Connection, target: Connection) -> dict[int, int]:
    """Return each tenant's bytes at the target."""
    in_places = "SELECT tenant, CAST(sum(bytes) AS BIGINT) FROM place_bytes GROUP BY tenant"
    before, after = (dict(map(tuple, each.execute(in_places))) for each in (source, target))
    return {
        tenant: max(0, size - before.get(tenant, 0) + after.get(tenant, 0))
        for tenant, size in source.execute("SELECT id, bytes FROM tenants")
    }
