# SPDX-License-Identifier: Apache-2.0
"""All data of a gateway move to PostgreSQL and an object store and back, and nothing of them is lost,
whatever stops the move."""

from __future__ import annotations

import asyncio
import random
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import numpy as np
import obstore
import obstore.store
import pytest
from ciphermote.base.errors import KeyFileError
from ciphermote.cli import app
from ciphermote.gateway.database import sqlite
from ciphermote.gateway.database.interface import ERRORS
from ciphermote.gateway.database.opening import open_database
from ciphermote.gateway.gateway import Gateway
from ciphermote.gateway.moving import comparing, copying
from ciphermote.gateway.moving.bulk import Table
from ciphermote.gateway.moving.comparing import Comparison
from ciphermote.gateway.store.extents import parse_extents
from ciphermote.gateway.store.object_store import ObjectStore
from ciphermote.gateway.verifying import verify
from gateway_support import (
    FullDevice,
    Server,
    define_full,
    device_token,
    frames_of,
    free_port,
    full_owner,
    run_job,
    serving,
)
from migrate_support import (
    SCHEMA,
    History,
    content,
    migrated,
    migrated_among_kills,
    over,
    populate,
    refused,
)
from postgres_support import database_url, new_database, postgres_server, share_database
from site_support import Site, settings_of
from store_support import S3, Servers, servers
from typer.testing import CliRunner

__all__ = ["servers"]

PAGE = (Path(__file__).parents[2] / "docs/operations.md").read_text()


@pytest.fixture
def s3(servers: Servers, monkeypatch: pytest.MonkeyPatch) -> S3:
    return servers("moto", monkeypatch)


def on(folder: Path, what: Callable[[Site], Awaitable[None]], store: str | None = None) -> None:
    async def run() -> None:
        site = Site(folder, store)
        try:
            await what(site)
        finally:
            await site.gateway.close()

    asyncio.run(run())


def populated(folder: Path) -> History:
    found: list[History] = []

    async def what(site: Site) -> None:
        found.append(await populate(site))

    on(folder, what)
    return found[0]


def postgres_url(folder: Path) -> str:
    """The database that belongs to a directory; an empty one at first."""
    with over("postgres"):
        url = database_url(folder)
    assert url is not None
    return url


async def goes_on(site: Site, history: History) -> None:
    """Everything that the gateway has promised is so, and it goes on."""
    gateway = site.gateway
    fleet = gateway.registry.fleet(site.tenant, "fleet")
    for data, receipt in history.receipts.items():
        assert (await site.send(fleet, data)).receipt == receipt
    for job, result in history.results.items():
        assert gateway.jobs.result(fleet.id, job, 0) == result
    (counter,) = gateway.database.connection.execute("SELECT min(counter) FROM results").fetchone()
    assert gateway.mailbox.get(fleet, 1, counter) == history.answer
    if history.open_frames:
        outcome = await site.send(fleet, b"".join(history.open_frames))
        assert outcome.receipt is not None
        history.open_frames.clear()
        history.sum += 5.0
        history.windows += 1
        shown = site.work(fleet, history.queued)
        assert shown["state"] == "done" and shown["result"]["windows"] == 6  # made while device 3 was out
    for device in history.devices:
        await history.send(site, device, 10.0)
    job = site.add(fleet, begins=history.begins)
    assert job > max(history.results)
    shown = site.work(fleet, job)
    assert (shown["state"], shown["result"]["windows"]) == ("done", history.windows), shown
    history.results[job] = gateway.jobs.result(fleet.id, job, 0)
    found = full_owner().decrypt(history.results[job])
    np.testing.assert_allclose(found[:1], [history.sum], atol=1.0)


def test_there_and_back_gives_the_same_rows_and_bytes(tmp_path: Path, s3: S3) -> None:
    one, two, store = tmp_path / "one", tmp_path / "two", s3.new_url()
    populated(one)
    before = content(one, None)
    url = postgres_url(one)
    tried = [table.name for table in SCHEMA.tables if table.name not in ("store", "replaced")]
    assert all(before[name] for name in tried), "every table is tried"
    migrated("--data", one, "--to", url, "--store", store)
    assert content(one, url) == before
    assert any(s3.names(store, "rounds/"))
    migrated("--data", one, "--database", url, "--to", two)
    assert content(two, None) == before
    assert (two / "wrap.key").read_bytes() == (one / "wrap.key").read_bytes()


def test_devices_go_on_after_a_move_there_and_back(tmp_path: Path, s3: S3) -> None:
    one, two, store = tmp_path / "one", tmp_path / "two", s3.new_url()
    history = populated(one)
    url = postgres_url(one)
    migrated("--data", one, "--to", url, "--store", store)

    async def what(site: Site) -> None:
        await goes_on(site, history)

    with over("postgres"):
        on(one, what, store)
    migrated("--data", one, "--database", url, "--to", two)
    on(two, what)


def test_a_move_that_is_killed_goes_on_where_it_stopped(tmp_path: Path, s3: S3) -> None:
    seed = random.randrange(1 << 30)  # a failure shows it
    one, two, store = tmp_path / "one", tmp_path / "two", s3.new_url()
    history = populated(one)
    before, url = content(one, None), postgres_url(one)
    assert migrated_among_kills(seed, "--data", one, "--to", url, "--store", store) > 1
    assert content(one, url) == before
    assert migrated_among_kills(seed, "--data", one, "--database", url, "--to", two) > 1
    assert content(two, None) == before

    async def what(site: Site) -> None:
        await goes_on(site, history)

    on(two, what)


def test_a_comparison_goes_on_where_it_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    populated(one)
    monkeypatch.setattr(comparing, "SAVE_SECONDS", 0.0)
    monkeypatch.setattr(comparing, "ROWS", 2)
    compare_rows, compared = Comparison._compare_rows, list[str]()

    def compare(self: Comparison, table: Table, here: list[Any], there: list[Any]) -> None:
        if compared.count("windows") == 2:
            raise OSError("the disk is away")
        compared.append(table.name)
        compare_rows(self, table, here, there)

    with monkeypatch.context() as patched:
        patched.setattr(Comparison, "_compare_rows", compare)
        assert "goes on where it stopped" in refused("--data", one, "--to", two)
        before, compared[:] = compared[:], ["windows"] * 3
        said = " ".join(migrated("--data", one, "--to", two).split())
        files = [path for folder in ("segments", "objects") for path in (two / folder).iterdir()]
        assert f"{sum(path.stat().st_size for path in files):,} bytes are the same" in said
    assert before[-2:] == ["windows"] * 2 and "devices" in before
    assert compared.count("windows") == 3 + 3 and not set(compared[3:]) & (set(before) - {"windows"})


def refused_start(folder: Path) -> str:
    """The sentence with which a gateway over a directory does not start."""
    with pytest.raises(KeyFileError) as found:
        Gateway(settings_of(folder))
    return str(found.value)


def reopened(*arguments: object) -> str:
    done = CliRunner().invoke(app, ["gateway", "reopen", "--yes", *map(str, arguments)])
    assert done.exit_code == 0, done.output
    return done.output


def test_neither_end_starts_before_a_move_is_done_and_the_source_not_after(
    tmp_path: Path, s3: S3, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two, store = tmp_path / "one", tmp_path / "two", s3.new_url()
    populated(one)
    url = postgres_url(one)

    def fail(*_: object) -> None:
        raise OSError("the store is away")

    with monkeypatch.context() as patched:
        patched.setattr(ObjectStore, "append", fail)
        assert "goes on where it stopped" in refused("--data", one, "--to", url, "--store", store)
    assert "are being moved to" in refused_start(one)
    with over("postgres"):
        assert f"The data of {one} are not all in" in refused_start(one)
    assert "go on with that one" in refused("--data", one, "--to", two)
    migrated("--data", one, "--to", url, "--store", store)
    assert f"were moved to {url} with {store}" in refused_start(one)
    assert "already" in migrated("--data", one, "--to", url, "--store", store)

    migrated("--data", one, "--database", url, "--to", two)
    with over("postgres"):
        assert f"were moved to {two}" in refused_start(one)
    assert "not empty" in refused("--data", two, "--to", url, "--store", store)


def test_a_source_starts_again_once_its_move_is_given_up(tmp_path: Path, s3: S3) -> None:
    one, two, store = tmp_path / "one", tmp_path / "two", s3.new_url()
    history = populated(one)
    before, url = content(one, None), postgres_url(one)
    migrated("--data", one, "--to", url, "--store", store)
    assert f"Remove what is in {url} with {store}" in " ".join(reopened("--data", one).split())
    assert content(one, None) == before

    async def what(site: Site) -> None:
        await goes_on(site, history)

    on(one, what)
    assert "not empty" in refused("--data", one, "--to", url, "--store", store)
    done = CliRunner().invoke(app, ["gateway", "reopen", "--yes", "--data", str(one)])
    assert done.exit_code == 1 and "were not moved" in done.output

    migrated("--data", one, "--database", url, "--to", two)
    reopened("--data", one, "--database", url)
    with over("postgres"):
        on(one, nothing, store)


async def nothing(site: Site) -> None:
    """Let a gateway start and stop."""
    fleet = site.gateway.registry.fleet(site.tenant, "fleet")
    await site.send(fleet, site.device(fleet, 77).encrypt([1.0]))


def test_a_target_that_has_anything_is_refused_and_the_source_still_starts(tmp_path: Path, s3: S3) -> None:
    one, two, store = tmp_path / "one", tmp_path / "two", s3.new_url()
    populated(one)
    with over("postgres"):
        on(two, lambda site: asyncio.sleep(0))
    assert "not empty" in refused("--data", one, "--to", postgres_url(two), "--store", store)
    bucket = obstore.store.from_url(store)
    obstore.put(bucket, "rounds/anything", b"theirs")
    assert "name a prefix that is" in refused("--data", one, "--to", postgres_url(one), "--store", store)
    on(tmp_path / "three", lambda site: asyncio.sleep(0))
    (tmp_path / "four").mkdir()
    (tmp_path / "four" / "notes.txt").write_text("theirs")
    for other in ("three", "four"):
        assert "not empty" in refused("--data", one, "--to", tmp_path / other)
    assert "own directory" in refused("--data", one, "--to", one)
    on(one, nothing)
    assert (tmp_path / "four" / "notes.txt").read_text() == "theirs" and s3.names(store) == [
        "rounds/anything"
    ]


def test_a_wrapping_key_that_is_missing_or_another_is_refused(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    populated(one)
    path = one / "wrap.key"
    key = path.read_bytes()
    path.unlink()
    assert "is missing" in refused("--data", one, "--to", two) and not path.exists()
    path.write_bytes(bytes(32))
    path.chmod(0o600)
    assert "not the wrapping key of this database" in refused("--data", one, "--to", two)
    path.write_bytes(key)
    migrated("--data", one, "--to", two)


def test_a_gateway_that_runs_is_not_moved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, two, three = tmp_path / "one", tmp_path / "two", tmp_path / "three"

    async def running(site: Site) -> None:
        assert "A gateway runs in" in await asyncio.to_thread(refused, "--data", one, "--to", two)

    on(one, running)
    url = postgres_url(one)
    migrated("--data", one, "--to", url)
    shutil.copytree(one, three)  # as another gateway's directory, on another machine

    async def elsewhere(site: Site) -> None:
        found = await asyncio.to_thread(refused, "--data", three, "--database", url, "--to", two)
        assert "stop every gateway of this database" in found

    with over("postgres"):
        on(one, elsewhere)
    migrated("--data", three, "--database", url, "--to", two)


def test_whoever_is_still_connected_changes_nothing_of_what_was_moved(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    populated(one)
    url = postgres_url(one)
    migrated("--data", one, "--to", url)
    migrated("--data", one, "--database", url, "--to", two)
    database = open_database(one, url)
    for table in SCHEMA.tables:
        column = table.columns[-1]
        with pytest.raises(ERRORS, match="moved to another database"):
            database.connection.execute(f'UPDATE "{table.name}" SET "{column}" = "{column}"')
    database.close()
    reopened("--data", one, "--database", url)
    with over("postgres"):
        on(one, nothing)


def test_bytes_stay_where_they_are_unless_another_store_is_named(tmp_path: Path, s3: S3) -> None:
    """From a directory to PostgreSQL, from there to another database with the same store."""
    one, two, store = tmp_path / "one", tmp_path / "two", s3.new_url()
    history = populated(one)
    before, url, segments = content(one, None), postgres_url(one), sorted((one / "segments").iterdir())
    sizes = [path.stat().st_size for path in segments]
    migrated("--data", one, "--to", url)
    assert content(one, url) == before
    assert [path.stat().st_size for path in sorted((one / "segments").iterdir())] == sizes

    migrated("--data", one, "--database", url, "--to", two, "--store", store)
    names = s3.names(store)
    last = new_database()
    migrated("--data", two, "--to", last)
    assert content(two, last) == before and s3.names(store) == names

    async def what(site: Site) -> None:
        await goes_on(site, history)

    share_database(two, tmp_path / "last")
    with over("postgres"):
        database = database_url(tmp_path / "last")
        assert database is not None
        migrated("--data", two, "--database", last, "--to", database)
        on(two, what, store)


def test_a_moved_database_has_the_newest_schema_and_gives_no_number_twice(tmp_path: Path) -> None:
    one, two, fresh = tmp_path / "one", tmp_path / "two", tmp_path / "fresh.db"
    populated(one)
    url = postgres_url(one)
    migrated("--data", one, "--to", url)
    database = open_database(one, url)
    (off,) = database.connection.execute(
        "SELECT count(*) FROM pg_trigger WHERE NOT tgisinternal AND tgenabled != 'O'"
    ).fetchone()
    assert off == 0
    jobs = "INSERT INTO jobs (fleet, begins, ends, state, created) VALUES (1, 0, 0, 'done', 0) RETURNING id"
    (given,) = (
        sqlite.connect(one / "gateway.db")
        .execute("SELECT seq FROM sqlite_sequence WHERE name = 'jobs'")
        .fetchone()
    )
    assert database.connection.execute(jobs).fetchone()[0] == given + 1
    database.connection.execute("DELETE FROM jobs WHERE id > ?", (given,))
    database.close()
    migrated("--data", one, "--database", url, "--to", two)
    sqlite.migrate(fresh)
    schema = "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name"
    back = sqlite.connect(two / "gateway.db")
    assert [tuple(row) for row in back.execute(schema)] == [
        tuple(row) for row in sqlite.connect(fresh).execute(schema)
    ]
    assert back.execute(jobs).fetchone()[0] == given + 2


def test_a_job_that_a_worker_had_begun_is_begun_again_at_the_target(tmp_path: Path) -> None:
    one = tmp_path / "one"
    history = populated(one)

    async def begin(site: Site) -> None:
        leased = site.gateway.jobs.lease("a worker")
        assert leased is not None and leased.id == history.queued

    on(one, begin)
    migrated("--data", one, "--to", postgres_url(one))

    async def what(site: Site) -> None:
        assert site.work_once() == history.queued
        fleet = site.gateway.registry.fleet(site.tenant, "fleet")
        assert site.gateway.jobs.shown(fleet.id, history.queued)["state"] == "done"

    with over("postgres"):
        on(one, what)


def test_a_source_of_an_older_version_is_brought_up_to_date_and_a_newer_one_refused(tmp_path: Path) -> None:
    old, new, other = tmp_path / "old", tmp_path / "new", tmp_path / "other"
    old.mkdir()
    sqlite.migrate(old / "gateway.db", up_to=13)
    with sqlite.connect(old / "gateway.db") as database:
        database.execute(
            "INSERT INTO tenants (name, created, most_devices, most_bytes) VALUES ('a', 0, 1, 1)"
        )
    (old / "wrap.key").write_bytes(bytes(32))
    (old / "wrap.key").chmod(0o600)
    migrated("--data", old, "--to", new)
    assert content(new, None)["tenants"] == content(old, None)["tenants"] != []
    sqlite.connect(new / "gateway.db").execute("PRAGMA user_version = 1000")
    assert "run the newer gateway" in refused("--data", new, "--to", other)


# --- damage -------------------------------------------------------------------------------------------------


def flip(folder: Path, table: str) -> None:
    """Change a byte of the first row of a table with bytes."""
    (text,) = (
        sqlite.connect(folder / "gateway.db")
        .execute(f"SELECT extents FROM {table} WHERE extents != '' LIMIT 1")
        .fetchone()
    )
    (extent, *_) = parse_extents(text)
    with (folder / "segments" / f"{int(extent.place):08d}.segment").open("r+b") as file:
        file.seek(extent.offset + extent.size // 2)
        (byte,) = file.read(1)
        file.seek(extent.offset + extent.size // 2)
        file.write(bytes((byte ^ 1,)))


def test_damage_at_the_source_is_named_and_not_moved(tmp_path: Path, s3: S3) -> None:
    one, two, store = tmp_path / "one", tmp_path / "two", s3.new_url()
    populated(one)
    before, url = content(one, None), postgres_url(one)
    flip(one, "windows")
    (found,) = [
        path for path in (one / "objects").iterdir() if path.read_bytes().startswith(b"an evaluation key")
    ]
    found.write_bytes(b"another key")
    named = refused("--data", one, "--to", url, "--store", store)
    assert "Fleet fleet, window 0 of device 1" in named and found.name in named and "2 damaged" in named
    flip(one, "windows")  # as it was
    found.write_bytes(b"an evaluation key" * 1000)
    migrated("--data", one, "--to", url, "--store", store)
    assert content(one, url) == before

    for name in s3.names(store, "objects/"):
        if name.endswith(found.name):
            obstore.delete(obstore.store.from_url(store), name)
    assert f"objects/{found.name} is missing" in refused("--data", one, "--database", url, "--to", two)
    obstore.put(obstore.store.from_url(store), f"objects/{found.name}", b"an evaluation key" * 1000)
    migrated("--data", one, "--database", url, "--to", two)


def test_damage_in_an_object_store_is_named_and_not_moved(tmp_path: Path, s3: S3) -> None:
    one, two, store = tmp_path / "one", tmp_path / "two", s3.new_url()
    populated(one)
    url = postgres_url(one)
    migrated("--data", one, "--to", url, "--store", store)
    bucket = obstore.store.from_url(store)
    name = next(name for name in s3.names(store, "rounds/") if name.startswith("rounds/1/"))
    content = bytes(obstore.get(bucket, name).bytes())
    obstore.put(bucket, name, content[:-1] + bytes((content[-1] ^ 1,)))
    named = refused("--data", one, "--database", url, "--to", two)
    assert "1 damaged" in named and f"Object {name} in the store is damaged" in named
    assert "Fleet fleet, " in named
    obstore.put(bucket, name, content)
    migrated("--data", one, "--database", url, "--to", two)


def test_a_move_goes_on_after_the_database_was_away(
    tmp_path: Path, s3: S3, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, store = tmp_path / "one", s3.new_url()
    populated(one)
    before, url = content(one, None), postgres_url(one)
    append = ObjectStore.append

    def end(*arguments: Any) -> Any:
        postgres_server().stop()
        return append(*arguments)

    with monkeypatch.context() as patched:
        patched.setattr(ObjectStore, "append", end)
        stopped = refused("--data", one, "--to", url, "--store", store)
    postgres_server().start()
    assert "goes on where it stopped" in stopped
    migrated("--data", one, "--to", url, "--store", store)
    assert content(one, url) == before


def test_damage_can_be_left_out_and_counts_as_deleted(tmp_path: Path, s3: S3) -> None:
    one, store = tmp_path / "one", s3.new_url()
    history = populated(one)
    url = postgres_url(one)
    flip(one, "windows")
    refused("--data", one, "--to", url, "--store", store)
    assert "window 0 of device 1" in migrated(
        "--data", one, "--to", url, "--store", store, "--leave-out-damaged"
    )

    async def what(site: Site) -> None:
        fleet = site.gateway.registry.fleet(site.tenant, "fleet")
        assert site.deleted(fleet) == [True, *[False] * (history.windows - 1)]
        for data, receipt in history.receipts.items():
            for frames in (data, *frames_of(data)):
                assert (await site.send(fleet, frames)).receipt == receipt
        assert list(verify(one, url)) == []
        for tenant in (
            row["id"] for row in site.gateway.database.connection.execute("SELECT id FROM tenants")
        ):
            site.tenant = tenant
            site.bytes()

    with over("postgres"):
        on(one, what, store)


@pytest.mark.parametrize("how", ["byte", "row", "count"])
def test_what_arrives_different_is_found_before_the_target_opens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    populated(one)
    copy_objects = copying.Copy._copy_objects

    def spoil(copy: copying.Copy) -> None:
        copy_objects(copy)
        if how == "byte":
            flip(two, "quarantine")
            return
        statement = {
            "row": "UPDATE devices SET newest = newest + 1 WHERE id = 2",
            "count": "DELETE FROM audit",
        }
        with copy._target.database.writing() as database:
            database.execute(statement[how])

    with monkeypatch.context() as patched:
        patched.setattr(copying.Copy, "_copy_objects", spoil)
        found = refused("--data", one, "--to", two)
    table = {"byte": "of quarantine has other bytes", "row": "row (2,) of devices", "count": "audit has 0"}
    assert table[how] in found
    assert "are not all in" in refused_start(two)


# --- the operator's page ------------------------------------------------------------------------------------


def test_the_commands_of_the_page_move_a_gateway_there_and_back(tmp_path: Path, s3: S3) -> None:
    section = PAGE.partition("## From one machine to several, and back")[2].partition("\n## ")[0]
    words = {
        "/var/lib/ciphermote-one": str(tmp_path / "two"),
        "/var/lib/ciphermote": str(tmp_path / "one"),
        " /backup": f" {tmp_path}/backup",
        "postgresql://ciphermote@db.example/gateway": new_database(),
        "s3://BUCKET/PREFIX": s3.new_url(),
        "ciphermote gateway": f"{sys.executable} -m ciphermote gateway",
    }
    commands = re.findall(r"^    (.*)$", section, re.M)
    for word, meant in words.items():
        commands = [command.replace(word, meant) for command in commands]
    backup, there, verify_there, serve_there, back, verify_back, serve_back, reopen, remove = commands

    def run(command: str) -> None:
        subprocess.run(["bash", "-ec", command], check=True, timeout=120)

    def served(command: str, device: FullDevice | None, value: float) -> float:
        """Start the gateway, have a device send a value, if there is one, and return the sum of all."""
        program, options = command.split(" --data ")[0], shlex.split(command)[3:]
        assert program == "ciphermote serve"
        data, *others = options
        server = Server(Path(data), free_port(), tuple(others)).start()
        try:
            if device is not None:
                client = server.client(device_token(server.owner(), "fleet", 1))
                device.receipt(client.post("/v1/fleets/fleet/deliveries", content=device.encrypt([value])))
            _, (result,) = run_job(server.owner(), "fleet", {"kind": "sum", "per_device": 100})
            return float(full_owner().decrypt(result)[0])
        finally:
            server.stop()

    device = FullDevice(full_owner(), 1)
    with serving(tmp_path / "one") as server:
        define_full(server.owner(), "fleet", full_owner())
        device.enroll(server.owner(), "fleet")
    at_first = f"ciphermote serve --data {tmp_path / 'one'}"
    assert served(at_first, device, 1.0) == pytest.approx(1, abs=0.1)
    for command in (backup, there, verify_there):
        run(command)
    shutil.copytree(tmp_path / "one", tmp_path / "kept", ignore=shutil.ignore_patterns("*.sock"))
    assert served(serve_there, device, 2.0) == pytest.approx(3, abs=0.1)
    run(remove)
    assert served(serve_there, device, 4.0) == pytest.approx(7, abs=0.1)
    for command in (back, verify_back):
        run(command)
    assert served(serve_back, device, 8.0) == pytest.approx(15, abs=0.1)

    kept = str(tmp_path / "kept")
    subprocess.run(shlex.split(reopen.replace(str(tmp_path / "one"), kept)), check=True, input=b"y\n")
    assert served(at_first.replace(str(tmp_path / "one"), kept), None, 0.0) == pytest.approx(1, abs=0.1)
