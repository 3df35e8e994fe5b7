# SPDX-License-Identifier: Apache-2.0
"""SQLite in WAL mode, in the gateway's directory, with each commit synced and the schema updated by numbered
migrations.
"""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from collections.abc import Iterator
from functools import partial
from importlib import resources
from pathlib import Path

from ciphermote.base.errors import KeyFileError
from ciphermote.gateway.boot import boot_clock
from ciphermote.gateway.database.interface import Connection, Database, text_digest
from ciphermote.gateway.gateway_files import OBJECTS

APPLICATION_ID = 0x434D4757  # "CMGW"
_BUSY_SECONDS = 30.0
_MOST_PAGES = 20
"""The most faults of the database to report."""


class SqliteDatabase(Database):
    """One database file, with a separate connection for each thread."""

    system = "sqlite"
    is_shared = False
    skip_locked = ""  # a writer is alone

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self._all: list[sqlite3.Connection] = []
        self._lock = threading.Lock()

    @property
    def connection(self) -> sqlite3.Connection:
        """This thread's connection. Transactions are begun explicitly."""
        found: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if found is None:
            found = connect(self.path)
            self._local.connection = found
            with self._lock:
                self._all.append(found)
        return found

    def _begin(self, *, beside: bool) -> Connection:
        database = self.connection
        database.execute("BEGIN IMMEDIATE")
        return database

    def _commit(self) -> None:
        self.connection.execute("COMMIT")

    def _roll_back(self) -> None:
        if self.connection.in_transaction:
            with contextlib.suppress(sqlite3.Error):
                self.connection.execute("ROLLBACK")

    @contextlib.contextmanager
    def objects_kept(self) -> Iterator[None]:
        with self.writing():
            yield

    def keep_undo_in_memory(self) -> None:
        self.connection.execute("PRAGMA temp_store = MEMORY")

    def clock(self) -> tuple[str, float]:
        return boot_clock()

    def missing(self) -> str | None:
        return None if self.path.exists() else "the database is missing"

    def damaged_pages(self) -> list[str]:
        return damaged_pages(self.connection)

    def close(self) -> None:
        with self._lock:
            for connection in self._all:
                connection.close()
            self._all.clear()


def damaged_pages(database: sqlite3.Connection) -> list[str]:
    """Return faults of a database's pages and rows."""
    try:
        rows = database.execute(f"PRAGMA integrity_check({_MOST_PAGES})").fetchall()
        return [str(row[0]) for row in rows if row[0] != "ok"]
    except sqlite3.DatabaseError as error:
        return [str(error)]


def connect(path: Path) -> sqlite3.Connection:
    """Open a connection whose commits are synced: to the log at once, and to the file at each checkpoint."""
    database = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    try:
        database.row_factory = sqlite3.Row
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = FULL")
        database.execute("PRAGMA foreign_keys = ON")
        database.execute("PRAGMA trusted_schema = OFF")
    except BaseException:
        database.close()
        raise
    return database


def migrations() -> list[tuple[int, str]]:
    """Return (version, SQL) of each step, in order: the files of migrations/sqlite/, whose names begin with
    0001, 0002 and so on. A released step is never changed; new ones are added."""
    folder = resources.files(__package__) / "migrations" / "sqlite"
    files = [entry for entry in folder.iterdir() if entry.name.endswith(".sql")]
    found = sorted((int(entry.name.split("_")[0]), entry.read_text()) for entry in files)
    if [number for number, _ in found] != list(range(1, len(found) + 1)):
        raise RuntimeError("Migrations are numbered from 1 on, each number once: rename the newest file.")
    return found


def migrate(path: Path, up_to: int | None = None) -> int:
    """Create the database, or update it, with each step in one transaction, and return its version. up_to:
    the last step to run; None for all. Raises KeyFileError if it belongs to another application or to a newer
    gateway."""
    with contextlib.closing(connect(path)) as database:
        (application,) = database.execute("PRAGMA application_id").fetchone()
        (version,) = database.execute("PRAGMA user_version").fetchone()
        (tables,) = database.execute("SELECT count(*) FROM sqlite_schema").fetchone()
        if application != APPLICATION_ID and tables:
            raise KeyFileError(f"{path} is another application's database: name another --data directory.")
        steps = [step for step in migrations() if up_to is None or step[0] <= up_to]
        newest = steps[-1][0]
        if version > newest:
            raise KeyFileError(
                f"{path} is of version {version} and this gateway knows up to {newest}: run the newer "
                "gateway, or restore a backup that was made before the upgrade."
            )
        database.create_function("digest", 1, text_digest, deterministic=True)
        database.create_function("object_bytes", 1, partial(_object_bytes, path.parent / OBJECTS))
        database.execute("PRAGMA foreign_keys = OFF")  # a step may build a table anew; it is checked below
        for number, script in steps:
            if number > version:
                _take_step(database, number, script)
        return newest


def _take_step(database: sqlite3.Connection, number: int, script: str) -> None:
    """Run one step. An error leaves the transaction open, and closing the connection undoes it."""
    database.executescript(f"BEGIN IMMEDIATE;\n{script}")
    broken = database.execute("PRAGMA foreign_key_check").fetchone()
    if broken is not None:
        raise sqlite3.IntegrityError(f"step {number} leaves a row of {broken[0]} that refers to nothing")
    database.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    database.execute(f"PRAGMA user_version = {number}")
    database.execute("COMMIT")


def _object_bytes(folder: Path, digest: str) -> int:
    """Return an object's size; 0 if it is missing."""
    path = folder / digest
    return path.stat().st_size if path.is_file() else 0
