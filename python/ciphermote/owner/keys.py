# SPDX-License-Identifier: Apache-2.0
"""Make keys: the secret key, the public key, and key-switch keys.

The hosted library makes them (host/include/ciphermote/owner.h), each from a fresh seed of the operating
system.

Secrets live in Python's memory while they are used and cannot be wiped from it: make keys on the owner's
machine only.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ciphermote import _core, _owner
from ciphermote.base.errors import FrameError, KeyFileError, ParameterError
from ciphermote.formats import seal as sb
from ciphermote.formats.evaluation_keys import EvaluationKey, seal_has_keys
from ciphermote.formats.seeded_keys import SeededKey
from ciphermote.parameters import ParameterSet
from ciphermote.parameters.bounds import DEFAULT_READINGS, Readings
from ciphermote.parameters.native import context_of, core_params, wide_chain_of
from ciphermote.parameters.seal_chain import SealChain

Residues = NDArray[np.uint32]
SEED_BYTES = 32


@dataclass(frozen=True, eq=False)
class SecretKey:
    """A ternary secret. packed: n/4 bytes, four coefficients per byte, each as value + 1, the first lowest.

    key_id: the pair's, or None until a store or a blob names it. of_device: drawn for a single device
    (DeviceKeys.make), so that it decrypts no other device's ciphertexts. readings: the owner's declarations
    about everything encrypted under it. Its pickle is as secret as the key.
    """

    parameters: ParameterSet
    packed: bytes = field(repr=False)
    key_id: int | None = None
    of_device: bool = False
    readings: Readings = DEFAULT_READINGS

    @classmethod
    def generate(cls, parameters: ParameterSet) -> SecretKey:
        """Draw a key from the operating system's randomness."""
        return cls(parameters, _core.secret_key_generate(core_params(parameters), os.urandom(SEED_BYTES)))

    @classmethod
    def from_coefficients(cls, parameters: ParameterSet, coefficients: NDArray[Any]) -> SecretKey:
        """Make a key from int [n] of -1, 0 and 1. Raises KeyFileError for anything else, and for all
        zeros."""
        c = np.asarray(coefficients)
        if c.shape != (parameters.n,) or not np.isin(c, (-1, 0, 1)).all() or not c.any():
            raise KeyFileError(
                f"The secret key is not {parameters.n} coefficients of -1, 0 and 1, which is all that "
                "Ciphermote uses: make a new key with `ciphermote keygen`."
            )
        digits = (c + 1).astype(np.uint8).reshape(-1, 4)
        return cls(
            parameters,
            (digits << np.array([0, 2, 4, 6], dtype=np.uint8)).sum(axis=1, dtype=np.uint8).tobytes(),
        )

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without values that are recomputed when needed."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    @cached_property
    def coefficients(self) -> NDArray[np.int8]:
        """The coefficients as int8 [n]."""
        packed = np.frombuffer(self.packed, dtype=np.uint8)
        digits = packed[:, np.newaxis] >> np.array([0, 2, 4, 6], dtype=np.uint8) & 3
        return digits.reshape(-1).astype(np.int8) - np.int8(1)

    @cached_property
    def hosted(self) -> _owner.SecretKey:
        """The key as an object of the C++ library."""
        return _owner.SecretKey(context_of(self.parameters), self.coefficients)

    def residues(self, prime: int) -> Residues:
        """Return the NTT form at one prime (0 .. K-1), uint32 [n]."""
        return _core.secret_key_residues(core_params(self.parameters), self.packed, prime)

    def transformed(self, prime: int) -> Residues:
        """Return the form at one data prime that a device with CM_CONFIG_TRANSFORMED_SECRET holds, uint32
        [n]."""
        return _core.secret_key_transform(core_params(self.parameters), self.packed, prime)

    def to_seal(self) -> bytes:
        """Write SEAL's bytes."""
        residues = _known_primes(self.parameters, self.hosted.residues())
        return sb.write_secret_key(sb.SealSecretKey(self.parameters, residues))

    @classmethod
    def from_seal(cls, data: bytes, parameters: ParameterSet) -> SecretKey:
        """Read SEAL's bytes. Raises KeyFileError if they are not a ternary secret key of these parameters."""
        try:
            found = sb.read_secret_key(data, parameters)
        except FrameError as error:
            raise KeyFileError(f"The secret key cannot be used: {error}") from None
        return cls._from_residues(parameters, found.residues)

    @classmethod
    def from_seal_chain(cls, data: bytes, chain: SealChain, parameters: ParameterSet) -> SecretKey:
        """Read the bytes of a secret key that SEAL saved under a chain of its own, as a key of parameters,
        which have the same n. Raises KeyFileError if they are not a ternary secret key of this chain."""
        chain.check_set(parameters)
        try:
            residues = sb.read_wide_secret_key(data, chain)
        except FrameError as error:
            raise KeyFileError(f"The secret key cannot be used: {error}") from None
        found = wide_chain_of(chain).to_coefficients(residues[np.newaxis])[0]
        primes = np.array(chain.primes, dtype=np.uint64)[:, np.newaxis]
        centred = np.where(found > primes // 2, found - primes, found).view(np.int64)  # of two's complement
        if not (centred == centred[0]).all():
            raise KeyFileError(
                "The secret key differs from prime to prime, so it is damaged: have SEAL save it again."
            )
        return cls.from_coefficients(parameters, centred[0])

    @classmethod
    def _from_residues(cls, parameters: ParameterSet, residues: Residues) -> SecretKey:
        q = parameters.primes[0]
        first = _core.ntt_inverse(core_params(parameters), 0, residues[0]).astype(np.int64)
        key = cls.from_coefficients(parameters, np.where(first > q // 2, first - q, first))
        if not np.array_equal(_known_primes(parameters, key.hosted.residues()), residues):
            raise KeyFileError(
                "The secret key differs from prime to prime, so it is damaged: restore it from a copy or "
                "make a new one."
            )
        return key


def _known_primes(parameters: ParameterSet, residues: Residues) -> Residues:
    """Return residues [.., primes, n] without those at further special primes, which devices and SEAL do not
    know."""
    return np.ascontiguousarray(residues[..., : len(parameters.primes), :])


def _entropy() -> _owner.Entropy:
    return _owner.Entropy(os.urandom(SEED_BYTES))


def make_public_key(secret: SecretKey) -> sb.SealPublicKey:
    """Make a public key over all primes."""
    residues = _owner.make_public_key(secret.hosted, _entropy()).expanded()[0]
    return _key_ciphertext(secret.parameters, _known_primes(secret.parameters, residues))


def make_relin_key(secret: SecretKey) -> EvaluationKey:
    """Make the relinearization key, which brings products back to two polynomials. Raises ParameterError if
    the set has one prime."""
    _check_key_switching(secret.parameters)
    return _kept(secret, _owner.make_relinearization_key(secret.hosted, _entropy()))


def make_rekey_key(owner: SecretKey, device: SecretKey) -> SeededKey:
    """Make the key that converts ciphertexts under a device's own key to the owner's. Raises ParameterError
    if the set has one prime, or if the key could convert from the owner's key."""
    _check_key_switching(owner.parameters)
    if not device.of_device:
        raise ParameterError(
            "A rekey key leads from a device's own key to the owner's, and this one would lead from a key "
            "that may be the owner's, so that whoever has it and a device reads all: let DeviceKeys.make "
            "draw the device's key."
        )
    return _switching_key(device, owner)


def make_rotation_key(old: SecretKey, new: SecretKey) -> SeededKey:
    """Make the key that converts ciphertexts under an owner's old key to the new one. Raises ParameterError
    if the sets differ or have one prime, or if the old key is a device's."""
    _check_key_switching(old.parameters)
    if old.parameters != new.parameters:
        raise ParameterError(
            f"The old keys are of set {old.parameters.name} and the new ones of {new.parameters.name}, and a "
            "ciphertext's set stays: make new keys of the same set."
        )
    if old.of_device or new.of_device:
        raise ParameterError(
            "A rotation leads from one key of an owner to the next, and one of these is a device's own: give "
            "the owner's."
        )
    return _switching_key(old, new)


def _switching_key(source: SecretKey, target: SecretKey) -> SeededKey:
    key = _owner.make_rekey_key(target.hosted, source.hosted, _entropy())
    return SeededKey(key.seed, key.first())


def make_galois_key(secret: SecretKey, element: int) -> EvaluationKey:
    """Make the Galois key for x -> x^element (odd, 3 .. 2n-1). Raises ParameterError if the set has one
    prime."""
    n = secret.parameters.n
    if element % 2 == 0 or not 3 <= element < 2 * n:
        raise ParameterError(f"{element} is not a Galois element, which is odd and from 3 to {2 * n - 1}.")
    _check_key_switching(secret.parameters)
    return _kept(secret, _owner.make_galois_key(secret.hosted, element, _entropy()))


def _check_key_switching(parameters: ParameterSet) -> None:
    if parameters.special_prime is None:
        raise ParameterError(
            f"{parameters.name} has one prime and so no key switching: take a set with a special prime, "
            "such as n4096_q26x3_p27."
        )


def _kept(secret: SecretKey, key: _owner.SeededKey) -> EvaluationKey:
    if not seal_has_keys(secret.parameters):
        return SeededKey(key.seed, key.first())
    return tuple(_key_ciphertext(secret.parameters, part) for part in key.expanded())


def _key_ciphertext(parameters: ParameterSet, residues: Residues) -> sb.SealCiphertext:
    return sb.SealCiphertext(parameters, len(parameters.primes), True, 1.0, residues)


def belongs(secret: SecretKey, public: sb.SealPublicKey) -> bool:
    """Whether pk0 + pk1 s is only noise; another key gives a residue this small with a probability of at most
    10^-6 per coefficient."""
    q = secret.parameters.primes[0]
    product = public.residues[1, 0].astype(np.uint64) * secret.residues(0) + public.residues[0, 0]
    noise = _core.ntt_inverse(core_params(secret.parameters), 0, (product % q).astype(np.uint32)).astype(
        np.int64
    )
    return int(np.minimum(noise, q - noise).max()) <= 64
