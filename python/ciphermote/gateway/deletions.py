# SPDX-License-Identifier: Apache-2.0
"""Deleting tenants, fleets and devices, in two steps.

The first is one transaction: a mark on the row, after which its tokens are refused, no frame is stored and no
job runs. The second removes its rows, a batch at a time, in the background, and resumes after a crash. The
next sweep removes files that nothing refers to (retention.py). Marked rows stay, so that ids, names, and a
device's number and epoch are never reused.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial

from ciphermote.gateway.access import Access
from ciphermote.gateway.database.interface import Connection, Database
from ciphermote.gateway.intake import Intake
from ciphermote.gateway.logs import log
from ciphermote.gateway.registry import Registry

_BATCH = 500
_INTAKE_SECONDS = 60.0
_TOKENS_SECONDS = 5.0
"""Seconds that ended tokens stay, so that the broker learns of them (access.Access.ended)."""
_KEYS = {
    "results": "device, counter",
    "quarantine": "id",
    "attempts": "device, counter",
    "windows": "sequence",
    "jobs": "id",
    "streams": "id",
    "specs": "id",
    "exclusions": "id",
    "objects": "tenant, digest",
    "evaluation_keys": "fleet, kind",
    "rotations": "id",
    "replaced": "id",
    "tokens": "id",
    "place_bytes": "place, tenant",
    "audit": "id",
    "idempotency_keys": "tenant, key",
}
"""The primary key of each table that rows are removed from."""
_OF_A_DEVICE = ("results", "quarantine", "attempts", "windows")
_OF_A_FLEET = ("jobs", "streams", "specs", "exclusions", "evaluation_keys", "rotations", "replaced")
_OF_A_TENANT = ("place_bytes", "objects", "audit", "idempotency_keys")
"""Tables of _KEYS by what their rows belong to; those that refer to others come first."""

_Step = Callable[[Connection], int]
"""Removes a batch of rows in a transaction, and returns their number; 0 once there are none."""


@dataclass(frozen=True)
class Target:
    """The target of a deletion: a tenant, one of its fleets, or one device of a fleet in all its epochs."""

    tenant: int
    fleet: int | None = None
    device: int | None = None


class Deletions:
    """The deletions of one gateway. Only one thread at a time may call run."""

    def __init__(self, database: Database, access: Access, registry: Registry, intake: Intake) -> None:
        self._database = database
        self._access = access
        self._registry = registry
        self._intake = intake
        self._stopping = threading.Event()
        self._running = threading.Lock()
        self._begun: dict[int, float] = {}
        """When this process began each unfinished removal."""

    def begin(self, database: Connection, target: Target) -> int:
        """Mark a target in a transaction, after which nothing is accepted for it, and return the deletion's
        number."""
        now = time.time()
        if target.device is not None:
            assert target.fleet is not None
            database.execute(
                "UPDATE devices SET deleted = ?, state = 'replaced', version = version + 1, keys = ?, "
                "rekey = NULL WHERE fleet = ? AND number = ?",
                (now, b"", target.fleet, target.device),
            )
            self._access.revoke_of_device(database, target.fleet, target.device)
        else:
            if target.fleet is None:
                database.execute("UPDATE tenants SET deleted = ? WHERE id = ?", (now, target.tenant))
            of_target = "tenant = ?2 AND (CAST(?3 AS BIGINT) IS NULL OR id = ?3)"
            database.execute(
                "UPDATE jobs SET state = 'cancelled', finished = ?1 "
                "WHERE state IN ('queued', 'running') "
                f"AND fleet IN (SELECT id FROM fleets WHERE {of_target})",
                (now, target.tenant, target.fleet),
            )
            database.execute(
                f"UPDATE fleets SET deleted = ?1, retain_days = NULL WHERE {of_target} AND deleted IS NULL",
                (now, target.tenant, target.fleet),
            )
        (number,) = database.execute(
            "INSERT INTO deletions (tenant, fleet, device, requested) VALUES (?, ?, ?, ?) RETURNING id",
            (target.tenant, target.fleet, target.device, now),
        ).fetchone()
        self._database.once_stored(partial(self._forget, target))
        return int(number)

    def _forget(self, target: Target) -> None:
        self._access.forget()
        self._registry.forget()
        for fleet in self._fleets(target):
            self._intake.forget_devices(fleet, target.device)

    def run(self) -> None:
        """Remove the rows of marked targets, as far as possible now. Call it periodically."""
        with self._running:
            for number, *target in self._database.connection.execute(
                "SELECT id, tenant, fleet, device FROM deletions WHERE finished IS NULL ORDER BY id"
            ).fetchall():
                if self._stopping.is_set():
                    return
                self._remove(number, Target(*target))

    def stop(self) -> None:
        """Stop removals after the present batch."""
        self._stopping.set()
        with self._running:
            pass

    def _fleets(self, target: Target) -> list[int]:
        rows = self._database.connection.execute(
            "SELECT id FROM fleets WHERE tenant = ?1 AND (CAST(?2 AS BIGINT) IS NULL OR id = ?2)",
            (target.tenant, target.fleet),
        )
        return [row["id"] for row in rows]

    def _remove(self, deletion: int, target: Target) -> None:
        began = self._begun.setdefault(deletion, time.monotonic())
        for fleet in self._fleets(target):  # rounds that began before the mark was stored end before this
            self._intake.forget_devices(fleet, target.device).result(_INTAKE_SECONDS)
        if not self._repeat(deletion, self._steps(target)):
            return
        if time.monotonic() < began + _TOKENS_SECONDS:
            return
        if not self._repeat(deletion, [partial(_remove_tokens, target=target)]):
            return
        with self._database.writing() as database:
            if target.device is None:
                which = "tenant = ?1 AND (CAST(?2 AS BIGINT) IS NULL OR id = ?2)"
                database.execute(
                    "UPDATE tenants SET bytes = bytes - "
                    f"(SELECT coalesce(sum(length(definition)), 0) FROM fleets WHERE {which}) WHERE id = ?1",
                    (target.tenant, target.fleet),
                )
                database.execute(
                    f"UPDATE fleets SET definition = '' WHERE {which}", (target.tenant, target.fleet)
                )
            database.execute("UPDATE deletions SET finished = ? WHERE id = ?", (time.time(), deletion))
        del self._begun[deletion]
        log.info("deleted", deletion=deletion)

    def _repeat(self, deletion: int, steps: Iterable[_Step]) -> bool:
        """Repeat each step until it removes nothing more; False if the gateway stops first."""
        for step in steps:
            gone = 1
            while gone:
                if self._stopping.is_set():
                    return False
                with self._database.writing() as database:
                    gone = step(database)
                    database.execute("UPDATE deletions SET rows = rows + ? WHERE id = ?", (gone, deletion))
        return True

    def _steps(self, target: Target) -> Iterator[_Step]:
        for fleet in self._fleets(target):
            yield partial(_remove_devices, fleet=fleet, number=target.device)
            if target.device is None:
                for table in _OF_A_FLEET:
                    yield partial(_remove_rows, table=table, column="fleet", owner=fleet)
        if target.fleet is None:
            for table in _OF_A_TENANT:
                yield partial(_remove_rows, table=table, column="tenant", owner=target.tenant)


def _remove_devices(database: Connection, *, fleet: int, number: int | None) -> int:
    """Remove devices of a fleet, with all their data. number: a marked device, whose last epoch's row
    stays."""
    last = "SELECT max(epoch) FROM devices WHERE fleet = ?1 AND number = ?2"
    found = database.execute(
        f"SELECT id, CAST(?2 AS BIGINT) IS NULL OR epoch < ({last}) AS goes FROM devices WHERE fleet = ?1 "
        "AND (CAST(?2 AS BIGINT) IS NULL OR number = ?2 AND deleted IS NOT NULL) LIMIT ?3",
        (fleet, number, _BATCH),
    ).fetchall()
    gone = 0
    for device in found:
        for table in _OF_A_DEVICE:
            gone += _remove_rows(
                database, table=table, column="device", owner=device["id"], most=_BATCH - gone
            )
        if gone >= _BATCH:
            break
        if device["goes"]:
            gone += database.execute("DELETE FROM devices WHERE id = ?", (device["id"],)).rowcount
    return gone


def _remove_tokens(database: Connection, *, target: Target) -> int:
    """Remove the tokens of marked targets: of a device, which may be enrolled again, only revoked ones."""
    return database.execute(
        "DELETE FROM tokens WHERE id IN (SELECT id FROM tokens "
        "WHERE tenant = ?1 AND (CAST(?2 AS BIGINT) IS NULL OR fleet = ?2) "
        "AND (CAST(?3 AS BIGINT) IS NULL OR device = ?3 AND revoked IS NOT NULL) LIMIT ?4)",
        (target.tenant, target.fleet, target.device, _BATCH),
    ).rowcount


def _remove_rows(database: Connection, *, table: str, column: str, owner: int, most: int = _BATCH) -> int:
    key = _KEYS[table]
    return database.execute(
        f"DELETE FROM {table} WHERE ({key}) IN (SELECT {key} FROM {table} WHERE {column} = ? LIMIT ?)",
        (owner, most),
    ).rowcount
