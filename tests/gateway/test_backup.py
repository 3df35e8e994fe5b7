# SPDX-License-Identifier: Apache-2.0
"""Backups of a gateway that is written to, and what is restored from them."""

from __future__ import annotations

import sqlite3
import stat
import threading
import time
from contextlib import closing
from pathlib import Path

import pytest
from ciphermote.base.errors import KeyFileError
from ciphermote.base.files import lock
from ciphermote.cli import app
from ciphermote.gateway.backup import back_up, restore
from ciphermote.gateway.database.sqlite import connect
from ciphermote.gateway.verifying import verify
from site_support import Site, on_site
from typer.testing import CliRunner

ROWS = 400_000
"""With so many, SQLite's .backup is not done after half a minute of commits."""


def fill(data: Path) -> None:
    """Fill the database with many windows: deleted ones, which are only rows."""
    with closing(connect(data / "gateway.db")) as database:
        database.execute(
            "WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < ? - 1) "
            "INSERT INTO windows (device, number, counter, random, tags, measured, arrived, extents) "
            "SELECT (SELECT min(id) FROM devices), 1000 + i, 1000 + i, 0, 0, i, i, '' FROM n",
            (ROWS,),
        )


class Writer(threading.Thread):
    """Commits all the time, as the intake does while windows arrive."""

    def __init__(self, data: Path) -> None:
        super().__init__(daemon=True)
        self._path = data / "gateway.db"
        self._stopping = threading.Event()
        self.commits = 0

    def run(self) -> None:
        with closing(connect(self._path)) as database:
            while not self._stopping.is_set():
                database.execute("UPDATE devices SET last_seen = ?", (time.time(),))
                self.commits += 1

    def stop(self) -> None:
        self._stopping.set()
        self.join()


def modes(folder: Path) -> set[int]:
    """The modes of files."""
    return {stat.S_IMODE(path.stat().st_mode) for path in folder.rglob("*") if path.is_file()}


def test_a_backup_ends_while_windows_arrive(tmp_path: Path) -> None:
    """The attack on SQLite's own .backup, which begins anew after each commit. And it is whole."""
    data, target, secrets = (tmp_path / name for name in ("data", "backup", "secrets"))

    async def what(site: Site) -> None:
        fleet = site.fleet("fleet")
        device = site.device(fleet, 1)
        for value in range(6):
            await site.send(fleet, device.encrypt([float(value)]))
        site.work(fleet, site.add(fleet))
        fill(data)
        writer = Writer(data)
        writer.start()
        try:
            started, before = time.monotonic(), writer.commits
            back_up(data, target, secrets)
            taken = time.monotonic() - started
            assert writer.commits > before, "it was written to meanwhile"
            assert taken < 60
        finally:
            writer.stop()
        await site.send(fleet, device.encrypt([9.0]))

    on_site(data, what)
    assert modes(target) == modes(secrets) == {0o600}
    assert {stat.S_IMODE(path.stat().st_mode) for path in (target, secrets)} == {0o700}
    assert not any((target / name).exists() for name in ("wrap.key", "owner.token", "tls"))

    restore(target, secrets, tmp_path / "restored")
    assert list(verify(tmp_path / "restored")) == []

    async def again(site: Site) -> None:
        fleet = site.gateway.registry.fleet(site.tenant, "fleet")
        assert sum(not deleted for deleted in site.deleted(fleet)[:6]) == 6
        job = site.gateway.jobs.listed(fleet.id, 0)[0]["id"]
        assert len(site.gateway.jobs.result(fleet.id, job, 0)) > 1000

    on_site(tmp_path / "restored", again)


def test_a_second_backup_copies_what_is_new_and_drops_what_went(tmp_path: Path) -> None:
    data, target = tmp_path / "data", tmp_path / "backup"

    async def what(site: Site) -> None:
        fleet = site.fleet("fleet", 30)
        device = site.device(fleet, 1)
        for _ in range(6):
            await site.send(fleet, device.encrypt([1.0]))
        assert back_up(data, target).files == len(site.segments())
        assert back_up(data, target).files == 0
        await site.send(fleet, device.encrypt([1.0]))
        assert 1 <= back_up(data, target).files <= 2
        with lock(data / "backup.lock", 1):
            await site.sweep(31)
        assert len(site.segments()) > 1, "nothing goes while a backup goes on"
        await site.sweep(31)
        back_up(data, target)
        assert sorted(path.name for path in (target / "segments").iterdir()) == site.segments()

    on_site(data, what)


def test_what_is_no_backup_or_damages_one_is_refused(tmp_path: Path) -> None:
    data, target, secrets = (tmp_path / name for name in ("data", "backup", "secrets"))

    async def what(site: Site) -> None:
        await site.send((fleet := site.fleet("fleet")), site.device(fleet, 1).encrypt([1.0]))

    on_site(data, what)
    with pytest.raises(KeyFileError, match="own directory"):
        back_up(data, data / "backup")
    with pytest.raises(KeyFileError, match="name a gateway's directory"):
        back_up(tmp_path / "nothing", target)
    run = CliRunner().invoke
    done = run(app, ["gateway", "backup", str(target), "--secrets", str(secrets), "--data", str(data)])
    assert done.exit_code == 0, done.output
    with pytest.raises(KeyFileError, match="not empty"):
        restore(target, secrets, data)
    with pytest.raises(KeyFileError, match="is missing"):
        restore(target, target, tmp_path / "restored")
    done = run(
        app,
        ["gateway", "restore", str(target), "--secrets", str(secrets), "--data", str(tmp_path / "restored")],
    )
    assert done.exit_code == 0 and list(verify(tmp_path / "restored")) == []

    kept = (target / "gateway.db").read_bytes()
    with closing(sqlite3.connect(data / "gateway.db")) as database:
        (page,) = database.execute("PRAGMA page_size").fetchone()
        (root,) = database.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'windows'").fetchone()
    with (data / "gateway.db").open("r+b") as file:
        file.seek((root - 1) * page)
        file.write(b"\x5a" * page)
    with pytest.raises(KeyFileError, match="earlier backup stays"):
        back_up(data, target)
    assert (target / "gateway.db").read_bytes() == kept
