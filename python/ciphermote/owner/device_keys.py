# SPDX-License-Identifier: Apache-2.0
"""Devices with a secret key of their own, whose ciphertexts a server brings under the owner's key.

With one secret key for all, whoever captures a device reads what all of them send. A key of its own lets a
captured device read its own frames alone. The owner makes it, with a rekey key for the server, which is
public. It leads from the device to the owner; none leads the other way, for whoever has a device and such a
key reads what the owner reads. docs/security.md says what changes.
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
    """One device's. secret_key: for it alone. rekey_key: bytes for the server, public."""

    secret_key: SecretKey = field(repr=False)
    rekey_key: bytes = field(repr=False)

    @classmethod
    def make(cls, owner: SecretKey) -> DeviceKeys:
        """ParameterError if the set has no key switching (n = 1024); MismatchError for an owner's key that
        names no pair."""
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
        """What the device gets, with a new device secret. largest: the bound on |value| that is declared for
        it; None: the owner's, which it may not exceed. log2_scale: of CKKS's readings; None: what suits the
        owner's. ParameterError for such a largest, a scale without room for it, or a modulus without
        slots."""
        parameters, key_id = self.secret_key.parameters, self.secret_key.key_id
        assert key_id is not None
        check_plain_moduli(plain_moduli, parameters)
        bound = self.secret_key.readings.of_device(largest)
        secret, moduli = new_device_secret(), tuple(plain_moduli)
        scale = self.secret_key.readings.chosen_log2_scale(parameters, log2_scale, bound)
        return Provision(parameters, key_id, secret, self.secret_key, None, moduli, identity, bound, scale)


def _new_key_id() -> int:
    """A name on the wire, which no two keys share but by a chance of 2^-64."""
    return int.from_bytes(os.urandom(8), "little") or 1


__all__ = ["DeviceKeys"]
