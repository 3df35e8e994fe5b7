# SPDX-License-Identifier: Apache-2.0
"""The gateway's database: SQLite in WAL mode, each commit synced, its schema brought up to date by numbered
migrations.
"""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from collections.abc import Iterator
from importlib import resources
from pathlib import Path

from ciphermote.errors import KeyFileError

APPLICATION_ID = 0x434D4757  # "CMGW"
_BUSY_SECONDS = 30.0


class Database:
    """One file; each thread that uses it has a connection of its own."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._local = threading.local()
        self._all: list[sqlite3.Connection] = []
        self._lock = threading.Lock()

    @property
    def connection(self) -> sqlite3.Connection:
        """This thread's. Transactions are begun by hand."""
        found: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if found is None:
            found = connect(self.path)
            self._local.connection = found
            with self._lock:
                self._all.append(found)
        return found

    @contextlib.contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """A transaction that is on the disk when the block has ended; an error in the block undoes it."""
        database = self.connection
        database.execute("BEGIN IMMEDIATE")
        try:
            yield database
            database.execute("COMMIT")
        except BaseException:
            if database.in_transaction:
                with contextlib.suppress(sqlite3.Error):
                    database.execute("ROLLBACK")
            raise

    def close(self) -> None:
        """Every thread's connection. Nobody may use one any more."""
        with self._lock:
            for connection in self._all:
                connection.close()
            self._all.clear()


def connect(path: Path) -> sqlite3.Connection:
    """A connection whose commits are synced: to the log at once, to the file at each checkpoint."""
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
    """(version, SQL) of each, in order."""
    folder = resources.files(__package__) / "migrations"
    found = [entry for entry in folder.iterdir() if entry.name.endswith(".sql")]
    return sorted((int(entry.name.split("_")[0]), entry.read_text()) for entry in found)


def migrate(path: Path) -> int:
    """Make the database, or bring it up to date, each step whole or not at all; its version. KeyFileError if
    it is another application's, or of a newer gateway."""
    with contextlib.closing(connect(path)) as database:
        (application,) = database.execute("PRAGMA application_id").fetchone()
        (version,) = database.execute("PRAGMA user_version").fetchone()
        (tables,) = database.execute("SELECT count(*) FROM sqlite_schema").fetchone()
        if application != APPLICATION_ID and tables:
            raise KeyFileError(f"{path} is another application's database: name another --data directory.")
        steps = migrations()
        if version > steps[-1][0]:
            raise KeyFileError(
                f"{path} is of version {version} and this gateway knows up to {steps[-1][0]}: run the newer "
                "gateway, or restore a backup that was made before the upgrade."
            )
        for number, script in steps:
            if number > version:
                database.executescript(
                    f"BEGIN IMMEDIATE;\n{script}\nPRAGMA application_id = {APPLICATION_ID};\n"
                    f"PRAGMA user_version = {number};\nCOMMIT;"
                )
        return steps[-1][0]
