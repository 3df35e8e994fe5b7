# SPDX-License-Identifier: Apache-2.0
"""Open a gateway's store: its database knows which one has the bytes."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import TYPE_CHECKING

from ciphermote.base.errors import KeyFileError, ParameterError
from ciphermote.base.files import sync_directory, write_atomically
from ciphermote.base.words import how_to_install
from ciphermote.gateway.database.interface import Connection, Database, Row
from ciphermote.gateway.gateway_files import OBJECTS, SEGMENTS, STORE_IDENTITY_FILE
from ciphermote.gateway.store.folder import SEGMENT_BYTES, FolderStore
from ciphermote.gateway.store.interface import Store, StoreUnavailable

if TYPE_CHECKING:
    from ciphermote.gateway.store.object_store import ObjectStore


def open_store(folder: Path, database: Connection, segment_bytes: int = SEGMENT_BYTES) -> Store:
    """Open the store of a gateway with this directory and database. Raises KeyFileError if another directory
    has the bytes."""
    row = store_row(database)
    if row is not None and row["url"] is not None:
        return _object_store(row["url"], folder)
    if row is not None:
        _check_folder(folder, row["identity"])
    return FolderStore(folder, segment_bytes)


def open_object_store(folder: Path, database: Connection) -> ObjectStore | None:
    """Open a gateway's object store; None if its directory has the bytes."""
    row = store_row(database)
    return None if row is None or row["url"] is None else _object_store(row["url"], folder)


def settle_store(folder: Path, database: Database, url: str | None) -> None:
    """Choose the store of a new gateway, or check that the gateway's bytes are there. url: of an object
    store; None for the store that the gateway has. Raises KeyFileError if the bytes are elsewhere, or if the
    store cannot be reached."""
    with database.writing() as connection:  # only one of several new gateways chooses
        row = store_row(connection)
        if row is None:
            if url is None and not database.is_shared:
                return
            _check_empty(folder, url)
            identity = folder_identity(folder) if url is None else secrets.token_hex(16)
            connection.execute("INSERT INTO store (identity, url) VALUES (?, ?)", (identity, url))
    if row is None:
        if url is None:
            return
        try:
            claim_store(_object_store(url, folder), identity)
        except BaseException:
            database.connection.execute("DELETE FROM store")
            raise
        return
    identity, known = row["identity"], row["url"]
    if url not in (None, known):
        named = _object_store(url, folder).url  # it refuses a URL that has a secret
        raise KeyFileError(
            f"The gateway's bytes are in its directory, and not in {named}: start it without --store."
            if known is None
            else f"The gateway's bytes are in {known}, and not in {named}: name that (--store)."
        )
    if known is None:
        _check_folder(folder, identity)
    else:
        claim_store(_object_store(known, folder), identity)


def store_row(database: Connection) -> Row | None:
    """Return which store has the bytes; None for the directory of a database that is a file there."""
    row: Row | None = database.execute("SELECT identity, url FROM store").fetchone()
    return row


def _check_empty(folder: Path, url: str | None) -> None:
    """Raises KeyFileError if a directory has bytes of which a new database, or a new store, knows nothing."""
    if any(path.is_file() for name in (SEGMENTS, OBJECTS) for path in folder.glob(f"{name}/*")):
        raise KeyFileError(
            f"{folder} has the bytes of a gateway with another database: name another directory (--data)."
            if url is None
            else f"The gateway's bytes are in {folder}, and not in {url}: start it without --store."
        )


def folder_identity(folder: Path) -> str:
    """Return a directory's identity, which it gets if it has none."""
    path = folder / STORE_IDENTITY_FILE
    if not path.exists():
        write_atomically(path, f"{secrets.token_hex(16)}\n".encode(), 0o600)
        sync_directory(folder)
    return path.read_text().strip()


def _check_folder(folder: Path, identity: str) -> None:
    path = folder / STORE_IDENTITY_FILE
    if not path.exists() or path.read_text().strip() != identity:
        raise KeyFileError(
            f"The database's gateway has its bytes in another directory than {folder}: name that one "
            "(--data), where one gateway runs at a time. Several gateways need a new database and an object "
            "store (--store)."
        )


def claim_store(store: ObjectStore, identity: str) -> None:
    """Mark a prefix as a gateway's, or check that it is. Raises KeyFileError."""
    try:
        store.claim(identity)
    except StoreUnavailable as error:
        raise KeyFileError(f"{store.url}: {error}") from None


def _object_store(url: str, folder: Path) -> ObjectStore:
    try:
        from ciphermote.gateway.store.object_store import ObjectStore
    except ModuleNotFoundError as error:
        raise ParameterError(
            f"The packages for --store are not installed ({error.name} is missing): "
            f"{how_to_install('cluster')}."
        ) from None
    return ObjectStore(url, folder)
