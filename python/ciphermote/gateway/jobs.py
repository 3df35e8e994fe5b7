# SPDX-License-Identifier: Apache-2.0
"""Jobs and streams as rows: made, leased, renewed, ended. Workers, which are processes, compute them.

A job names a computation and its windows: those measured in its interval and completed before it was made
(its cut), except those of devices then in quarantine. Every run by any worker therefore computes the same. A
worker leases a job, renews the lease while it computes, and stores the result only if it still holds the
lease; if it dies, the lease ends and another worker starts over. Tenants take turns, so that none waits for
all jobs of another.

Late data: a stream makes an interval's job once the interval and its grace are over. Windows that arrive
later are stored, shown as late, and count in a replay. An empty interval that was skipped, because the clock
jumped or the gateway was stopped, gets its job with its first window.
"""

from __future__ import annotations

import json
import math
import sqlite3
import time
import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from ciphermote.base.words import count_of
from ciphermote.compact.bounds import LARGEST_WEIGHT
from ciphermote.compact.scores import are_exact
from ciphermote.evaluate.linear_model import LinearModel
from ciphermote.gateway import contributors
from ciphermote.gateway.blobs import Objects
from ciphermote.gateway.database import Database
from ciphermote.gateway.fleets import Fleet
from ciphermote.gateway.logs import log
from ciphermote.gateway.pages import MOST_ROWS, page
from ciphermote.gateway.quotas import (
    ROW_BYTES,
    book_object,
    check_bytes,
    check_number,
    room_for_bytes,
    room_for_number,
)
from ciphermote.gateway.refusals import Refusal
from ciphermote.gateway.specs import store_exclusion, store_spec
from ciphermote.rest.requests import (
    CompactFleet,
    JobRequest,
    JobSpec,
    StreamRequest,
)

LEASE_SECONDS = 30.0
MOST_TRIES = 5
_MOST_AT_ONCE = 1000
_MOST_OF_STREAM = 250
_MOST_UNSEEN = 10_000
_MOST_EMPTY = 200
"""If many of a stream's intervals end at once, only this many of the last get a job without windows."""
_LONGEST_ERROR = 2000


@dataclass(frozen=True)
class Job:
    """A leased job."""

    id: int
    lease: str
    fleet: Fleet
    spec: JobSpec
    begins: float
    ends: float
    cut: int
    excluded: str
    """The ids of devices whose windows do not count, as JSON."""


class _Stream(NamedTuple):
    """The stream of a job. id: None once the stream has ended, and for a job without a stream; name:
    stays."""

    id: int | None
    name: str | None


_NO_STREAM = _Stream(None, None)


_StreamKey = tuple[int, float]
"""The stream's id, which may be reused, and its creation time."""


class _Intervals(NamedTuple):
    """The intervals of a stream: interval k is [begins(k), begins(k) + span). Only k is stored, because sums
    of steps that are not binary fractions would drift."""

    first: float
    every: float
    span: float
    grace: float

    @classmethod
    def of(cls, row: sqlite3.Row) -> _Intervals:
        spec = json.loads(row["spec"])
        return cls(row["begins"], spec["every"], spec["span"] or spec["every"], spec["grace"])

    def begins(self, number: int) -> float:
        return self.first + number * self.every

    def number(self, begins: float) -> int:
        """Return the number of the interval that begins at a time, up to rounding."""
        return round((begins - self.first) / self.every)

    def closed(self, now: float) -> int:
        """Return how many intervals are closed, from the first one on."""
        return max(0, math.floor((now - self.grace - self.span - self.first) / self.every) + 1)

    def containing(self, measured: float) -> Iterator[int]:
        """Return the numbers of the intervals that contain a time, last one first."""
        number = math.floor((measured - self.first) / self.every)
        while number >= 0 and self.begins(number) + self.span > measured:
            yield number
            number -= 1


def boot_clock() -> tuple[str, float]:
    """Return (this boot's name, seconds since it): a clock that is never set, the same in all processes."""
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return boot, time.clock_gettime(time.CLOCK_BOOTTIME)


class Jobs:
    """Jobs and streams stored in one gateway database."""

    def __init__(self, database: Database, objects: Objects) -> None:
        self._database = database
        self._objects = objects
        self._intervals: dict[_StreamKey, _Intervals] = {}
        self._seen: dict[_StreamKey, int] = {}
        """The last window examined for each stream, which is stored occasionally."""
        self._stalled: set[_StreamKey] = set()
        """Streams whose tenants have no quota left for a job."""

    # --- what owners ask for --------------------------------------------------------------------------------

    def add_stream(self, fleet: Fleet, request: StreamRequest) -> int:
        self._check(fleet, request.spec.job)
        now = time.time()
        spec = request.spec
        begins = spec.begins if spec.begins is not None else now // spec.every * spec.every
        try:
            with self._database.writing() as database:
                _check_kept(database, fleet.id, begins)
                check_number(database, fleet.tenant, "streams")
                job = store_spec(database, fleet, spec.job)
                check_bytes(database, fleet.tenant, ROW_BYTES)
                added = database.execute(
                    "INSERT INTO streams (fleet, name, spec, job, begins, next, created, seen) "
                    "VALUES (?, ?, ?, ?, ?, ?, ?, (SELECT coalesce(max(sequence), 0) FROM windows))",
                    (
                        *(fleet.id, request.name, spec.model_dump_json(exclude={"job"})),
                        *(job, begins, begins, now),
                    ),
                )
                assert added.lastrowid is not None
                return added.lastrowid
        except sqlite3.IntegrityError:
            raise Refusal(409, "exists", f"There is a stream {request.name} already: name another.") from None

    def streams(self, fleet: Fleet, after: str = "") -> list[dict[str, Any]]:
        """Return a page of streams, as rows of StreamView, each with a summary of its spec."""
        database = self._database.connection
        rows = page(
            database.execute(
                "SELECT s.id, s.name, s.spec, s.begins, s.next, s.created, p.summary AS job FROM streams s "
                "JOIN specs p ON p.id = s.job WHERE s.fleet = ? AND s.name > ? ORDER BY s.name",
                (fleet.id, after),
            )
        )
        full = _full(database, fleet.tenant)
        found = []
        for row in rows:
            intervals = _Intervals.of(row)
            is_due = intervals.closed(time.time()) > intervals.number(row["next"])
            spec = {"job": json.loads(row["job"]), **json.loads(row["spec"])}
            shown = {name: row[name] for name in ("id", "name", "begins", "next", "created")}
            found.append({**shown, "spec": spec, "stalled": full if is_due else None})
        return found

    def end_stream(self, fleet: int, name: str) -> None:
        with self._database.writing() as database:
            row = database.execute(
                "SELECT id FROM streams WHERE fleet = ? AND name = ?", (fleet, name)
            ).fetchone()
            if row is None:
                raise Refusal(404, "no-such-stream", f"There is no stream {name}.")
            database.execute("UPDATE jobs SET stream = NULL WHERE stream = ?", (row["id"],))
            database.execute("DELETE FROM streams WHERE id = ?", (row["id"],))

    def add(self, fleet: Fleet, request: JobRequest) -> int:
        self._check(fleet, request.spec)
        with self._database.writing() as database:
            _check_kept(database, fleet.id, request.begins)
            check_number(database, fleet.tenant, "jobs")
            spec = store_spec(database, fleet, request.spec)
            return _insert(database, fleet.id, _NO_STREAM, spec, request.begins, request.ends, 0)

    def _check(self, fleet: Fleet, spec: JobSpec) -> None:
        """Raises Refusal for a computation that the fleet's lane, keys or devices do not allow."""
        definition = fleet.definition
        self._check_devices(fleet, spec)
        if isinstance(definition, CompactFleet):
            if spec.kind == "variance":
                raise Refusal(
                    422,
                    "not-compact",
                    "The compact lane computes sums and scores, and no variance: its ciphertexts have no "
                    "room for products.",
                )
            if spec.model is not None:
                self._check_compact_model(fleet, spec, LinearModel.from_fields(spec.model))
            if spec.weights and any(w != int(w) for w in spec.weights.values()):
                raise Refusal(422, "weights", "The compact lane takes whole weights: scale them up.")
            if spec.weights and any(abs(w) > LARGEST_WEIGHT for w in spec.weights.values()):
                raise Refusal(422, "weights", f"A weight is at most {LARGEST_WEIGHT:,} here, of either sign.")
            return
        needed = {"variance": "relin", "linear": "galois"}.get(spec.kind)
        keys = self.keys(fleet.id)
        if needed and needed not in keys:
            raise Refusal(
                422,
                "no-keys",
                f"A {spec.kind} takes the fleet's {needed} keys, which are not here: have the owner send "
                "them (`ciphermote owner attach`).",
            )
        if spec.kind == "variance" and len(definition.parameter_set.data_primes) < 2:
            raise Refusal(
                422, "no-depth", "The set has no room for a product: take one with more primes, or a sum."
            )

    def _check_compact_model(self, fleet: Fleet, spec: JobSpec, model: LinearModel) -> None:
        if spec.answer is not None:
            raise Refusal(
                422,
                "not-compact",
                "Scores of compact windows are for the owner, and devices take no answer: leave answer out.",
            )
        if spec.bound is not None:
            raise Refusal(
                422,
                "not-compact",
                "Values of compact windows are bounded by what their devices are enrolled for: leave bound "
                "out.",
            )
        if model.features != len(fleet.positions):
            raise Refusal(
                422,
                "model",
                f"The model takes {count_of(model.features, 'feature')}, and windows of fleet {fleet.name} "
                f"have {count_of(len(fleet.positions), 'value')}: give a model of as many features, the "
                "first one for the lowest position.",
            )
        (largest,) = self._database.connection.execute(
            "SELECT max(largest_value) FROM devices WHERE fleet = ?", (fleet.id,)
        ).fetchone()
        if largest and not are_exact(fleet.compact_set, [1] * model.features, int(largest)):
            raise Refusal(
                422,
                "model",
                f"Set {fleet.compact_set.name} has no room for {count_of(model.features, 'feature')} with "
                f"values up to {int(largest)}: take fewer, or enroll the devices for smaller values.",
            )

    def _check_devices(self, fleet: Fleet, spec: JobSpec) -> None:
        unknown = [
            row["number"]
            for row in self._database.connection.execute(
                "SELECT value AS number FROM json_each(?) "
                "EXCEPT SELECT number FROM devices WHERE fleet = ? ORDER BY number",
                (json.dumps(list(spec.wanted or ())), fleet.id),
            )
        ]
        if unknown:
            more = f" and {len(unknown) - 1:,} more are" if len(unknown) > 1 else " is"
            raise Refusal(
                422,
                "unknown-device",
                f"Device {unknown[0]}{more} not enrolled in fleet {fleet.name}: name devices that are.",
            )

    def keys(self, fleet: int) -> dict[str, str]:
        """Return the digests of a fleet's evaluation keys, by kind."""
        rows = self._database.connection.execute(
            "SELECT kind, digest FROM evaluation_keys WHERE fleet = ?", (fleet,)
        )
        return {row["kind"]: row["digest"] for row in rows}

    def listed(self, fleet: int, after: int) -> list[dict[str, Any]]:
        """Return a page of jobs, with summaries of their specs."""
        rows = self._database.connection.execute(
            "SELECT j.*, s.summary AS shown_spec FROM jobs j JOIN specs s ON s.id = j.spec "
            "WHERE j.fleet = ? AND j.id > ? ORDER BY j.id",
            (fleet, after),
        )
        return [_described(row) for row in page(rows)]

    def shown(self, fleet: int, job: int) -> dict[str, Any]:
        """Return a job with its spec except a model, and the number of windows that arrived too late for
        it."""
        row = self._row(self._database.connection, fleet, job)
        late = self._database.connection.execute(
            "SELECT count(*) AS n FROM windows w JOIN devices d ON d.id = w.device "
            "WHERE d.fleet = ? AND w.measured >= ? AND w.measured < ? AND w.sequence > ?",
            (fleet, row["begins"], row["ends"], row["cut"]),
        ).fetchone()
        return {**_described(row), "late": late["n"]}

    def _row(self, database: sqlite3.Connection, fleet: int, job: int) -> sqlite3.Row:
        row: sqlite3.Row | None = database.execute(
            "SELECT j.*, json_remove(s.text, '$.model') AS shown_spec FROM jobs j "
            "JOIN specs s ON s.id = j.spec WHERE j.fleet = ? AND j.id = ?",
            (fleet, job),
        ).fetchone()
        if row is None:
            raise Refusal(404, "no-such-job", f"There is no job {job} in this fleet.")
        return row

    def change(self, fleet: Fleet, job: int, action: str) -> int:
        """Cancel, retry or replay a job, and return the number of the job that continues."""
        with self._database.writing() as database:
            row = self._row(database, fleet.id, job)
            if action != "cancel":
                _check_kept(database, fleet.id, row["begins"])
            if action == "replay":
                check_number(database, fleet.tenant, "jobs")
                return _insert(
                    database,
                    fleet.id,
                    _Stream(row["stream"], row["stream_name"]),
                    row["spec"],
                    row["begins"],
                    row["ends"],
                    self._next_replay(database, row),
                )
            allowed = ("queued", "running") if action == "cancel" else ("failed", "cancelled")
            if row["state"] not in allowed:
                raise Refusal(
                    409,
                    "wrong-state",
                    f"Job {job} is {row['state']}, and only {' or '.join(allowed)} ones can be "
                    f"{'cancelled' if action == 'cancel' else 'tried again'}.",
                )
            if action == "cancel":
                database.execute(
                    "UPDATE jobs SET state = 'cancelled', lease = NULL, finished = ? WHERE id = ?",
                    (time.time(), job),
                )
            else:
                database.execute(
                    "UPDATE jobs SET state = 'queued', tries = 0, error = NULL, done = 0, finished = NULL "
                    "WHERE id = ?",
                    (job,),
                )
            return job

    def delete(self, fleet: int, job: int) -> None:
        """Delete a job that is over, and its result."""
        with self._database.writing() as database:
            row = self._row(database, fleet, job)
            if row["state"] in ("queued", "running"):
                raise Refusal(
                    409, "wrong-state", f"Job {job} is {row['state']}: cancel it, and delete it then."
                )
            database.execute("DELETE FROM jobs WHERE id = ?", (job,))

    @staticmethod
    def _next_replay(database: sqlite3.Connection, row: sqlite3.Row) -> int:
        if row["stream"] is None:
            return int(row["replay"]) + 1
        (last,) = database.execute(
            "SELECT max(replay) FROM jobs WHERE stream = ? AND begins = ?", (row["stream"], row["begins"])
        ).fetchone()
        return int(last) + 1

    def result(self, fleet: int, job: int, part: int) -> bytes:
        """Return one ciphertext of a job's result."""
        parts = self._result(fleet, job)["parts"]
        if part >= parts:
            raise Refusal(404, "no-such-part", f"The result of job {job} has {parts} parts, from 0.")
        (digest,) = self._database.connection.execute(
            "SELECT digest FROM job_parts WHERE job = ? AND part = ?", (job, part)
        ).fetchone()
        return self._objects.get(digest)

    def contributors(self, fleet: int, job: int, skip: int = 0) -> list[list[int]]:
        """Return a page of [device, epoch, window] of the windows in the result, in order, after the first
        `skip`."""
        content = self._objects.get(self._result(fleet, job)["contributors"])
        return contributors.from_bytes(content, skip, MOST_ROWS)

    def left_out(self, fleet: int, job: int) -> dict[str, Any]:
        """Return the requested windows that are not in a job's result: their number, the number of their
        devices, and [device, epoch, window] of the first ones. They are left out because of per_device or a
        device's quarantine."""
        row = self._row(self._database.connection, fleet, job)
        wanted = JobSpec.model_validate_json(self._spec(row["spec"])).wanted
        content = self._objects.get(self._result(fleet, job)["contributors"])
        counted = json.dumps(contributors.from_bytes(content))
        rows = self._database.connection.execute(
            "WITH missing AS ("
            "SELECT d.number AS device, d.epoch, w.number AS window "
            "FROM windows w JOIN devices d ON d.id = w.device "
            "WHERE d.fleet = ? AND w.sequence <= ? AND w.measured >= ? AND w.measured < ? "
            "AND (? IS NULL OR d.number IN (SELECT value FROM json_each(?))) "
            "EXCEPT SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]'), "
            "json_extract(value, '$[2]') FROM json_each(?)) "
            "SELECT *, (SELECT count(*) FROM missing) AS windows, "
            "(SELECT count(DISTINCT device) FROM missing) AS devices "
            "FROM missing ORDER BY device, epoch, window LIMIT ?",
            (
                *(fleet, row["cut"], row["begins"], row["ends"]),
                *(None if wanted is None else 1, json.dumps(list(wanted or ()))),
                *(counted, MOST_ROWS),
            ),
        ).fetchall()
        return {
            "windows": rows[0]["windows"] if rows else 0,
            "devices": rows[0]["devices"] if rows else 0,
            "first": [[row["device"], row["epoch"], row["window"]] for row in rows],
        }

    def _result(self, fleet: int, job: int) -> dict[str, Any]:
        row = self._row(self._database.connection, fleet, job)
        if row["state"] != "done":
            raise Refusal(409, "not-done", f"Job {job} is {row['state']}: its result is not there.")
        found: dict[str, Any] = json.loads(row["result"])
        if found.get("deleted"):
            raise Refusal(
                410,
                "deleted",
                f"The result of job {job} is deleted: the fleet keeps results for so many days, and it is "
                "older.",
            )
        return found

    def _spec(self, spec: int) -> str:
        (text,) = self._database.connection.execute("SELECT text FROM specs WHERE id = ?", (spec,)).fetchone()
        return str(text)

    def waiting(self) -> int:
        (count,) = self._database.connection.execute(
            "SELECT coalesce(sum(queued + running), 0) FROM fleet_counts"
        ).fetchone()
        return int(count)

    def ended(self) -> dict[str, int]:
        """Return how many jobs have ever ended, by state."""
        return dict(self._database.connection.execute("SELECT state, number FROM jobs_ended").fetchall())

    # --- the clock ------------------------------------------------------------------------------------------

    def tick(self, now: float) -> int:
        """Make the jobs of closed intervals, and return their number."""
        (newest,) = self._database.connection.execute(
            "SELECT coalesce(max(sequence), 0) FROM windows"
        ).fetchone()
        made = 0
        streams = self._database.connection.execute(
            "SELECT s.*, f.tenant FROM streams s JOIN fleets f ON f.id = s.fleet WHERE f.deleted IS NULL "
            "ORDER BY s.turn, s.id"
        ).fetchall()
        for row in streams:
            if made < _MOST_AT_ONCE:
                made += self._tick(row, now, newest, min(_MOST_OF_STREAM, _MOST_AT_ONCE - made))
        return made

    def _tick(self, row: sqlite3.Row, now: float, newest: int, most: int) -> int:
        """Make the jobs of one stream. newest: the last window's sequence."""
        stream = (row["id"], row["created"])
        if stream not in self._intervals:
            self._intervals[stream] = _Intervals.of(row)
        intervals = self._intervals[stream]
        closed = intervals.closed(now)
        # If the clock was ahead, and is right again, the intervals that were closed too early come once more.
        first = min(intervals.number(row["next"]), closed)
        most = min(most, _room_for_jobs(self._database.connection, row["tenant"]))
        if most <= 0:
            self._stall(stream, row)
            return 0
        late, seen = self._unserved(row, intervals, first, newest, most)
        due, after = self._due(row["fleet"], intervals, range(first, closed), most - len(late))
        self._seen[stream] = seen
        begins = intervals.begins(after)
        if begins == row["next"] and not late and seen - row["seen"] < _MOST_UNSEEN:
            return 0
        try:
            self._make(row, intervals, (*late, *due), begins, seen)
        except Refusal:
            self._stall(stream, row)
            return 0
        self._stalled.discard(stream)
        return len(late) + len(due)

    def _stall(self, stream: _StreamKey, row: sqlite3.Row) -> None:
        if stream not in self._stalled:
            self._stalled.add(stream)
            log.warning("stream stalled", stream=row["name"], tenant=row["tenant"], reason="quota")

    def _make(
        self, row: sqlite3.Row, intervals: _Intervals, numbers: Iterable[int], next_begins: float, seen: int
    ) -> None:
        """Insert the jobs of a stream's intervals, and store its progress. Raises Refusal if there is no
        room."""
        whose = _Stream(row["id"], row["name"])
        with self._database.writing() as database:
            for number in numbers:
                at = intervals.begins(number)
                (replay,) = database.execute(
                    "SELECT coalesce(max(replay) + 1, 0) FROM jobs WHERE stream = ? AND begins = ?",
                    (row["id"], at),
                ).fetchone()
                _insert(database, row["fleet"], whose, row["job"], at, at + intervals.span, replay)
            database.execute(
                "UPDATE streams SET next = ?, seen = ?, turn = (SELECT max(turn) + 1 FROM streams) "
                "WHERE id = ?",
                (next_begins, seen, row["id"]),
            )

    def _due(self, fleet: int, intervals: _Intervals, closed: range, most: int) -> tuple[list[int], int]:
        """Return (the closed intervals that get a job, the next interval).

        If many are due at once, because the clock jumped or the gateway was stopped, only those with windows
        and the last ones get jobs."""
        found: list[int] = []
        number = closed.start
        while number < closed.stop and len(found) < most:
            if closed.stop - number > _MOST_EMPTY:
                with_windows = self._first_with_windows(fleet, intervals, number)
                number = max(number, min(closed.stop - _MOST_EMPTY, with_windows))
            found.append(number)
            number += 1
        return found, number

    def _first_with_windows(self, fleet: int, intervals: _Intervals, number: int) -> int:
        """Return the first interval from this one on that has a window."""
        (measured,) = self._database.connection.execute(
            "SELECT min((SELECT min(w.measured) FROM windows w WHERE w.device = d.id AND w.measured >= ?)) "
            "FROM devices d WHERE d.fleet = ?",
            (intervals.begins(number), fleet),
        ).fetchone()
        if measured is None:
            return 1 << 62
        return min((k for k in intervals.containing(measured) if k >= number), default=number)

    def _unserved(
        self, row: sqlite3.Row, intervals: _Intervals, before: int, newest: int, most: int
    ) -> tuple[list[int], int]:
        """Return (earlier intervals that were empty, got no job, and have received a window since; the
        sequence of the last window examined)."""
        seen = max(row["seen"], self._seen.get((row["id"], row["created"]), 0))
        if newest == seen:
            return [], newest
        found: dict[int, None] = {}
        rows = self._database.connection.execute(
            "SELECT w.sequence, w.measured FROM windows w JOIN devices d ON d.id = w.device "
            "WHERE w.sequence > ? AND w.sequence <= ? AND d.fleet = ? AND w.measured >= ? AND w.measured < ? "
            "ORDER BY w.sequence",
            (seen, newest, row["fleet"], row["begins"], intervals.begins(before - 1) + intervals.span),
        )
        for window in rows:
            if len(found) >= most:
                return list(found), window["sequence"] - 1
            for number in intervals.containing(window["measured"]):
                if number < before and not self._has_job(row["id"], intervals.begins(number)):
                    found[number] = None
        return list(found), newest

    def _has_job(self, stream: int, begins: float) -> bool:
        found = self._database.connection.execute(
            "SELECT 1 FROM jobs WHERE stream = ? AND begins = ?", (stream, begins)
        ).fetchone()
        return found is not None

    # --- workers --------------------------------------------------------------------------------------------

    def lease(self, worker: str) -> Job | None:
        """Lease a job that waits, or whose worker has died."""
        boot, now = boot_clock()
        with self._database.writing() as database:
            database.execute(
                "UPDATE jobs SET state = 'failed', lease = NULL, finished = ?, "
                "error = 'Its workers died: see their logs, then retry it.' "
                "WHERE state = 'running' AND tries >= ? AND (lease_ends < ? OR lease NOT LIKE ? || ':%')",
                (time.time(), MOST_TRIES, now, boot),
            )
            row = _next_in_turn(database, boot, now)
            if row is None:
                return None
            lease = f"{boot}:{worker}:{uuid.uuid4()}"
            database.execute(
                "UPDATE jobs SET state = 'running', lease = ?, lease_ends = ?, tries = tries + 1, done = 0 "
                "WHERE id = ?",
                (lease, now + LEASE_SECONDS, row["id"]),
            )
            fleet = database.execute(
                "SELECT id, tenant, name, definition FROM fleets WHERE id = ?", (row["fleet"],)
            ).fetchone()
            database.execute(
                "UPDATE tenants SET turn = (SELECT max(turn) + 1 FROM tenants) WHERE id = ?",
                (fleet["tenant"],),
            )
        spec = JobSpec.model_validate_json(row["text"])
        place = row["begins"], row["ends"], row["cut"], row["devices"] or "[]"
        return Job(row["id"], lease, Fleet.from_row(*fleet), spec, *place)

    def renew(self, job: Job, done: int, total: int) -> bool:
        """Renew a lease for LEASE_SECONDS; False if the job is no longer this worker's."""
        _, now = boot_clock()
        with self._database.writing() as database:
            changed = database.execute(
                "UPDATE jobs SET lease_ends = ?, done = ?, total = ? WHERE id = ? AND lease = ?",
                (now + LEASE_SECONDS, done, total, job.id, job.lease),
            )
        return changed.rowcount == 1

    def finish(self, job: Job, result: dict[str, Any], parts: Sequence[str]) -> bool:
        """Store the result, if the job is still this worker's. parts: digests of its ciphertexts. Raises
        Refusal if its tenant has no room for it."""
        with self._database.writing() as database:
            sizes = {digest: self._objects.size(digest) for digest in (*parts, result["contributors"])}
            if None in sizes.values():
                # It was that of an old job, too, and went with that one's.
                _give_back(database, job)
                return False
            changed = database.execute(
                "UPDATE jobs SET state = 'done', lease = NULL, result = ?, finished = ?, done = ?, total = ? "
                "WHERE id = ? AND lease = ?",
                (json.dumps(result), time.time(), result["windows"], result["windows"], job.id, job.lease),
            )
            if changed.rowcount == 1:
                database.executemany(
                    "INSERT INTO job_parts VALUES (?, ?, ?)",
                    [(job.id, part, digest) for part, digest in enumerate(parts)],
                )
                for digest, size in sizes.items():
                    book_object(database, job.fleet.tenant, digest, size or 0)
        return changed.rowcount == 1

    def fail(self, job: Job, error: str) -> None:
        """Mark a job as failed, because another run would fail too."""
        with self._database.writing() as database:
            database.execute(
                "UPDATE jobs SET state = 'failed', lease = NULL, error = ?, finished = ? "
                "WHERE id = ? AND lease = ?",
                (error[:_LONGEST_ERROR], time.time(), job.id, job.lease),
            )

    def give_back(self, job: Job) -> None:
        """Return a job to the queue after a failure that it did not cause."""
        with self._database.writing() as database:
            _give_back(database, job)

    def release(self, worker: str) -> None:
        """Release the jobs of a dead worker before their leases end."""
        with self._database.writing() as database:
            database.execute(
                "UPDATE jobs SET lease_ends = 0 WHERE state = 'running' AND lease LIKE '%:' || ? || ':%'",
                (worker,),
            )


def _next_in_turn(database: sqlite3.Connection, boot: str, now: float) -> sqlite3.Row | None:
    """Return a job whose worker has died, or the oldest waiting job of the tenant whose last turn is longest
    ago, with its spec and the devices that it leaves out."""
    lost = database.execute(
        "SELECT id FROM jobs WHERE state = 'running' AND (lease_ends < ? OR lease NOT LIKE ? || ':%') "
        "ORDER BY id LIMIT 1",
        (now, boot),
    ).fetchone()
    next_one = (
        lost
        or database.execute(
            "SELECT (SELECT min(id) FROM jobs j WHERE j.fleet = c.fleet AND j.state = 'queued') AS id "
            "FROM fleet_counts c JOIN fleets f ON f.id = c.fleet JOIN tenants t ON t.id = f.tenant "
            "WHERE c.queued > 0 ORDER BY t.turn, id LIMIT 1"
        ).fetchone()
    )
    if next_one is None:
        return None
    row: sqlite3.Row = database.execute(
        "SELECT j.*, s.text, e.devices FROM jobs j JOIN specs s ON s.id = j.spec "
        "LEFT JOIN exclusions e ON e.id = j.excluded WHERE j.id = ?",
        (next_one["id"],),
    ).fetchone()
    return row


def _room_for_jobs(database: sqlite3.Connection, tenant: int) -> int:
    """Return how many more jobs the tenant may have; 0 or less if none."""
    return min(room_for_number(database, tenant, "jobs"), room_for_bytes(database, tenant) // ROW_BYTES)


def _full(database: sqlite3.Connection, tenant: int) -> str | None:
    """Return why the tenant can have no more jobs; None if it can."""
    try:
        check_number(database, tenant, "jobs")
    except Refusal as refusal:
        return refusal.sentence
    return None


def _give_back(database: sqlite3.Connection, job: Job) -> None:
    database.execute(
        "UPDATE jobs SET state = 'queued', lease = NULL, tries = tries - 1 WHERE id = ? AND lease = ?",
        (job.id, job.lease),
    )


def _check_kept(database: sqlite3.Connection, fleet: int, begins: float) -> None:
    """Raises Refusal for a computation over windows that may be deleted."""
    (deleted_to,) = database.execute("SELECT deleted_to FROM fleets WHERE id = ?", (fleet,)).fetchone()
    if begins <= deleted_to:
        first = math.floor(deleted_to) + 1
        raise Refusal(
            410,
            "deleted",
            f"Windows measured before {datetime.fromtimestamp(first, UTC):%Y-%m-%dT%H:%M:%S}Z are deleted, "
            f"which this takes: have it begin then ({first}), or later.",
        )


def _insert(
    database: sqlite3.Connection,
    fleet: int,
    stream: _Stream,
    spec: int,
    begins: float,
    ends: float,
    replay: int,
) -> int:
    """Insert a job over the windows that count now; later changes do not affect it. Raises Refusal if there
    is no room."""
    excluded = store_exclusion(database, fleet)
    (tenant,) = database.execute("SELECT tenant FROM fleets WHERE id = ?", (fleet,)).fetchone()
    check_bytes(database, tenant, ROW_BYTES)
    added = database.execute(
        "INSERT INTO jobs "
        "(fleet, stream, stream_name, spec, excluded, begins, ends, cut, replay, state, created) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, (SELECT coalesce(max(sequence), 0) FROM windows), ?, 'queued', ?)",
        (fleet, *stream, spec, excluded, begins, ends, replay, time.time()),
    )
    assert added.lastrowid is not None
    return added.lastrowid


def _described(row: sqlite3.Row) -> dict[str, Any]:
    """Describe a job for its owner."""
    result = json.loads(row["result"]) if row["result"] else None
    if result:
        del result["contributors"]
    return {
        "id": row["id"],
        "stream": row["stream_name"],
        "spec": json.loads(row["shown_spec"]),
        "begins": row["begins"],
        "ends": row["ends"],
        "replay": row["replay"],
        "state": row["state"],
        "done": row["done"],
        "total": row["total"],
        "tries": row["tries"],
        "error": row["error"],
        "result": result,
        "created": row["created"],
        "finished": row["finished"],
    }
