# SPDX-License-Identifier: Apache-2.0
"""A gateway over a directory, without HTTP and without workers: jobs are worked on when a test does it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from ciphermote.gateway.fleets import Fleet
from ciphermote.gateway.gateway import Gateway
from ciphermote.gateway.intake import Outcome
from ciphermote.gateway.refusals import Refusal
from ciphermote.gateway.retention import DAY
from ciphermote.gateway.settings import Settings
from ciphermote.gateway.store.folder import SEGMENT_BYTES
from ciphermote.gateway.worker import Worker
from ciphermote.parameters.files import parameters_to_dict
from ciphermote.rest.requests import DEFINITION, Enrolment, JobRequest
from gateway_support import LOG2_SCALE, FullDevice, enrolment, full_owner
from postgres_support import database_url

SEGMENT = 20_000
"""Bytes: of two or three windows."""

_OF = "(SELECT count(*) FROM {0} JOIN fleets f ON f.id = {0}.fleet WHERE f.tenant = ?1)"
_LENGTHS = (
    "(SELECT coalesce(sum(512 + length({1})), 0) FROM {0} r JOIN fleets f ON f.id = r.fleet "
    "WHERE f.tenant = ?1)"
)
BOOKED = f"""
SELECT (SELECT coalesce(sum(bytes), 0) FROM place_bytes WHERE tenant = ?1),
    (SELECT coalesce(sum(512 + bytes), 0) FROM objects WHERE tenant = ?1),
    (SELECT coalesce(sum(512 + length(definition)), 0) FROM fleets WHERE tenant = ?1),
    512 * ({_OF.format("devices")} + {_OF.format("streams")} + {_OF.format("jobs")}
        + (SELECT count(*) FROM tokens WHERE tenant = ?1)
        + (SELECT count(*) FROM results r JOIN devices d ON d.id = r.device JOIN fleets f ON f.id = d.fleet
            WHERE f.tenant = ?1)),
    128 * (SELECT count(*) FROM windows w JOIN devices d ON d.id = w.device JOIN fleets f ON f.id = d.fleet
        WHERE f.tenant = ?1),
    {_LENGTHS.format("specs", "r.text")},
    {_LENGTHS.format("exclusions", "r.devices")}
"""
"""All that a tenant has stored, counted from scratch: the first column is what lies in segments."""


def settings_of(folder: Path, segment_bytes: int = SEGMENT_BYTES, store: str | None = None) -> Settings:
    """Settings of a gateway over a directory, and over the database that the test runs over."""
    url = database_url(folder)
    return Settings(folder, reserve_bytes=0, segment_bytes=segment_bytes, store=store, database=url)


class Site:
    """A gateway over a directory, without HTTP."""

    def __init__(self, folder: Path, store: str | None = None) -> None:
        self.folder = folder
        self.gateway = Gateway(settings_of(folder, segment_bytes=SEGMENT, store=store))
        self.gateway.intake.start()
        self.tenant = self.gateway.registry.tenant("home")
        self.now = time.time()

    def fleet(self, name: str, days: int | None = None, tenant: int | None = None) -> Fleet:
        keys = full_owner()
        fields = {"parameters": parameters_to_dict(keys.parameters), "key_id": f"{keys.key_id:016x}"}
        found = self.define(name, {"lane": "full", "log2_scale": LOG2_SCALE, **fields}, tenant)
        self.gateway.registry.set_retention(found, days)
        return found

    def define(self, name: str, definition: dict[str, Any], tenant: int | None = None) -> Fleet:
        registry = self.gateway.registry
        registry.put_fleet(tenant or self.tenant, name, DEFINITION.validate_python(definition))
        return registry.fleet(tenant or self.tenant, name)

    def device(self, fleet: Fleet, number: int) -> FullDevice:
        found = FullDevice(full_owner(), number)
        self.gateway.registry.enroll(fleet, number, Enrolment(**enrolment(found.tag_keys, found.key_id)))
        return found

    async def send(self, fleet: Fleet, data: bytes) -> Outcome:
        with self.gateway.intake.room_for(fleet, None):
            return await self.gateway.intake.take(fleet, None, data)

    async def sweep(self, days: float) -> None:
        """Sweep as if `days` had passed."""
        await asyncio.to_thread(self.gateway.retention.sweep, self.now + days * DAY)

    def segments(self) -> list[str]:
        return sorted(path.name for path in (self.folder / "segments").iterdir())

    def deleted(self, fleet: Fleet) -> list[bool]:
        return [window["deleted"] for window in self.gateway.registry.windows(fleet)]

    def bytes(self) -> int:
        """The tenant's bytes, in segments. All that it has is booked as a count from scratch says."""
        database = self.gateway.database.connection
        in_segments, *others = database.execute(BOOKED, (self.tenant,)).fetchone()
        assert self.gateway.registry.tenant_of(self.tenant)["bytes"] == in_segments + sum(others)
        return int(in_segments)

    def add(self, fleet: Fleet, spec: dict[str, Any] | None = None, **more: Any) -> int:
        return self.gateway.jobs.add(fleet, JobRequest(spec={"per_device": 100, **(spec or {})}, **more))

    def work(self, fleet: Fleet, job: int) -> dict[str, Any]:
        """The job, after a worker had its turn."""
        self.work_once()
        return self.gateway.jobs.shown(fleet.id, job)

    def work_once(self) -> int:
        """Run a worker once, and return the job that it had."""
        worker = Worker(self.folder, "tests", database_url(self.folder))
        leased = worker._jobs.lease("tests")
        assert leased is not None
        worker._work(leased)
        worker._database.close()
        return leased.id


def on_site(folder: Path, what: Callable[[Site], Awaitable[None]], store: str | None = None) -> None:
    """store: the URL of an object store that has the bytes."""

    async def run() -> None:
        site = Site(folder, store)
        try:
            await what(site)
        finally:
            await site.gateway.close()

    asyncio.run(run())


def refusal_of(call: Callable[[], Any]) -> str:
    with pytest.raises(Refusal) as found:
        call()
    return found.value.name
