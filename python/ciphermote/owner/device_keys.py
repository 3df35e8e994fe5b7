# SPDX-License-Identifier: Apache-2.0
"""Devices with their own secret keys, whose ciphertexts a server converts to the owner's key.

If all devices share one secret key, anyone who captures a device can read what all of them send. With its own
key, a captured device reveals only its own frames. The owner makes that key, and a public rekey key for the
server. It converts from the device's key to the owner's; none converts the other way, because a captured
device with such a key could read what the owner reads. docs/security.md explains the consequences.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from ciphermote.base.errors import MismatchError
from ciphermote.formats import seeded_keys
from ciphermote.formats.seeded_keys import KeyKind, SeededKeys
from ciphermote.owner.keys import SecretKey, make_rekey_key
from ciphermote.owner.provisioning import Identity, Provision, check_plain_moduli, new_device_secret


@dataclass(frozen=True, eq=False)
class DeviceKeys:
    """The keys of one device. secret_key: only for the device. rekey_key: public bytes for the server."""

    secret_key: SecretKey = field(repr=False)
    rekey_key: bytes = field(repr=False)

    @classmethod
    def make(cls, owner: SecretKey) -> DeviceKeys:
        """Make a device's keys. Raises ParameterError if the set has no key switching (n = 1024), or
        MismatchError for an owner's key that names no pair."""
        if owner.key_id is None:
            raise MismatchError("The owner's secret key names no pair: load it with its directory of keys.")
        device = replace(
            SecretKey.generate(owner.parameters),
            key_id=_new_key_id(),
            of_device=True,
            readings=owner.readings,
        )
        assert device.key_id is not None
        key = make_rekey_key(owner, device)
        keys = SeededKeys(owner.parameters, KeyKind.REKEY, owner.key_id, {0: key}, device.key_id)
        return cls(device, seeded_keys.write(keys))

    def provision(
        self,
        plain_moduli: Sequence[int] = (),
        identity: Identity | None = None,
        largest: float | None = None,
        log2_scale: int | None = None,
    ) -> Provision:
        """Provision the device, with a new device secret. largest: the bound on |value| declared for it, at
        most the owner's; None for the owner's. log2_scale: that of CKKS's readings; None for the one that
        suits the owner's. Raises ParameterError for a larger bound, a scale without room for it, or a modulus
        without slots."""
        parameters, key_id = self.secret_key.parameters, self.secret_key.key_id
        assert key_id is not None
        check_plain_moduli(plain_moduli, parameters)
        bound = self.secret_key.readings.checked_largest(largest)
        secret, moduli = new_device_secret(), tuple(plain_moduli)
        scale = self.secret_key.readings.chosen_log2_scale(parameters, log2_scale, bound)
        return Provision(parameters, key_id, secret, self.secret_key, None, moduli, identity, bound, scale)


def _new_key_id() -> int:
    """Draw a key's name on the wire, which two keys share with a probability of 2^-64."""
    return int.from_bytes(os.urandom(8), "little") or 1


__all__ = ["DeviceKeys"]
