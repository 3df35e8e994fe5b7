# SPDX-License-Identifier: Apache-2.0
"""The owner's end of BFV: decrypt SEAL's ciphertext bytes to integers modulo t, by our own arithmetic.

Results are exact while the noise leaves them room, and tell nothing of it; whether it does is the owner's to
know alone (docs/security.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ciphermote import _owner
from ciphermote.base.arguments import shown
from ciphermote.base.errors import ParameterError
from ciphermote.formats import seal as sb
from ciphermote.formats.labels import check_key
from ciphermote.owner.ckks import known_key, opened
from ciphermote.owner.keys import SecretKey
from ciphermote.parameters import BFV, ParameterSet, batches, prime_constants

Places = Literal["slots", "coefficients"]
"""Where BFV's integers are."""


@dataclass(frozen=True, eq=False)
class Plain:
    """A decrypted polynomial. coefficients: int64 [n], from 0 to below plain_modulus; primes: of the
    ciphertext; key_id: of the key, None if nothing named it."""

    coefficients: NDArray[np.int64]
    plain_modulus: int
    primes: int
    parameters: ParameterSet
    key_id: int | None

    def slots(self) -> NDArray[np.int64]:
        """int64 [n], from 0 to below plain_modulus: the batched values, both rows. ParameterError if the
        modulus does not batch."""
        return batched(self.coefficients, self.plain_modulus)

    def integers(self, places: Places | None, *, signed: bool = False) -> NDArray[np.int64]:
        """int64 [n]: what was put there (places_of); signed: from above -t/2 to t/2."""
        where = places_of(self.plain_modulus, self.parameters.n, places)
        found = self.slots() if where == "slots" else self.coefficients
        if not signed:
            return found
        return np.where(found > self.plain_modulus // 2, found - self.plain_modulus, found)


def decrypt(data: bytes, secret: SecretKey, plain_modulus: int, *, bare: bool = False) -> Plain:
    """Decrypt SEAL's bytes of a ciphertext of two or three polynomials, at any level, in either form.

    bare: take a ciphertext without a label, or a key without an id, for nothing names their key then.
    FrameError if they are no such ciphertext of the key's parameters and plain_modulus; MismatchError if it
    is of another key, or decrypts to noise.
    """
    ciphertext = sb.read_ciphertext(data, secret.parameters, sizes=(2, 3), scheme=BFV(plain_modulus))
    check_key("the ciphertext", ciphertext.key_id, "the secret key", secret.key_id, bare=bare)
    found = _owner.decrypt_bfv(opened(ciphertext, secret), secret.hosted, plain_modulus)
    coefficients = found.astype(np.int64)
    return Plain(
        coefficients, plain_modulus, ciphertext.primes, secret.parameters, known_key(ciphertext, secret)
    )


def places_of(plain_modulus: int, n: int, places: Places | None) -> Places:
    """Where integers are: as said, or in coefficients if the modulus leaves no choice. ParameterError if it
    leaves one and nothing is said, or has no slots."""
    if not (places is None or (isinstance(places, str) and places in ("slots", "coefficients"))):
        raise ParameterError(f"There are no places {shown(places)}: say slots or coefficients.")
    batch = batches(plain_modulus, n)
    if batch and places is None:
        raise ParameterError(
            "Nothing in a BFV ciphertext tells whether its integers lie in slots or in coefficients: say "
            "--as slots or --as coefficients (in Python, places), as the sender encrypted."
        )
    if places == "slots" and not batch:
        raise ParameterError(
            f"The modulus {plain_modulus} has no slots at n = {n}: say --as coefficients (in Python, places)."
        )
    return places or "coefficients"


def batched(coefficients: NDArray[np.int64], plain_modulus: int) -> NDArray[np.int64]:
    """int64 [n]: the slots of a polynomial modulo t, in SEAL's order.

    Slot j of the first row is m(zeta^(3^j)), of the second m(zeta^(-3^j)); zeta is the smallest of the roots
    of x^n + 1 modulo t. ParameterError if there is none.
    """
    n, t = len(coefficients), plain_modulus
    if not batches(t, n):
        raise ParameterError(
            f"Integers modulo {t} are not batched at n = {n}, which needs a prime that is 1 modulo {2 * n}: "
            "read the coefficients."
        )
    zeta = prime_constants(n, t).psi
    twisted = coefficients * _powers(zeta, n, t) % t
    return _cyclic_transform(twisted, zeta * zeta % t, t)[_slot_positions(n)]


def _powers(base: int, count: int, t: int) -> NDArray[np.int64]:
    powers = np.ones(1, dtype=np.int64)
    while len(powers) < count:
        powers = np.concatenate([powers, powers * pow(base, len(powers), t) % t])
    return powers[:count]


def _cyclic_transform(a: NDArray[np.int64], root: int, t: int) -> NDArray[np.int64]:
    """Entry k is the sum of a[i] root^(ik). Row r of the working array is the transform of a[r::rows]."""
    n = len(a)
    work = a.reshape(n, 1)
    while len(work) > 1:
        rows, size = len(work) // 2, work.shape[1]
        odd = work[rows:] * _powers(pow(root, rows, t), size, t) % t
        work = np.concatenate([work[:rows] + odd, work[:rows] - odd], axis=1) % t
    return work.reshape(n)


@cache
def _slot_positions(n: int) -> NDArray[np.int64]:
    """int64 [n]: slot j sits at the odd power 2 k + 1 of zeta; this is k."""
    powers = [pow(3, j, 2 * n) for j in range(n // 2)]
    return np.array([(power - 1) // 2 for power in [*powers, *(2 * n - power for power in powers)]])
