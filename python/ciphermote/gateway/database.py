# SPDX-License-Identifier: Apache-2.0
"""The gateway's database: SQLite in WAL mode, with each commit synced and the schema updated by numbered
migrations.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from importlib import resources
from pathlib import Path
from typing import Any

from ciphermote.base.errors import KeyFileError
from ciphermote.gateway.gateway_files import OBJECTS
from ciphermote.gateway.logs import log
from ciphermote.gateway.refusals import is_damage

APPLICATION_ID = 0x434D4757  # "CMGW"
_BUSY_SECONDS = 30.0
_ROWS_AT_ONCE = 32


class Database:
    """One database file, with a separate connection for each thread."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.damage: str | None = None
        """The error that showed damage to the file, if any."""
        self._local = threading.local()
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

    @contextlib.contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """A transaction that is on the disk when the block has ended; an error in the block undoes it. Inside
        another transaction of the same thread, it becomes part of that one."""
        database = self.connection
        if database.in_transaction:
            yield database
            return
        database.execute("BEGIN IMMEDIATE")
        self._local.afterwards = []
        try:
            yield database
            database.execute("COMMIT")
        except BaseException as error:
            self.notice(error)
            if database.in_transaction:
                with contextlib.suppress(sqlite3.Error):
                    database.execute("ROLLBACK")
            raise
        for action in self._local.afterwards:
            action()

    def once_stored(self, action: Callable[[], object]) -> None:
        """Call a function once this thread's transaction is on the disk, and not if it is undone: for example
        to drop cached rows that it changes."""
        assert self.connection.in_transaction
        self._local.afterwards.append(action)

    def notice(self, error: BaseException) -> None:
        """Record an error that shows damage."""
        if is_damage(error) and self.damage is None:
            self.damage = f"the database is damaged ({error})"
            log.error("damaged", what=self.damage)

    def close(self) -> None:
        """Close the connections of all threads, which may not be used any longer."""
        with self._lock:
            for connection in self._all:
                connection.close()
            self._all.clear()


def write_values(
    database: sqlite3.Connection, before: str, rows: Sequence[tuple[Any, ...]], after: str = ""
) -> None:
    """Execute a statement with rows between its two parts. Each execution releases the interpreter's lock,
    for which other threads compete, so many rows share one execution; and the module caches compiled
    statements of a few lengths."""
    for first in range(0, len(rows), _ROWS_AT_ONCE):
        some = rows[first : first + _ROWS_AT_ONCE]
        places = _places(len(some), len(some[0]))
        database.execute(f"{before} {places}{after}", list(itertools.chain.from_iterable(some)))


@cache
def _places(rows: int, columns: int) -> str:
    """Return placeholders for `rows` rows of `columns` values each."""
    return ", ".join([f"({', '.join('?' * columns)})"] * rows)


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
    """Return (version, SQL) of each step, in order: the files of migrations/, whose names begin with 0001,
    0002 and so on. A released step is never changed; new ones are added."""
    folder = resources.files(__package__) / "migrations"
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


def text_digest(text: str) -> str:
    """Return the digest by which texts stored once are found again. Migrations call it as digest(text)."""
    return hashlib.blake2b(text.encode(), digest_size=20).hexdigest()
