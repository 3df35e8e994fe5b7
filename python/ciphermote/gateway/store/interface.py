# SPDX-License-Identifier: Apache-2.0
"""The interface of every store.

Deliveries are appended a round at a time, to places that the store names. The database knows their bytes as
extents; bytes that it does not refer to, which a crash can leave, are never read. Whole objects, which are
uploaded keys and results, are known by the digests of their content.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from ciphermote.gateway.store.extents import Extent


class StoreUnavailable(OSError):
    """The store does not answer, or refuses this gateway: nothing is wrong with what it has."""


class Owner(Protocol):
    """Owns bytes that are appended: a fleet."""

    @property
    def tenant(self) -> int:
        """The tenant's id."""

    @property
    def id(self) -> int:
        """The fleet's id."""


class Stored(NamedTuple):
    """Something that a store has. name: a place, or an object's digest; modified: seconds since 1970, by the
    store's clock."""

    name: str
    size: int
    modified: float


class Reader(Protocol):
    """Reads extents, in one thread of any process."""

    def prefetch(self, windows: Iterable[Sequence[Extent]]) -> None:
        """Fetch windows that are read next in few requests. What cannot be fetched fails when it is read."""

    def read(self, extents: Sequence[Extent]) -> bytes:
        """Read the bytes of one or more deliveries, joined. Raises KeyFileError if they are missing or
        damaged."""

    def view(self, extents: Sequence[Extent]) -> bytes | memoryview:
        """Read as read does, without copying bytes that lie in one place."""

    def close(self) -> None:
        """Release what was fetched or opened; it is fetched again when read."""


class Store(Protocol):
    """A store. A method that cannot reach it raises OSError."""

    most_in_flight: int
    """How many rounds may be appended at a time. More than one: from as many threads."""
    has_orphans: bool
    """Whether places may be stored that nothing ever referred to, which only their list shows."""
    disk: Path
    """A directory of the disk that must have room for a round."""

    @property
    def url(self) -> str | None:
        """The URL of an object store; None for a directory."""

    @property
    def trouble(self) -> str | None:
        """Why nothing can be stored at present; None if nothing is known."""

    def append(self, pieces: Sequence[bytes], owners: Sequence[Owner], now: float) -> list[Extent]:
        """Append pieces, each of the owner at its place, and return the extent of each, all of them durable
        on return. now: seconds since 1970. Raises OSError if there is no room, and then records nothing."""

    def append_apart(self, pieces: Sequence[bytes], owner: Owner, now: float) -> list[Extent]:
        """Append pieces of one owner to a place of their own, as append does, in any process."""

    def reader(self) -> Reader:
        """Return a new reader."""

    def growing(self) -> set[str]:
        """Return the places that later rounds may be appended to."""

    def places(self) -> Iterator[Stored]:
        """Yield all places."""

    def remove_places(self, places: Sequence[str]) -> None:
        """Remove places with all their bytes."""

    def put(self, content: bytes) -> str:
        """Store an object, which is durable on return, and return its digest. Storing it again makes it as
        young as a new one."""

    def get(self, digest: str) -> bytes:
        """Read an object. Raises KeyFileError if it is missing, or does not match its digest."""

    def sizes(self, digests: Iterable[str]) -> dict[str, int]:
        """Return the sizes of those objects that exist."""

    def objects(self) -> Iterator[Stored]:
        """Yield all objects."""

    def delete(self, digest: str, seconds: float) -> int:
        """Delete an object, unless it was stored again since then or does not exist, and return the bytes
        released."""

    def in_backups(self, names: set[str]) -> set[str]:
        """Return those names of places and objects that a backup needs from this very store."""

    def close(self) -> None:
        """End appending."""
