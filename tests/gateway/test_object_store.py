# SPDX-License-Identifier: Apache-2.0
"""A gateway whose bytes are in an object store: rounds in flight, a store that goes away, orphans, and
backups that have no copies.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import closing
from pathlib import Path

import numpy as np
import obstore
import obstore.store
import pytest
from ciphermote.base.errors import KeyFileError, ParameterError
from ciphermote.cli import app
from ciphermote.compact.keys import CompactKeys
from ciphermote.compact.sets import COMPACT_SETS
from ciphermote.compact.sums import CompactResult, decrypt_sum
from ciphermote.formats.receipts import Verdict
from ciphermote.gateway.backup import back_up, restore
from ciphermote.gateway.database.sqlite import connect
from ciphermote.gateway.fleets import Fleet
from ciphermote.gateway.intake import Outcome
from ciphermote.gateway.refusals import Refusal
from ciphermote.gateway.store.extents import parse_extents
from ciphermote.gateway.verifying import verify
from ciphermote.rest.requests import Enrolment, TenantRequest
from gateway_support import (
    FullDevice,
    PacketDevice,
    accepted,
    define_full,
    device_token,
    enrolment,
    frames_of,
    full_owner,
    refused,
    run_job,
    serving,
)
from site_support import Site, on_site
from store_support import S3, Door, door, s3, servers
from typer.testing import CliRunner

__all__ = ["door", "s3", "servers"]

DAYS = 30


async def round_of(site: Site, fleet: Fleet, *deliveries: bytes) -> list[Outcome]:
    return await asyncio.gather(*(site.send(fleet, data) for data in deliveries))


def places_of(site: Site) -> list[str]:
    """The places of all stored windows."""
    rows = site.gateway.database.connection.execute("SELECT extents FROM windows WHERE extents != ''")
    return sorted({extent.place for (text,) in rows for extent in parse_extents(text)})


def counted(site: Site) -> int:
    return int(site.gateway.database.connection.execute("SELECT count(*) FROM windows").fetchone()[0])


def test_fleets_share_no_object_and_no_name_tells_a_device(tmp_path: Path, s3: S3) -> None:
    url = s3.new_url()

    async def what(site: Site) -> None:
        other = site.gateway.registry.add_tenant(TenantRequest(name="other"))
        fleets = [site.fleet("one"), site.fleet("two"), site.fleet("one", tenant=other)]
        devices = [site.device(fleet, 4711) for fleet in fleets]
        for value in range(3):
            sent = [site.send(f, d.encrypt([float(value)])) for f, d in zip(fleets, devices, strict=True)]
            assert all(outcome.verdict is Verdict.COUNTS for outcome in await asyncio.gather(*sent))
        names = s3.names(url, "rounds/")
        today = time.strftime("%Y%m%d", time.gmtime())
        begins = {f"rounds/{fleet.tenant}/{fleet.id}/{today}" for fleet in fleets}
        assert {name.rpartition("/")[0] for name in names} == begins and len(names) >= 3
        assert names == [f"rounds/{place}" for place in places_of(site)]
        assert not any(site.folder.joinpath("segments").glob("*"))
        for fleet in fleets:
            job = site.add(fleet)
            assert site.work(fleet, job)["state"] == "done"
            result = full_owner().decrypt(site.gateway.jobs.result(fleet.id, job, 0))
            np.testing.assert_allclose(result[:1], [3.0], atol=0.1)
        assert len(s3.names(url, "objects/")) > 1 and list(verify(site.folder)) == []

    on_site(tmp_path / "data", what, url)


def test_jobs_of_both_lanes_read_windows_of_many_rounds(tmp_path: Path, s3: S3) -> None:
    async def what(site: Site) -> None:
        fleet = site.fleet("full")
        devices = [site.device(fleet, number) for number in (1, 2)]
        for value in range(4):
            await round_of(site, fleet, *(d.encrypt([value + d.number]) for d in devices))
        for frame in frames_of(devices[0].encrypt([10.0])):
            await site.send(fleet, frame)
        job = site.add(fleet)
        shown = site.work(fleet, job)
        assert (shown["state"], shown["result"]["windows"]) == ("done", 9), shown
        found = full_owner().decrypt(site.gateway.jobs.result(fleet.id, job, 0))
        np.testing.assert_allclose(found[:1], [34.0], atol=0.3)

        keys = CompactKeys.generate(COMPACT_SETS[0])
        fields = {"lane": "compact", "set": keys.set.name, "key_id": f"{keys.key_id:016x}"}
        fleet = site.define("compact", {**fields, "positions": [[0, 3]]})
        for number in (1, 2, 3):
            device = PacketDevice(keys, number)
            keys, entry = device.keys, device.enrolment
            body = enrolment(device.tag_keys, keys.key_id, entry.epoch, entry.largest_value)
            site.gateway.registry.enroll(fleet, number, Enrolment(**body))
            for packet in device.encrypt([number, 0, 1]):
                await site.send(fleet, packet)
        spec = {"kind": "weighted-sum", "weights": {"1": 1.0, "2": 0.0, "3": 1.0}}
        job = site.add(fleet, spec)
        assert site.work(fleet, job)["state"] == "done"
        total = decrypt_sum(keys, CompactResult.from_bytes(site.gateway.jobs.result(fleet.id, job, 0)))
        assert list(total.values) == [4, 0, 2]

    on_site(tmp_path / "data", what, s3.new_url())


@pytest.mark.parametrize("how", ["flipped", "shorter", "missing"])
def test_damage_in_the_store_is_found_and_named(tmp_path: Path, s3: S3, how: str) -> None:
    url = s3.new_url()

    async def what(site: Site) -> None:
        fleet = site.fleet("damaged")
        for number in (1, 2):
            await site.send(fleet, site.device(fleet, number).encrypt([1.0]))
        bucket = obstore.store.from_url(url)
        (text,) = site.gateway.database.connection.execute(
            "SELECT extents FROM windows w JOIN devices d ON d.id = w.device WHERE d.number = 2"
        ).fetchone()
        (extent,) = parse_extents(text)
        name = f"rounds/{extent.place}"
        content = bytearray(bytes(obstore.get(bucket, name).bytes()))
        content[extent.offset + 500] ^= 1
        if how == "missing":
            obstore.delete(bucket, name)
        else:
            obstore.put(bucket, name, bytes(content if how == "flipped" else content[: extent.offset + 400]))
        (damage,) = verify(site.folder)
        assert damage.kind == "window" and "window 0 of device 2, epoch 1" in damage.sentence
        shown = site.work(fleet, site.add(fleet))
        assert shown["state"] == "failed" and "window 0 of device 2" in shown["error"], shown
        assert site.work(fleet, site.add(fleet, {"leave_out_damaged": True}))["result"]["windows"] == 1

    on_site(tmp_path / "data", what, url)


# --- rounds in flight ---------------------------------------------------------------------------------------


async def in_flight(site: Site, least: int) -> None:
    for _ in range(500):
        if len(site.gateway.intake._in_flight) >= least:
            return
        await asyncio.sleep(0.01)
    raise AssertionError("rounds wait for each other")


def test_rounds_are_judged_while_others_are_stored(tmp_path: Path, s3: S3, door: Door) -> None:
    """Repeats, parts and windows of one device in several rounds at once: each counts once, and no answer
    leaves before its bytes are stored."""

    async def what(site: Site) -> None:
        fleet = site.fleet("flight")
        device = site.device(fleet, 1)
        first, second, third = (device.encrypt([float(value)]) for value in range(3))
        parts = frames_of(third)
        await site.send(fleet, site.device(fleet, 2).encrypt([0.0]))
        door.hold()
        sent: list[asyncio.Task[Outcome]] = []
        for number, data in enumerate((first, first, second, *parts, first), 1):
            sent.append(asyncio.create_task(site.send(fleet, data)))
            await in_flight(site, number)
        assert not any(task.done() for task in sent) and counted(site) == 1
        door.release()
        outcomes = await asyncio.gather(*sent)
        assert outcomes[0].receipt == outcomes[1].receipt == outcomes[-1].receipt is not None
        assert outcomes[2].verdict is outcomes[-2].verdict is Verdict.COUNTS
        assert len(parts) > 1 and all(outcome.receipt is None for outcome in outcomes[3:-2])
        assert counted(site) == 4 and list(verify(site.folder)) == []
        assert len(device_rows(site)) == 4

    on_site(tmp_path / "data", what, s3.new_url())


def device_rows(site: Site) -> list[tuple[int, int]]:
    rows = site.gateway.database.connection.execute("SELECT device, number FROM windows")
    return sorted(tuple(row) for row in rows)


def test_a_store_that_goes_away_counts_nothing(tmp_path: Path, s3: S3, door: Door) -> None:
    """Every round in flight is refused, also one that a later round has built on; later all count."""

    async def what(site: Site) -> None:
        fleet = site.fleet("away")
        device = site.device(fleet, 1)
        sent = [device.encrypt([float(value)]) for value in range(3)]
        parts = frames_of(sent[2])
        deliveries = [*sent[:2], sent[0], *parts]
        door.hold()
        tasks = []
        for number, data in enumerate(deliveries, 1):
            tasks.append(asyncio.create_task(site.send(fleet, data)))
            await in_flight(site, number)
        door.shut()
        for task in tasks:
            with pytest.raises(Refusal) as found:
                await task
            assert (found.value.status, found.value.name) == (503, "storage")
        database = site.gateway.database.connection
        for table in ("windows", "attempts", "place_bytes"):
            assert database.execute(f"SELECT count(*) FROM {table}").fetchone()[0] == 0
        assert site.bytes() == 0 and "object store" in (site.gateway.ready() or "")
        with pytest.raises(Refusal):
            await site.send(fleet, sent[0])
        door.reopen()
        outcomes = [await site.send(fleet, data) for data in deliveries]
        assert outcomes[0].receipt == outcomes[2].receipt and outcomes[-1].verdict is Verdict.COUNTS
        assert counted(site) == 3 and site.gateway.ready() is None
        shown = site.work(fleet, job := site.add(fleet))
        assert shown["state"] == "done", shown
        result = full_owner().decrypt(site.gateway.jobs.result(fleet.id, job, 0))
        np.testing.assert_allclose(result[:1], [3.0], atol=0.1)

    on_site(tmp_path / "data", what, s3.new_url())


def test_a_state_is_not_read_behind_a_round_in_flight(tmp_path: Path, s3: S3, door: Door) -> None:
    """A device that was forgotten meanwhile: its window counts once all the same."""

    async def what(site: Site) -> None:
        fleet = site.fleet("behind")
        device = site.device(fleet, 1)
        data = device.encrypt([1.0])
        door.hold()
        first = asyncio.create_task(site.send(fleet, data))
        await in_flight(site, 1)
        site.gateway.intake.forget(fleet.id, 1)
        again = [
            asyncio.create_task(site.send(fleet, each)) for each in (data, device.encrypt([2.0], window=0))
        ]
        await asyncio.sleep(0.2)
        door.release()
        outcomes = await asyncio.gather(first, *again)
        assert outcomes[0].receipt == outcomes[1].receipt and outcomes[2].verdict is Verdict.SURPLUS
        assert counted(site) == 1

    on_site(tmp_path / "data", what, s3.new_url())


# --- what goes, and what stays ------------------------------------------------------------------------------


def test_orphans_go_once_they_are_old(tmp_path: Path, s3: S3) -> None:
    url = s3.new_url()

    async def what(site: Site) -> None:
        fleet = site.fleet("kept")
        await site.send(fleet, site.device(fleet, 1).encrypt([1.0]))
        kept = s3.names(url, "rounds/")
        bucket = obstore.store.from_url(url)
        orphan = f"rounds/{fleet.tenant}/{fleet.id}/20260101/AAAAAAAAAAAAAAAA"
        obstore.put(bucket, orphan, b"a round that was never committed")
        await site.sweep(0)
        assert s3.names(url, "rounds/") == sorted([*kept, orphan])
        await site.sweep(1)
        assert s3.names(url, "rounds/") == kept and list(verify(site.folder)) == []

    on_site(tmp_path / "data", what, url)


def test_old_windows_go_from_the_store(tmp_path: Path, s3: S3) -> None:
    url = s3.new_url()

    async def what(site: Site) -> None:
        short, ever = site.fleet("short", DAYS), site.fleet("ever")
        for fleet in (short, ever):
            device = site.device(fleet, 1)
            for _ in range(2):
                data = device.encrypt([1.0])
                receipt = (await site.send(fleet, data)).receipt
        assert len(s3.names(url, "rounds/")) == 4
        job = site.add(short)
        assert site.work(short, job)["state"] == "done"
        await site.sweep(DAYS - 1)
        assert len(s3.names(url, "rounds/")) == 4
        await site.sweep(DAYS + 1)
        assert s3.names(url, "rounds/") == [f"rounds/{place}" for place in places_of(site)]
        assert all(site.deleted(short)) and not any(site.deleted(ever))
        assert site.bytes() == sum(found.size for found in site.gateway.store.places())
        assert s3.names(url, "objects/") == [], "the results went too"
        assert (await site.send(ever, data)).receipt == receipt

    on_site(tmp_path / "data", what, url)


def test_a_backup_is_restored_to_before_a_collection(tmp_path: Path, s3: S3) -> None:
    """What two backups name stays until the later one is forgotten, whatever was restored in between."""
    url = s3.new_url()
    data, secrets = tmp_path / "data", tmp_path / "secrets"
    targets = tmp_path / "monday", tmp_path / "tuesday"

    async def before(site: Site) -> None:
        fleet = site.fleet("kept", DAYS)
        device = site.device(fleet, 1)
        await site.send(fleet, device.encrypt([1.0]))
        assert site.work(fleet, site.add(fleet))["state"] == "done"
        back_up(data, targets[0], secrets)
        await site.send(fleet, device.encrypt([2.0]))
        back_up(data, targets[1], secrets)
        names = s3.names(url)
        await site.sweep(DAYS + 1)
        assert all(site.deleted(fleet)) and s3.names(url) == names
        back_up(data, targets[1], secrets)  # in its place: it names no window
        await site.sweep(DAYS + 1)
        assert len(s3.names(url, "rounds/")) == 1 and len(s3.names(url, "backups/")) == 2

    on_site(data, before, url)
    restore(targets[0], secrets, tmp_path / "restored")

    async def after(site: Site) -> None:
        assert list(verify(site.folder)) == []
        fleet = site.gateway.registry.fleet(site.tenant, "kept")
        shown = site.work(fleet, job := site.add(fleet))
        assert (shown["state"], shown["result"]["windows"]) == ("done", 1)
        result = full_owner().decrypt(site.gateway.jobs.result(fleet.id, job, 0))
        np.testing.assert_allclose(result[:1], [1.0], atol=0.1)

        def run(*words: str) -> str:
            done = CliRunner().invoke(app, ["gateway", *words, "--data", str(site.folder)])
            assert done.exit_code == 0, done.output
            return done.output

        kept = [line.split()[0] for line in run("backups").splitlines()]
        assert len(kept) == 2 and (targets[0] / "backup.name").read_text().strip() == kept[0]
        await site.sweep(DAYS + 1)
        assert len(s3.names(url, "rounds/")) == 1
        run("forget", kept[0])
        await site.sweep(DAYS + 1)
        assert s3.names(url, "rounds/") == [] and s3.names(url, "backups/") == [f"backups/{kept[1]}"]

    on_site(tmp_path / "restored", after)


def test_nothing_goes_while_a_backup_is_unfinished(tmp_path: Path, s3: S3) -> None:
    url = s3.new_url()

    async def what(site: Site) -> None:
        fleet = site.fleet("kept", DAYS)
        await site.send(fleet, site.device(fleet, 1).encrypt([1.0]))
        obstore.put(obstore.store.from_url(url), "backups/20260101T000000Z-00000000", b"")
        names = s3.names(url)
        await site.sweep(DAYS + 1)
        assert s3.names(url) == names
        shown = CliRunner().invoke(app, ["gateway", "backups", "--data", str(site.folder)])
        assert shown.exit_code == 0 and "unfinished" in shown.output

    on_site(tmp_path / "data", what, url)


# --- how it is named ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "url",
    [
        *("s3://key:secret@bucket/x", "s3://key:secret/x", "s3://bucket/x?sig=secret", "az://a/c#secret"),
        *("gs://", "http://bucket/x", "bucket"),
    ],
)
def test_a_url_with_anything_but_a_place_is_refused_and_not_shown(tmp_path: Path, url: str) -> None:
    done = CliRunner().invoke(app, ["serve", "--data", str(tmp_path / "data"), "--store", url])
    assert done.exit_code != 0 and "secret" not in f"{done.output}{done.exception}", done.output
    with pytest.raises(ParameterError):
        Site(tmp_path / "other", url)


def test_bytes_stay_where_they_are(tmp_path: Path, s3: S3) -> None:
    """A gateway takes no other store than it has, and no store that another gateway has."""
    url = s3.new_url()

    async def nothing(site: Site) -> None:
        assert site.gateway.ready() is None

    async def one_window(site: Site) -> None:
        fleet = site.fleet("fleet")
        await site.send(fleet, site.device(fleet, 1).encrypt([1.0]))

    on_site(tmp_path / "first", nothing, url)
    on_site(tmp_path / "first", nothing, url)
    on_site(tmp_path / "first", nothing)
    with pytest.raises(KeyFileError, match="another gateway's bytes"):
        Site(tmp_path / "second", url)
    on_site(tmp_path / "second", one_window)
    for folder, other in (("second", s3.new_url()), ("first", s3.new_url())):
        with pytest.raises(KeyFileError, match=r"bytes are in .*, (and )?not in"):
            Site(tmp_path / folder, other)
    with pytest.raises(KeyFileError, match="cannot be used"):
        Site(tmp_path / "third", "s3://no-such-bucket/x")
    on_site(tmp_path / "third", nothing)


def test_a_whole_gateway_with_a_store(tmp_path: Path, s3: S3, door: Door) -> None:
    """Processes, HTTPS, credentials from a file; and the sentence of a store that is away."""
    url = s3.new_url()
    credentials = tmp_path / "credentials"
    key, secret = s3.environment["AWS_ACCESS_KEY_ID"], s3.environment["AWS_SECRET_ACCESS_KEY"]
    credentials.write_text(f"[default]\naws_access_key_id = {key}\naws_secret_access_key = {secret}\n")
    environment = {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{door.port}",
        "AWS_SHARED_CREDENTIALS_FILE": str(credentials),
    }
    with pytest.MonkeyPatch.context() as patch:
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            patch.delenv(name)
        with serving(tmp_path / "data", "--store", url, **environment) as server:
            owner = server.owner()
            define_full(owner, "fleet", full_owner())
            device = FullDevice(full_owner(), 1).enroll(owner, "fleet")
            client = server.client(device_token(owner, "fleet", 1))
            for value in range(3):
                data = device.encrypt([float(value)])
                accepted(client.post("/v1/fleets/fleet/deliveries", content=data))
            shown, parts = run_job(owner, "fleet", {"kind": "sum", "per_device": 10})
            assert shown["state"] == "done", shown
            np.testing.assert_allclose(full_owner().decrypt(parts[0])[:1], [3.0], atol=0.1)
            door.shut()
            data = device.encrypt([4.0])
            refused(client.post("/v1/fleets/fleet/deliveries", content=data), 503, "storage")
            assert server.client().get("/readyz").status_code == 503
            door.reopen()
            accepted(client.post("/v1/fleets/fleet/deliveries", content=data))
            assert secret not in server.log()
        with closing(connect(tmp_path / "data" / "gateway.db")) as database:
            assert database.execute("SELECT count(*) FROM windows").fetchone()[0] == 4
    assert list(verify(tmp_path / "data")) == []
