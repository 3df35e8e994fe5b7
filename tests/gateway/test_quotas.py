# SPDX-License-Identifier: Apache-2.0
"""Everything that a tenant makes counts against its quotas: none exhausts disk or memory that others need,
and none waits until another's jobs are done.
"""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ciphermote import Owner
from ciphermote.gateway.fleets import Fleet
from ciphermote.gateway.pages import MOST_BYTES, MOST_ROWS
from ciphermote.gateway.refusals import Refusal
from ciphermote.parameters.files import parameters_to_dict
from ciphermote.rest.requests import (
    DEFINITION,
    Enrolment,
    JobRequest,
    StreamRequest,
    TenantRequest,
)
from gateway_support import FullDevice, enrolment, full_owner
from site_support import Site, on_site, refusal_of

QUOTA = 10 << 20
LONG = 45_000
"""Entries of a long spec: 90 kB."""


def add_stream(site: Site, fleet: Fleet, name: str, job: dict[str, Any] | None = None, **more: Any) -> None:
    spec = {"job": job or {}, "every": 1, **more}
    site.gateway.jobs.add_stream(fleet, StreamRequest.model_validate({"name": name, "spec": spec}))


def stored(site: Site) -> int:
    """Bytes of the database."""
    return sum(path.stat().st_size for path in site.folder.glob("gateway.db*"))


def test_specs_are_not_copied_into_job_rows(tmp_path: Path) -> None:
    """The attack: 20 streams of long specs, whose every window is in a thousand intervals."""

    async def what(site: Site) -> None:
        tenant = site.gateway.registry.add_tenant(TenantRequest(name="greedy", most_bytes=QUOTA))
        fleet = site.fleet("greedy", tenant=tenant)
        other = site.fleet("other")
        await site.send(fleet, site.device(fleet, 1).encrypt([1.0]))
        await site.send(other, site.device(other, 1).encrypt([2.0]))
        for number in range(20):
            begins = site.now - 5000
            add_stream(site, fleet, f"s{number}", {"devices": [1] * LONG}, span=1000, begins=begins)
        made = sum(site.gateway.jobs.tick(site.now + 5 * tick) for tick in range(5))
        assert made > 1000
        assert stored(site) < 2 * QUOTA
        pages = list(iter_pages(site, fleet))
        assert sum(map(len, pages)) == made
        for page in pages:
            assert len(page) <= MOST_ROWS and len(json.dumps(page)) < 2 * MOST_BYTES
        streams = site.gateway.jobs.streams(fleet)
        assert len(streams) == 20 and len(json.dumps(streams)) < MOST_BYTES
        first = site.gateway.jobs.shown(fleet.id, pages[0][0]["id"])
        assert first["spec"]["devices"] == [1] * LONG

        theirs = site.gateway.jobs.add(other, JobRequest(spec={}))
        assert theirs in (site.work_once(), site.work_once()), "tenants take turns"

    on_site(tmp_path / "data", what)


def iter_pages(site: Site, fleet: Fleet) -> Any:
    after = 0
    while page := site.gateway.jobs.listed(fleet.id, after):
        yield page
        after = page[-1]["id"]


def test_a_stream_that_meets_a_quota_stalls_and_goes_on(tmp_path: Path) -> None:
    """No interval is passed over, and others' streams get their jobs meanwhile."""

    async def what(site: Site) -> None:
        tenant = site.gateway.registry.add_tenant(TenantRequest(name="small", most_jobs=10))
        fleet, other = site.fleet("small", tenant=tenant), site.fleet("other")
        for each in (fleet, other):
            add_stream(site, each, "seconds", begins=site.now - 30.5)
        for _ in range(3):
            site.gateway.jobs.tick(site.now)
        assert len(site.gateway.jobs.listed(fleet.id, 0)) == 10
        assert len(site.gateway.jobs.listed(other.id, 0)) == 30
        (shown,) = site.gateway.jobs.streams(fleet)
        assert "10 jobs, and 10 are the most" in shown["stalled"]
        assert site.gateway.jobs.streams(other)[0]["stalled"] is None
        assert refusal_of(lambda: site.add(fleet)) == "quota"
        first = site.gateway.jobs.listed(fleet.id, 0)[0]["id"]
        assert refusal_of(lambda: site.gateway.jobs.delete(fleet.id, first)) == "wrong-state"
        for job in site.gateway.jobs.listed(fleet.id, 0)[:4]:
            site.gateway.jobs.change(fleet, job["id"], "cancel")
            site.gateway.jobs.delete(fleet.id, job["id"])
        site.gateway.jobs.tick(site.now)
        begins = [job["begins"] - (site.now - 30.5) for job in site.gateway.jobs.listed(fleet.id, 0)]
        np.testing.assert_allclose(begins, np.arange(4, 14), atol=1e-3)

    on_site(tmp_path / "data", what)


def test_tenants_take_turns(tmp_path: Path) -> None:
    async def what(site: Site) -> None:
        fleets = []
        for name, jobs in (("many", 6), ("few", 2), ("one", 1)):
            tenant = site.gateway.registry.add_tenant(TenantRequest(name=name))
            fleets.append(site.fleet(name, tenant=tenant))
            for _ in range(jobs):
                site.add(fleets[-1])
        whose = {job["id"]: fleet.name for fleet in fleets for job in site.gateway.jobs.listed(fleet.id, 0)}
        turns = [whose[site.work_once()] for _ in whose]
        assert turns == ["many", "few", "one", "many", "few", "many", "many", "many", "many"]

    on_site(tmp_path / "data", what)


def test_numbers_are_bounded(tmp_path: Path) -> None:
    """Fleets, devices, streams, jobs and tokens: refused by name, and another tenant's do not count."""

    async def what(site: Site) -> None:
        most = {"most_devices": 3, "most_fleets": 2, "most_streams": 4, "most_jobs": 5}
        registry = site.gateway.registry
        tenant = registry.add_tenant(TenantRequest(name="small", **most))
        first, second = (site.fleet(name, tenant=tenant) for name in ("first", "second"))
        fleets, numbers = itertools.cycle((first, second)), itertools.count()

        def fill(make: Any) -> int:
            """Make as many as possible, and return their number."""
            for made in range(1000):
                try:
                    make()
                except Refusal as refusal:
                    assert refusal.name == "quota" and refusal.status == 429
                    assert f"has {made:,} " in refusal.sentence, refusal.sentence
                    return made
            raise AssertionError("no end")

        assert refusal_of(lambda: site.fleet("third", tenant=tenant)) == "quota"
        assert fill(lambda: site.device(next(fleets), next(numbers))) == 3
        assert fill(lambda: add_stream(site, next(fleets), f"s{next(numbers)}")) == 4
        assert fill(lambda: site.add(next(fleets))) == 5
        assert fill(lambda: site.gateway.access.make("owner", tenant=tenant)) == 106
        site.fleet("others")
        site.gateway.access.make("owner", tenant=site.tenant)

    on_site(tmp_path / "data", what)


def test_whatever_a_tenant_makes_counts_in_its_bytes(tmp_path: Path) -> None:
    """Rows too: one that makes and revokes, or enrolls the same device again and again, comes to an end."""

    async def what(site: Site) -> None:
        registry = site.gateway.registry
        made = itertools.count()

        def revoke_tokens(fleet: Fleet) -> None:
            token = site.gateway.access.make("owner", tenant=fleet.tenant).split("_")[1]
            site.gateway.access.revoke(token, fleet.tenant)

        def enroll_again(fleet: Fleet) -> None:
            device = FullDevice(full_owner(), 1, epoch=next(made) + 1)
            keys = Enrolment(**enrolment(device.tag_keys, device.key_id, device.epoch))
            registry.enroll(fleet, 1, keys)

        def other_specs(fleet: Fleet) -> None:
            site.gateway.jobs.add(fleet, JobRequest(spec={"per_device": next(made) + 1}))

        def other_streams(fleet: Fleet) -> None:
            add_stream(site, fleet, f"s{next(made)}")

        for what, most in itertools.product(
            (revoke_tokens, enroll_again, other_specs, other_streams), range(20_000, 20_700, 233)
        ):
            tenant = registry.add_tenant(TenantRequest(name=f"t{next(made)}", most_bytes=most))
            fleet = site.fleet("fleet", tenant=tenant)
            if what is other_specs:
                site.device(fleet, 1)
            with pytest.raises(Refusal, match="bytes that it may"):
                for _ in range(200):
                    what(fleet)
            assert registry.tenant_of(tenant)["bytes"] <= most, what

    on_site(tmp_path / "data", what)


def test_objects_count_and_are_refused_before_they_are_stored(tmp_path: Path) -> None:
    keys = Owner.generate("n4096_q26x3_p27", rotations=())
    relin = keys.evaluation_keys.relin
    assert relin is not None

    async def what(site: Site) -> None:
        registry = site.gateway.registry
        fields = {"parameters": parameters_to_dict(keys.parameters), "key_id": f"{keys.key_id:016x}"}
        definition = DEFINITION.validate_python({"lane": "full", "log2_scale": 25, **fields})

        def attached(name: str, room: int) -> Fleet:
            tenant = registry.add_tenant(TenantRequest(name=name, most_bytes=room))
            registry.put_fleet(tenant, "fleet", definition)
            return registry.fleet(tenant, "fleet")

        poor, rich = attached("poor", len(relin)), attached("rich", len(relin) + 4096)
        assert refusal_of(lambda: registry.put_evaluation_keys(poor, "relin", relin)) == "quota"
        assert list((site.folder / "objects").iterdir()) == []
        for _ in range(2):
            registry.put_evaluation_keys(rich, "relin", relin)
        assert len(relin) < registry.tenant_of(rich.tenant)["bytes"] <= len(relin) + 4096

    on_site(tmp_path / "data", what)


def test_a_result_beyond_the_quota_fails_by_name(tmp_path: Path) -> None:
    async def what(site: Site) -> None:
        fleet = site.fleet("full")
        await site.send(fleet, site.device(fleet, 1).encrypt([1.0]))
        job = site.add(fleet)
        with site.gateway.database.writing() as database:
            database.execute("UPDATE tenants SET most_bytes = bytes + 4096")
        shown = site.work(fleet, job)
        assert shown["state"] == "failed" and "no room for the result" in shown["error"]
        with site.gateway.database.writing() as database:
            database.execute("UPDATE tenants SET most_bytes = bytes + 1000000")
        site.gateway.jobs.change(fleet, job, "retry")
        assert site.work(fleet, job)["state"] == "done"
        site.bytes()

    on_site(tmp_path / "data", what)


def test_what_is_deleted_is_free_again(tmp_path: Path) -> None:
    async def what(site: Site) -> None:
        fleet = site.fleet("deleting")
        await site.send(fleet, site.device(fleet, 1).encrypt([1.0]))
        before = site.gateway.registry.tenant_of(site.tenant)["bytes"]
        jobs = [site.gateway.jobs.add(fleet, JobRequest(spec={"per_device": 1 + n})) for n in range(3)]
        add_stream(site, fleet, "stream", {"per_device": 99})
        for job in jobs:
            assert site.work(fleet, job)["state"] == "done"
            site.gateway.jobs.delete(fleet.id, job)
            assert refusal_of(lambda job=job: site.gateway.jobs.shown(fleet.id, job)) == "no-such-job"
        site.gateway.jobs.end_stream(fleet.id, "stream")
        assert site.gateway.registry.tenant_of(site.tenant)["bytes"] > before + 1000
        await site.sweep(0)
        assert site.gateway.database.connection.execute("SELECT count(*) FROM specs").fetchone()[0] == 0
        await site.sweep(1)
        assert list((site.folder / "objects").iterdir()) == []
        assert site.gateway.registry.tenant_of(site.tenant)["bytes"] == before
        site.bytes()

    on_site(tmp_path / "data", what)
