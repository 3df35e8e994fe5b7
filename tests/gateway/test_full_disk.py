# SPDX-License-Identifier: Apache-2.0
"""A disk that is full: what does not fit is refused and asked for again, and nothing breaks."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import ssl
from collections.abc import Callable
from pathlib import Path

import httpx
import numpy as np
from ciphermote.gateway.refusals import of_storage
from gateway_support import (
    FullDevice,
    Server,
    accepted,
    define_full,
    device_token,
    free_port,
    full_owner,
    refused,
    run_job,
    wait_until,
)

FLEET = "cramped"


class Cramped(Server):
    """On a small disk of its own."""

    def start_small(self, size: str) -> Server:
        outside = self.data
        outside.mkdir(parents=True)
        mount = f'mount -t tmpfs -o size={size} tmpfs {outside} && exec "$@"'
        self.start_unready(("unshare", "-rm", "sh", "-c", mount, "sh"))
        assert self.process is not None
        self.data = Path(f"/proc/{self.process.pid}/root{outside}")
        wait_until(self._answers_inside, "the gateway")
        return self

    def _answers_inside(self) -> bool:
        assert self.process is not None and self.process.poll() is None
        with contextlib.suppress(OSError, httpx.HTTPError, ssl.SSLError):
            return self.client().get("/readyz").status_code == 200
        return False


def test_a_full_disk_is_refused_and_survived(tmp_path: Path) -> None:
    server = Cramped(tmp_path / "data", free_port(), ("--workers", "1"))
    server.start_small("4m")
    try:
        owner = server.owner()
        define_full(owner, FLEET, full_owner())
        sender = FullDevice(full_owner(), 1).enroll(owner, FLEET)
        client = server.client(device_token(owner, FLEET, 1))
        deliver: Callable[[bytes], httpx.Response] = lambda data: client.post(  # noqa: E731
            f"/v1/fleets/{FLEET}/deliveries", content=data
        )
        filler = server.data / "filler"
        kept, statuses = [], set()
        for left in range(0, 96, 4):  # KB: the segment has no room, or the database, or its log
            data = sender.encrypt([1.0])
            _fill(filler, left << 10)
            answer = deliver(data)
            statuses.add(answer.status_code)
            if answer.status_code == 507:
                refused(answer, 507, "storage")
            else:
                sender.receipt(answer)
            kept.append(data)
            made = owner.post(f"/v1/fleets/{FLEET}/jobs", json={"spec": {"kind": "sum"}})
            if made.status_code != 201:
                refused(made, 507, "storage")
            filler.unlink()
        assert 507 in statuses
        windows = [sender.receipt(deliver(data)).window for data in kept]
        assert len(set(windows)) == len(kept)
        _, (total,) = run_job(owner, FLEET, {"kind": "sum", "per_device": 100})
        np.testing.assert_allclose(full_owner().decrypt(total)[0], len(kept), atol=0.2)
        jobs = accepted(owner.get(f"/v1/fleets/{FLEET}/jobs")).json()["items"]
        wait_until(
            lambda: all(
                job["state"] == "done"
                for job in accepted(owner.get(f"/v1/fleets/{FLEET}/jobs")).json()["items"]
            ),
            f"the end of {len(jobs)} jobs",
        )
        with contextlib.closing(sqlite3.connect(server.data / "gateway.db")) as database:
            assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    finally:
        server.stop()


def _fill(filler: Path, left: int) -> None:
    """All but so many bytes of the disk."""
    with contextlib.suppress(OSError), filler.open("wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))
    size = max(0, filler.stat().st_size - left)
    os.truncate(filler, size)


def test_errors_of_the_disk_are_told_apart() -> None:
    for error, status in (
        (OSError(28, "No space left on device"), 507),
        (OSError(2, "No such file"), None),
        (sqlite3.OperationalError("database or disk is full"), 507),
        (sqlite3.OperationalError("database is locked"), 503),
        (sqlite3.OperationalError("no such table: x"), None),
    ):
        found = of_storage(error)
        assert (found.status if found else None) == status, error
