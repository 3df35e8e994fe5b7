# SPDX-License-Identifier: Apache-2.0
"""A device in Python for the tests of the owner's side: the C library with the system's randomness and a
counter in memory, holding the keys that an owner provisioned it with.
"""

from __future__ import annotations

import os
import struct

import numpy as np
from ciphermote import _core
from ciphermote.owner.provisioning import Provision
from ciphermote.parameters import ParameterSet
from ciphermote.parameters.native import core_params
from numpy.typing import ArrayLike

BLAKE2XB, SHAKE256, CHACHA20 = 1, 2, 3
HEADER_BYTES, CRC_BYTES = 44, 4


class Sensor:
    """Encrypts float vectors as the device library does. log2_scale is of every encryption."""

    def __init__(self, provisioned: Provision, log2_scale: int = 25) -> None:
        self.provisioned = provisioned
        self.log2_scale = log2_scale
        self.stored = 0
        self.device = _core.Device(provisioned.device_secret, os.urandom, lambda: self.stored, self._store)

    def _store(self, value: int) -> None:
        self.stored = value

    @property
    def parameters(self) -> ParameterSet:
        return self.provisioned.parameters

    def symmetric(
        self, values: ArrayLike, xof: int = CHACHA20, form: str = "frames", *, complex_slots: bool = False
    ) -> bytes:
        secret = self.provisioned.secret_key
        assert secret is not None
        numbers = np.ascontiguousarray(values, dtype=np.float32)
        return self.device.encrypt_symmetric(
            core_params(self.parameters),
            secret.packed,
            self.provisioned.key_id,
            xof,
            numbers,
            self.log2_scale,
            31,
            complex_slots,
            0,
            form,
        )

    def asymmetric(self, values: ArrayLike, form: str = "frames") -> bytes:
        public = self.provisioned.public_key
        assert public is not None
        numbers = np.ascontiguousarray(values, dtype=np.float32)
        return self.device.encrypt_asymmetric(
            core_params(self.parameters),
            public.reshape(-1),
            self.provisioned.key_id,
            numbers,
            self.log2_scale,
            31,
            False,
            0,
            form,
        )


def split(frames: bytes) -> list[bytes]:
    """The single frames of a stream."""
    found = []
    while frames:
        length = HEADER_BYTES + struct.unpack_from("<I", frames, 40)[0] + CRC_BYTES
        found.append(frames[:length])
        frames = frames[length:]
    return found


def patched(frame: bytes, at: int, content: bytes) -> bytes:
    """The frame with other bytes at an offset, and a matching checksum: what a hostile sender can
    make.
    """
    body = frame[:at] + content + frame[at + len(content) : -CRC_BYTES]
    return body + struct.pack("<I", _core.crc32c(body))
