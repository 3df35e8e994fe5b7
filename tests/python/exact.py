# SPDX-License-Identifier: Apache-2.0
"""Decryption by its definition, in Python's integers: what the library's is compared with, and how tests look
at noise."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from ciphermote import _core
from ciphermote.formats import seal as sb
from ciphermote.formats.residues import transformed
from ciphermote.owner.keys import SecretKey
from ciphermote.parameters.native import core_params
from numpy.typing import NDArray


def joined(residues: NDArray[np.uint32], primes: Sequence[int]) -> list[int]:
    """The n integers in (-Q/2, Q/2) with these residues [k, n], Q the primes' product."""
    modulus = math.prod(primes)
    weights = [modulus // q * pow(modulus // q, -1, q) for q in primes]
    total = sum(row.astype(object) * weight for row, weight in zip(residues, weights, strict=True))
    return [int(x) for x in (total + modulus // 2) % modulus - modulus // 2]


def phase(ciphertext: sb.SealCiphertext, secret: SecretKey) -> list[int]:
    """The n integers c0 + c1 s, and + c2 s^2 if there are three."""
    params = core_params(secret.parameters)
    residues = transformed(ciphertext, ciphertext.primes).astype(np.uint64)
    primes = secret.parameters.primes[: ciphertext.primes]
    rows = []
    for i, q in enumerate(primes):
        total = residues[-1, i]
        for polynomial in residues[-2::-1, i]:
            total = (total * secret.residues(i) + polynomial) % np.uint64(q)
        rows.append(_core.ntt_inverse(params, i, total.astype(np.uint32)))
    return joined(np.stack(rows), primes)
