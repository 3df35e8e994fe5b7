# SPDX-License-Identifier: Apache-2.0
"""SEAL itself, as an owner of keys would use it: the ground truth for the tests that involve SEAL."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tenseal.sealapi as sealapi
from ciphermote.formats.seal import galois_element
from ciphermote.parameters import ParameterSet
from numpy.typing import NDArray

SCALE = 2.0**25


class SealOwner:
    """A SEAL context of parms with fresh keys; a plain_modulus makes it BFV's. folder: for SEAL's files."""

    def __init__(
        self,
        parms: ParameterSet,
        folder: Path,
        plain_modulus: int = 0,
        security: Any = sealapi.SEC_LEVEL_TYPE.TC128,
    ) -> None:
        self.parms = parms
        self.path = str(folder / "object")
        scheme = sealapi.SCHEME_TYPE.BFV if plain_modulus else sealapi.SCHEME_TYPE.CKKS
        self.parameters = sealapi.EncryptionParameters(scheme)
        self.parameters.set_poly_modulus_degree(parms.n)
        self.parameters.set_coeff_modulus([sealapi.Modulus(prime) for prime in parms.primes])
        if plain_modulus:
            self.parameters.set_plain_modulus(plain_modulus)
        self.context = sealapi.SEALContext(self.parameters, True, security)
        assert self.context.parameters_set(), self.context.parameters_error_message()
        self.generator = sealapi.KeyGenerator(self.context)
        self.secret_key = self.generator.secret_key()
        self.public_key = sealapi.PublicKey()
        self.generator.create_public_key(self.public_key)
        self.encryptor = sealapi.Encryptor(self.context, self.public_key, self.secret_key)
        self.decryptor = sealapi.Decryptor(self.context, self.secret_key)
        self.encoder = None if plain_modulus else sealapi.CKKSEncoder(self.context)

    def save(self, thing: Any) -> bytes:
        thing.save(self.path)
        return Path(self.path).read_bytes()

    def load(self, kind: type[Any], data: bytes) -> Any:
        Path(self.path).write_bytes(data)
        if kind is sealapi.EncryptionParameters:
            thing = kind(sealapi.SCHEME_TYPE.NONE)
            thing.load(self.path)
        else:
            thing = kind()
            thing.load(self.context, self.path)
        return thing

    def plaintext(self, values: Sequence[float] | NDArray[np.float64], scale: float = SCALE) -> Any:
        plaintext = sealapi.Plaintext()
        self.encoder.encode([float(value) for value in values], scale, plaintext)
        return plaintext

    def encrypt(self, values: Sequence[float] | NDArray[np.float64], scale: float = SCALE) -> bytes:
        """Symmetric and seeded, as SEAL saves it."""
        return self.save(self.encryptor.encrypt_symmetric(self.plaintext(values, scale)))

    def encrypt_public(self, values: Sequence[float] | NDArray[np.float64], scale: float = SCALE) -> bytes:
        ciphertext = sealapi.Ciphertext()
        self.encryptor.encrypt(self.plaintext(values, scale), ciphertext)
        return self.save(ciphertext)

    def decrypt(self, data: bytes) -> NDArray[np.float64]:
        """The slots."""
        plaintext = sealapi.Plaintext()
        self.decryptor.decrypt(self.load(sealapi.Ciphertext, data), plaintext)
        return np.array(self.encoder.decode_double(plaintext))

    def galois_keys(self, steps: Iterable[int]) -> bytes:
        keys = sealapi.GaloisKeys()
        self.generator.create_galois_keys([galois_element(self.parms.n, step) for step in steps], keys)
        return self.save(keys)

    def relin_keys(self) -> bytes:
        keys = sealapi.RelinKeys()
        self.generator.create_relin_keys(keys)
        return self.save(keys)
