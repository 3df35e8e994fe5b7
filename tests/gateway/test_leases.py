# SPDX-License-Identifier: Apache-2.0
"""A late worker finishes nobody's job, workers never wait for each other, and a job's windows are those that
were stored when it was made, whatever others are storing."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
from ciphermote.gateway import jobs
from ciphermote.gateway.database.interface import Connection
from ciphermote.gateway.fleets import Fleet
from ciphermote.rest.requests import StreamRequest, TenantRequest
from postgres_support import back_end
from site_support import Site, on_site

RESULT = {"kind": "sum", "windows": 0, "devices": 0, "parts": 0}


def test_a_late_worker_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def what(site: Site) -> None:
        fleet, queue = site.fleet("leased"), site.gateway.jobs
        job = site.add(fleet, begins=0, ends=1)
        late = queue.lease("late")
        assert late is not None and queue.lease("other") is None
        clock, now = site.gateway.database.clock()
        later = clock, now + jobs.LEASE_SECONDS + 1
        monkeypatch.setattr(site.gateway.database, "clock", lambda: later)
        held = queue.lease("other")
        assert held is not None and (held.id, held.fence) == (job, late.fence + 1)
        result = {**RESULT, "contributors": site.gateway.store.put(b"CMGC")}
        assert not queue.renew(late, 1, 2) and not queue.finish(late, result, [])
        queue.fail(late, "late")
        queue.give_back(late)
        shown = queue.shown(fleet.id, job)
        assert (shown["state"], shown["tries"], shown["done"], shown["error"]) == ("running", 2, 0, None)
        assert queue.renew(held, 1, 2) and queue.finish(held, result, [])
        assert not queue.renew(held, 2, 2) and queue.shown(fleet.id, job)["state"] == "done"

    on_site(tmp_path / "data", what)


def test_a_lease_by_another_clock_has_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """That of a boot before this one: its seconds say nothing."""

    async def what(site: Site) -> None:
        job = site.add(site.fleet("leased"), begins=0, ends=1)
        assert site.gateway.jobs.lease("one") is not None
        monkeypatch.setattr(site.gateway.database, "clock", lambda: ("another boot", 0.0))
        again = site.gateway.jobs.lease("two")
        assert again is not None and again.id == job

    on_site(tmp_path / "data", what)


def test_workers_at_the_same_moment_lease_different_jobs_and_tenants_take_turns(tmp_path: Path) -> None:
    async def what(site: Site) -> None:
        registry, queue = site.gateway.registry, site.gateway.jobs
        other = site.fleet("theirs", tenant=registry.add_tenant(TenantRequest(name="other")))
        mine = site.fleet("mine")
        for fleet in (mine, mine, mine, other):
            site.add(fleet, begins=0, ends=1)
        found: list[tuple[int, str]] = []

        def lease(name: str) -> None:
            job = queue.lease(name)
            assert job is not None
            found.append((job.id, job.fleet.name))

        if back_end.now == "postgres":
            # The first worker has not committed while the second leases.
            with site.gateway.database.writing(beside=True):
                lease("first")
                second = threading.Thread(target=lease, args=("second",))
                second.start()
                second.join(0.5)  # it may wait for the tenant's turn to be counted, and for no job
            second.join(20)
        else:
            lease("first")
            lease("second")
            assert [name for _, name in found] == ["mine", "theirs"]
        lease("third")
        lease("fourth")
        assert sorted(job for job, _ in found) == [1, 2, 3, 4]
        assert queue.lease("fifth") is None

    on_site(tmp_path / "data", what)


def add_window(database: Connection, device: int, number: int) -> int:
    """Store a window as the intake does; its sequence."""
    (sequence,) = database.execute(
        "INSERT INTO windows (device, number, counter, random, tags, measured, arrived, extents) "
        "VALUES (?, ?, ?, 0, 0, 5, 5, '') RETURNING sequence",
        (device, number, number),
    ).fetchone()
    return int(sequence)


def windows_up_to(site: Site, cut: int) -> int:
    (count,) = site.gateway.database.connection.execute(
        "SELECT count(*) FROM windows WHERE sequence <= ?", (cut,)
    ).fetchone()
    return int(count)


def cut_of(site: Site, job: int) -> int:
    (cut,) = site.gateway.database.connection.execute("SELECT cut FROM jobs WHERE id = ?", (job,)).fetchone()
    return int(cut)


@pytest.mark.postgres
def test_windows_that_are_stored_in_another_order_than_numbered_join_no_job_later(tmp_path: Path) -> None:
    async def what(site: Site) -> None:
        fleet = site.fleet("frozen")
        site.device(fleet, 1)
        (device,) = site.gateway.database.connection.execute("SELECT id FROM devices").fetchone()
        entered, commit = threading.Event(), threading.Event()

        def store_slowly() -> None:
            with site.gateway.database.writing(beside=True) as database:
                add_window(database, device, 1)
                entered.set()
                commit.wait(20)

        slow = threading.Thread(target=store_slowly)
        slow.start()
        assert entered.wait(20)
        with site.gateway.database.writing(beside=True) as database:
            newest = add_window(database, device, 2)
        # By the highest number alone, a window would join the job after it was made.
        assert windows_up_to(site, newest) == 1
        made: list[int] = []
        making = threading.Thread(target=lambda: made.append(site.add(fleet, begins=0, ends=10)))
        making.start()
        making.join(0.5)
        assert not made
        commit.set()
        slow.join(20)
        making.join(20)
        assert windows_up_to(site, newest) == 2
        cut = cut_of(site, made[0])
        assert windows_up_to(site, cut) == 2
        with site.gateway.database.writing(beside=True) as database:
            add_window(database, device, 3)
        assert windows_up_to(site, cut) == 2

    on_site(tmp_path / "data", what)


@pytest.mark.postgres
def test_two_gateways_make_a_streams_jobs_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second one has looked at the stream before the first one's jobs are stored."""

    async def what(site: Site) -> None:
        fleet: Fleet = site.fleet("streamed")
        spec: dict[str, Any] = {"job": {"per_device": 1}, "every": 10, "begins": 0}
        site.gateway.jobs.add_stream(fleet, StreamRequest(name="tens", spec=spec))
        other = jobs.Jobs(site.gateway.database, site.gateway.store)
        due = other._due

        def overtaken(*given: Any) -> Any:
            found = due(*given)
            assert site.gateway.jobs.tick(35.0) == 3
            return found

        monkeypatch.setattr(other, "_due", overtaken)
        assert other.tick(35.0) == 0
        rows = site.gateway.database.connection.execute("SELECT begins, replay FROM jobs ORDER BY begins")
        assert [tuple(row) for row in rows] == [(0, 0), (10, 0), (20, 0)]

    on_site(tmp_path / "data", what)
