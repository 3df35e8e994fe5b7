# SPDX-License-Identifier: Apache-2.0
"""Open a gateway's store: its database knows which one has the bytes."""

from __future__ import annotations

import secrets
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING

from ciphermote.base.errors import KeyFileError, ParameterError
from ciphermote.base.words import how_to_install
from ciphermote.gateway.gateway_files import OBJECTS, SEGMENTS
from ciphermote.gateway.store.folder import SEGMENT_BYTES, FolderStore
from ciphermote.gateway.store.interface import Store, StoreUnavailable

if TYPE_CHECKING:
    from ciphermote.gateway.store.object_store import ObjectStore


def open_store(folder: Path, database: sqlite3.Connection, segment_bytes: int = SEGMENT_BYTES) -> Store:
    """Open the store of a gateway with this directory and database."""
    return open_object_store(folder, database) or FolderStore(folder, segment_bytes)


def open_object_store(folder: Path, database: sqlite3.Connection) -> ObjectStore | None:
    """Open a gateway's object store; None if its directory has the bytes."""
    row = database.execute("SELECT url FROM store").fetchone()
    return None if row is None else _object_store(row[0], folder)


def settle_store(folder: Path, database: sqlite3.Connection, url: str | None) -> None:
    """Choose the object store of a new gateway, or check that the gateway's bytes are there. url: None for
    the one that it has. Raises KeyFileError if they are elsewhere, or if it cannot be reached."""
    row = database.execute("SELECT identity, url FROM store").fetchone()
    if row is None and url is None:
        return
    if row is None:
        assert url is not None
        if any(path.is_file() for name in (SEGMENTS, OBJECTS) for path in folder.glob(f"{name}/*")):
            raise KeyFileError(
                f"The gateway's bytes are in {folder}, and not in {url}: start it without --store."
            )
        store, identity = _object_store(url, folder), secrets.token_hex(16)
        database.execute("INSERT INTO store (identity, url) VALUES (?, ?)", (identity, url))
        try:
            _claim(store, identity)
        except BaseException:
            database.execute("DELETE FROM store")
            raise
        return
    identity, known = row
    if url not in (None, known):
        store = _object_store(url, folder)  # which refuses a URL that has a secret
        raise KeyFileError(
            f"The gateway's bytes are in {known}, and not in {store.url}: name that (--store)."
        )
    _claim(_object_store(known, folder), identity)


def _claim(store: ObjectStore, identity: str) -> None:
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
