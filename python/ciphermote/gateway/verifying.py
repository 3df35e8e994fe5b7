# SPDX-License-Identifier: Apache-2.0
"""Check everything that a gateway has stored for damage: each page of the database, each window's bytes, each
object. `ciphermote gateway verify` checks it at full speed, and a running gateway slowly.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Literal, NamedTuple, get_args

from ciphermote.base.errors import KeyFileError
from ciphermote.gateway.database.interface import Connection, Database
from ciphermote.gateway.database.opening import open_database
from ciphermote.gateway.fleets import Fleet
from ciphermote.gateway.gateway_files import DATABASE_FILE, WRAP_KEY_FILE
from ciphermote.gateway.logs import log
from ciphermote.gateway.metrics import Metrics
from ciphermote.gateway.retention import USED_OBJECTS
from ciphermote.gateway.store.extents import parse_extents
from ciphermote.gateway.store.interface import Store
from ciphermote.gateway.store.opening import open_store
from ciphermote.gateway.stored import StoredWindow, WindowChecker
from ciphermote.gateway.wrapping import Wrapper

_BATCH = 64
_SCRUB_BYTES_A_SECOND = 8e6

Kind = Literal["database", "window", "object"]


class Damage(NamedTuple):
    """Something that differs from what was stored."""

    kind: Kind
    sentence: str


def verify(
    folder: Path,
    url: str | None = None,
    read: Callable[[int], None] = lambda size: None,
    store: Store | None = None,
) -> Iterator[Damage]:
    """Yield all damage in the directory of a gateway, which may be running. url: of its database, if that is
    not in the directory. read: called with the number of bytes read. store: the gateway's; None to open it.
    Changes nothing. Raises KeyFileError if there is no gateway, or if its wrapping key is missing."""
    if url is None and not (folder / DATABASE_FILE).is_file():
        raise KeyFileError(f"{folder} has no {DATABASE_FILE}: name a gateway's directory (--data).")
    if not (folder / WRAP_KEY_FILE).exists():
        raise KeyFileError(
            f"{folder} has no {WRAP_KEY_FILE}, without which no window can be checked: if it is a backup, "
            "restore it together with its secrets (`ciphermote gateway restore`) and verify the result."
        )
    with contextlib.closing(open_database(folder, url)) as database:
        damaged = database.damaged_pages()
        yield from (Damage("database", f"The database is damaged: {line}.") for line in damaged)
        if damaged:
            return  # rows cannot be relied on
        store = store or open_store(folder, database.connection)
        yield from _windows(folder, store, database.connection, read)
        yield from _objects(store, database.connection, read)


def _windows(
    folder: Path, store: Store, database: Connection, read: Callable[[int], None]
) -> Iterator[Damage]:
    reader = store.reader()
    checker = WindowChecker(reader, Wrapper(folder / WRAP_KEY_FILE))
    fleets: dict[int, Fleet] = {}
    after = 0
    while True:
        rows = database.execute(
            "SELECT w.sequence, d.fleet, d.number, d.epoch, d.keys, w.number AS window, w.counter, w.tags, "
            "w.extents, w.owner_key FROM windows w JOIN devices d ON d.id = w.device "
            "WHERE w.sequence > ? AND d.deleted IS NULL ORDER BY w.sequence LIMIT ?",
            (after, _BATCH),
        ).fetchall()
        if not rows:
            break
        after = rows[-1]["sequence"]
        kept = (row for row in rows if row["extents"])
        for number, of_fleet in groupby(kept, key=lambda row: int(row["fleet"])):
            if number not in fleets:
                fleets[number] = _fleet(database, number)
            windows = [StoredWindow(*row[2:]) for row in of_fleet]
            read(sum(extent.size for window in windows for extent in parse_extents(window.extents)))
            for window, fault in zip(windows, checker.faults(fleets[number], windows), strict=True):
                if fault is not None and not _is_deleted(database, window):
                    what = f"Fleet {fleets[number].name}, {window}"
                    yield Damage("window", f"{what}: {fault}")
        reader.close()  # a sweep may have deleted some


def _fleet(database: Connection, number: int) -> Fleet:
    return Fleet.from_row(
        *database.execute(
            "SELECT id, tenant, name, definition FROM fleets WHERE id = ?", (number,)
        ).fetchone()
    )


def _is_deleted(database: Connection, window: StoredWindow) -> bool:
    """Whether a sweep has deleted a window's bytes since they were looked up."""
    found = database.execute(
        "SELECT 1 FROM windows WHERE counter = ? AND number = ? AND extents = ?",
        (window.counter, window.number, window.extents),
    )
    return found.fetchone() is None


def _objects(store: Store, database: Connection, read: Callable[[int], None]) -> Iterator[Damage]:
    for (digest,) in database.execute(USED_OBJECTS).fetchall():
        if not digest:
            continue
        try:
            read(len(store.get(digest)))
        except KeyFileError as error:
            if digest in {used for (used,) in database.execute(USED_OBJECTS)}:  # no sweep has deleted it
                yield Damage("object", str(error))


class Scrubber:
    """Verifies a running gateway's data, slowly enough not to disturb it. Only one thread at a time may call
    run."""

    def __init__(
        self, folder: Path, url: str | None, store: Store, database: Database, metrics: Metrics
    ) -> None:
        self._folder = folder
        self._url = url
        self._store = store
        self._database = database
        self._metrics = metrics
        self._stopping = threading.Event()
        self._running = threading.Lock()

    def run(self) -> None:
        """Verify everything once. Damage is counted and logged, and damage of the database ends readiness."""
        counts = dict.fromkeys(get_args(Kind), 0)
        with self._running, contextlib.suppress(_Stopped):
            for damage in verify(self._folder, self._url, self._pause, self._store):
                counts[damage.kind] += 1
                self._metrics.damaged.labels(damage.kind).set(counts[damage.kind])
                log.error("damaged", kind=damage.kind, what=damage.sentence)
                if damage.kind == "database":
                    self._database.damage = self._database.damage or damage.sentence
            for kind, count in counts.items():
                self._metrics.damaged.labels(kind).set(count)

    def stop(self) -> None:
        """Stop the present run."""
        self._stopping.set()
        with self._running:
            pass

    def _pause(self, size: int) -> None:
        if self._stopping.wait(size / _SCRUB_BYTES_A_SECOND):
            raise _Stopped


class _Stopped(Exception):
    """The gateway is stopping."""
