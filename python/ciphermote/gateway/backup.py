# SPDX-License-Identifier: Apache-2.0
"""Back up a gateway, even a running one under load, and restore it.

The database is copied in one read transaction, which writers do not disturb, so it ends. Then segments and
objects are copied: everything that the copy refers to exists by then, and stays during the backup, because no
sweep begins (BACKUP_LOCK_FILE). Files in an earlier backup are not copied again. Only the owner can read the
files.

What lies in an object store is not copied: what the copy of the database refers to stays there, as long as
the store has a record of the backup (store/backups.py).
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING

from ciphermote.base.errors import KeyFileError
from ciphermote.base.files import lock, sync_directory, write_atomically
from ciphermote.gateway.database.sqlite import connect, damaged_pages
from ciphermote.gateway.gateway_files import (
    BACKUP_LOCK_FILE,
    BACKUP_NAME_FILE,
    DATABASE_FILE,
    OBJECTS,
    OPERATOR_TOKEN_FILE,
    OWNER_TOKEN_FILE,
    SEGMENTS,
    TLS,
    WRAP_KEY_FILE,
)
from ciphermote.gateway.retention import USED_OBJECTS, USED_PLACES
from ciphermote.gateway.store.interface import Stored, StoreUnavailable
from ciphermote.gateway.store.opening import open_object_store

if TYPE_CHECKING:
    from ciphermote.gateway.store.object_store import ObjectStore

_LOCK_SECONDS = 3600.0
_SECRETS = (WRAP_KEY_FILE, OPERATOR_TOKEN_FILE, OWNER_TOKEN_FILE)
_SCRATCH = ".new"


@dataclass
class Copied:
    """Figures of a backup. files, size: number and bytes of new segments and objects, which an object
    store has none of; database: its bytes."""

    database: int = 0
    files: int = 0
    size: int = 0


def back_up(data: Path, target: Path, secrets: Path | None = None) -> Copied:
    """Copy a gateway's directory, and its secrets to a separate directory (None: do not copy them). An
    earlier backup in target stays intact until the new one is complete. Raises KeyFileError if there is no
    gateway, or if its database is damaged, or OSError."""
    _check_gateway(data)
    for place in filter(None, (target, secrets)):
        if place.resolve().is_relative_to(data.resolve()):
            raise KeyFileError(f"{place} is in the gateway's own directory: name another place.")
        _make(place)
    copied = Copied()
    scratch = target / f"{DATABASE_FILE}{_SCRATCH}"
    with lock(data / BACKUP_LOCK_FILE, _LOCK_SECONDS), _object_store(data) as store:
        if store is None:
            _copy_database(data / DATABASE_FILE, scratch)
            for folder in (SEGMENTS, OBJECTS):
                _make(target / folder)
                _copy_new(data / folder, target / folder, copied)
            _replace_database(scratch, target, copied)
            for folder in (SEGMENTS, OBJECTS):
                for path in _files(target / folder):
                    if not (data / folder / path.name).exists():
                        path.unlink()
        else:
            _back_up_with_store(data / DATABASE_FILE, scratch, target, store, copied)
    if secrets is not None:
        copy_secrets(data, secrets)
    return copied


def kept_backups(data: Path) -> list[Stored]:
    """Return the backups of a gateway that its object store keeps objects for, the oldest first."""
    with _object_store(data) as store:
        return [] if store is None else store.backups()


def forget_backup(data: Path, name: str) -> None:
    """Let objects go that only a backup refers to. Raises KeyFileError if there is no such backup."""
    with _object_store(data) as store:
        if store is None or name not in {found.name for found in store.backups()}:
            raise KeyFileError(f"There is no backup {name}: list those that are kept.")
        store.unmark_backup(name)


def _check_gateway(data: Path) -> None:
    if not (data / DATABASE_FILE).is_file():
        raise KeyFileError(f"{data} has no {DATABASE_FILE}: name a gateway's directory (--data).")


@contextlib.contextmanager
def _object_store(data: Path) -> Iterator[ObjectStore | None]:
    """Provide a gateway's object store within the block; None if its directory has the bytes."""
    _check_gateway(data)
    with contextlib.closing(connect(data / DATABASE_FILE)) as database:
        store = open_object_store(data, database)
    try:
        yield store
    except StoreUnavailable as error:
        raise KeyFileError(str(error)) from None
    finally:
        if store is not None:
            store.close()


def _back_up_with_store(
    source: Path, scratch: Path, target: Path, store: ObjectStore, copied: Copied
) -> None:
    """Copy the database, and have the store keep what the copy refers to, instead of what the backup before
    did."""
    now = datetime.now(UTC)
    name = f"{now:%Y%m%dT%H%M%S}.{now.microsecond // 1000:03}Z-{token_hex(4)}"
    store.mark_backup(name, None)
    try:
        _copy_database(source, scratch)
        with contextlib.closing(_read_only(scratch)) as copy:
            named = [*copy.execute(USED_PLACES), *copy.execute(USED_OBJECTS)]
            store.mark_backup(name, (each for (each,) in named if each))
    except BaseException:
        store.unmark_backup(name)
        raise
    _replace_database(scratch, target, copied)
    before = target / BACKUP_NAME_FILE
    old = before.read_text().strip() if before.exists() else None
    write_atomically(before, f"{name}\n".encode(), 0o600)
    if old is not None:
        store.unmark_backup(old)


def _replace_database(scratch: Path, target: Path, copied: Copied) -> None:
    copied.database = scratch.stat().st_size
    _forget_log(target)
    os.replace(scratch, target / DATABASE_FILE)
    sync_directory(target)


def restore(backup: Path, secrets: Path, data: Path) -> None:
    """Restore a gateway's directory, data, which must be empty or absent. Raises KeyFileError."""
    for path in (backup / DATABASE_FILE, secrets / WRAP_KEY_FILE):
        if not path.is_file():
            raise KeyFileError(f"{path} is missing: name a backup and the place of its secrets (--secrets).")
    if data.exists() and any(data.iterdir()):
        raise KeyFileError(f"{data} is not empty: name a directory that is, or one that is not there.")
    _make(data)
    copy_secrets(secrets, data)
    for folder in (SEGMENTS, OBJECTS):
        _make(data / folder)
        if (backup / folder).is_dir():
            _copy_new(backup / folder, data / folder, Copied())
    _copy_file(backup / DATABASE_FILE, data / DATABASE_FILE)  # the last one: without it nothing starts there
    sync_directory(data)


def _make(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    os.chmod(folder, 0o700)


def _copy_database(source: Path, target: Path) -> None:
    """Copy the database in one read transaction. Raises KeyFileError if it is damaged."""
    target.unlink(missing_ok=True)
    os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    try:
        with contextlib.closing(connect(source)) as database:
            database.execute("VACUUM INTO ?", (str(target),))
        with contextlib.closing(_read_only(target)) as copy:
            damage = [f"The database is damaged: {line}." for line in damaged_pages(copy)]
    except sqlite3.DatabaseError as error:
        damage = [str(error)]
    if damage:
        target.unlink()
        raise KeyFileError(
            f"{source} cannot be copied ({damage[0]}), and an earlier backup stays as it was: see "
            "`ciphermote gateway verify`, and restore that if the database is damaged."
        )
    _sync(target)


def _read_only(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)


def _copy_new(source: Path, target: Path, copied: Copied) -> None:
    """Copy files that are missing, or that have another size or time: the newest segment grows."""
    for path in _files(source):
        there = target / path.name
        try:
            state = path.stat()
            if there.exists() and _same(there.stat(), state):
                continue
            _copy_file(path, there)
        except FileNotFoundError:  # an object that nothing refers to
            continue
        copied.files += 1
        copied.size += state.st_size
    sync_directory(target)


def _same(one: os.stat_result, other: os.stat_result) -> bool:
    return (one.st_size, one.st_mtime_ns) == (other.st_size, other.st_mtime_ns)


def _copy_file(source: Path, target: Path) -> None:
    """Copy a file atomically, with its time."""
    scratch = target.with_name(f"{target.name}{_SCRATCH}")
    scratch.unlink(missing_ok=True)
    descriptor = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as to, source.open("rb") as file:
        state = os.fstat(file.fileno())
        shutil.copyfileobj(file, to, 1 << 20)
        to.flush()
        os.fsync(to.fileno())
    os.utime(scratch, ns=(state.st_atime_ns, state.st_mtime_ns))
    os.replace(scratch, target)


def copy_secrets(source: Path, target: Path) -> None:
    """Copy a gateway's keys, tokens and certificates to a directory."""
    for name in _SECRETS:
        if (source / name).exists():
            _copy_file(source / name, target / name)
    if (source / TLS).is_dir():
        _make(target / TLS)
        for path in _files(source / TLS):
            _copy_file(path, target / TLS / path.name)
    sync_directory(target)


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.iterdir()) if path.is_file() and path.suffix != _SCRATCH)


def _forget_log(folder: Path) -> None:
    """Remove the log that opening a copy of a database leaves."""
    for suffix in ("-wal", "-shm"):
        (folder / f"{DATABASE_FILE}{suffix}").unlink(missing_ok=True)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
