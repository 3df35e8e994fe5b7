# SPDX-License-Identifier: Apache-2.0
"""A wall clock that jumps ahead, far back, and is right again; intervals that pass while nobody is there."""

from __future__ import annotations

import asyncio
import subprocess
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from ciphermote.gateway.fleets import Fleet
from ciphermote.gateway.gateway import Gateway
from ciphermote.parameters.files import parameters_to_dict
from ciphermote.rest.requests import DEFINITION, Enrolment, StreamRequest
from gateway_support import (
    LOG2_SCALE,
    FullDevice,
    Server,
    accepted,
    define_full,
    device_token,
    enrolment,
    full_owner,
    run_job,
    serving,
    wait_until,
)
from site_support import settings_of

FLEET = "jumping"


YEAR = 365 * 86_400
MOST_JOBS = 500


def clock(folder: Path) -> tuple[Path, dict[str, str]]:
    """A file that says by how many seconds a clock is ahead, and the environment of whom it is for."""
    library, ahead = folder / "clock.so", folder / "ahead"
    source = Path(__file__).parent / "clock.c"
    subprocess.run(["gcc", "-O1", "-shared", "-fPIC", "-o", library, source], check=True)
    ahead.write_text("0")
    return ahead, {"LD_PRELOAD": str(library), "CLOCK_AHEAD": str(ahead)}


def streaming(server: Server) -> tuple[httpx.Client, Callable[[float], None]]:
    """Its owner, who has a stream of two seconds, and what sends a window."""
    owner = server.owner()
    define_full(owner, FLEET, full_owner())
    sender = FullDevice(full_owner(), 1).enroll(owner, FLEET)
    client = server.client(device_token(owner, FLEET, 1))
    spec = {"job": {"kind": "sum", "per_device": 100}, "every": 2}
    accepted(owner.post(f"/v1/fleets/{FLEET}/streams", json={"name": "all", "spec": spec}))

    def send(value: float) -> None:
        sender.receipt(client.post(f"/v1/fleets/{FLEET}/deliveries", content=sender.encrypt([value])))

    return owner, send


def test_a_clock_that_jumps_there_and_back(tmp_path: Path) -> None:
    ahead, preload = clock(tmp_path)
    with serving(tmp_path / "data", **preload) as server:
        owner, send = streaming(server)
        for seconds in (0, 300, -10_000, 0):
            ahead.write_text(str(seconds))
            send(1.0)
            shown, _ = run_job(owner, FLEET, {"kind": "sum", "per_device": 100})
            assert shown["state"] == "done"
            if seconds > 0:
                wait_until(
                    lambda: len(_stream_jobs(owner)) > 100, "jobs of the intervals that were jumped over"
                )
        arrived = accepted(owner.get(f"/v1/fleets/{FLEET}/windows")).json()["items"][-1]["measured"]

        def of_last_window() -> list[dict[str, Any]]:
            return [
                job
                for job in _stream_jobs(owner)
                if job["begins"] <= arrived < job["ends"]
                and job["state"] == "done"
                and job["result"]["windows"] > 0
            ]

        wait_until(of_last_window, "the job of an interval that came twice", 30)


def test_a_jump_of_a_year_makes_no_flood_of_jobs(tmp_path: Path) -> None:
    ahead, preload = clock(tmp_path)
    with serving(tmp_path / "data", **preload) as server:
        owner, send = streaming(server)

        def stream() -> dict[str, Any]:
            found: dict[str, Any] = accepted(owner.get(f"/v1/fleets/{FLEET}/streams")).json()["items"][0]
            return found

        send(1.0)
        ahead.write_text(str(YEAR))
        wait_until(lambda: stream()["next"] > stream()["created"] + YEAR - 10, "the clock's year to pass")
        assert len(_stream_jobs(owner)) < MOST_JOBS
        send(2.0)
        ahead.write_text("0")
        send(4.0)
        times = [w["measured"] for w in accepted(owner.get(f"/v1/fleets/{FLEET}/windows")).json()["items"]]

        def served() -> bool:
            jobs = [job for job in _stream_jobs(owner) if job["state"] == "done" and job["result"]["windows"]]
            return all(any(job["begins"] <= at < job["ends"] for job in jobs) for at in (times[0], times[2]))

        wait_until(served, "the jobs of the windows before and after", 30)
        wait_until(lambda: stream()["next"] < stream()["created"] + 1000, "the stream to be back in its time")
        assert len(_stream_jobs(owner)) < MOST_JOBS


def test_late_data_of_intervals_that_were_passed_over_get_their_job(tmp_path: Path) -> None:
    asyncio.run(_pass_over(tmp_path / "data"))


async def _pass_over(folder: Path) -> None:
    async with passing(folder) as stream:

        def begun() -> list[float]:
            return [begins - stream.start for begins in stream.begun()]

        await stream.send(5003)
        await stream.send(5004)
        stream.add(every=10, span=20)
        stream.tick(100_000)
        last = [float(at) for at in range(100_000 - 20 - 10 * 199, 100_000 - 10, 10)]
        assert begun() == [4990, 5000, *last]
        await stream.send(70_017)
        await stream.send(70_018)
        stream.tick(100_000)
        assert begun() == [4990, 5000, *last, 70_010, 70_000]
        await stream.send(70_005)
        await stream.send(5001)
        await stream.send(99_001)
        stream.tick(100_000)
        assert begun() == [4990, 5000, *last, 70_010, 70_000, 69_990]
        jobs, fleet = stream.gateway.jobs, stream.fleet.id
        assert jobs.shown(fleet, 1)["late"] == jobs.shown(fleet, 2)["late"] == 1
        (passed,) = stream.gateway.database.connection.execute(
            "SELECT id FROM jobs WHERE begins = ?", (stream.start + 70_000,)
        )
        assert jobs.shown(fleet, passed["id"])["late"] == 1
        stream.tick(100_030)
        assert begun()[-3:] == [99_990, 100_000, 100_010]


def test_steps_that_no_binary_fraction_is_make_each_interval_once(tmp_path: Path) -> None:
    asyncio.run(_drift(tmp_path / "data"))


async def _drift(folder: Path) -> None:
    async with passing(folder) as stream:
        stream.add(every=1.1)
        for tick in range(1, 200):
            stream.tick(tick)
        begun = stream.begun()
        assert begun == [number * 1.1 + stream.start for number in range(len(begun))] and len(begun) > 150
        for measured in (3.0, 57.3, 90.2):
            await stream.send(measured)
            stream.tick(200)
        assert [begins for begins in stream.begun() if begins < stream.start + 195] == begun[:178]


def test_intervals_that_a_clock_closed_too_early_come_once_more(tmp_path: Path) -> None:
    asyncio.run(_early(tmp_path / "data"))


async def _early(folder: Path) -> None:
    """The clock was ahead by less than a span: no interval has begun too early, but some have ended."""
    async with passing(folder) as stream:
        stream.add(every=60, span=3600)
        stream.tick(7200)
        stream.tick(7200 + 1500)
        early = len(stream.begun())
        await stream.send(7201)
        for seconds in range(0, 1501, 60):
            stream.tick(7200 + seconds)
        again = stream.begun()[early:]
        assert [begins - stream.start for begins in again] == [3600 + 60 * i for i in range(1, 26)]


@dataclass
class Passing:
    """A gateway with a stream; seconds count from start."""

    gateway: Gateway
    fleet: Fleet
    device: FullDevice
    start: float

    async def send(self, measured: float) -> None:
        with self.gateway.intake.room_for(self.fleet, None):
            await self.gateway.intake.take(self.fleet, 1, self.device.encrypt([1.0]), self.start + measured)

    def add(self, **spec: float) -> None:
        fields = {"name": "all", "spec": {"job": {}, "begins": self.start, **spec}}
        self.gateway.jobs.add_stream(self.fleet, StreamRequest.model_validate(fields))

    def tick(self, seconds: float) -> None:
        self.gateway.jobs.tick(self.start + seconds)

    def begun(self) -> list[float]:
        rows = self.gateway.database.connection.execute("SELECT begins FROM jobs ORDER BY id")
        return [row["begins"] for row in rows]


@asynccontextmanager
async def passing(folder: Path) -> AsyncIterator[Passing]:
    gateway = Gateway(settings_of(folder))
    gateway.intake.start()
    try:
        registry, keys = gateway.registry, full_owner()
        fields = {"parameters": parameters_to_dict(keys.parameters), "key_id": f"{keys.key_id:016x}"}
        definition = DEFINITION.validate_python({"lane": "full", "log2_scale": LOG2_SCALE, **fields})
        tenant = registry.tenant("home")
        registry.put_fleet(tenant, FLEET, definition)
        fleet = registry.fleet(tenant, FLEET)
        device = FullDevice(keys, 1)
        registry.enroll(fleet, 1, Enrolment(**enrolment(device.tag_keys, device.key_id)))
        yield Passing(gateway, fleet, device, time.time() // 100 * 100 - 100_000)
    finally:
        await gateway.close()


def _stream_jobs(owner: httpx.Client) -> list[dict[str, Any]]:
    found = accepted(owner.get(f"/v1/fleets/{FLEET}/jobs")).json()["items"]
    return [job for job in found if job["stream"] is not None]
