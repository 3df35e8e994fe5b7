# SPDX-License-Identifier: Apache-2.0
"""Disks that flip a bit: nothing is computed from damaged bytes, it is known whose they are, and a gateway
that cannot rely on its database does not say that it is ready.
"""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path

import httpx
import numpy as np
import pytest
from ciphermote.base.errors import KeyFileError
from ciphermote.cli import app
from ciphermote.compact.keys import CompactKeys
from ciphermote.compact.sets import COMPACT_SETS
from ciphermote.compact.sums import CompactResult, decrypt_sum
from ciphermote.gateway.api import Deliveries, application
from ciphermote.gateway.database.interface import fault_of
from ciphermote.gateway.fleets import Fleet
from ciphermote.gateway.gateway import Gateway
from ciphermote.gateway.refusals import Refusal
from ciphermote.gateway.settings import Settings
from ciphermote.gateway.store.extents import Extent
from ciphermote.gateway.verifying import verify
from ciphermote.rest.requests import Enrolment
from gateway_support import (
    PacketDevice,
    enrolment,
    full_owner,
    refused,
)
from site_support import Site, on_site
from typer.testing import CliRunner


def flip(path: Path, offset: int) -> None:
    """One bit."""
    with path.open("r+b") as file:
        file.seek(offset)
        byte = file.read(1)[0]
        file.seek(offset)
        file.write(bytes([byte ^ 1]))


def flip_window(site: Site, device: int, at: int) -> None:
    """A bit of a device's first window, that many bytes after it begins."""
    (text,) = site.gateway.database.connection.execute(
        "SELECT extents FROM windows w JOIN devices d ON d.id = w.device WHERE d.number = ?", (device,)
    ).fetchone()
    extent = Extent.parse(text)
    flip(site.folder / "segments" / f"{int(extent.place):08d}.segment", extent.offset + at)


async def full_fleet(site: Site) -> Fleet:
    """A fleet of three devices, whose readings are their numbers."""
    fleet = site.fleet("full")
    for number in (1, 2, 3):
        await site.send(fleet, site.device(fleet, number).encrypt([float(number)]))
    return fleet


async def compact_fleet(site: Site) -> tuple[Fleet, CompactKeys]:
    keys = CompactKeys.generate(COMPACT_SETS[0])
    fields = {"lane": "compact", "set": keys.set.name, "key_id": f"{keys.key_id:016x}"}
    fleet = site.define("compact", {**fields, "positions": [[0, 3]]})
    for number in (1, 2, 3):
        device = PacketDevice(keys, number)
        keys, entry = device.keys, device.enrolment
        body = enrolment(device.tag_keys, keys.key_id, entry.epoch, entry.largest_value)
        site.gateway.registry.enroll(fleet, number, Enrolment(**body))
        for packet in device.encrypt([number, number, number]):
            await site.send(fleet, packet)
    return fleet, keys


@pytest.mark.parametrize("at", [70, 3000, -1])
def test_a_job_names_a_damaged_window_and_can_leave_it_out(tmp_path: Path, at: int) -> None:
    """A flipped bit in a header, in residues; and (-1) a segment that is not there."""

    async def what(site: Site) -> None:
        fleet = await full_fleet(site)
        if at < 0:
            for path in (site.folder / "segments").iterdir():
                path.unlink()
        else:
            flip_window(site, 2, at)
        shown = site.work(fleet, site.add(fleet))
        assert shown["state"] == "failed" and "window 0 of device 2, epoch 1" in shown["error"], shown
        job = site.add(fleet, {"leave_out_damaged": True})
        shown = site.work(fleet, job)
        sound = [[1, 1, 0], [3, 1, 0]] if at >= 0 else []
        assert shown["state"] == "done" and site.gateway.jobs.contributors(fleet.id, job) == sound
        assert shown["result"]["damaged"] == 3 - len(sound)
        assert site.gateway.jobs.left_out(fleet.id, job)["windows"] == 3 - len(sound)
        if sound:
            result = full_owner().decrypt(site.gateway.jobs.result(fleet.id, job, 0))
            np.testing.assert_allclose(result[:1], [4.0], atol=0.1)

    on_site(tmp_path / "data", what)


def test_a_flipped_bit_of_a_packet_makes_no_wrong_sum(tmp_path: Path) -> None:
    """Packets have no checksum: their tags are looked at once more."""

    async def what(site: Site) -> None:
        fleet, keys = await compact_fleet(site)
        flip_window(site, 2, 30)  # in the values
        shown = site.work(fleet, site.add(fleet))
        assert shown["state"] == "failed" and "window 0 of device 2, epoch 1" in shown["error"], shown
        job = site.add(fleet, {"leave_out_damaged": True})
        assert site.work(fleet, job)["result"]["damaged"] == 1
        found = decrypt_sum(keys, CompactResult.from_bytes(site.gateway.jobs.result(fleet.id, job, 0)))
        assert list(found.values) == [4, 4, 4]

    on_site(tmp_path / "data", what)


def test_verify_finds_each_kind_of_damage(tmp_path: Path) -> None:
    data = tmp_path / "data"

    async def what(site: Site) -> None:
        full, (compact, _) = await full_fleet(site), await compact_fleet(site)
        job = site.add(full)
        site.work_once()
        assert list(verify(data)) == []
        site.gateway.scrubber.run()
        assert damaged(site) == {"database": 0, "window": 0, "object": 0}
        flip_window(site, 2, 3000)
        for row in site.gateway.database.connection.execute(
            "SELECT w.extents FROM windows w JOIN devices d ON d.id = w.device "
            "WHERE d.fleet = ? AND d.number = 3",
            (compact.id,),
        ).fetchall():
            extent = Extent.parse(row["extents"])
            flip(data / "segments" / f"{int(extent.place):08d}.segment", extent.offset + 30)
        (digest,) = site.gateway.database.connection.execute(
            "SELECT digest FROM job_parts WHERE job = ?", (job,)
        ).fetchone()
        flip(data / "objects" / digest, 100)
        found = list(verify(data))
        assert [each.kind for each in found] == ["window", "window", "object"]
        assert "Fleet full, window 0 of device 2, epoch 1" in found[0].sentence
        assert "have changed since they were stored: restore them" in found[0].sentence
        assert "Fleet compact, window 0 of device 3, epoch 1" in found[1].sentence
        assert digest in found[2].sentence
        site.gateway.scrubber.run()
        assert damaged(site) == {"database": 0, "window": 2, "object": 1}
        assert site.gateway.ready() is None, "deliveries are taken all the same"

    on_site(data, what)
    done = CliRunner().invoke(app, ["gateway", "verify", "--data", str(data)])
    assert done.exit_code == 1 and "3 damaged" in done.stderr and "device 2" in done.stdout
    done = CliRunner().invoke(app, ["gateway", "verify", "--data", str(tmp_path)])
    assert done.exit_code == 1 and "name a gateway's directory" in done.stderr.replace("\n", " ")


def damaged(site: Site) -> dict[str, float]:
    """Return the metric of damage."""
    return {
        sample.labels["kind"]: sample.value
        for metric in site.gateway.metrics.registry.collect()
        if metric.name == "ciphermote_damaged"
        for sample in metric.samples
    }


def garble(path: Path, what: str) -> None:
    """All pages of a table of a database that nobody has open, but for the schema's."""
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        (page,) = database.execute("PRAGMA page_size").fetchone()
        (root,) = database.execute("SELECT rootpage FROM sqlite_schema WHERE name = ?", (what,)).fetchone()
    database.close()
    with path.open("r+b") as file:
        file.seek((root - 1) * page)
        file.write(b"\x5a" * page)


def api(site: Site) -> httpx.AsyncClient:
    """The API, with an owner's token, without a network."""
    token = site.gateway.access.make("owner", tenant=site.tenant)
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/octet-stream"}
    transport = httpx.ASGITransport(Deliveries(application(site.gateway)), raise_app_exceptions=False)
    return httpx.AsyncClient(transport=transport, base_url="https://gateway", headers=headers)


def test_a_garbled_page_ends_readiness(tmp_path: Path) -> None:
    """Requests are refused by name, and whoever asks whether it is ready is told, until it is restored."""
    data = tmp_path / "data"

    async def before(site: Site) -> None:
        await full_fleet(site)

    async def requests(site: Site) -> None:
        async with api(site) as client:
            assert (await client.get("/readyz")).status_code == 200, "nobody knows yet"
            refused(await client.get("/v1/fleets/full/windows"), 503, "damaged")
            ready = await client.get("/readyz")
            assert ready.status_code == 503 and "database is damaged" in ready.json()["reason"]

    async def scrub(site: Site) -> None:
        await asyncio.to_thread(site.gateway.scrubber.run)
        assert "database is damaged" in (site.gateway.ready() or "").lower()
        assert damaged(site)["database"] > 0

    async def delivery(site: Site) -> None:
        fleet = site.gateway.registry.fleet(site.tenant, "full")
        device = site.device(fleet, 9)
        with pytest.raises(Refusal) as error:
            await site.send(fleet, device.encrypt([1.0]))
        assert error.value.name == "damaged" and "database is damaged" in (site.gateway.ready() or "")

    on_site(data, before)
    garble(data / "gateway.db", "windows")
    for what in (requests, scrub, delivery):
        on_site(data, what)
    done = CliRunner().invoke(app, ["gateway", "verify", "--data", str(data)])
    assert done.exit_code == 1 and "database is damaged" in done.stdout


def test_verify_makes_no_wrapping_key(tmp_path: Path) -> None:
    """A new one would let a gateway start whose devices' tag keys nobody can open."""
    data = tmp_path / "data"

    async def what(site: Site) -> None:
        await full_fleet(site)

    on_site(data, what)
    (data / "wrap.key").unlink()
    with pytest.raises(KeyFileError, match=r"has no wrap\.key.* restore it together with its secrets"):
        list(verify(data))
    assert not (data / "wrap.key").exists()


@pytest.mark.parametrize("left", ["segments", "objects", "wrap.key", "owner.token"])
def test_a_lost_database_begins_no_new_gateway(tmp_path: Path, left: str) -> None:
    """Over old segments, with new tokens in the place of those that owners have."""
    data = tmp_path / "data"

    async def before(site: Site) -> None:
        fleet = await full_fleet(site)
        site.work(fleet, site.add(fleet))

    on_site(data, before)
    for path in list(data.iterdir()):
        if path.name != left:
            path.rename(tmp_path / path.name)
    content = {path: path.read_bytes() for path in data.rglob("*") if path.is_file()}
    with pytest.raises(KeyFileError, match=r"gateway\.db is missing, and .* restore a backup"):
        Gateway(Settings(data))
    assert content and {path: path.read_bytes() for path in content} == content
    (data / "gateway.db").touch()
    with pytest.raises(KeyFileError, match="is missing"):
        Gateway(Settings(data))


def test_an_error_that_is_not_of_damage_is_told_from_one_that_is(tmp_path: Path) -> None:
    garbled = tmp_path / "garbled.db"
    garbled.write_bytes(b"no database at all, and long enough" * 100)
    with pytest.raises(sqlite3.DatabaseError) as error:
        sqlite3.connect(garbled).execute("SELECT * FROM sqlite_schema")
    assert fault_of(error.value) == "damage"
    with pytest.raises(sqlite3.OperationalError) as other:
        sqlite3.connect(":memory:").execute("SELECT * FROM nothing")
    assert fault_of(other.value) == "other" and fault_of(OSError(5, "no")) is None
