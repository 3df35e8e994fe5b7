# SPDX-License-Identifier: Apache-2.0
"""A declaration is a record among frames with a bound on the values of one reading.

Frames have no field for it. Python writes one before a reading's frames; devices write none, because their
owner declares a bound for all their readings with the keys. docs/wire-format.md has the layout.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass

from ciphermote import _core
from ciphermote.base.errors import FrameError
from ciphermote.formats.frame_finder import DECLARATION_BYTES, DECLARATION_VERSION, MAGIC

_FIELDS = struct.Struct("<2sBB4xIQQd8x")
_CRC = struct.Struct("<I")
_BEGINNING = MAGIC + bytes([DECLARATION_VERSION])


@dataclass(frozen=True)
class Declaration:
    """Declares that no |value| of the reading with this counter, under this key, exceeds largest."""

    parameters_id: int
    key_id: int
    counter: int
    largest: float

    def to_bytes(self) -> bytes:
        of = self.parameters_id, self.key_id, self.counter
        fields = _FIELDS.pack(MAGIC, DECLARATION_VERSION, 0, *of, self.largest)
        return fields + _CRC.pack(_core.crc32c(fields, 0))

    @classmethod
    def from_bytes(cls, data: bytes) -> Declaration:
        """Read a whole record. Raises FrameError."""
        if (
            len(data) != DECLARATION_BYTES
            or _core.crc32c(data[: _FIELDS.size], 0) != _CRC.unpack(data[_FIELDS.size :])[0]
        ):
            raise FrameError("A declaration of a reading's bound is damaged: have the reading sent again.")
        magic, version, zero, parameters_id, key_id, counter, largest = _FIELDS.unpack(data[: _FIELDS.size])
        found = cls(parameters_id, key_id, counter, largest)
        sound = (magic, version, zero) == (MAGIC, DECLARATION_VERSION, 0) and 0 < largest < math.inf
        if not sound or found.to_bytes() != data:
            raise FrameError(
                f"The declaration of reading {counter} has fields that this package does not write: update "
                "the package, or drop the bytes."
            )
        return found


def split(data: bytes) -> tuple[Declaration | None, bytes]:
    """Split data into the declaration that it begins with, if there is one, and the rest. Raises
    FrameError."""
    found, frames = split_view(data)
    return found, data if found is None else bytes(frames)


def split_view(data: bytes | bytearray | memoryview) -> tuple[Declaration | None, memoryview]:
    """Split data as split does, without a copy."""
    view = memoryview(data).cast("B")
    if view[:3] != _BEGINNING:
        return None, view
    return Declaration.from_bytes(bytes(view[:DECLARATION_BYTES])), view[DECLARATION_BYTES:]
