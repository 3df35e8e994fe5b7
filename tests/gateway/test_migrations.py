# SPDX-License-Identifier: Apache-2.0
"""The database's numbered steps: an older database is brought up to date, each step whole or not at all."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from ciphermote.base.errors import KeyFileError
from ciphermote.gateway.database import sqlite as databases


def test_an_older_database_is_brought_up_to_date_and_a_newer_one_refused(tmp_path: Path) -> None:
    path, newest = tmp_path / "gateway.db", databases.migrations()[-1][0]
    assert databases.migrate(path, up_to=1) == 1
    with sqlite3.connect(path) as found:
        found.execute("INSERT INTO tenants (name, created, most_devices, most_bytes) VALUES ('old', 0, 1, 1)")
    assert databases.migrate(path) == newest
    assert databases.connect(path).execute("SELECT name FROM tenants").fetchone()["name"] == "old"
    with pytest.raises(KeyFileError, match="newer"):
        databases.migrate(path, up_to=1)


def test_jobs_of_an_older_database_have_their_streams_names(tmp_path: Path) -> None:
    path = tmp_path / "gateway.db"
    databases.migrate(path, up_to=2)
    with sqlite3.connect(path) as found:
        found.executescript(
            "INSERT INTO tenants VALUES (1, 'old', 0, 1, 1, 0);"
            "INSERT INTO fleets VALUES (1, 1, 'f', '{}', 0);"
            "INSERT INTO streams VALUES (5, 1, 'hourly', '{}', 0, 0, 0);"
            "INSERT INTO jobs (fleet, stream, spec, begins, ends, state, created) VALUES "
            "(1, 5, '{}', 0, 1, 'done', 0), (1, NULL, '{}', 0, 1, 'done', 0);"
        )
    databases.migrate(path)
    rows = databases.connect(path).execute("SELECT stream_name FROM jobs ORDER BY id").fetchall()
    assert [row["stream_name"] for row in rows] == ["hourly", None]


def test_a_step_that_fails_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, steps = tmp_path / "gateway.db", databases.migrations()
    databases.migrate(path)
    broken = [
        *steps,
        (steps[-1][0] + 1, "CREATE TABLE half (id INTEGER) STRICT; CREATE TABLE half (id INTEGER);"),
    ]
    monkeypatch.setattr(databases, "migrations", lambda: broken)
    with pytest.raises(sqlite3.OperationalError):
        databases.migrate(path)
    monkeypatch.undo()
    assert databases.migrate(path) == steps[-1][0]
    tables = databases.connect(path).execute("SELECT name FROM sqlite_schema").fetchall()
    assert "half" not in {row["name"] for row in tables}


def test_a_step_that_breaks_a_reference_is_undone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, steps = tmp_path / "gateway.db", databases.migrations()
    databases.migrate(path)
    with sqlite3.connect(path) as found:
        found.executescript(
            "INSERT INTO tenants (id, name, created, most_devices, most_bytes) VALUES (1, 'a', 0, 1, 1);"
            "INSERT INTO fleets (tenant, name, definition, created) VALUES (1, 'f', '{}', 0);"
        )
    monkeypatch.setattr(databases, "migrations", lambda: [*steps, (len(steps) + 1, "DELETE FROM tenants;")])
    with pytest.raises(sqlite3.IntegrityError, match="fleets"):
        databases.migrate(path)
    monkeypatch.undo()
    assert databases.migrate(path) == len(steps)
    assert databases.connect(path).execute("SELECT name FROM tenants").fetchone()["name"] == "a"


@pytest.mark.parametrize("names", [("0001_a", "0001_b"), ("0001_a", "0003_c"), ("0002_b",)])
def test_steps_with_a_number_twice_or_left_out_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, names: tuple[str, ...]
) -> None:
    folder = tmp_path / "migrations" / "sqlite"
    folder.mkdir(parents=True)
    for name in names:
        (folder / f"{name}.sql").write_text("SELECT 1;")
    monkeypatch.setattr(databases.resources, "files", lambda _: tmp_path)
    with pytest.raises(RuntimeError, match="numbered"):
        databases.migrations()


def test_another_applications_file_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "gateway.db"
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE notes (text TEXT)")
    with pytest.raises(KeyFileError, match="another application"):
        databases.migrate(path)
