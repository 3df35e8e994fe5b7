# SPDX-License-Identifier: Apache-2.0
"""The keys that authenticate a device's frames, their receipts and the results for the device.

The owner derives them from the device's secret at enrolment, each with its own label, so that a message of
one direction or kind never passes for another. The device and the gateway hold them. They decrypt nothing,
but anyone who has them can forge messages. docs/wire-format.md has the derivation.
"""

from __future__ import annotations

import hashlib
import struct
from dataclasses import dataclass, field

TAG_KEY_BYTES = 48
TAG_BYTES = 8
LARGEST_DEVICE = 2**32 - 1
LARGEST_EPOCH = 2**16 - 1


@dataclass(frozen=True)
class TagKeys:
    """Three keys of 48 bytes each: a ChaCha20 key and Poly1305's r. frames: for frames from the device;
    receipts: for the gateway's receipts; results: for frames to the device."""

    frames: bytes = field(repr=False)
    receipts: bytes = field(repr=False)
    results: bytes = field(repr=False)

    @classmethod
    def derive(cls, secret: bytes, key_id: int, device: int, epoch: int) -> TagKeys:
        """Derive the keys. secret: the device's, 32 bytes; key_id: ID of the key that it encrypts under."""
        return cls(*(_derived(label, secret, key_id, device, epoch) for label in _LABELS))


_LABELS = (b"ciphermote tag", b"ciphermote receipt", b"ciphermote result")


def _derived(label: bytes, secret: bytes, key_id: int, device: int, epoch: int) -> bytes:
    whose = struct.pack("<QIH", key_id, device, epoch)
    return hashlib.blake2b(label + whose, key=secret, digest_size=TAG_KEY_BYTES).digest()
