# SPDX-License-Identifier: Apache-2.0
"""Read rekey keys, the public keys that convert a device's ciphertexts to the owner's key."""

from __future__ import annotations

from ciphermote.base.errors import FrameError, MismatchError
from ciphermote.formats import seeded_keys
from ciphermote.formats.seeded_keys import Bytes, KeyKind, SeededKeys
from ciphermote.parameters import ParameterSet


def read_rekey_key(data: Bytes, parameters: ParameterSet, owner_id: int) -> SeededKeys:
    """Read a rekey key. owner_id: ID of the key to convert to. Raises FrameError, or MismatchError for one
    that converts to another key."""
    if not seeded_keys.are_seeded(data) or seeded_keys.stated_kind(data) is not KeyKind.REKEY:
        raise FrameError(
            "These bytes are no rekey key: give the file that `ciphermote provision --own-key` wrote for the "
            "device (in Python DeviceKeys.rekey_key)."
        )
    found = seeded_keys.read(data, parameters, KeyKind.REKEY)
    if found.key_id != owner_id:
        raise MismatchError(
            f"The rekey key leads from key {found.source_id:016x} to key {found.key_id:016x}, and not to the "
            f"owner's, {owner_id:016x}: use the one that the owner made for this device."
        )
    return found
