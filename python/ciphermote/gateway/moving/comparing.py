# SPDX-License-Identifier: Apache-2.0
"""Compare what a copy has made with its source: every row, and every byte that rows refer to."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from typing import Any

from ciphermote.base.errors import KeyFileError
from ciphermote.gateway.moving.bulk import Schema, Table, batches
from ciphermote.gateway.moving.bytes import (
    Checker,
    Owners,
    each_object,
    groups,
    named_objects,
    object_groups,
)
from ciphermote.gateway.moving.copying import ROWS, Stages, copied_tables, moved_row, tenant_bytes
from ciphermote.gateway.moving.ends import End
from ciphermote.gateway.moving.marks import compared_to, put_compared
from ciphermote.gateway.store.extents import parse_extents
from ciphermote.gateway.wrapping import Wrapper

SAVE_SECONDS = 5.0
_OBJECTS = "objects in the store"


class Comparison:
    """A comparison of both ends of a move, by the move's id. leave_out: whether bytes that are damaged at the
    source may be missing at the target."""

    def __init__(
        self,
        source: End,
        target: End,
        schema: Schema,
        wrapper: Wrapper,
        stages: Stages,
        identifier: str,
        *,
        leave_out: bool,
    ) -> None:
        self._source = source
        self._target = target
        self._stages = stages
        self._identifier = identifier
        self._leave_out = leave_out
        self._tables = copied_tables(schema, target)
        self._owners = Owners(source.connection)
        self._readers = source.store.reader(), target.store.reader()
        self._checker = Checker(source.store.reader(), wrapper, self._owners)
        self._tenants = {} if target.keeps_bytes else tenant_bytes(source.connection, target.connection)
        self._names = [*(table.name for table in self._tables), _OBJECTS]
        self._begun = compared_to(target.connection, identifier)
        self._saved = time.monotonic()
        self.rows = 0
        self.size = 0
        """Rows, and bytes of ciphertexts and objects, that are the same at both ends."""

    def run(self) -> None:
        """Compare from where an earlier run stopped. Raises KeyFileError at the first difference."""
        try:
            for table in self._tables:
                self._compare_table(table)
            if not self._target.keeps_bytes:
                self._compare_places()
                self._compare_objects()
        finally:
            for each in (*self._readers, self._checker):
                each.close()

    def _done_to(self, name: str) -> tuple[bool, tuple[Any, ...] | None]:
        """Return whether an earlier run has compared all of a stage, and up to which key."""
        if self._begun is None:
            return False, None
        stage, key = self._begun
        if stage == name:
            return False, tuple(key)
        return self._names.index(name) < self._names.index(stage), None

    def _save(self, name: str, key: Sequence[Any]) -> None:
        """Record now and then how far this run is."""
        if time.monotonic() - self._saved >= SAVE_SECONDS:
            put_compared(self._target.connection, self._identifier, name, key)
            self._saved = time.monotonic()

    def _compare_table(self, table: Table) -> None:
        total, there = (table.count(end.connection) for end in (self._source, self._target))
        if total != there:
            raise self._different(f"{table.name} has {there:,} rows and not {total:,}")
        self.rows += total
        is_done, after = self._done_to(table.name)
        if is_done:
            return
        with self._stages(f"Comparing {table.name}") as show:
            done = 0
            for here in batches(table, self._source.connection, after, ROWS):
                self._compare_rows(table, here, table.rows_after(self._target.connection, after, len(here)))
                after = table.key_of(here[-1])
                done += len(here)
                show(done, total)
                self._save(table.name, after)

    def _compare_rows(self, table: Table, here: Sequence[Any], there: Sequence[Any]) -> None:
        if len(here) != len(there):
            raise self._different(f"{table.name} has other rows")
        if "extents" not in table.columns:
            expected = [self._expected(table, row) for row in here]
        else:
            expected = [
                moved_row(table, row, other["extents"]) for row, other in zip(here, there, strict=True)
            ]
        for wanted, other in zip(expected, there, strict=True):
            if wanted != tuple(other):
                raise self._different(f"row {table.key_of(other)} of {table.name} is another")
        if "extents" in table.columns:
            others = iter(there)
            for group in groups(here):
                self._compare_bytes(table, group, [next(others) for _ in group])

    def _expected(self, table: Table, row: Any) -> tuple[Any, ...]:
        if table.name != "tenants" or self._target.keeps_bytes:
            return tuple(row)
        return tuple(
            self._tenants[row["id"]] if column == "bytes" else row[column] for column in table.columns
        )

    def _compare_bytes(self, table: Table, here: Sequence[Any], there: Sequence[Any]) -> None:
        for row, other in zip(here, there, strict=True):
            if bool(row["extents"]) != bool(other["extents"]) and not self._is_left_out(table, row):
                raise self._different(f"row {table.key_of(row)} of {table.name} has lost its bytes")
        if self._target.keeps_bytes:
            for row, other in zip(here, there, strict=True):
                if other["extents"] not in ("", row["extents"]):
                    raise self._different(f"row {table.key_of(row)} of {table.name} has other bytes")
            return
        pairs = [
            (parse_extents(row["extents"]), parse_extents(other["extents"]), row)
            for row, other in zip(here, there, strict=True)
            if other["extents"]
        ]
        source, target = self._readers
        source.prefetch([extents for extents, _, _ in pairs])
        target.prefetch([extents for _, extents, _ in pairs])
        for ours, theirs, row in pairs:
            if source.read(ours) != target.read(theirs):
                raise self._different(f"row {table.key_of(row)} of {table.name} has other bytes")

    def _is_left_out(self, table: Table, row: Any) -> bool:
        return self._leave_out and self._checker.read(table, [row])[1] != [None]

    def _compare_places(self) -> None:
        """Compare what is booked in the target's places with what rows refer to there."""
        places: Counter[tuple[str, int]] = Counter()
        for table in self._tables:
            if "extents" in table.columns:
                for rows in batches(table, self._target.connection, None, ROWS):
                    owners = self._owners.of(rows)
                    for row in rows:
                        for extent in parse_extents(row["extents"]):
                            places[extent.place, owners[row["device"]].fleet.tenant] += extent.size
        booked = self._target.connection.execute("SELECT place, tenant, bytes FROM place_bytes")
        if {(row["place"], row["tenant"]): row["bytes"] for row in booked} != places:
            raise self._different("its places have other sizes")
        self.size += sum(places.values())

    def _compare_objects(self) -> None:
        named = named_objects(self._source.connection)
        sizes = {found.name: found.size for found in self._target.store.objects()}
        missing = [digest for digest, needed in named.items() if needed and digest not in sizes]
        for digest in missing:
            if not self._leave_out:
                raise self._different(f"object {digest} is missing")
        present = [digest for digest in named if digest in sizes]
        self.size += sum(sizes[digest] for digest in present)
        _, after = self._done_to(_OBJECTS)
        done = 0 if after is None else sum(digest <= after[0] for digest in present)
        with self._stages("Comparing objects") as show:
            for group in object_groups(present[done:], sizes):
                each_object(self._target.store, self._read_object, group)
                done += len(group)
                show(done, len(present))
                self._save(_OBJECTS, group[-1:])

    def _read_object(self, digest: str) -> None:
        """An object is what its digest says, which reading it checks."""
        self._target.store.get(digest)

    def _different(self, what: str) -> KeyFileError:
        return KeyFileError(
            f"{self._target.place} is not as {self._source.place}: {what}. It was not opened: give this move "
            "up (`ciphermote gateway reopen`), empty it, and begin anew."
        )
