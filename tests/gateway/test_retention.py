# SPDX-License-Identifier: Apache-2.0
"""Data older than a fleet's retention is deleted, in whole segments once none of their bytes is needed. The
ledger stays, so that repeated deliveries are recognized, and a crash halfway leaves a consistent state.
"""

from __future__ import annotations

import asyncio
import random
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from ciphermote import _core
from ciphermote.formats.receipts import Receipt, Verdict
from ciphermote.gateway import serving
from ciphermote.gateway.database import sqlite as databases
from ciphermote.gateway.fleets import Fleet
from ciphermote.gateway.jobs import Job
from ciphermote.gateway.refusals import Refusal
from ciphermote.gateway.retention import DAY, Steadiness
from ciphermote.parameters.files import parameters_to_dict
from ciphermote.rest.requests import (
    StreamRequest,
    TenantRequest,
)
from gateway_support import (
    LOG2_SCALE,
    Server,
    accepted,
    frames_of,
    full_owner,
    refused,
)
from postgres_support import database_url
from site_support import SEGMENT, Site, on_site, refusal_of

DAYS = 30


# --- windows ------------------------------------------------------------------------------------------------


def test_old_windows_go_and_are_known_for_ever(tmp_path: Path) -> None:
    async def what(site: Site) -> None:
        fleet = site.fleet("old", DAYS)
        device = site.device(fleet, 1)
        sent = [device.encrypt([float(value)]) for value in range(8)]
        receipts = [(await site.send(fleet, data)).receipt for data in sent]
        files, stored = site.segments(), site.bytes()
        assert len(files) > 2
        old = site.add(fleet)
        assert site.work(fleet, old)["state"] == "done"

        await site.sweep(DAYS - 1)
        assert (site.segments(), site.bytes()) == (files, stored) and not any(site.deleted(fleet))
        await site.sweep(DAYS + 1)
        assert site.segments() == files[-1:] and all(site.deleted(fleet))
        assert site.bytes() == (site.folder / "segments" / files[-1]).stat().st_size
        gone = {row[0] for row in site.gateway.database.connection.execute("SELECT place FROM place_bytes")}
        assert gone == {str(int(files[-1].split(".")[0]))}

        for data, receipt in zip(sent, receipts, strict=True):
            assert (await site.send(fleet, data)).receipt == receipt
            for frame in frames_of(data):
                assert (await site.send(fleet, frame)).receipt == receipt
        again = await site.send(fleet, device.encrypt([9.0], window=3))
        assert again.verdict is Verdict.SURPLUS
        assert len(site.deleted(fleet)) == 8 and site.segments() == files[-1:]

        assert refusal_of(lambda: site.add(fleet)) == "deleted"
        assert refusal_of(lambda: site.gateway.jobs.change(fleet, old, "replay")) == "deleted"
        assert refusal_of(lambda: site.gateway.jobs.result(fleet.id, old, 0)) == "deleted"
        assert refusal_of(lambda: site.gateway.jobs.contributors(fleet.id, old)) == "deleted"
        begins = {"spec": {"job": {}, "every": 3600, "begins": 0}, "name": "all"}
        stream = StreamRequest.model_validate(begins)
        assert refusal_of(lambda: site.gateway.jobs.add_stream(fleet, stream)) == "deleted"

        with site.gateway.intake.room_for(fleet, None):
            measured = site.gateway.registry.retention(fleet)["deleted_to"] + 2
            fresh = await site.gateway.intake.take(fleet, 1, device.encrypt([5.0]), measured)
        assert fresh.verdict is Verdict.COUNTS
        job = site.add(fleet, begins=measured - 1)
        shown = site.work(fleet, job)
        assert (shown["state"], shown["result"]["windows"]) == ("done", 1)
        result = full_owner().decrypt(site.gateway.jobs.result(fleet.id, job, 0))
        np.testing.assert_allclose(result[:1], [5.0], atol=0.1)

    on_site(tmp_path / "data", what)


@pytest.mark.parametrize("deleted", [False, True])
def test_a_counter_with_other_bytes_is_found_when_the_bytes_are_gone(
    tmp_path: Path, *, deleted: bool
) -> None:
    """The device repeats its random numbers too, so that only the tags tell."""

    async def what(site: Site) -> None:
        fleet = site.fleet("broken", DAYS)
        device = site.device(fleet, 1)

        def restart() -> None:
            device.counter = 0
            source = random.Random(1).randbytes
            device._device = _core.Device(device.secret, source, lambda: device.counter, device._write)
            device._device.tag_as(device.tag_keys.frames, device.number, device.epoch)

        restart()
        first = device.encrypt([1.0])
        receipt = (await site.send(fleet, first)).receipt
        if deleted:
            await site.sweep(DAYS + 1)
            assert site.deleted(fleet) == [True]
        restart()
        second = device.encrypt([2.0])
        assert second[:64] == first[:64] and second != first
        for frame in frames_of(first):
            assert (await site.send(fleet, frame)).receipt == receipt
        with pytest.raises(Refusal) as found:
            await site.send(fleet, frames_of(second)[-1])
        assert found.value.name == "mixed"

    on_site(tmp_path / "data", what)


def test_what_is_young_or_needed_stays(tmp_path: Path) -> None:
    async def what(site: Site) -> None:
        short, ever = site.fleet("short", DAYS), site.fleet("ever", None)
        other = site.gateway.registry.add_tenant(TenantRequest(name="other"))
        foreign = site.fleet("foreign", 2 * DAYS, other)
        devices = {fleet.name: site.device(fleet, 1) for fleet in (short, ever, foreign)}
        for fleet in (short, short, ever, short, short, foreign, short, short, short, short, short):
            await site.send(fleet, devices[fleet.name].encrypt([1.0]))
        files = site.segments()
        job = site.add(short)
        await site.sweep(DAYS + 1)
        assert not any(site.deleted(short)) and site.segments() == files
        assert site.work(short, job)["state"] == "done"
        spec = {"job": {}, "every": 60, "begins": site.now - 60, "grace": 1e6}
        stream = StreamRequest.model_validate({"name": "slow", "spec": spec})
        site.gateway.jobs.add_stream(short, stream)
        await site.sweep(DAYS + 1)
        assert not any(site.deleted(short)) and site.segments() == files
        site.gateway.jobs.end_stream(short.id, "slow")

        await site.sweep(DAYS + 1)
        assert all(site.deleted(short)) and not any(site.deleted(ever)) and not any(site.deleted(foreign))
        kept = _segments_of(site, ever) | _segments_of(site, foreign) | {files[-1]}
        assert set(site.segments()) == kept < set(files)
        await site.sweep(2 * DAYS + 1)
        assert set(site.segments()) == _segments_of(site, ever) | {files[-1]}
        assert site.work(ever, site.add(ever))["state"] == "done"

    on_site(tmp_path / "data", what)


def _segments_of(site: Site, fleet: Fleet) -> set[str]:
    rows = site.gateway.database.connection.execute(
        "SELECT extents FROM windows w JOIN devices d ON d.id = w.device WHERE d.fleet = ?", (fleet.id,)
    )
    return {f"{int(part.split(':')[0]):08d}.segment" for (text,) in rows for part in text.split(",") if part}


def test_incomplete_attempts_do_not_hold_segments(tmp_path: Path) -> None:
    async def what(site: Site) -> None:
        fleet = site.fleet("halves", DAYS)
        device, other = site.device(fleet, 1), site.device(fleet, 2)
        whole = device.encrypt([1.0])
        first, *rest = frames_of(whole)
        assert (await site.send(fleet, first)).receipt is None
        for _ in range(6):
            await site.send(fleet, other.encrypt([1.0]))
        files = site.segments()
        await site.sweep(DAYS + 1)
        assert site.segments() == files[-1:]
        for frame in rest:
            assert (await site.send(fleet, frame)).receipt is None
        answer = await site.send(fleet, first)
        assert answer.verdict is Verdict.COUNTS and answer.receipt is not None
        found = Receipt.from_bytes(answer.receipt, device.tag_keys.receipts)
        assert (await site.send(fleet, whole)).receipt == answer.receipt and found.window == 0

    on_site(tmp_path / "data", what)


def test_a_job_over_windows_that_went_fails_with_a_sentence(tmp_path: Path) -> None:
    """Whatever order things came in: it never gives the sum of the others."""

    async def what(site: Site) -> None:
        fleet = site.fleet("gone", DAYS)
        device = site.device(fleet, 1)
        for _ in range(3):
            await site.send(fleet, device.encrypt([1.0]))
        job = site.add(fleet)
        with site.gateway.database.writing() as database:
            database.execute("UPDATE windows SET extents = '' WHERE number = 1")
        shown = site.work(fleet, job)
        assert shown["state"] == "failed" and "are deleted" in shown["error"]

    on_site(tmp_path / "data", what)


@pytest.mark.sqlite
def test_segments_that_a_restored_database_still_books_are_settled(tmp_path: Path) -> None:
    """A backup's database is older than its segments: some that it knows went in between."""
    folder, backup = tmp_path / "data", tmp_path / "backup.db"

    def booked(site: Site) -> list[str]:
        rows = site.gateway.database.connection.execute(
            "SELECT place FROM place_bytes ORDER BY CAST(place AS INTEGER)"
        )
        return [place for (place,) in rows]

    async def before(site: Site) -> None:
        fleet = site.fleet("booked", DAYS)
        device = site.device(fleet, 1)
        for _ in range(8):
            await site.send(fleet, device.encrypt([1.0]))
        with closing(sqlite3.connect(backup)) as copy:
            connection = site.gateway.database.connection
            assert isinstance(connection, sqlite3.Connection)
            connection.backup(copy)
        await site.sweep(DAYS + 1)
        assert len(site.segments()) == 1

    async def after(site: Site) -> None:
        (left,) = site.segments()
        size, stored, known = (folder / "segments" / left).stat().st_size, site.bytes(), booked(site)
        assert stored > size and len(known) > 2
        await site.sweep(DAYS - 1)  # what windows still refer to may come from another backup
        assert (site.bytes(), booked(site)) == (stored, known)
        await site.sweep(DAYS + 1)
        assert (site.bytes(), booked(site)) == (size, known[-1:])
        await site.sweep(DAYS + 1)
        assert (site.bytes(), site.segments()) == (size, [left])

    on_site(folder, before)
    for name in ("gateway.db-wal", "gateway.db-shm"):
        (folder / name).unlink(missing_ok=True)
    backup.replace(folder / "gateway.db")
    on_site(folder, after)


# --- objects ------------------------------------------------------------------------------------------------


def test_results_go_unless_another_one_has_them(tmp_path: Path) -> None:
    async def what(site: Site) -> None:
        fleet = site.fleet("results", DAYS)
        device = site.device(fleet, 1)
        await site.send(fleet, device.encrypt([1.0]))
        first, second = site.add(fleet), site.add(fleet)
        for job in (first, second):
            assert site.work(fleet, job)["state"] == "done"
        with site.gateway.database.writing() as database:
            database.execute("UPDATE jobs SET finished = finished - ? WHERE id = ?", (DAYS * DAY, first))
        await site.sweep(0.5)
        shown = site.gateway.jobs.shown(fleet.id, first)
        assert shown["result"]["deleted"] and shown["result"]["windows"] == 1
        assert refusal_of(lambda: site.gateway.jobs.result(fleet.id, first, 0)) == "deleted"
        assert len(site.gateway.jobs.result(fleet.id, second, 0)) > 1000
        await site.sweep(DAYS + 1)
        assert refusal_of(lambda: site.gateway.jobs.result(fleet.id, second, 0)) == "deleted"
        assert list((site.folder / "objects").iterdir()) == []

    on_site(tmp_path / "data", what)


def test_a_result_whose_objects_go_at_that_moment_is_computed_again(tmp_path: Path) -> None:
    async def what(site: Site) -> None:
        fleet = site.fleet("moment", DAYS)
        await site.send(fleet, site.device(fleet, 1).encrypt([1.0]))
        job = site.add(fleet)
        finish = site.gateway.jobs.finish

        def deleting(self: Any, leased: Job, result: dict[str, Any], parts: list[str]) -> bool:
            (site.folder / "objects" / parts[0]).unlink()
            return finish(leased, result, parts)

        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(type(site.gateway.jobs), "finish", deleting)
            shown = site.work(fleet, job)
        assert (shown["state"], shown["tries"]) == ("queued", 0)
        assert site.work(fleet, job)["state"] == "done"
        assert len(site.gateway.jobs.result(fleet.id, job, 0)) > 1000

    on_site(tmp_path / "data", what)


# --- kills --------------------------------------------------------------------------------------------------

KILLED = """
import asyncio, os, sys, time
from pathlib import Path
from ciphermote.gateway.gateway import Gateway
from ciphermote.gateway.settings import Settings

unlink = os.unlink

def killed(path, *more, **named):
    if str(path).endswith(".segment"):
        if PLACE == "after":
            unlink(path, *more, **named)
        os._exit(9)
    return unlink(path, *more, **named)

given = sys.argv[4] or None

async def main():
    size = int(sys.argv[2])
    gateway = Gateway(Settings(Path(sys.argv[1]), reserve_bytes=0, segment_bytes=size, database=given))
    gateway.intake.start()
    os.unlink = killed
    REVERSED
    await asyncio.to_thread(gateway.retention.sweep, time.time() + float(sys.argv[3]))

asyncio.run(main())
"""
REVERSED = """
    for path in sorted((Path(sys.argv[1]) / "segments").iterdir())[:-1]:
        os.unlink(path)
"""


def wrong_after_kill(folder: Path, place: str, fault: str = "") -> list[str]:
    """Sweep, killed before or after a segment is unlinked; what is wrong with what it left."""
    wrong: list[str] = []
    sent: list[tuple[bytes, bytes | None]] = []

    async def fill(site: Site) -> None:
        fleet = site.fleet("killed", DAYS)
        device = site.device(fleet, 1)
        for _ in range(8):
            data = device.encrypt([1.0])
            sent.append((data, (await site.send(fleet, data)).receipt))

    async def look(site: Site) -> None:
        fleet = site.gateway.registry.fleet(site.tenant, "killed")
        try:
            shown = site.work(fleet, site.add(fleet))
            if shown["state"] != "done" or shown["result"]["windows"] != 8:
                wrong.append(f"a job: {shown['error']}")
        except Refusal as refusal:
            if refusal.name != "deleted":
                wrong.append(refusal.sentence)
        for data, receipt in sent:
            for piece in (data, frames_of(data)[0]):
                try:
                    if (await site.send(fleet, piece)).receipt != receipt:
                        wrong.append("another receipt")
                except Exception as error:
                    wrong.append(repr(error))
        await site.sweep(DAYS + 1)
        if len(site.segments()) != 1:
            wrong.append(f"segments {site.segments()}")
        elif site.bytes() != (folder / "segments" / site.segments()[0]).stat().st_size:
            wrong.append(f"{site.bytes()} bytes")

    on_site(folder, fill)
    script = KILLED.replace("PLACE", repr(place)).replace("    REVERSED\n", fault)
    command = [sys.executable, "-c", script, str(folder), str(SEGMENT), str((DAYS + 1) * DAY)]
    command.append(database_url(folder) or "")
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 9, done.stderr
    on_site(folder, look)
    return wrong


@pytest.mark.parametrize("place", ["before", "after"])
def test_a_kill_between_the_database_and_the_files_is_mended(tmp_path: Path, place: str) -> None:
    assert wrong_after_kill(tmp_path / "data", place) == []


def test_files_that_go_before_the_database_knows_are_found_out(tmp_path: Path) -> None:
    assert any(
        "restore a backup" in found for found in wrong_after_kill(tmp_path / "data", "after", REVERSED)
    )


def test_a_sweep_stops_when_the_gateway_does(tmp_path: Path) -> None:
    async def what(site: Site) -> None:
        fleet = site.fleet("stopped", DAYS)
        await site.send(fleet, site.device(fleet, 1).encrypt([1.0]))
        site.gateway.retention.stop()
        await site.sweep(DAYS + 1)
        assert site.deleted(fleet) == [False]

    on_site(tmp_path / "data", what)


# --- the clock, the database, the API -----------------------------------------------------------------------


def test_a_clock_that_jumps_is_not_steady() -> None:
    clock = Steadiness()
    assert clock.seconds(1000.0, 5.0) == 0
    assert clock.seconds(1100.0, 105.0) == 100
    assert clock.seconds(1203.0, 205.0) == 200  # as NTP sets it
    assert clock.seconds(1e9, 206.0) == 0
    assert clock.seconds(1e9 + 50, 256.0) == 50
    assert clock.seconds(1353.0, 356.0) == 0
    assert clock.seconds(1353.0 + 3600, 3956.0) == 3600


@pytest.mark.parametrize("jumps", [False, True])
def test_it_sweeps_once_the_clock_has_run_evenly(monkeypatch: pytest.MonkeyPatch, *, jumps: bool) -> None:
    swept: list[float] = []
    boots = iter(range(0, 20_000, 5))
    boot = 0

    def boot_clock() -> tuple[str, float]:
        nonlocal boot
        boot = next(boots)
        return "boot", float(boot)

    def wall() -> float:
        return 1e9 + boot + (1e6 * (boot // 3000) if jumps else 0)

    async def what() -> None:
        gateway: Any = SimpleNamespace(retention=SimpleNamespace(sweep=lambda _: swept.append(boot)))
        with pytest.raises(RuntimeError, match="StopIteration"):
            await serving._sweeps(gateway)

    monkeypatch.setattr(serving, "boot_clock", boot_clock)
    monkeypatch.setattr(serving, "time", SimpleNamespace(time=wall))
    monkeypatch.setattr(serving, "_STEADY_CHECK_SECONDS", 0)
    asyncio.run(what())
    assert swept == ([] if jumps else [3600, 7200, 10800, 14400, 18000])


def test_a_window_stamped_by_a_clock_that_was_ahead_goes_in_its_time(tmp_path: Path) -> None:
    async def what(site: Site) -> None:
        fleet = site.fleet("ahead", DAYS)
        device = site.device(fleet, 1)
        for _ in range(3):
            await site.send(fleet, device.encrypt([1.0]))
        with site.gateway.database.writing() as database:
            database.execute("UPDATE windows SET arrived = arrived + ? WHERE number = 1", (10 * DAY,))
        await site.sweep(DAYS + 1)
        assert site.deleted(fleet) == [True, False, True]
        await site.sweep(DAYS + 11)
        assert site.deleted(fleet) == [True, True, True]

    on_site(tmp_path / "data", what)


@pytest.mark.sqlite
def test_an_older_databases_segments_are_weighed(tmp_path: Path) -> None:
    path = tmp_path / "gateway.db"
    databases.migrate(path, up_to=2)
    with closing(sqlite3.connect(path)) as database, database:
        database.executescript("""
            INSERT INTO tenants (id, name, created, most_devices, most_bytes) VALUES (1, 'a', 0, 1, 1);
            INSERT INTO tenants (id, name, created, most_devices, most_bytes) VALUES (2, 'b', 0, 1, 1);
            INSERT INTO fleets (id, tenant, name, definition, created)
                VALUES (1, 1, 'x', '', 0), (2, 2, 'y', '', 0);
            INSERT INTO devices (id, fleet, number, epoch, key_id, largest_value, keys, state, created)
                VALUES (1, 1, 1, 1, 0, 0, x'', 'active', 0), (2, 2, 1, 1, 0, 0, x'', 'active', 0);
            INSERT INTO windows (device, number, counter, random, tags, measured, arrived, extents)
                VALUES (1, 0, 0, 0, 0, 0, 0, '1:0:40'), (1, 1, 1, 0, 0, 0, 0, '1:40:7,12:0:100'),
                       (2, 0, 0, 0, 0, 0, 0, '12:100:1000');
            INSERT INTO quarantine (device, counter, reason, kind, extents, arrived)
                VALUES (2, 5, '', 'mixed', '1:47:3', 0);
            INSERT INTO attempts VALUES (1, 9, 9, 0, '', '', 0, '', 'surplus', 0);
        """)
    databases.migrate(path)
    with closing(databases.connect(path)) as database:
        found = [tuple(row) for row in database.execute("SELECT place, tenant, bytes FROM place_bytes")]
    assert found == [("1", 1, 47), ("1", 2, 3), ("12", 1, 100), ("12", 2, 1000)]


def test_owners_and_operators_say_how_long(server: Server) -> None:
    owner, operator, keys = server.owner(), server.operator(), full_owner()
    definition = {
        "lane": "full",
        "parameters": parameters_to_dict(keys.parameters),
        "key_id": f"{keys.key_id:016x}",
        "log2_scale": LOG2_SCALE,
    }
    accepted(owner.put("/v1/fleets/kept", json=definition))
    path = "/v1/fleets/kept/retention"
    assert accepted(owner.get(path)).json() == {"retain_days": None, "deleted_to": None}
    accepted(owner.put(path, json={"retain_days": 30}))
    assert accepted(owner.get(path)).json()["retain_days"] == 30
    theirs = "/v1/operator/tenants/home/fleets/kept/retention"
    refused(owner.put(theirs, json={"retain_days": 1}), 403, "wrong-scope")
    accepted(operator.put(theirs, json={"retain_days": 7}))
    assert accepted(owner.get(path)).json()["retain_days"] == 7
    for odd in ({"retain_days": 0}, {"retain_days": -1}, {}, {"retain_days": 1.5}, {"retain_days": 1e9}):
        refused(owner.put(path, json=odd), 422, "invalid")
    for odd in ({"retain_days": True}, {"retain_days": "5"}):
        refused(owner.put(path, json=odd), 422, "invalid")
    accepted(owner.put(path, json={"retain_days": None}))
    assert accepted(owner.get(path)).json()["retain_days"] is None


def test_the_owners_command_shows_and_sets_it(server: Server, tmp_path: Path) -> None:
    full_owner().save(tmp_path / "keys")

    def run(*words: str) -> str:
        command = [sys.executable, "-m", "ciphermote", "owner", *words]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60)
        return done.stdout if not done.returncode else done.stderr

    at = ("--gateway", f"https://localhost:{server.port}", "--ca", str(server.data / "tls/ca.pem"))
    run("attach", "keys", *at, "--token", str(server.data / "owner.token"), "--fleet", "commanded")
    said = "Fleet commanded keeps its windows and results"
    assert f"{said} for ever" in run("retention", "keys")
    assert f"{said} for 90 days" in run("retention", "keys", "--days", "90")
    assert f"{said} for 90 days" in run("retention", "keys")
    assert "exclude each other" in run("retention", "keys", "--days", "90", "--forever")
    assert f"{said} for ever" in run("retention", "keys", "--forever")
