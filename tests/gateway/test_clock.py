# SPDX-License-Identifier: Apache-2.0
"""A wall clock that jumps ahead, far back, and is right again."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import httpx
from gateway_support import (
    FullDevice,
    accepted,
    define_full,
    device_token,
    full_owner,
    run_job,
    serving,
    wait_until,
)

FLEET = "jumping"


def test_a_clock_that_jumps_there_and_back(tmp_path: Path) -> None:
    library, ahead = tmp_path / "clock.so", tmp_path / "ahead"
    source = Path(__file__).parent / "clock.c"
    subprocess.run(["gcc", "-O1", "-shared", "-fPIC", "-o", library, source], check=True)
    ahead.write_text("0")
    preload = {"LD_PRELOAD": str(library), "CLOCK_AHEAD": str(ahead)}
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


def _stream_jobs(owner: httpx.Client) -> list[dict[str, Any]]:
    found = accepted(owner.get(f"/v1/fleets/{FLEET}/jobs")).json()
    return [job for job in found if job["stream"] is not None]
