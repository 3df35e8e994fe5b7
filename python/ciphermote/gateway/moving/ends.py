# SPDX-License-Identifier: Apache-2.0
"""The two ends of a move, opened and locked for as long as it goes on."""

from __future__ import annotations

import contextlib
import secrets
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ciphermote.base.errors import KeyFileError, ParameterError
from ciphermote.base.files import lock
from ciphermote.gateway.database.interface import Connection, Database
from ciphermote.gateway.database.opening import check_url, migrate, open_database
from ciphermote.gateway.gateway_files import DATABASE_FILE, LOCK_FILE, WRAP_KEY_FILE
from ciphermote.gateway.moving.bulk import Schema, is_blank, others_connected
from ciphermote.gateway.store.interface import Store
from ciphermote.gateway.store.opening import (
    claim_store,
    folder_identity,
    open_object_store,
    open_store,
    store_row,
)
from ciphermote.gateway.store.urls import check_url as check_store
from ciphermote.gateway.wrapping import Wrapper, settle_wrap_key

_LOCK_SECONDS = 5.0
_SESSION_SECONDS = 5.0
_BETWEEN_TRIES = 0.2


@dataclass(frozen=True)
class Place:
    """The place of a gateway's data. folder: its directory; database: a URL, or None for the file there;
    store: the URL of an object store, or None for the directory."""

    folder: Path
    database: str | None
    store: str | None

    @classmethod
    def of_target(cls, to: str, data: Path, store: str | None) -> Place:
        """Return what `--to` and `--store` name. data: the source's directory, which a gateway over
        PostgreSQL goes on to use. Raises ParameterError."""
        if store is not None:
            check_store(store)
        if "://" not in to:
            if Path(to).resolve() == data.resolve():
                raise ParameterError(f"--to is the gateway's own directory, {to}: name a new one.")
            return cls(Path(to), None, store)
        try:
            check_url(to)
        except ParameterError as error:
            raise ParameterError(str(error).replace("--database", "--to")) from None
        return cls(data, to, store)

    def __str__(self) -> str:
        state = self.database or str(self.folder.absolute())
        return state if self.store is None else f"{state} with {self.store}"


@dataclass(frozen=True)
class End:
    """An opened end. keeps_bytes: for a target: whether the bytes stay where the source has them."""

    place: Place
    database: Database
    store: Store
    keeps_bytes: bool = False

    @property
    def connection(self) -> Connection:
        return self.database.connection


@contextlib.contextmanager
def opened_database(folder: Path, url: str | None) -> Iterator[Database]:
    """Open the database of a stopped gateway, brought up to date, within the block. Raises KeyFileError if a
    gateway runs, or there is none."""
    if url is None and not (folder / DATABASE_FILE).is_file():
        raise KeyFileError(
            f"{folder} has no {DATABASE_FILE}: name a gateway's directory (--data), or its database "
            "(--database)."
        )
    with contextlib.ExitStack() as held:
        held.enter_context(_locked(folder))
        migrate(folder, url)
        database = held.enter_context(contextlib.closing(open_database(folder, url)))
        deadline = time.monotonic() + _SESSION_SECONDS
        while count := others_connected(database):
            if time.monotonic() > deadline:
                raise KeyFileError(
                    f"{count} other sessions of the same user are connected to {url}: stop every gateway of "
                    "this database, and what else is connected as its user."
                )
            time.sleep(_BETWEEN_TRIES)  # those of a gateway that has just stopped are ending
        yield database


@contextlib.contextmanager
def opened_source(place: Place, schema: Schema) -> Iterator[tuple[End, Wrapper]]:
    """Open the source, and check its wrapping key, within the block. Raises KeyFileError."""
    with opened_database(place.folder, place.database) as database:
        if is_blank(database.connection, schema):
            raise KeyFileError(f"No gateway has used {place}: name the one to move (--data, --database).")
        for line in database.damaged_pages():
            raise KeyFileError(f"The database is damaged: {line}. Restore a backup, and move that.")
        wrapper = settle_wrap_key(place.folder / WRAP_KEY_FILE, database)
        with contextlib.closing(open_store(place.folder, database.connection)) as store:
            yield End(place, database, store), wrapper


@contextlib.contextmanager
def opened_target(place: Place) -> Iterator[Database]:
    """Open the target's database, which is made if there is none, within the block. Raises KeyFileError if
    the directory has anything else."""
    if place.database is not None:
        migrate(place.folder, place.database)
        with contextlib.closing(open_database(place.folder, place.database)) as database:
            yield database
        return
    folder = place.folder
    if folder.exists() and not (folder / DATABASE_FILE).exists():
        check_new_folder(folder)
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    folder.chmod(0o700)
    with _locked(folder):
        migrate(folder, None)
        with contextlib.closing(open_database(folder, None)) as database:
            yield database


def not_empty(place: Place) -> KeyFileError:
    what = "directory" if place.database is None else "database"
    return KeyFileError(
        f"{place} is not empty, and not this move's: name a {what} that is, or one that is not there."
    )


def check_new_folder(folder: Path) -> None:
    """Raises KeyFileError if a directory has more than a new database."""
    ours = {LOCK_FILE, *(f"{DATABASE_FILE}{suffix}" for suffix in ("", "-wal", "-shm"))}
    if any(path.name not in ours for path in folder.iterdir()):
        raise not_empty(Place(folder, None, None))


def check_new_store(place: Place) -> None:
    """Raises KeyFileError if the prefix of an object store has anything."""
    from ciphermote.gateway.store.object_store import ObjectStore

    assert place.store is not None
    with contextlib.closing(ObjectStore(place.store, place.folder)) as store:
        if not store.is_empty():
            raise KeyFileError(
                f"{place.store} is not empty, and not this move's: name a prefix that is (--store)."
            )


def keeps_bytes(source: End, target: Place) -> bool:
    """Whether the bytes are already where the target has them: in the store that it names, or, for a database
    with a server that none is named for, wherever they are."""
    row = store_row(source.connection)
    present = None if row is None else row["url"]
    if target.store is None:
        return target.database is not None
    return bool(target.store == present)


def assign_store(source: End, target: Place, connection: Connection) -> None:
    """Record in the target's database which store has the bytes."""
    if keeps_bytes(source, target):
        row = store_row(source.connection)
        found = (folder_identity(target.folder), None) if row is None else tuple(row)
    elif target.store is not None:
        found = (secrets.token_hex(16), target.store)
    else:
        return
    connection.execute("INSERT INTO store (identity, url) VALUES (?, ?)", found)


@contextlib.contextmanager
def target_end(source: End, place: Place, database: Database) -> Iterator[End]:
    """Open the target's store, as its database records it, within the block."""
    keeps = keeps_bytes(source, place)
    if place.store is not None and not keeps:
        bucket, row = open_object_store(place.folder, database.connection), store_row(database.connection)
        assert bucket is not None and row is not None
        with contextlib.closing(bucket):
            claim_store(bucket, row["identity"])
            yield End(place, database, bucket)
    elif keeps:
        yield End(place, database, source.store, keeps_bytes=True)
    else:
        with contextlib.closing(open_store(place.folder, database.connection)) as store:
            yield End(place, database, store)


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    if not folder.is_dir():
        raise KeyFileError(f"{folder} is no directory: name a gateway's (--data).")
    with contextlib.ExitStack() as held:
        try:
            held.enter_context(lock(folder / LOCK_FILE, _LOCK_SECONDS))
        except TimeoutError:
            raise KeyFileError(f"A gateway runs in {folder}: stop it first.") from None
        yield
