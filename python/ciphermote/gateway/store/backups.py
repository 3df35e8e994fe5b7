# SPDX-License-Identifier: Apache-2.0
"""Records of what backups refer to in an object store, as objects of that store.

A backup of the database has no copies of objects. Instead none of the objects that it refers to is removed
while its record exists. The record is there before the database is copied, and until the copy is whole it
stands for everything.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Iterator

FOLDER = "backups/"


def to_bytes(named: Iterable[str] | None) -> bytes:
    """Write a record of places and digests; None for everything."""
    return b"" if named is None else gzip.compress("".join(f"{name}\n" for name in named).encode())


def from_bytes(data: bytes) -> Iterator[str] | None:
    """Read a record back."""
    return iter(gzip.decompress(data).decode().splitlines()) if data else None
