# SPDX-License-Identifier: Apache-2.0
"""Delete data older than a fleet's retention: windows, results, quarantined deliveries and incomplete
attempts.

First the database marks the bytes as deleted, then what it no longer refers to goes from the store: objects,
and places once none of their bytes is needed. A crash between the two leaves what the next sweep finds. A
window's row and the tags of its parts stay, so that it never counts twice, and a repeated delivery gets the
same answer.
"""

from __future__ import annotations

import contextlib
import math
import threading
from pathlib import Path
from typing import cast

from ciphermote.base.errors import Error
from ciphermote.base.files import lock
from ciphermote.gateway.database.interface import Connection, Database, Row
from ciphermote.gateway.fleets import Fleet
from ciphermote.gateway.gateway_files import BACKUP_LOCK_FILE
from ciphermote.gateway.intake import Intake
from ciphermote.gateway.logs import log
from ciphermote.gateway.metrics import Metrics
from ciphermote.gateway.replaced import forget_replaced
from ciphermote.gateway.specs import delete_unused
from ciphermote.gateway.store.extents import parse_extents
from ciphermote.gateway.store.interface import Store
from ciphermote.gateway.stored import parts_of

DAY = 86_400.0
STEADY_SECONDS = 3600.0
"""Seconds that the clock must run evenly before it decides about deletions."""
_JUMP_SECONDS = 5.0
_BATCH = 500
_YOUNG_SECONDS = 3600.0
"""An object younger than this may belong to an unfinished job, upload or round."""
_ATTEMPTS_SECONDS = 60.0

_KEPT = "extents != '' AND +device IN (SELECT id FROM devices WHERE fleet = ?)"
"""Selects a fleet's stored windows. The plus keeps SQLite from sorting the rows of an index by device."""

USED_PLACES = """
WITH kept (extents) AS (
    SELECT extents FROM windows WHERE extents != ''
    UNION ALL SELECT extents FROM attempts WHERE extents != ''
    UNION ALL SELECT extents FROM quarantine WHERE extents != ''
    UNION ALL SELECT extents FROM replaced WHERE extents != ''
)
SELECT DISTINCT substr(extents, 1, instr(extents, ':') - 1) FROM kept WHERE instr(extents, ',') = 0
UNION
SELECT DISTINCT substr(e.value, 1, instr(e.value, ':') - 1)
FROM kept CROSS JOIN json_each('["' || replace(extents, ',', '","') || '"]') AS e
WHERE instr(extents, ',') > 0
"""

USED_OBJECTS = """
SELECT digest FROM evaluation_keys
UNION SELECT rekey FROM devices WHERE rekey IS NOT NULL
UNION SELECT rekey FROM rotations WHERE rekey IS NOT NULL
UNION SELECT digest FROM results
UNION SELECT digest FROM job_parts
UNION SELECT result ->> 'contributors' FROM jobs
    WHERE result IS NOT NULL AND result ->> 'deleted' IS NULL
"""


class Steadiness:
    """Measures how long the wall clock has run as evenly as the boot clock, which is never set."""

    def __init__(self) -> None:
        self._last: tuple[float, float] | None = None
        self._since = 0.0

    def seconds(self, wall: float, boot: float) -> float:
        """Return the seconds; call it often, because a jump is found between two calls."""
        if self._last is None or abs((wall - self._last[0]) - (boot - self._last[1])) > _JUMP_SECONDS:
            self._since = boot
        self._last = wall, boot
        return boot - self._since


class Retention:
    """Deletes old data of one gateway. Only one thread at a time may call sweep."""

    def __init__(
        self, database: Database, store: Store, folder: Path, intake: Intake, metrics: Metrics
    ) -> None:
        self._database = database
        self._store = store
        self._folder = folder
        self._intake = intake
        self._metrics = metrics
        self._reader = store.reader()
        self._stopping = threading.Event()
        self._sweeping = threading.Lock()
        self._swept: dict[int, int] = {}
        """By fleet: the sequence up to which its windows are deleted."""

    def stop(self) -> None:
        """Stop the present sweep, and all later ones."""
        self._stopping.set()
        with self._sweeping:
            self._reader.close()

    def sweep(self, now: float) -> None:
        """Delete data that is now too old; nothing during a backup, which still copies it."""
        with self._sweeping, contextlib.ExitStack() as held:
            try:
                held.enter_context(lock(self._folder / BACKUP_LOCK_FILE, 0))
            except TimeoutError:
                log.info("sweep put off", reason="a backup goes on")
                return
            rows = self._database.connection.execute(
                "SELECT id, tenant, name, definition, retain_days FROM fleets WHERE retain_days IS NOT NULL"
            ).fetchall()
            for *fleet, days in rows:
                before = now - days * DAY
                self._delete_windows(Fleet.from_row(*fleet), before)
                if self._stopping.is_set():
                    return
                self._intake.drop_attempts(fleet[0], before).result(_ATTEMPTS_SECONDS)
                self._delete_results(fleet[0], before)
                self._delete_jobs(fleet[0], before - days * DAY)
            with self._database.writing() as database:
                forget_replaced(database)
            if rows or self._has_unused() or self._store.has_orphans:
                self._collect_places(now)
            self._collect_objects(now)
            with self._database.writing() as database:
                delete_unused(database)

    def _has_unused(self) -> bool:
        """Whether tenants, fleets or devices were deleted, or windows switched to another key, whose old
        bytes may still exist."""
        found = self._database.connection.execute(
            "SELECT EXISTS (SELECT 1 FROM deletions) OR EXISTS (SELECT 1 FROM rotations)"
        ).fetchone()
        return bool(found[0])

    # --- in the database ------------------------------------------------------------------------------------

    def _delete_windows(self, fleet: Fleet, before: float) -> None:
        after = self._swept.get(fleet.id, 0)
        while not self._stopping.is_set():
            rows = self._database.connection.execute(
                "SELECT sequence, counter, measured, extents, parts, owner_key FROM windows "
                f"WHERE sequence > ? AND {_KEPT} AND arrived < ? ORDER BY sequence LIMIT ?",
                (after, fleet.id, before, _BATCH),
            ).fetchall()
            if not rows:
                break
            self._reader.prefetch([parse_extents(row["extents"]) for row in rows])
            parts = [self._parts(fleet, row) for row in rows]
            with self._database.writing() as database:
                needed = _needed_from(database, fleet.id)
                gone = [
                    (row, text) for row, text in zip(rows, parts, strict=True) if row["measured"] < needed
                ]
                database.executemany(
                    "UPDATE windows SET extents = '', parts = ? WHERE sequence = ?",
                    [(text, row["sequence"]) for row, text in gone],
                )
                database.execute(
                    "UPDATE fleets SET deleted_to = max(deleted_to, ?) WHERE id = ?",
                    (max((row["measured"] for row, _ in gone), default=-1), fleet.id),
                )
            self._metrics.windows_deleted.inc(len(gone))
            after = rows[-1]["sequence"]
        first = self._database.connection.execute(
            f"SELECT sequence FROM windows WHERE sequence > ? AND {_KEPT} ORDER BY sequence LIMIT 1",
            (self._swept.get(fleet.id, 0), fleet.id),
        ).fetchone()
        if first is not None:
            self._swept[fleet.id] = first["sequence"] - 1
        self._reader.close()

    def _parts(self, fleet: Fleet, row: Row) -> str | None:
        """Return the tags of a window's parts; None if it has one, '' if its bytes are missing after a
        restore."""
        if row["owner_key"] is not None:
            return cast("str | None", row["parts"])
        try:
            return parts_of(fleet, row["counter"], self._reader.read(parse_extents(row["extents"])))
        except Error:
            return ""

    def _delete_results(self, fleet: int, before: float) -> None:
        with self._database.writing() as database:
            database.execute(
                "DELETE FROM job_parts WHERE job IN "
                "(SELECT id FROM jobs WHERE fleet = ? AND state = 'done' AND finished < ?)",
                (fleet, before),
            )
            database.execute(
                "UPDATE jobs SET result = substr(result, 1, length(result) - 1) || ', \"deleted\": true}' "
                "WHERE fleet = ? "
                "AND state = 'done' AND finished < ? AND result ->> 'deleted' IS NULL",
                (fleet, before),
            )
            of_fleet = "device IN (SELECT id FROM devices WHERE fleet = ?)"
            database.execute(
                f"UPDATE results SET digest = '' WHERE created < ? AND digest != '' AND {of_fleet}",
                (before, fleet),
            )
            database.execute(
                f"UPDATE quarantine SET extents = '' WHERE arrived < ? AND extents != '' AND {of_fleet}",
                (before, fleet),
            )

    def _delete_jobs(self, fleet: int, before: float) -> None:
        """Reduce jobs whose results are deleted to a line that says so."""
        with self._database.writing() as database:
            database.execute(
                "DELETE FROM jobs WHERE fleet = ? AND finished < ? "
                "AND state IN ('done', 'failed', 'cancelled')",
                (fleet, before),
            )

    # --- in the store ---------------------------------------------------------------------------------------

    def _collect_places(self, now: float) -> None:
        """Remove places that nothing refers to. Whatever will ever refer to one that no longer grows is
        committed by now, unless it is young and nobody's yet: then its round may still be in flight."""
        # A restored database may still book places that went after it was copied.
        rows = self._database.connection.execute("SELECT DISTINCT place FROM place_bytes")
        booked = {place for (place,) in rows}
        growing = self._store.growing()  # of what was booked before, or none of it
        sizes, young = {}, set()
        for found in self._store.places():
            sizes[found.name] = found.size
            if found.modified >= now - _YOUNG_SECONDS:
                young.add(found.name)
        candidates = (booked | (sizes.keys() - young)) - growing
        if not candidates:
            return
        candidates -= {place for (place,) in self._database.connection.execute(USED_PLACES)}
        candidates -= self._store.in_backups(candidates)
        gone = []
        for place in sorted(candidates):
            if self._stopping.is_set():
                break
            with self._database.writing() as database:
                database.execute(
                    "UPDATE tenants SET bytes = max(0, tenants.bytes - p.bytes) FROM place_bytes p "
                    "WHERE p.place = ? AND p.tenant = tenants.id",
                    (place,),
                )
                database.execute("DELETE FROM place_bytes WHERE place = ?", (place,))
            if place in sizes:
                gone.append(place)
        self._store.remove_places(gone)
        self._metrics.bytes_deleted.inc(sum(sizes[place] for place in gone))

    def _collect_objects(self, now: float) -> None:
        before = now - _YOUNG_SECONDS
        stored = {found.name: found.modified for found in self._store.objects()}
        candidates = [digest for digest, modified in stored.items() if modified < before]
        # A restored database may still book objects that went after it was copied.
        booked = {digest for (digest,) in self._database.connection.execute("SELECT digest FROM objects")}
        candidates += booked - stored.keys()
        if not candidates:
            return
        unused = set(candidates)
        unused -= {digest for (digest,) in self._database.connection.execute(USED_OBJECTS)}
        for digest in unused - self._store.in_backups(unused):
            if self._stopping.is_set():
                return
            with self._database.objects_kept():  # as long as finish sees that a result's objects are there
                deleted = self._store.delete(digest, before)
                if not self._store.sizes((digest,)):
                    with self._database.writing() as database:
                        database.execute("DELETE FROM objects WHERE digest = ?", (digest,))
            self._metrics.bytes_deleted.inc(deleted)


def _needed_from(database: Connection, fleet: int) -> float:
    """Return the time from which windows are needed by unfinished jobs, or by intervals without jobs."""
    (found,) = database.execute(
        "SELECT min(begins) FROM (SELECT j.begins FROM jobs j JOIN specs s ON s.id = j.spec "
        "WHERE j.state IN ('queued', 'running') AND j.fleet = ? AND s.summary ->> 'kind' != 'rekey' "
        "UNION ALL SELECT next FROM streams WHERE fleet = ?) AS needed",
        (fleet, fleet),
    ).fetchone()
    return math.inf if found is None else float(found)
