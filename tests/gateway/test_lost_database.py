# SPDX-License-Identifier: Apache-2.0
"""A database that is slow or lost: the gateway refuses early, says so, and loses nothing with a receipt."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

import httpx
import psycopg
import pytest
from demos.fleet.site import serving
from door import Door
from gateway_support import (
    FullDevice,
    Server,
    accepted,
    define_full,
    device_token,
    full_owner,
    wait_until,
)
from postgres_support import new_database, postgres_server

FLEET = "fleet"
DEVICES = 3
UNREADY_SECONDS = 6.0
READY_SECONDS = 10.0
EARLY_SECONDS = 1.0
_WRITERS = 0x434D4757
"""The lock that rounds share (database/postgres.py)."""


@dataclass
class Tried:
    """A delivery: how long it took, its status, and after how many seconds it may come again."""

    seconds: float
    status: int
    retry_after: str | None


@dataclass
class Sender:
    """A device that sends one window after another, each until it has a receipt."""

    server: Server
    number: int
    receipts: int = 0
    stopping: bool = False

    def __post_init__(self) -> None:
        owner = self.server.owner()
        self.device = FullDevice(full_owner(), self.number).enroll(owner, FLEET)
        self.client = self.server.client(device_token(owner, FLEET, self.number))
        self.thread = threading.Thread(target=self._run)
        self.thread.start()

    def _run(self) -> None:
        data = self.device.encrypt([1.0])
        while not self.stopping:
            _, answer = tried(self.client, data)
            if answer.status_code == 200:
                self.device.receipt(answer)
                self.receipts += 1
                data = self.device.encrypt([1.0])
            time.sleep(0.05)

    def stop(self) -> None:
        self.stopping = True
        self.thread.join()


@dataclass
class Probe:
    """A device that tries to send while nothing can be stored."""

    server: Server
    number: int = 100

    def __post_init__(self) -> None:
        owner = self.server.owner()
        device = FullDevice(full_owner(), self.number).enroll(owner, FLEET)
        self._data = device.encrypt([1.0])
        self._client = self.server.client(device_token(owner, FLEET, self.number))

    def try_once(self) -> Tried:
        return tried(self._client, self._data)[0]


def tried(client: httpx.Client, data: bytes) -> tuple[Tried, httpx.Response]:
    began = time.monotonic()
    octets = {"Content-Type": "application/octet-stream"}
    answer = client.post(f"/v1/fleets/{FLEET}/deliveries", content=data, headers=octets)
    took, after = time.monotonic() - began, answer.headers.get("Retry-After")
    return Tried(took, answer.status_code, after), answer


@dataclass
class Place:
    server: Server
    door: Door
    url: str

    @contextlib.contextmanager
    def stalled(self) -> Iterator[None]:
        """The server's answers are held up, and new connections too."""
        self.door.hold()
        try:
            yield
        finally:
            self.door.release()

    @contextlib.contextmanager
    def cut(self) -> Iterator[None]:
        self.door.shut()
        try:
            yield
        finally:
            self.door.reopen()

    @contextlib.contextmanager
    def slow(self) -> Iterator[None]:
        """It answers, but no round can be written."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(f"SELECT pg_advisory_lock({_WRITERS})".encode())
            yield


Fault = Callable[[Place], AbstractContextManager[None]]


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    postgres = postgres_server()
    url = new_database()
    door = Door(str(postgres.folder / ".s.PGSQL.5432"))
    through = f"postgresql://ciphermote@127.0.0.1:{door.port}/{url.partition('@/')[2].partition('?')[0]}"
    try:
        with serving(tmp_path / "data", "--database", through, "--workers", "0") as server:
            define_full(server.owner(), FLEET, full_owner())
            yield Place(server, door, url)
    finally:
        door.close()


def is_ready(server: Server) -> bool:
    return server.client().get("/readyz").status_code == 200


@pytest.mark.parametrize("fault", [Place.stalled, Place.cut, Place.slow], ids=["stalled", "cut", "slow"])
def test_deliveries_are_refused_early_and_nothing_receipted_is_lost(place: Place, fault: Fault) -> None:
    server = place.server
    probe = Probe(server)
    senders = [Sender(server, number) for number in range(1, DEVICES + 1)]
    try:
        wait_until(lambda: all(each.receipts >= 3 for each in senders), "receipts")
        with fault(place):
            began = time.monotonic()
            wait_until(lambda: not is_ready(server), "the end of readiness", UNREADY_SECONDS)
            unready = time.monotonic()
            refused = []
            while time.monotonic() < unready + 3.0:
                refused.append(probe.try_once())
                time.sleep(0.1)
            ready = time.monotonic()
        wait_until(lambda: is_ready(server), "readiness", READY_SECONDS)
        again = time.monotonic()
        before = [each.receipts for each in senders]
        wait_until(
            lambda: all(each.receipts > old + 2 for each, old in zip(senders, before, strict=True)),
            "receipts",
        )
    finally:
        for each in senders:
            each.stop()
    assert {(each.status, each.retry_after) for each in refused} == {(503, "1")}
    slowest = max(each.seconds for each in refused)
    print(
        f"unready after {unready - began:.1f} s, ready after {again - ready:.1f} s, slowest {slowest:.2f} s"
    )
    assert slowest < EARLY_SECONDS
    owner = server.owner()
    for each in senders:
        asked = owner.get(f"/v1/fleets/{FLEET}/windows", params={"device": each.number})
        stored = [window["number"] for window in accepted(asked).json()["items"]]
        assert sorted(set(stored)) == stored and set(range(each.receipts)) <= set(stored)
        assert len(stored) <= each.receipts + 1  # the one whose receipt has not arrived


def test_it_says_why_it_is_not_ready(place: Place) -> None:
    with place.cut():
        wait_until(lambda: not is_ready(place.server), "the end of readiness", UNREADY_SECONDS)
        answer = place.server.client().get("/readyz").json()
        assert answer["ready"] is False and "the database does not answer" in answer["reason"]
        began = time.monotonic()
        assert place.server.owner().get("/v1/fleets").status_code == 503
        assert time.monotonic() - began < EARLY_SECONDS
    wait_until(lambda: is_ready(place.server), "readiness", READY_SECONDS)
