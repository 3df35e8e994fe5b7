# SPDX-License-Identifier: Apache-2.0
"""Bytes that hold a ciphertext: frames as a device sends them, or SEAL's with their label."""

from __future__ import annotations

from ciphermote.arguments import instance
from ciphermote.framing import MAGIC

Bytes = bytes | bytearray | memoryview


def check_bytes(data: object, name: str) -> None:
    """ParameterError unless data are bytes."""
    wanted = "the bytes of frames or of a ciphertext"
    instance(data, (bytes, bytearray, memoryview), name, wanted)


def are_frames(data: Bytes) -> bool:
    """Whether data begins as frames do, and not as what SEAL saves."""
    return bytes(data[: len(MAGIC)]) == MAGIC
