# SPDX-License-Identifier: Apache-2.0
"""Two gateways on one database judge as one would: a device may send to either, in any order and at once."""

from __future__ import annotations

import asyncio
import itertools
import shutil
import threading
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ciphermote.base.errors import KeyFileError
from ciphermote.formats.receipts import Verdict
from ciphermote.gateway import intake
from ciphermote.gateway.audit import Actor
from ciphermote.gateway.gateway import Gateway
from ciphermote.gateway.intake import Outcome
from ciphermote.gateway.quotas import WINDOW_ROW_BYTES
from ciphermote.gateway.refusals import Refusal
from ciphermote.gateway.verifying import verify
from ciphermote.parameters.files import parameters_to_dict
from ciphermote.rest.operator import QuotaChange
from ciphermote.rest.requests import Enrolment
from gateway_support import LOG2_SCALE, FullDevice, enrolment, frames_of, full_owner
from postgres_support import database_url, share_database
from site_support import Site, refusal_of, settings_of
from store_support import Servers, servers

__all__ = ["servers"]

pytestmark = pytest.mark.postgres
LOCAL = Actor("local", "local")


What = Callable[[Site, Site], Awaitable[None]]
OnTwo = Callable[[What], None]


@pytest.fixture
def on_two(tmp_path: Path, servers: Servers, monkeypatch: pytest.MonkeyPatch) -> OnTwo:
    """Runs a test on two gateways with one database and one object store."""
    store = servers("moto", monkeypatch).new_url()

    def on(what: What) -> None:
        async def run() -> None:
            one = Site(tmp_path / "one", store)
            share_database(tmp_path / "two", tmp_path / "one")
            (tmp_path / "two").mkdir()
            shutil.copy(tmp_path / "one" / "wrap.key", tmp_path / "two")
            two = Site(tmp_path / "two", store)
            try:
                await what(one, two)
            finally:
                await one.gateway.close()
                await two.gateway.close()

        asyncio.run(run())

    return on


async def sent(site: Site, data: bytes, name: str = "fleet") -> Outcome | Refusal:
    fleet = site.gateway.registry.fleet(site.tenant, name)
    try:
        return await site.send(fleet, data)
    except Refusal as refusal:
        return refusal


async def refused(site: Site, data: bytes) -> str:
    found = await sent(site, data)
    assert isinstance(found, Refusal)
    return found.name


def verdict(found: Outcome | Refusal) -> Verdict | None:
    assert isinstance(found, Outcome), found
    return found.verdict


def in_between(site: Site, monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """Act once, between the judgement of a round and its commit."""
    append = site.gateway.store.append
    acts = [act]

    def appended(*round_: Any) -> Any:
        if acts:
            acts.pop()()
        return append(*round_)

    monkeypatch.setattr(site.gateway.store, "append", appended)


def test_windows_and_repeats_go_to_either(on_two: OnTwo) -> None:
    async def what(one: Site, two: Site) -> None:
        device = one.device(one.fleet("fleet"), 1)
        for here, there in ((one, two), (two, one), (one, two)):
            data = device.encrypt([1.0])
            first = await sent(here, data)
            assert verdict(first) is Verdict.COUNTS
            assert await sent(there, data) == first and await sent(here, data) == first
        (row,) = two.gateway.registry.devices(two.gateway.registry.fleet(two.tenant, "fleet"))
        assert row["windows"] == 3

    on_two(what)


def test_the_frames_of_an_attempt_may_take_different_ways(on_two: OnTwo) -> None:
    async def what(one: Site, two: Site) -> None:
        device = one.device(one.fleet("fleet"), 1)
        for ways in ((one, two), (two, one)):
            first, *rest = frames_of(device.encrypt([1.0]))
            assert verdict(await sent(ways[0], first)) is None
            assert verdict(await sent(ways[1], b"".join(rest))) is Verdict.COUNTS

    on_two(what)


def test_a_window_that_is_sent_to_both_at_once_counts_once(on_two: OnTwo) -> None:
    async def what(one: Site, two: Site) -> None:
        fleet = one.fleet("fleet")
        device = one.device(fleet, 1)
        for window in range(20):
            attempts = [device.encrypt([1.0], window) for _ in range(2)]
            found = await asyncio.gather(
                *(sent(site, data) for site, data in itertools.product((one, two), attempts))
            )
            verdicts = Counter(verdict(each) for each in found)
            assert verdicts == {Verdict.COUNTS: 2, Verdict.SURPLUS: 2}
            assert found[0] == found[2] and found[1] == found[3]
        assert one.gateway.registry.progress(fleet)["windows"] == 20
        sequences = [row["sequence"] for row in one.gateway.registry.windows(fleet)]
        assert len(sequences) == 20

    on_two(what)


def test_a_window_that_the_other_one_stores_meanwhile_counts_once(
    on_two: OnTwo, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def what(one: Site, two: Site) -> None:
        device = one.device(one.fleet("fleet"), 1)
        assert verdict(await sent(two, device.encrypt([1.0], 0))) is Verdict.COUNTS
        first, second = (device.encrypt([1.0], 1) for _ in range(2))
        loop = asyncio.get_running_loop()
        overtake: list[Any] = []

        def act() -> None:
            overtake.append(asyncio.run_coroutine_threadsafe(sent(one, first), loop).result(20))

        in_between(two, monkeypatch, act)
        assert verdict(await sent(two, second)) is Verdict.SURPLUS
        assert verdict(overtake[0]) is Verdict.COUNTS

    on_two(what)


def test_what_was_judged_by_a_round_that_the_other_one_overtook_is_judged_again(
    on_two: OnTwo, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rounds in flight after it, too."""

    async def what(one: Site, two: Site) -> None:
        device = one.device(one.fleet("fleet"), 1)
        assert verdict(await sent(two, device.encrypt([1.0], 0))) is Verdict.COUNTS
        first, second = (device.encrypt([1.0], 1) for _ in range(2))
        later = device.encrypt([1.0], 2)
        going_on = threading.Event()
        append = two.gateway.store.append

        def held(*round_: Any) -> Any:
            going_on.wait(20)
            return append(*round_)

        monkeypatch.setattr(two.gateway.store, "append", held)
        waiting = []
        for number, data in enumerate((second, second, later), 1):
            waiting.append(asyncio.ensure_future(sent(two, data)))
            while len(two.gateway.intake._in_flight) < number:
                await asyncio.sleep(0.01)
        assert verdict(await sent(one, first)) is Verdict.COUNTS
        going_on.set()
        verdicts = [verdict(found) for found in await asyncio.gather(*waiting)]
        assert verdicts == [Verdict.SURPLUS, Verdict.SURPLUS, Verdict.COUNTS]
        fleet = one.gateway.registry.fleet(one.tenant, "fleet")
        assert one.gateway.registry.progress(fleet)["windows"] == 3
        one.bytes()

    on_two(what)


def test_a_counter_that_comes_back_at_the_other_one_is_quarantined(on_two: OnTwo) -> None:
    async def what(one: Site, two: Site) -> None:
        device = one.device(one.fleet("fleet"), 1)
        data = device.encrypt([1.0], 0)
        assert verdict(await sent(one, data)) is Verdict.COUNTS
        device.boot(0)
        assert await refused(two, device.encrypt([2.0], 0)) == "mixed"
        assert len(one.gateway.operator.quarantined(0, 10).items) == 1

    on_two(what)


def test_no_more_is_held_for_the_operator_than_one_gateway_would_hold(on_two: OnTwo) -> None:
    async def what(one: Site, two: Site) -> None:
        device = one.device(one.fleet("fleet"), 1)
        jumps = []
        for number in range(2 * intake.MOST_QUARANTINED):
            device.boot((1 << 40) + 1000 * number)
            jumps.append(device.encrypt([1.0]))
        sites = itertools.cycle((one, two))
        found = await asyncio.gather(*(sent(next(sites), data) for data in jumps))
        assert {each.name for each in found if isinstance(each, Refusal)} == {"held"}
        assert len(one.gateway.operator.quarantined(0, 100).items) == intake.MOST_QUARANTINED

    on_two(what)


def test_a_quota_of_bytes_holds_for_both_together(on_two: OnTwo) -> None:
    async def what(one: Site, two: Site) -> None:
        fleet = one.fleet("fleet")
        devices = [one.device(fleet, number) for number in range(12)]
        bodies = [device.encrypt([1.0]) for device in devices]
        before = one.gateway.registry.tenant_of(one.tenant)["bytes"]
        most = before + 5 * (len(bodies[0]) + WINDOW_ROW_BYTES)
        one.gateway.operator.change_quotas(LOCAL, "home", QuotaChange(bytes=most))
        sites = itertools.cycle((one, two))
        found = await asyncio.gather(*(sent(next(sites), data) for data in bodies))
        assert Counter(isinstance(each, Refusal) for each in found) == {False: 5, True: 7}
        assert one.gateway.registry.tenant_of(one.tenant)["bytes"] == most

    on_two(what)


def test_a_quota_that_the_other_one_uses_up_meanwhile_holds(
    on_two: OnTwo, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def what(one: Site, two: Site) -> None:
        fleet = one.fleet("fleet")
        data = one.device(fleet, 1).encrypt([1.0])

        def act() -> None:
            used = one.gateway.registry.tenant_of(one.tenant)["bytes"]
            one.gateway.operator.change_quotas(LOCAL, "home", QuotaChange(bytes=used + 10))

        in_between(two, monkeypatch, act)
        assert await refused(two, data) == "quota"

    on_two(what)


def test_a_device_has_its_windows_of_an_hour_once(on_two: OnTwo) -> None:
    async def what(one: Site, two: Site) -> None:
        keys = full_owner()
        fields = {"parameters": parameters_to_dict(keys.parameters), "key_id": f"{keys.key_id:016x}"}
        hourly = {"lane": "full", "log2_scale": LOG2_SCALE, "windows_per_hour": 1, **fields}
        device = one.device(one.define("fleet", hourly), 1)
        sites = itertools.cycle((one, two))
        found = [await sent(next(sites), device.encrypt([1.0])) for _ in range(64)]
        names = Counter(each.name if isinstance(each, Refusal) else "taken" for each in found)
        assert names == {"taken": 60, "too-many-windows": 4}

    on_two(what)


@pytest.mark.parametrize("meanwhile", [False, True])
@pytest.mark.parametrize(
    ("change", "name"),
    [("revoked", "device-stopped"), ("enrolled", "foreign-epoch"), ("deleted", "unknown-device")],
)
def test_a_change_at_one_is_known_to_the_other(
    on_two: OnTwo, monkeypatch: pytest.MonkeyPatch, change: str, name: str, *, meanwhile: bool
) -> None:
    """At once, even while a round is being stored."""

    async def what(one: Site, two: Site) -> None:
        fleet = one.fleet("fleet")
        device = one.device(fleet, 1)
        known = device.encrypt([1.0])
        assert verdict(await sent(two, known)) is Verdict.COUNTS
        data = device.encrypt([1.0])

        def act() -> None:
            if change == "revoked":
                one.gateway.registry.set_state(fleet, 1, "revoked")
            elif change == "enrolled":
                again = FullDevice(full_owner(), 1, 2)
                body = enrolment(again.tag_keys, again.key_id, 2)
                one.gateway.registry.enroll(fleet, 1, Enrolment(**body))
            else:
                one.gateway.operator.delete_fleet(LOCAL, "home", "fleet")

        if meanwhile:
            in_between(two, monkeypatch, act)
        else:
            act()
        assert await refused(two, data) == name and await refused(two, known) == name

    on_two(what)


def test_a_revoked_token_is_refused_by_the_other_one_within_five_seconds(on_two: OnTwo) -> None:
    async def what(one: Site, two: Site) -> None:
        access = one.gateway.access
        token = access.make("owner", tenant=one.tenant)
        assert two.gateway.access.of_token(token).tenant == one.tenant
        access.revoke(token.split("_")[1], None)
        assert refusal_of(lambda: access.of_token(token)) == "unknown-token"
        await asyncio.sleep(4.5)
        assert refusal_of(lambda: two.gateway.access.of_token(token)) == "unknown-token"

    on_two(what)


def test_either_computes_over_what_both_stored_and_both_delete_it_once(on_two: OnTwo) -> None:
    async def what(one: Site, two: Site) -> None:
        fleet = one.fleet("fleet", 30)
        device = one.device(fleet, 1)
        for site, value in ((one, 1.0), (two, 2.0)):
            assert verdict(await sent(site, device.encrypt([value]))) is Verdict.COUNTS
        job = one.add(fleet)
        assert two.work(fleet, job)["state"] == "done"
        result = full_owner().decrypt(one.gateway.jobs.result(fleet.id, job, 0))
        np.testing.assert_allclose(result[:1], [3.0], atol=0.1)
        assert list(verify(two.folder, database_url(two.folder))) == []
        assert two.bytes() > 0
        await asyncio.gather(one.sweep(31), two.sweep(31))
        assert all(one.deleted(fleet)) and two.bytes() == 0

    on_two(what)


def refused_start(folder: Path, store: str | None) -> str:
    with pytest.raises(KeyFileError) as error:
        Gateway(settings_of(folder, store=store))
    return str(error.value)


def test_a_second_gateway_without_an_object_store_is_refused(
    tmp_path: Path, servers: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def run() -> None:
        one = Site(tmp_path / "one")
        share_database(tmp_path / "two", tmp_path / "one")
        (tmp_path / "two").mkdir()
        shutil.copy(tmp_path / "one" / "wrap.key", tmp_path / "two")
        assert "in another directory" in refused_start(tmp_path / "two", None)
        url = servers("moto", monkeypatch).new_url()
        assert "start it without --store" in refused_start(tmp_path / "two", url)
        await one.gateway.close()
        again = Site(tmp_path / "one")
        await again.gateway.close()

    asyncio.run(run())


def test_a_gateway_with_another_wrapping_key_is_refused(on_two: OnTwo, tmp_path: Path) -> None:
    async def what(one: Site, two: Site) -> None:
        store = one.gateway.settings.store
        share_database(tmp_path / "three", tmp_path / "one")
        assert "copy it from another gateway" in refused_start(tmp_path / "three", store)
        assert not (tmp_path / "three" / "wrap.key").exists()
        (tmp_path / "three" / "wrap.key").write_bytes(bytes(32))
        (tmp_path / "three" / "wrap.key").chmod(0o600)
        assert "not the wrapping key of this database" in refused_start(tmp_path / "three", store)

    on_two(what)
