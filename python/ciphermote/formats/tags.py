# SPDX-License-Identifier: Apache-2.0
"""The keys of tags: by which a device's frames, their receipts and the results for it are known.

The owner derives them from the device's secret when it enrols the device. The device and the gateway hold
them, each under a label of its own, so that nothing of one direction or kind passes for another's. They
decrypt nothing; whoever has them can forge. docs/wire-format.md has the derivation.
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
    """48 bytes each, a ChaCha20 key and Poly1305's r. frames: of what the device sends; receipts: of what
    the gateway answers; results: of frames for the device."""

    frames: bytes = field(repr=False)
    receipts: bytes = field(repr=False)
    results: bytes = field(repr=False)

    @classmethod
    def derive(cls, secret: bytes, key_id: int, device: int, epoch: int) -> TagKeys:
        """secret: the device's, 32 bytes; key_id: of the key that it encrypts under."""
        return cls(*(_derived(label, secret, key_id, device, epoch) for label in _LABELS))


_LABELS = (b"ciphermote tag", b"ciphermote receipt", b"ciphermote result")


def _derived(label: bytes, secret: bytes, key_id: int, device: int, epoch: int) -> bytes:
    whose = struct.pack("<QIH", key_id, device, epoch)
    return hashlib.blake2b(label + whose, key=secret, digest_size=TAG_KEY_BYTES).digest()
