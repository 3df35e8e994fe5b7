# SPDX-License-Identifier: Apache-2.0
"""Behaviour of every store: one suite over the directory and over S3 servers."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from ciphermote.base.errors import KeyFileError
from ciphermote.gateway.store.extents import Extent, digest_of, extents_text, parse_extents
from ciphermote.gateway.store.folder import FolderStore
from ciphermote.gateway.store.interface import Store
from ciphermote.gateway.store.object_store import ObjectStore
from store_support import SERVERS, Servers, servers

__all__ = ["servers"]


class Fleet(NamedTuple):
    tenant: int
    id: int


PIECES = [b"one", b"another fleet", b"two" * 1000, b"x"]
FLEETS = [Fleet(1, 2), Fleet(1, 3), Fleet(1, 2), Fleet(4, 5)]


@pytest.fixture(params=["directory", *SERVERS])
def store(
    request: pytest.FixtureRequest, servers: Servers, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Iterator[Store]:
    if request.param == "directory":
        found: Store = FolderStore(tmp_path, segment_bytes=2000)
    else:
        found = ObjectStore(servers(request.param, monkeypatch).new_url(), tmp_path)
    yield found
    found.close()


def test_what_is_appended_is_read_in_every_way(store: Store) -> None:
    extents = store.append(PIECES, FLEETS, time.time())
    again = store.append(PIECES[::-1], FLEETS[::-1], time.time())
    assert parse_extents(extents_text(extents)) == extents
    assert not {str(extent) for extent in extents} & {str(extent) for extent in again}
    reader = store.reader()
    assert [reader.read([extent]) for extent in extents] == PIECES
    assert reader.read([again[0], extents[1]]) == PIECES[3] + PIECES[1]
    reader.prefetch([extents, again])
    assert [bytes(reader.view([extent])) for extent in again] == PIECES[::-1]
    assert bytes(reader.view(extents)) == b"".join(PIECES)
    reader.close()
    assert reader.read(extents[:1]) == PIECES[0]


def test_places_are_listed_and_removed(store: Store) -> None:
    before = time.time() - 2  # some servers round down
    for _ in range(3):
        extents = store.append(PIECES, FLEETS, time.time())
    names = {found.name for found in store.places()}
    assert {extent.place for extent in extents} <= names
    assert sum(found.size for found in store.places()) == 3 * sum(map(len, PIECES))
    assert all(found.modified > before for found in store.places())
    gone = sorted(names - store.growing())
    assert gone
    store.remove_places(gone)
    assert {found.name for found in store.places()} == names & store.growing()
    store.remove_places(gone)  # a crash may have it done twice
    assert store.in_backups({*names}) == set()
    with pytest.raises(KeyFileError):
        store.reader().read([Extent(gone[0], 0, 3, 0)])


def test_missing_and_foreign_bytes_are_told(store: Store) -> None:
    (extent,) = store.append(PIECES[:1], FLEETS[:1], time.time())
    reader = store.reader()
    beyond = [extent._replace(offset=1_000), extent._replace(size=50)]
    missing = "1/2/20260101/AAAAAAAAAAAAAAAA"
    foreign = [Extent("7", 0, 3), Extent("../../gateway", 0, 3, 0), Extent(missing, 0, 3, 0)]
    for wrong in (*beyond, *foreign):
        reader.prefetch([[wrong], [extent]])
        with pytest.raises(KeyFileError):
            reader.read([wrong])
        assert reader.read([extent]) == PIECES[0]


def test_objects_are_known_by_their_digests(store: Store) -> None:
    began, content = time.time(), b"a key" * 1000
    digest = store.put(content)
    assert digest == digest_of(content) == store.put(content)
    assert store.get(digest) == content
    missing = digest_of(b"missing")
    assert store.sizes([digest, missing]) == {digest: len(content)}
    assert [found.name for found in store.objects()] == [digest]
    assert store.delete(digest, began - 10) == 0, "it was stored again since"
    assert store.delete(digest, time.time() + 10) == len(content)
    assert store.delete(digest, time.time() + 10) == 0 and not list(store.objects())
    with pytest.raises(KeyFileError):
        store.get(digest)
