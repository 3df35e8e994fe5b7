# SPDX-License-Identifier: Apache-2.0
"""The public key by which a server switches ciphertexts from an owner's old key to a new one.

It tells who has the old secret key nothing of the new one. Who has the new secret key, and this, reads what
is under the old one: give it to the server that has those ciphertexts, and to nobody else.
"""

from __future__ import annotations

from ciphermote.base.errors import MismatchError, ParameterError
from ciphermote.formats import seeded_keys
from ciphermote.formats.seeded_keys import KeyKind, SeededKeys
from ciphermote.owner.keys import SecretKey, make_rotation_key


def rotation_key(old: SecretKey, new: SecretKey) -> bytes:
    """Make the key, as Evaluator.rekey_key reads it. Raises ParameterError if the sets differ or have no key
    switching (n = 1024), or if the new keys declare a smaller largest value; MismatchError for two keys of
    one pair, or one that names none."""
    if old.key_id is None or new.key_id is None:
        raise MismatchError("A secret key names no pair: load it with its directory of keys.")
    if old.key_id == new.key_id:
        raise MismatchError(
            f"Both keys are {old.key_id:016x}: make new ones to switch to (`ciphermote keygen`)."
        )
    if new.readings.largest < old.readings.largest:
        raise ParameterError(
            f"The new keys declare a largest value of {new.readings.largest:g}, and readings under the old "
            f"ones may be up to {old.readings.largest:g}: declare that (`ciphermote extend --largest`)."
        )
    key = make_rotation_key(old, new)
    return seeded_keys.write(SeededKeys(new.parameters, KeyKind.REKEY, new.key_id, {0: key}, old.key_id))


__all__ = ["rotation_key"]
