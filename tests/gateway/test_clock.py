# SPDX-License-Identifier: Apache-2.0
"""A wall clock that jumps ahead, far back, and is right again; intervals that pass while nobody is there."""

from __future__ import annotations

import asyncio
import subprocess
import time
from pathlib import Path
from typing import Any

import httpx
from ciphermote.gateway.definitions import DEFINITION, Enrolment, StreamRequest
from ciphermote.gateway.gateway import Gateway
from ciphermote.gateway.settings import Settings
from ciphermote.parameter_files import parameters_to_dict
from gateway_support import (
    LOG2_SCALE,
    FullDevice,
    accepted,
    define_full,
    device_token,
    enrolment,
    full_owner,
    run_job,
    serving,
    wait_until,
)

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


def test_a_clock_that_jumps_there_and_back(tmp_path: Path) -> None:
    ahead, preload = clock(tmp_path)
    with serving(tmp_path / "data", **preload) as server:
        owner = server.owner()
        define_full(owner, FLEET, full_owner())
        sender = FullDevice(full_owner(), 1).enroll(owner, FLEET)
        client = server.client(device_token(owner, FLEET, 1))
        spec = {"job": {"kind": "sum", "per_device": 100}, "every": 2}
        accepted(owner.post(f"/v1/fleets/{FLEET}/streams", json={"name": "all", "spec": spec}))
        for seconds in (0, 300, -10_000, 0):
            ahead.write_text(str(seconds))
            sender.receipt(client.post(f"/v1/fleets/{FLEET}/deliveries", content=sender.encrypt([1.0])))
            shown, _ = run_job(owner, FLEET, {"kind": "sum", "per_device": 100})
            assert shown["state"] == "done"
            if seconds > 0:
                wait_until(
                    lambda: len(_stream_jobs(owner)) > 100, "jobs of the intervals that were jumped over"
                )
        arrived = accepted(owner.get(f"/v1/fleets/{FLEET}/windows")).json()[-1]["measured"]

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
        owner = server.owner()
        define_full(owner, FLEET, full_owner())
        sender = FullDevice(full_owner(), 1).enroll(owner, FLEET)
        client = server.client(device_token(owner, FLEET, 1))
        spec = {"job": {"kind": "sum", "per_device": 100}, "every": 2}
        accepted(owner.post(f"/v1/fleets/{FLEET}/streams", json={"name": "all", "spec": spec}))
        path = f"/v1/fleets/{FLEET}/deliveries"

        def stream() -> dict[str, Any]:
            found: dict[str, Any] = accepted(owner.get(f"/v1/fleets/{FLEET}/streams")).json()[0]
            return found

        sender.receipt(client.post(path, content=sender.encrypt([1.0])))
        ahead.write_text(str(YEAR))
        wait_until(lambda: stream()["next"] > stream()["created"] + YEAR - 10, "the clock's year to pass")
        assert len(_stream_jobs(owner)) < MOST_JOBS
        sender.receipt(client.post(path, content=sender.encrypt([2.0])))
        ahead.write_text("0")
        sender.receipt(client.post(path, content=sender.encrypt([4.0])))
        times = [w["measured"] for w in accepted(owner.get(f"/v1/fleets/{FLEET}/windows")).json()]

        def served() -> bool:
            jobs = [job for job in _stream_jobs(owner) if job["state"] == "done" and job["result"]["windows"]]
            return all(any(job["begins"] <= at < job["ends"] for job in jobs) for at in (times[0], times[2]))

        wait_until(served, "the jobs of the windows before and after", 30)
        wait_until(lambda: stream()["next"] < stream()["created"] + 1000, "the stream to be back in its time")
        assert len(_stream_jobs(owner)) < MOST_JOBS


def test_late_data_of_intervals_that_were_passed_over_get_their_job(tmp_path: Path) -> None:
    asyncio.run(_pass_over(tmp_path / "data"))


async def _pass_over(folder: Path) -> None:
    gateway = Gateway(Settings(folder, reserve_bytes=0))
    gateway.intake.start()
    try:
        registry, jobs, keys = gateway.registry, gateway.jobs, full_owner()
        fields = {"parameters": parameters_to_dict(keys.parameters), "key_id": f"{keys.key_id:016x}"}
        definition = DEFINITION.validate_python({"lane": "full", "log2_scale": LOG2_SCALE, **fields})
        tenant = registry.tenant("home")
        registry.put_fleet(tenant, FLEET, definition)
        fleet = registry.fleet(tenant, FLEET)
        device = FullDevice(keys, 1)
        registry.enroll(fleet, 1, Enrolment(**enrolment(device.tag_keys, device.key_id)))

        async def send(measured: float) -> None:
            with gateway.intake.room_for(tenant):
                await gateway.intake.take(fleet, 1, device.encrypt([1.0]), measured)

        def begun() -> list[float]:
            rows = gateway.database.connection.execute("SELECT begins FROM jobs ORDER BY id")
            return [row["begins"] - start for row in rows]

        now = time.time() // 100 * 100
        start = now - 100_000
        await send(start + 5003)
        await send(start + 5004)
        spec = {"job": {}, "every": 10, "span": 20, "begins": start}
        jobs.add_stream(fleet, StreamRequest.model_validate({"name": "sliding", "spec": spec}))
        jobs.tick(now)
        last = [float(at) for at in range(100_000 - 20 - 10 * 199, 100_000 - 10, 10)]
        assert begun() == [4990, 5000, *last]
        await send(start + 70_017)
        await send(start + 70_018)
        jobs.tick(now)
        assert begun() == [4990, 5000, *last, 70_010, 70_000]
        await send(start + 70_005)
        await send(start + 5001)
        await send(start + 99_001)
        jobs.tick(now)
        assert begun() == [4990, 5000, *last, 70_010, 70_000, 69_990]
        assert jobs.shown(fleet.id, 1)["late"] == jobs.shown(fleet.id, 2)["late"] == 1
        (passed,) = gateway.database.connection.execute(
            "SELECT id FROM jobs WHERE begins = ?", (start + 70_000,)
        )
        assert jobs.shown(fleet.id, passed["id"])["late"] == 1
        jobs.tick(now + 30)
        assert begun()[-3:] == [99_990, 100_000, 100_010]
    finally:
        await gateway.close()


def _stream_jobs(owner: httpx.Client) -> list[dict[str, Any]]:
    found = accepted(owner.get(f"/v1/fleets/{FLEET}/jobs")).json()
    return [job for job in found if job["stream"] is not None]
