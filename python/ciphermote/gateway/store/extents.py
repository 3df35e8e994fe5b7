# SPDX-License-Identifier: Apache-2.0
"""Extents: where the bytes of a delivery lie in a store, as the database records it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import NamedTuple

DIGEST_BYTES = 20


class Extent(NamedTuple):
    """The place of bytes in a store. place: a segment's number or an object's name, without colons and
    commas; check: the CRC-32 of the bytes, if the store records one."""

    place: str
    offset: int
    size: int
    check: int | None = None

    def __str__(self) -> str:
        text = f"{self.place}:{self.offset}:{self.size}"
        return text if self.check is None else f"{text}:{self.check:x}"

    @classmethod
    def parse(cls, text: str) -> Extent:
        place, offset, size, *check = text.split(":")
        return cls(place, int(offset), int(size), *(int(word, 16) for word in check))


def parse_extents(text: str) -> list[Extent]:
    """Parse extents that were joined with commas."""
    return [Extent.parse(part) for part in text.split(",") if part]


def extents_text(extents: Iterable[Extent]) -> str:
    """Join extents with commas."""
    return ",".join(map(str, extents))


def digest_of(content: bytes) -> str:
    """Return the digest that names a whole object."""
    return hashlib.blake2b(content, digest_size=DIGEST_BYTES).hexdigest()
