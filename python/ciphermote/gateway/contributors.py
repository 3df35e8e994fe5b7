# SPDX-License-Identifier: Apache-2.0
"""The file in objects/ that names the windows in a job's result: "CMGC", then for each window, in order,
device (u32), epoch (u16) and number (u64), little-endian. Earlier gateways wrote a JSON array.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable

_MAGIC = b"CMGC"
_RECORD = struct.Struct("<IHQ")


def to_bytes(windows: Iterable[tuple[int, int, int]]) -> bytes:
    """Write (device, epoch, number) of each window."""
    return _MAGIC + b"".join(_RECORD.pack(*window) for window in windows)


def from_bytes(content: bytes, skip: int = 0, most: int | None = None) -> list[list[int]]:
    """Read [device, epoch, number] of each window after the first `skip`. most: the most to return; None for
    all."""
    if not content.startswith(_MAGIC):
        found: list[list[int]] = json.loads(content)
        return found[skip:][:most]
    begin = len(_MAGIC) + skip * _RECORD.size
    end = len(content) if most is None else begin + most * _RECORD.size
    return [list(window) for window in _RECORD.iter_unpack(content[begin:end])]
