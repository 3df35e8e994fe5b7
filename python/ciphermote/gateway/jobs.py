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
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NamedTuple

from ciphermote.base.words import count_of
from ciphermote.compact.bounds import LARGEST_WEIGHT
from ciphermote.compact.scores import are_exact
from ciphermote.evaluate.linear_model import LinearModel
from ciphermote.gateway import contributors
from ciphermote.gateway.database.interface import ERRORS, Connection, Database, Row, fault_of
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
from ciphermote.gateway.store.interface import Store
from ciphermote.gateway.switching import check_switchable
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
_MOST_CANDIDATES = 64
"""The most fleets in which a worker looks for a job that nobody else is leasing."""
_LOST = "(lease_ends < ? OR clock IS DISTINCT FROM ?)"
"""Whether a running job's lease has ended: it is over, or by another boot's clock."""
_HELD = "id = ? AND fence = ? AND state = 'running'"
"""Selects a job by the lease that its worker holds."""


@dataclass(frozen=True)
class Job:
    """A leased job. fence: the number of its lease, which grows with each: a worker that is late has an old
    one, and changes nothing."""

    id: int
    fence: int
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
    def of(cls, row: Row) -> _Intervals:
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


class Jobs:
    """Jobs and streams stored in one gateway database."""

    def __init__(self, database: Database, store: Store) -> None:
        self._database = database
        self._store = store
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
                job = store_spec(database, fleet, spec.job)
                check_number(database, fleet.tenant, "streams")
                check_bytes(database, fleet.tenant, ROW_BYTES)
                (number,) = database.execute(
                    "INSERT INTO streams (fleet, name, spec, job, begins, next, created, seen) "
                    "VALUES (?, ?, ?, ?, ?, ?, ?, (SELECT coalesce(max(sequence), 0) FROM windows)) "
                    "RETURNING id",
                    (
                        *(fleet.id, request.name, spec.model_dump_json(exclude={"job"})),
                        *(job, begins, begins, now),
                    ),
                ).fetchone()
                return int(number)
        except ERRORS as error:
            if fault_of(error) != "integrity":
                raise
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
            if request.spec.kind != "rekey":
                _check_kept(database, fleet.id, request.begins)
            spec = store_spec(database, fleet, request.spec)
            check_number(database, fleet.tenant, "jobs")
            return _insert(database, fleet.id, _NO_STREAM, spec, request.begins, request.ends, 0)

    def _check(self, fleet: Fleet, spec: JobSpec) -> None:
        """Raises Refusal for a computation that the fleet's lane, keys or devices do not allow."""
        definition = fleet.definition
        if spec.kind == "rekey":
            check_switchable(fleet)
            return
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
                "SELECT CAST(value AS BIGINT) AS number FROM json_each(?) "
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

    def _row(self, database: Connection, fleet: int, job: int) -> Row:
        row: Row | None = database.execute(
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
            if action != "cancel" and json.loads(row["shown_spec"])["kind"] != "rekey":
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
                    "UPDATE jobs SET state = 'cancelled', finished = ? WHERE id = ?",
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
    def _next_replay(database: Connection, row: Row) -> int:
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
        return self._store.get(digest)

    def contributors(self, fleet: int, job: int, skip: int = 0) -> list[list[int]]:
        """Return a page of [device, epoch, window] of the windows in the result, in order, after the first
        `skip`."""
        content = self._store.get(self._result(fleet, job)["contributors"])
        return contributors.from_bytes(content, skip, MOST_ROWS)

    def left_out(self, fleet: int, job: int) -> dict[str, Any]:
        """Return the requested windows that are not in a job's result: their number, the number of their
        devices, and [device, epoch, window] of the first ones. They are left out because of per_device or a
        device's quarantine."""
        row = self._row(self._database.connection, fleet, job)
        wanted = JobSpec.model_validate_json(self._spec(row["spec"])).wanted
        content = self._store.get(self._result(fleet, job)["contributors"])
        counted = json.dumps(contributors.from_bytes(content))
        rows = self._database.connection.execute(
            "WITH missing AS ("
            "SELECT d.number AS device, d.epoch, w.number "
            "FROM windows w JOIN devices d ON d.id = w.device "
            "WHERE d.fleet = ? AND w.sequence <= ? AND w.measured >= ? AND w.measured < ? "
            "AND (CAST(? AS BIGINT) IS NULL OR d.number IN (SELECT CAST(value AS BIGINT) FROM json_each(?))) "
            "EXCEPT SELECT CAST(value ->> 0 AS BIGINT), CAST(value ->> 1 AS BIGINT), "
            "CAST(value ->> 2 AS BIGINT) FROM json_each(?)) "
            "SELECT *, (SELECT count(*) FROM missing) AS windows, "
            "(SELECT count(DISTINCT device) FROM missing) AS devices "
            "FROM missing ORDER BY device, epoch, number LIMIT ?",
            (
                *(fleet, row["cut"], row["begins"], row["ends"]),
                *(None if wanted is None else 1, json.dumps(list(wanted or ()))),
                *(counted, MOST_ROWS),
            ),
        ).fetchall()
        return {
            "windows": rows[0]["windows"] if rows else 0,
            "devices": rows[0]["devices"] if rows else 0,
            "first": [[row["device"], row["epoch"], row["number"]] for row in rows],
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
        made = 0
        streams = self._database.connection.execute(
            "SELECT s.*, f.tenant FROM streams s JOIN fleets f ON f.id = s.fleet WHERE f.deleted IS NULL "
            "ORDER BY s.turn, s.id"
        ).fetchall()
        newest = self._newest() if streams else 0
        for row in streams:
            if made < _MOST_AT_ONCE:
                made += self._tick(row, now, newest, min(_MOST_OF_STREAM, _MOST_AT_ONCE - made))
        return made

    def _newest(self) -> int:
        """Return the sequence up to which all windows are stored that ever will be. Writers beside each other
        store theirs in any order, so it is read while nobody writes."""
        with self._database.writing() as database:
            (newest,) = database.execute("SELECT coalesce(max(sequence), 0) FROM windows").fetchone()
        return int(newest)

    def _tick(self, row: Row, now: float, newest: int, most: int) -> int:
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
        numbers = (*late, *due)
        try:
            is_ours = self._make(row, intervals, numbers, begins, seen)
        except Refusal:
            self._stall(stream, row)
            return 0
        self._stalled.discard(stream)
        return len(numbers) if is_ours else 0

    def _stall(self, stream: _StreamKey, row: Row) -> None:
        if stream not in self._stalled:
            self._stalled.add(stream)
            log.warning("stream stalled", stream=row["name"], tenant=row["tenant"], reason="quota")

    def _make(
        self, row: Row, intervals: _Intervals, numbers: Iterable[int], next_begins: float, seen: int
    ) -> bool:
        """Insert the jobs of a stream's intervals, and store its progress; False if another gateway has done
        so first, or has ended the stream. Raises Refusal if there is no room."""
        whose = _Stream(row["id"], row["name"])
        with self._database.writing() as database:
            progress = database.execute(
                "UPDATE streams SET next = ?, seen = ?, turn = (SELECT max(turn) + 1 FROM streams) "
                "WHERE id = ? AND created = ? AND next = ? AND seen = ?",
                (next_begins, seen, *(row[name] for name in ("id", "created", "next", "seen"))),
            )
            if progress.rowcount == 0:
                return False
            for number in numbers:
                at = intervals.begins(number)
                (replay,) = database.execute(
                    "SELECT coalesce(max(replay) + 1, 0) FROM jobs WHERE stream = ? AND begins = ?",
                    (row["id"], at),
                ).fetchone()
                _insert(database, row["fleet"], whose, row["job"], at, at + intervals.span, replay)
        return True

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
        self, row: Row, intervals: _Intervals, before: int, newest: int, most: int
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
        self._fail_lost()
        with self._database.writing(beside=True) as database:
            clock, now = self._database.clock()
            job = self._next_in_turn(database, clock, now)
            if job is None:
                return None
            # The tenant before the job, whose trigger changes the fleet's counts: in the order of a round of
            # deliveries, or each would wait for the other.
            database.execute(
                "UPDATE tenants SET turn = (SELECT max(turn) + 1 FROM tenants) WHERE id = "
                "(SELECT f.tenant FROM fleets f JOIN jobs j ON j.fleet = f.id WHERE j.id = ?)",
                (job,),
            )
            (fence,) = database.execute(
                "UPDATE jobs SET state = 'running', fence = fence + 1, worker = ?, clock = ?, "
                "lease_ends = ?, tries = tries + 1, done = 0 WHERE id = ? RETURNING fence",
                (worker, clock, now + LEASE_SECONDS, job),
            ).fetchone()
            row = database.execute(
                "SELECT j.*, s.text, e.devices FROM jobs j JOIN specs s ON s.id = j.spec "
                "LEFT JOIN exclusions e ON e.id = j.excluded WHERE j.id = ?",
                (job,),
            ).fetchone()
            fleet = database.execute(
                "SELECT id, tenant, name, definition FROM fleets WHERE id = ?", (row["fleet"],)
            ).fetchone()
        spec = JobSpec.model_validate_json(row["text"])
        place = row["begins"], row["ends"], row["cut"], row["devices"] or "[]"
        return Job(job, fence, Fleet.from_row(*fleet), spec, *place)

    def _fail_lost(self) -> None:
        """End jobs whose workers have died too often."""
        clock, now = self._database.clock()
        lost = f"state = 'running' AND tries >= ? AND {_LOST}"
        given = MOST_TRIES, now, clock
        if not self._database.connection.execute(f"SELECT 1 FROM jobs WHERE {lost}", given).fetchone():
            return
        with self._database.writing() as database:
            database.execute(
                "UPDATE jobs SET state = 'failed', finished = ?, "
                f"error = 'Its workers died: see their logs, then retry it.' WHERE {lost}",
                (time.time(), *given),
            )

    def _next_in_turn(self, database: Connection, clock: str, now: float) -> int | None:
        """Return and lock a job whose worker has died, or the oldest waiting job of the tenant whose last
        turn is longest ago. Jobs that others are leasing at this moment are passed over."""
        lost = database.execute(
            f"SELECT id FROM jobs WHERE state = 'running' AND {_LOST} ORDER BY id LIMIT 1"
            f"{self._database.skip_locked}",
            (now, clock),
        ).fetchone()
        if lost is not None:
            return int(lost["id"])
        waiting = database.execute(
            "SELECT c.fleet, "
            "(SELECT min(id) FROM jobs j WHERE j.fleet = c.fleet AND j.state = 'queued') AS id "
            "FROM fleet_counts c JOIN fleets f ON f.id = c.fleet JOIN tenants t ON t.id = f.tenant "
            "WHERE c.queued > 0 ORDER BY t.turn, id LIMIT ?",
            (_MOST_CANDIDATES,),
        ).fetchall()
        for candidate in waiting:
            found = database.execute(
                "SELECT id FROM jobs WHERE fleet = ? AND state = 'queued' ORDER BY id LIMIT 1"
                f"{self._database.skip_locked}",
                (candidate["fleet"],),
            ).fetchone()
            if found is not None:
                return int(found["id"])
        return None

    def renew(self, job: Job, done: int, total: int) -> bool:
        """Renew a lease for LEASE_SECONDS; False if the job is no longer this worker's."""
        with self._database.writing(beside=True) as database:
            _, now = self._database.clock()
            changed = database.execute(
                f"UPDATE jobs SET lease_ends = ?, done = ?, total = ? WHERE {_HELD}",
                (now + LEASE_SECONDS, done, total, job.id, job.fence),
            )
        return changed.rowcount == 1

    def finish(self, job: Job, result: dict[str, Any], parts: Sequence[str]) -> bool:
        """Store the result, if the job is still this worker's. parts: digests of its ciphertexts. Raises
        Refusal if its tenant has no room for it."""
        with self._database.objects_kept():
            digests = {*parts, result["contributors"]}
            sizes = self._store.sizes(digests)
            with self._database.writing() as database:
                if len(sizes) < len(digests):
                    # It was that of an old job, too, and went with that one's.
                    _give_back(database, job)
                    return False
                changed = database.execute(
                    "UPDATE jobs SET state = 'done', result = ?, finished = ?, done = ?, total = ? "
                    f"WHERE {_HELD}",
                    (json.dumps(result), time.time(), *(result["windows"],) * 2, job.id, job.fence),
                )
                if changed.rowcount == 1:
                    database.executemany(
                        "INSERT INTO job_parts VALUES (?, ?, ?)",
                        [(job.id, part, digest) for part, digest in enumerate(parts)],
                    )
                    for digest, size in sizes.items():
                        book_object(database, job.fleet.tenant, digest, size)
        return changed.rowcount == 1

    def fail(self, job: Job, error: str) -> None:
        """Mark a job as failed, because another run would fail too."""
        with self._database.writing() as database:
            database.execute(
                f"UPDATE jobs SET state = 'failed', error = ?, finished = ? WHERE {_HELD}",
                (error[:_LONGEST_ERROR], time.time(), job.id, job.fence),
            )

    def give_back(self, job: Job) -> None:
        """Return a job to the queue after a failure that it did not cause."""
        with self._database.writing() as database:
            _give_back(database, job)

    def release(self, worker: str) -> None:
        """Release the jobs of a dead worker before their leases end."""
        with self._database.writing() as database:
            database.execute(
                "UPDATE jobs SET lease_ends = 0 WHERE state = 'running' AND worker = ?", (worker,)
            )


def _room_for_jobs(database: Connection, tenant: int) -> int:
    """Return how many more jobs the tenant may have; 0 or less if none."""
    return min(room_for_number(database, tenant, "jobs"), room_for_bytes(database, tenant) // ROW_BYTES)


def _full(database: Connection, tenant: int) -> str | None:
    """Return why the tenant can have no more jobs; None if it can."""
    try:
        check_number(database, tenant, "jobs")
    except Refusal as refusal:
        return refusal.sentence
    return None


def is_held(database: Connection, job: Job) -> bool:
    """Whether a job is still its worker's, in a transaction that changes something for it."""
    return database.execute(f"SELECT 1 FROM jobs WHERE {_HELD}", (job.id, job.fence)).fetchone() is not None


def _give_back(database: Connection, job: Job) -> None:
    database.execute(
        f"UPDATE jobs SET state = 'queued', tries = tries - 1 WHERE {_HELD}", (job.id, job.fence)
    )


def _check_kept(database: Connection, fleet: int, begins: float) -> None:
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
    database: Connection,
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
    (number,) = database.execute(
        "INSERT INTO jobs "
        "(fleet, stream, stream_name, spec, excluded, begins, ends, cut, replay, state, created) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, (SELECT coalesce(max(sequence), 0) FROM windows), ?, 'queued', ?) "
        "RETURNING id",
        (fleet, *stream, spec, excluded, begins, ends, replay, time.time()),
    ).fetchone()
    return int(number)


def _described(row: Row) -> dict[str, Any]:
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
