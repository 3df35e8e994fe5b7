# SPDX-License-Identifier: Apache-2.0
"""A store under a prefix of a bucket: S3, Google Cloud Storage or Azure Blob Storage, through obstore.

    rounds/TENANT/FLEET/DAY/UNIQUE    what devices of a fleet sent in one round; a place is the last four
    objects/DIGEST                    whole objects
    backups/NAME                      what a backup of the database refers to (backups.py)
    gateway                           the identity of the gateway whose bytes these are

No name tells a device. An object is written once; extents carry the CRC-32 of their bytes, which is checked
when they are read. Credentials come from the environment, and from the files that it names.
"""

from __future__ import annotations

import configparser
import contextlib
import os
import re
import secrets
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import obstore
import obstore.store
from obstore.exceptions import AlreadyExistsError, BaseError

from ciphermote.base.errors import KeyFileError, ParameterError
from ciphermote.gateway import telemetry
from ciphermote.gateway.store import backups
from ciphermote.gateway.store.extents import DIGEST_BYTES, Extent, digest_of
from ciphermote.gateway.store.interface import Owner, Stored, StoreUnavailable
from ciphermote.gateway.store.urls import PROVIDERS, check_url

_ROUNDS, _OBJECTS, _IDENTITY = "rounds/", "objects/", "gateway"
_PLACE = re.compile(r"\d+/\d+/\d{8}/[\w-]{16}", re.ASCII)
_UNIQUE_BYTES = 12
_MOST_OBJECT_BYTES = 1 << 30
_IN_PARTS_BYTES = 64 << 20
"""An object from this size on is uploaded in parts."""
_PART_BYTES = 16 << 20
_PREFETCH_BYTES = 64 << 20
_GAP_BYTES = 256 << 10
"""Extents that are no further apart are read in one request."""
_REQUESTS = 16
"""Requests of one append, reader or call at a time."""
_AT_ONCE = 1000
"""Names in one request to delete."""
_TRIES = {"max_retries": 3, "retry_timeout": timedelta(seconds=15)}
_CLIENT = {"connect_timeout": "5s", "timeout": "60s", "user_agent": "ciphermote"}
_CREDENTIALS_SECONDS = 300.0
_TROUBLE_SECONDS = 10.0
"""How long a failed write counts as the present state."""
_LONGEST_REASON = 200
_from_url: Any = obstore.store.from_url  # typed for one kind of store at a time


class ObjectStore:
    """The store at a URL. Several processes may append at a time."""

    most_in_flight = 8
    has_orphans = True

    def __init__(self, url: str, disk: Path) -> None:
        check_url(url)
        self.url = url
        self.disk = disk
        self._bucket = _bucket(url)
        self._pool = ThreadPoolExecutor(_REQUESTS, "store")
        self._failed_at = -_TROUBLE_SECONDS

    def claim(self, identity: str) -> None:
        """Mark the prefix as a gateway's, or check that it is. Raises KeyFileError if it is another's, and
        StoreUnavailable."""
        with _requests("claim"):
            with contextlib.suppress(AlreadyExistsError):
                obstore.put(self._bucket, _IDENTITY, identity.encode(), mode="create")
            found = bytes(obstore.get(self._bucket, _IDENTITY).bytes())
        if found != identity.encode():
            raise KeyFileError(f"{self.url} has another gateway's bytes: name another prefix (--store).")

    def is_empty(self) -> bool:
        """Whether the prefix has nothing."""
        return next(self._listed(""), None) is None

    @property
    def trouble(self) -> str | None:
        """Why nothing can be stored, if a write has just failed."""
        failed = time.monotonic() - self._failed_at < _TROUBLE_SECONDS
        return "the object store does not take what is sent to it" if failed else None

    # --- deliveries -----------------------------------------------------------------------------------------

    def append(self, pieces: Sequence[bytes], owners: Sequence[Owner], now: float) -> list[Extent]:
        day = time.strftime("%Y%m%d", time.gmtime(now))
        found: dict[int, Extent] = {}
        contents: dict[str, list[bytes]] = {}
        places: dict[tuple[int, int], str] = {}
        sizes: dict[str, int] = {}
        for number, (piece, owner) in enumerate(zip(pieces, owners, strict=True)):
            whose = owner.tenant, owner.id
            if whose not in places:
                place = f"{owner.tenant}/{owner.id}/{day}/{secrets.token_urlsafe(_UNIQUE_BYTES)}"
                places[whose], contents[place], sizes[place] = place, [], 0
            place = places[whose]
            found[number] = Extent(place, sizes[place], len(piece), zlib.crc32(piece))
            contents[place].append(piece)
            sizes[place] += len(piece)
        self._each(self._put_round, contents.items())
        self._failed_at = -_TROUBLE_SECONDS
        return list(found.values())

    def append_apart(self, pieces: Sequence[bytes], owner: Owner, now: float) -> list[Extent]:
        return self.append(pieces, [owner] * len(pieces), now)

    def _put_round(self, round_: tuple[str, list[bytes]]) -> None:
        place, data = round_
        self._put(_ROUNDS + place, b"".join(data))

    def reader(self) -> ObjectReader:
        return ObjectReader(self._bucket)

    def growing(self) -> set[str]:
        return set()

    def places(self) -> Iterator[Stored]:
        return self._listed(_ROUNDS)

    def remove_places(self, places: Sequence[str]) -> None:
        self._remove([_ROUNDS + place for place in places])

    # --- whole objects --------------------------------------------------------------------------------------

    def put(self, content: bytes) -> str:
        digest = digest_of(content)
        self._put(_OBJECTS + digest, content)
        return digest

    def get(self, digest: str) -> bytes:
        content = self._get(_OBJECTS + digest)
        if digest_of(content) != digest:
            raise KeyFileError(f"Object {digest} in {self.url} is damaged: restore it there.")
        return content

    def sizes(self, digests: Iterable[str]) -> dict[str, int]:
        names = list(digests)
        found = self._each(self._size, names)
        return {name: size for name, size in zip(names, found, strict=True) if size is not None}

    def _size(self, digest: str) -> int | None:
        found = self._head(_OBJECTS + digest)
        return None if found is None else found.size

    def objects(self) -> Iterator[Stored]:
        return (found for found in self._listed(_OBJECTS) if len(found.name) == 2 * DIGEST_BYTES)

    def delete(self, digest: str, seconds: float) -> int:
        found = self._head(_OBJECTS + digest)
        if found is None or found.modified >= seconds:
            return 0
        self._remove([_OBJECTS + digest])
        return found.size

    # --- backups --------------------------------------------------------------------------------------------

    def mark_backup(self, name: str, named: Iterable[str] | None) -> None:
        """Record what a backup refers to: places and digests; None while that is not known yet."""
        self._put(backups.FOLDER + name, backups.to_bytes(named))

    def unmark_backup(self, name: str) -> None:
        self._remove([backups.FOLDER + name])

    def backups(self) -> list[Stored]:
        """List the backups, the oldest first: by their names within a second, which is all that some stores
        know."""
        return sorted(self._listed(backups.FOLDER), key=lambda found: (found.modified, found.name))

    def in_backups(self, names: set[str]) -> set[str]:
        found: set[str] = set()
        for backup in self.backups() if names else ():
            named = backups.from_bytes(self._get(backups.FOLDER + backup.name))
            if named is None:
                return names
            found |= names.intersection(named)
        return found

    def close(self) -> None:
        self._pool.shutdown()

    # --- requests -------------------------------------------------------------------------------------------

    def _each(self, call: Callable[[Any], Any], arguments: Iterable[Any]) -> list[Any]:
        given = list(arguments)
        if len(given) == 1:
            return [call(given[0])]
        return list(self._pool.map(telemetry.carried(call), given))

    def _put(self, path: str, content: bytes) -> None:
        parts = len(content) >= _IN_PARTS_BYTES
        try:
            with _requests("put"):
                obstore.put(self._bucket, path, content, use_multipart=parts, chunk_size=_PART_BYTES)
        except StoreUnavailable:
            self._failed_at = time.monotonic()
            raise

    def _get(self, path: str) -> bytes:
        with _requests("get"):
            try:
                found = obstore.get(self._bucket, path)
                if found.meta["size"] > _MOST_OBJECT_BYTES:
                    raise KeyFileError(f"{path} in {self.url} is larger than any that a gateway stores.")
                return bytes(found.bytes())
            except FileNotFoundError:
                raise KeyFileError(f"{path} is missing in {self.url}: restore it there.") from None

    def _head(self, path: str) -> Stored | None:
        with _requests("head"):
            try:
                found = obstore.head(self._bucket, path)
            except FileNotFoundError:
                return None
        return Stored(path, found["size"], found["last_modified"].timestamp())

    def _listed(self, folder: str) -> Iterator[Stored]:
        with _requests("list"):
            for chunk in obstore.list(self._bucket, folder):
                for found in chunk:
                    name = found["path"].removeprefix(folder)
                    yield Stored(name, found["size"], found["last_modified"].timestamp())

    def _remove(self, paths: list[str]) -> None:
        for first in range(0, len(paths), _AT_ONCE):
            with _requests("delete"), contextlib.suppress(FileNotFoundError):
                obstore.delete(self._bucket, paths[first : first + _AT_ONCE])


class ObjectReader:
    """Reads extents of rounds. What was prefetched stays in memory until the next call of prefetch."""

    def __init__(self, bucket: Any) -> None:
        self._bucket = bucket
        self._fetched: dict[Extent, bytes | KeyFileError] = {}

    def prefetch(self, windows: Iterable[Sequence[Extent]]) -> None:
        wanted = dict.fromkeys(extent for extents in windows for extent in extents)
        if all(extent in self._fetched for extent in wanted):
            return
        self._fetched = {}
        by_place: dict[str, list[Extent]] = {}
        size = 0
        for extent in wanted:
            size += extent.size
            if size > _PREFETCH_BYTES:
                break  # the others are fetched when they are read
            by_place.setdefault(extent.place, []).append(extent)
        if len(by_place) > 1:
            with ThreadPoolExecutor(min(_REQUESTS, len(by_place)), "fetch") as pool:
                for found in pool.map(telemetry.carried(self._fetch), by_place.values()):
                    self._fetched.update(found)
        else:
            for extents in by_place.values():
                self._fetched.update(self._fetch(extents))

    def read(self, extents: Sequence[Extent]) -> bytes:
        return b"".join(map(self._one, extents))

    def view(self, extents: Sequence[Extent]) -> bytes:
        return self._one(extents[0]) if len(extents) == 1 else self.read(extents)

    def close(self) -> None:
        self._fetched = {}

    def _one(self, extent: Extent) -> bytes:
        found = self._fetched.get(extent)
        if found is None:
            found = self._fetch([extent])[extent]
        if isinstance(found, KeyFileError):
            raise found
        return found

    def _fetch(self, extents: list[Extent]) -> dict[Extent, bytes | KeyFileError]:
        """Fetch extents of one place, and check each."""
        place = extents[0].place
        if not _PLACE.fullmatch(place):
            error = KeyFileError(f"{place} is in no object store: move the gateway's bytes there first.")
            return dict.fromkeys(extents, error)
        path = _ROUNDS + place
        found: dict[Extent, bytes | KeyFileError] = {}
        try:
            for near in _neighbours(extents):
                begin, end = near[0].offset, max(extent.offset + extent.size for extent in near)
                data = self._range(path, begin, end)
                for extent in near:
                    at = extent.offset - begin
                    found[extent] = _checked(extent, data[at : at + extent.size])
        except FileNotFoundError:
            error = KeyFileError(f"Object {path} is missing in the store: restore it there.")
            return dict.fromkeys(extents, error)
        return found

    def _range(self, path: str, begin: int, end: int) -> bytes:
        """Read a range of an object, or as much of it as there is."""
        try:
            with telemetry.request("store", "get"):
                return bytes(obstore.get_range(self._bucket, path, start=begin, end=end))
        except BaseError as error:
            with _requests("head"):
                if obstore.head(self._bucket, path)["size"] <= begin:
                    return b""
            raise StoreUnavailable(f"The object store cannot be used: {_reason(error)}") from None


def _neighbours(extents: list[Extent]) -> Iterator[list[Extent]]:
    """Group extents of one place that are read in one request."""
    group: list[Extent] = []
    end = 0
    for extent in sorted(extents, key=lambda extent: extent.offset):
        if group and extent.offset > end + _GAP_BYTES:
            yield group
            group = []
        group.append(extent)
        end = max(end, extent.offset + extent.size)
    yield group


def _checked(extent: Extent, data: bytes) -> bytes | KeyFileError:
    if len(data) == extent.size and zlib.crc32(data) == extent.check:
        return data
    return KeyFileError(f"Object {_ROUNDS}{extent.place} in the store is damaged: restore it there.")


def _bucket(url: str) -> Any:
    more: dict[str, Any] = {}
    allow_http = f"{PROVIDERS[url.partition(':')[0]]}_ALLOW_HTTP"
    client = {**_CLIENT, "allow_http": os.environ.get(allow_http, "").lower() == "true"}
    if url.startswith("s3://") and "AWS_ACCESS_KEY_ID" not in os.environ:
        path = os.environ.get("AWS_SHARED_CREDENTIALS_FILE")
        if path is not None:
            more["credential_provider"] = lambda: _from_file(Path(path))
    try:
        return _from_url(url, client_options=client, retry_config=_TRIES, **more)
    except BaseError as error:
        raise ParameterError(f"--store {url} cannot be used ({_reason(error)}).") from None


def _from_file(path: Path) -> dict[str, Any]:
    """Read credentials as AWS's own tools store them, and again now and then."""
    parser = configparser.ConfigParser(interpolation=None)
    parser.read_string(path.read_text())
    profile = parser[os.environ.get("AWS_PROFILE", "default")]
    return {
        "access_key_id": profile["aws_access_key_id"],
        "secret_access_key": profile["aws_secret_access_key"],
        "token": profile.get("aws_session_token"),
        "expires_at": datetime.now(UTC) + timedelta(seconds=_CREDENTIALS_SECONDS),
    }


@contextlib.contextmanager
def _requests(operation: str) -> Iterator[None]:
    """Raise StoreUnavailable for what goes wrong with requests in the block."""
    try:
        with telemetry.request("store", operation):
            yield
    except (BaseError, FileNotFoundError) as error:
        raise StoreUnavailable(f"The object store cannot be used: {_reason(error)}") from None


def _reason(error: Exception) -> str:
    """The first line of a reason, without what may be secret in a URL."""
    lines = str(error).splitlines()
    return re.sub(r"\?\S*", "", lines[0])[:_LONGEST_REASON] if lines else type(error).__name__
