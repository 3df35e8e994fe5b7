# SPDX-License-Identifier: Apache-2.0
"""What a task reads: windows and whole objects, wherever it is computed."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple, Protocol

from ciphermote.gateway.store.extents import Extent, parse_extents
from ciphermote.gateway.store.interface import Reader, Store


class Source(Protocol):
    """Gives the bytes that a task computes on."""

    def reader(self) -> Reader:
        """Return a reader for this thread."""

    def get(self, digest: str) -> bytes:
        """Read a whole object."""


class StoreSource:
    """An open store, for tasks in this process."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._thread = threading.local()
        self._readers: list[Reader] = []

    def reader(self) -> Reader:
        found: Reader | None = getattr(self._thread, "reader", None)
        if found is None:
            found = self._thread.reader = self.store.reader()
            self._readers.append(found)
        return found

    def get(self, digest: str) -> bytes:
        return self.store.get(digest)

    def close(self) -> None:
        """Release what was fetched or opened, once no task reads."""
        for reader in self._readers:
            reader.close()


class UrlSource(NamedTuple):
    """An object store, which a task opens with the credentials of its own machine's environment."""

    url: str

    def reader(self) -> Reader:
        return _opened(self.url).reader()

    def get(self, digest: str) -> bytes:
        return _opened(self.url).get(digest)


class GivenSource:
    """The bytes themselves, for tasks that can read no store."""

    def __init__(self, contents: dict[Extent, bytes], objects: dict[str, bytes]) -> None:
        self._contents = contents
        self._objects = objects

    @classmethod
    def of(cls, store: Store, reader: Reader, extents: Iterable[str], digests: Iterable[str]) -> GivenSource:
        """Read what a task needs. Raises KeyFileError if something is missing or damaged."""
        places = [parse_extents(text) for text in extents]
        reader.prefetch(places)
        contents = {extent: reader.read([extent]) for place in places for extent in place}
        return cls(contents, {digest: store.get(digest) for digest in dict.fromkeys(digests)})

    def reader(self) -> Reader:
        return self

    def get(self, digest: str) -> bytes:
        return self._objects[digest]

    def prefetch(self, windows: Iterable[Sequence[Extent]]) -> None:
        """Do nothing: everything is here."""

    def read(self, extents: Sequence[Extent]) -> bytes:
        return b"".join(self._contents[extent] for extent in extents)

    def view(self, extents: Sequence[Extent]) -> bytes:
        return self._contents[extents[0]] if len(extents) == 1 else self.read(extents)

    def close(self) -> None:
        """Do nothing: the task's arguments go with it."""


@lru_cache(maxsize=1)
def _opened(url: str) -> Store:
    from ciphermote.gateway.store.object_store import ObjectStore

    return ObjectStore(url, Path.cwd())
