# SPDX-License-Identifier: Apache-2.0
"""A job's windows are fixed when it is made, and totals are counted incrementally."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ciphermote.compact import bounds
from ciphermote.compact.keys import CompactKeys
from ciphermote.compact.scores import CompactScorer
from ciphermote.compact.sets import COMPACT_SETS
from ciphermote.compact.sums import CompactSum
from ciphermote.gateway.fleets import Fleet
from ciphermote.rest.requests import Enrolment
from gateway_support import (
    FullDevice,
    PacketDevice,
    Server,
    accepted,
    define_compact,
    device_token,
    enrolment,
    full_owner,
    run_job,
)
from site_support import Site, on_site, refusal_of

WINDOWS = 200_000


def counted(site: Site, fleet: Fleet, job: int) -> list[list[int]]:
    """Who is in the result of a job that is done."""
    assert site.gateway.jobs.shown(fleet.id, job)["state"] == "done"
    return site.gateway.jobs.contributors(fleet.id, job)


def test_a_job_counts_what_counted_when_it_was_made(tmp_path: Path) -> None:
    async def what(site: Site) -> None:
        fleet, registry, jobs = site.fleet("frozen"), site.gateway.registry, site.gateway.jobs
        for number in (1, 2):
            await site.send(fleet, site.device(fleet, number).encrypt([float(number)]))
        registry.set_state(fleet, 2, "quarantined")
        without = site.add(fleet)
        registry.set_state(fleet, 2, "active")
        both = site.add(fleet)
        registry.set_state(fleet, 1, "quarantined")
        replayed = jobs.change(fleet, both, "replay")
        for _ in range(3):
            site.work_once()
        assert counted(site, fleet, without) == [[1, 1, 0]]
        assert counted(site, fleet, both) == [[1, 1, 0], [2, 1, 0]]
        assert counted(site, fleet, replayed) == [[2, 1, 0]]
        assert jobs.left_out(fleet.id, replayed)["first"] == [[1, 1, 0]]

    on_site(tmp_path / "data", what)


def test_a_stream_fixes_its_windows_when_it_makes_a_job(tmp_path: Path) -> None:
    async def what(site: Site) -> None:
        from ciphermote.rest.requests import StreamRequest

        fleet = site.fleet("streamed")
        for number in (1, 2):
            await site.send(fleet, site.device(fleet, number).encrypt([float(number)]))
        spec = {"job": {}, "every": 3600, "begins": site.now - 3600}
        site.gateway.jobs.add_stream(fleet, StreamRequest.model_validate({"name": "hourly", "spec": spec}))
        site.gateway.registry.set_state(fleet, 2, "quarantined")
        site.gateway.jobs.tick(site.now + 3600)
        site.gateway.registry.set_state(fleet, 2, "active")
        made = [job["id"] for job in site.gateway.jobs.listed(fleet.id, 0)]
        for _ in made:
            site.work_once()
        assert counted(site, fleet, made[-1]) == [[1, 1, 0]]

    on_site(tmp_path / "data", what)


def test_what_a_revoked_device_had_sent_counts_until_it_is_quarantined(tmp_path: Path) -> None:
    async def what(site: Site) -> None:
        fleet, registry = site.fleet("left"), site.gateway.registry
        device = site.device(fleet, 1)
        await site.send(fleet, device.encrypt([1.0]))
        registry.set_state(fleet, 1, "revoked")

        def now_counted() -> list[list[int]]:
            job = site.add(fleet)
            site.work_once()
            return counted(site, fleet, job)

        assert now_counted() == [[1, 1, 0]]
        registry.set_state(fleet, 1, "quarantined")
        assert now_counted() == []
        (shown,) = registry.devices(fleet)
        assert (shown["state"], shown["excluded"]) == ("revoked", True)
        registry.set_state(fleet, 1, "active")
        assert now_counted() == [[1, 1, 0]]
        assert registry.devices(fleet)[0]["state"] == "revoked", "for good"
        assert refusal_of(lambda: registry.set_state(fleet, 1, "active")) == "no-such-device"
        assert refusal_of(lambda: registry.set_state(fleet, 1, "revoked")) == "no-such-device"
        assert refusal_of(lambda: registry.set_state(fleet, 2, "quarantined")) == "no-such-device"

    on_site(tmp_path / "data", what)


def test_quarantine_holds_for_every_epoch_and_not_for_the_next(tmp_path: Path) -> None:
    async def what(site: Site) -> None:
        fleet, registry = site.fleet("epochs"), site.gateway.registry
        await site.send(fleet, site.device(fleet, 1).encrypt([1.0]))
        for epoch in (2, 3):
            device = FullDevice(full_owner(), 1, epoch)
            keys = Enrolment(**enrolment(device.tag_keys, device.key_id, epoch))
            registry.enroll(fleet, 1, keys)
            await site.send(fleet, device.encrypt([float(epoch)]))
            if epoch == 2:
                registry.set_state(fleet, 1, "quarantined")
        job = site.add(fleet)
        site.work_once()
        assert counted(site, fleet, job) == [[1, 3, 0]]

    on_site(tmp_path / "data", what)


def test_a_compact_job_beyond_its_range_fails_before_anything_is_added(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By what devices are enrolled for, which is known before."""

    async def what(site: Site) -> None:
        keys = CompactKeys.generate(COMPACT_SETS[0])
        fields = {"lane": "compact", "set": keys.set.name, "key_id": f"{keys.key_id:016x}"}
        fleet = site.define("wide", {**fields, "positions": [[0, 4]]})
        for number in (1, 2):
            device = PacketDevice(keys, number)
            entry = device.enrolment
            body = enrolment(device.tag_keys, keys.key_id, entry.epoch, entry.largest_value)
            site.gateway.registry.enroll(fleet, number, Enrolment(**body))
            for packet in device.encrypt([1, 2, 3, 0]):
                await site.send(fleet, packet)
        weights = {"1": bounds.LARGEST_WEIGHT, "2": 1}
        job = site.add(fleet, spec={"kind": "weighted-sum", "weights": weights})
        monkeypatch.setattr(CompactSum, "add", lambda *_: pytest.fail("a window was added"))
        shown = site.work(fleet, job)
        assert shown["state"] == "failed" and "may be anything from" in shown["error"]

    on_site(tmp_path / "data", what)


def test_compact_scores_beyond_what_is_exact_fail_before_anything_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def what(site: Site) -> None:
        keys = CompactKeys.generate(COMPACT_SETS[0])
        fields = {"lane": "compact", "set": keys.set.name, "key_id": f"{keys.key_id:016x}"}
        fleet = site.define("scored", {**fields, "positions": [[0, 4]]})
        device = PacketDevice(keys, 1)
        entry = device.enrolment
        body = enrolment(device.tag_keys, keys.key_id, entry.epoch, entry.largest_value)
        site.gateway.registry.enroll(fleet, 1, Enrolment(**body))
        for packet in device.encrypt([1, 2, 3, 0]):
            await site.send(fleet, packet)
        model = {"format": "ciphermote-linear-model", "version": 1, "labels": []}
        model |= {"weights": [[64.0, 0, 0, 1]] * 5000, "bias": [0.0] * 5000}
        job = site.add(fleet, spec={"kind": "linear", "model": model})
        monkeypatch.setattr(CompactScorer, "add", lambda *_: pytest.fail("a window was scored"))
        shown = site.work(fleet, job)
        assert shown["state"] == "failed" and "forms of weights up to" in shown["error"]

    on_site(tmp_path / "data", what)


def test_jobs_that_ended_are_counted(server: Server) -> None:
    owner, keys = server.owner(), CompactKeys.generate(COMPACT_SETS[0])
    define_compact(owner, "ended", keys, 3)
    device = PacketDevice(keys, 1).enroll(owner, "ended")
    client = server.client(device_token(owner, "ended", 1))
    for packet in device.encrypt([1, 2, 3]):
        accepted(client.post("/v1/fleets/ended/deliveries", content=packet))
    before = ended(server)
    for _ in range(2):
        assert run_job(owner, "ended", {})[0]["state"] == "done"
    too_much = {"kind": "weighted-sum", "weights": {"1": bounds.LARGEST_WEIGHT}}
    assert run_job(owner, "ended", too_much)[0]["state"] == "failed"
    after = ended(server)
    assert {state: after[state] - before[state] for state in after} == {
        "done": 2.0,
        "failed": 1.0,
        "cancelled": 0.0,
    }
    assert owner.get("/v1/fleets/ended").json()["jobs"] == {"done": 2, "failed": 1}


def ended(server: Server) -> dict[str, float]:
    lines = accepted(server.operator().get("/metrics")).text.splitlines()
    found = [line for line in lines if line.startswith("ciphermote_jobs_total{")]
    return {line.split('"')[1]: float(line.split()[-1]) for line in found}


@pytest.mark.sqlite
def test_watching_costs_the_same_however_many_windows_there_are(tmp_path: Path) -> None:
    """In steps of the database's virtual machine, which no busy machine slows down."""

    async def what(site: Site) -> None:
        fleet = site.fleet("watched")
        devices = [site.device(fleet, number) for number in range(10)]
        for device in devices:
            await site.send(fleet, device.encrypt([1.0]))
        registry = site.gateway.registry
        looks: list[Callable[[], Any]] = [lambda: registry.progress(fleet), lambda: registry.devices(fleet)]
        before = [steps(site, look) for look in looks]
        await asyncio.to_thread(fill, site)
        for look, few in zip(looks, before, strict=True):
            assert steps(site, look) <= few + 100
        assert registry.progress(fleet)["windows"] == 10 + WINDOWS
        assert sum(device["windows"] for device in registry.devices(fleet)) == 10 + WINDOWS

    on_site(tmp_path / "data", what)


def fill(site: Site) -> None:
    """Rows as the intake writes them, of windows that nobody sent."""
    with site.gateway.database.writing() as database:
        database.execute(
            "WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < ? - 1) "
            "INSERT INTO windows (device, number, counter, random, tags, measured, arrived, extents) "
            "SELECT 1 + i % 10, 1000 + i / 10, 1000 + i / 10, 0, 0, i, i, '1:0:1' FROM n",
            (WINDOWS,),
        )
        database.execute("UPDATE devices SET windows = windows + ? / 10", (WINDOWS,))
        database.execute("UPDATE fleet_counts SET windows = windows + ?", (WINDOWS,))


def steps(site: Site, look: Callable[[], Any]) -> int:
    """Return the number of the database's steps, in tens."""
    count = 0

    def step() -> None:
        nonlocal count
        count += 1

    connection = site.gateway.database.connection
    assert isinstance(connection, sqlite3.Connection)
    connection.set_progress_handler(step, 10)
    look()
    connection.set_progress_handler(None, 0)
    return count
