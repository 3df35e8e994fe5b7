# SPDX-License-Identifier: Apache-2.0
"""The places of BFV's integers: in the coefficients of a polynomial modulo t, or in its slots (batching)."""

from __future__ import annotations

from functools import cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ciphermote.base.arguments import shown
from ciphermote.base.errors import ParameterError
from ciphermote.parameters import batches, prime_constants

Places = Literal["slots", "coefficients"]
"""Where integers are."""


def integers_at(
    coefficients: NDArray[np.int64], plain_modulus: int, places: Places | None, *, signed: bool = False
) -> NDArray[np.int64]:
    """Return a decrypted polynomial's integers at these places (places_of): int64 [n], from 0 to below t;
    signed: from above -t/2 to t/2."""
    where = places_of(plain_modulus, len(coefficients), places)
    found = batched(coefficients, plain_modulus) if where == "slots" else coefficients
    return np.where(found > plain_modulus // 2, found - plain_modulus, found) if signed else found


def places_of(plain_modulus: int, n: int, places: Places | None) -> Places:
    """Return the places of integers: the given ones, or coefficients if the modulus leaves no choice. Raises
    ParameterError if it leaves a choice and none is given, or has no slots."""
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
    """Return the slots of a polynomial modulo t in SEAL's order, int64 [n].

    Slot j of the first row is m(zeta^(3^j)), of the second m(zeta^(-3^j)); zeta is the smallest of the roots
    of x^n + 1 modulo t. Raises ParameterError if there is none.
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
    """Return k for each slot, int64 [n]: slot j is at the odd power 2 k + 1 of zeta."""
    powers = [pow(3, j, 2 * n) for j in range(n // 2)]
    return np.array([(power - 1) // 2 for power in [*powers, *(2 * n - power for power in powers)]])
