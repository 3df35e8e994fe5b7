# SPDX-License-Identifier: Apache-2.0
"""The bytes of a window that was switched to another owner key: "CMRW", device (u32), epoch (u16), number and
counter (u64 each), little-endian; then the ciphertext in SEAL's bytes, compressed, with a label, which has a
digest and states what is known of the values, the noise of every switch included.
"""

from __future__ import annotations

import struct
from typing import Protocol

from ciphermote.base.errors import FrameError
from ciphermote.ciphertext import Ciphertext
from ciphermote.formats import labels
from ciphermote.formats.seal import compressed
from ciphermote.parameters import ParameterSet, Scheme

_HEAD = struct.Struct("<4sIHQQ")
_MAGIC = b"CMRW"
_ANOTHER = "The bytes are of another window."


class WindowName(Protocol):
    """The numbers that name a window in a fleet."""

    @property
    def device(self) -> int: ...
    @property
    def epoch(self) -> int: ...
    @property
    def number(self) -> int: ...
    @property
    def counter(self) -> int: ...


def to_bytes(window: WindowName, ciphertext: Ciphertext) -> bytes:
    """Write a switched window."""
    seal, label = labels.detach(ciphertext.to_seal())
    assert label is not None
    return _head(window) + labels.attach(compressed(seal), label)


def from_bytes(
    window: WindowName, key_id: int, parameters: ParameterSet, scheme: Scheme, data: bytes
) -> Ciphertext:
    """Read a switched window. key_id: the key that it was switched to. Raises FrameError if the bytes are
    damaged, or another window's."""
    if data[: _HEAD.size] != _head(window):
        raise FrameError(_ANOTHER)
    found = Ciphertext.from_seal(data[_HEAD.size :], parameters, scheme)
    if found.key_id != key_id:
        raise FrameError(_ANOTHER)
    return found


def _head(window: WindowName) -> bytes:
    return _HEAD.pack(_MAGIC, window.device, window.epoch, window.number, window.counter)
