# SPDX-License-Identifier: Apache-2.0
"""The bytes of a window that was switched to another owner key: "CMRW", device (u32), epoch (u16), number and
counter (u64 each), little-endian; then the ciphertext in SEAL's bytes, compressed, with a label, which has a
digest and states what is known of the values, the noise of every switch included.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from ciphermote.base.errors import FrameError
from ciphermote.ciphertext import Ciphertext
from ciphermote.formats import labels
from ciphermote.formats.seal import compressed
from ciphermote.gateway.fleets import Fleet
from ciphermote.rest.requests import FullFleet

if TYPE_CHECKING:
    from ciphermote.gateway.stored import StoredWindow

_HEAD = struct.Struct("<4sIHQQ")
_MAGIC = b"CMRW"
_ANOTHER = "The bytes are of another window."


def to_bytes(window: StoredWindow, ciphertext: Ciphertext) -> bytes:
    """Write a switched window."""
    seal, label = labels.detach(ciphertext.to_seal())
    assert label is not None
    return _head(window) + labels.attach(compressed(seal), label)


def from_bytes(window: StoredWindow, fleet: Fleet, data: bytes) -> Ciphertext:
    """Read a switched window. Raises FrameError if the bytes are damaged, or another window's."""
    if data[: _HEAD.size] != _head(window):
        raise FrameError(_ANOTHER)
    definition = fleet.definition
    assert isinstance(definition, FullFleet)
    found = Ciphertext.from_seal(data[_HEAD.size :], fleet.parameters, definition.scheme)
    if found.key_id != window.owner_key:
        raise FrameError(_ANOTHER)
    return found


def _head(window: StoredWindow) -> bytes:
    return _HEAD.pack(_MAGIC, window.device, window.epoch, window.number, window.counter)
