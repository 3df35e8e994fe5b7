# SPDX-License-Identifier: Apache-2.0
"""Residues of SEAL's ciphertexts: expand public seeds, and convert to and from NTT form."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ciphermote import _core
from ciphermote.formats import seal as sb
from ciphermote.parameters import ParameterSet
from ciphermote.parameters.native import core_params


def expand_second(ciphertext: sb.SealCiphertext) -> NDArray[np.uint32]:
    """Return the residues as uint32 [size, primes, n], with a seed expanded as SEAL does."""
    if ciphertext.seed is None:
        return ciphertext.residues
    kind, seed = ciphertext.seed
    return np.concatenate(
        [ciphertext.residues, expand_seed(ciphertext.parms, int(kind), seed, ciphertext.primes)[np.newaxis]]
    )


def expand_seed(parameters: ParameterSet, xof: int, seed: bytes, primes: int) -> NDArray[np.uint32]:
    """Expand a public seed to a uniform polynomial, uint32 [primes, n]; xof as in cm_xof_kind (1, 2 or 3)."""
    return _core.expand_seed(core_params(parameters), xof, seed, primes)


def transformed(ciphertext: sb.SealCiphertext, primes: int) -> NDArray[np.uint32]:
    """Return the residues at the first primes in NTT form, uint32 [size, primes, n], with a seed expanded."""
    residues = expand_second(ciphertext)[:, :primes]
    if ciphertext.ntt_form:
        return residues
    params = core_params(ciphertext.parms)
    rows = [
        [_core.ntt_forward(params, i, np.ascontiguousarray(row)) for i, row in enumerate(polynomial)]
        for polynomial in residues
    ]
    return np.array(rows, dtype=np.uint32)


def in_coefficients(ciphertext: sb.SealCiphertext) -> sb.SealCiphertext:
    """Convert a BFV ciphertext from NTT form to coefficients, as SEAL needs it for everything but additions;
    a seed is expanded."""
    if not ciphertext.ntt_form:
        return ciphertext
    params = core_params(ciphertext.parms)
    rows = [
        [_core.ntt_inverse(params, prime, row) for prime, row in enumerate(polynomial)]
        for polynomial in expand_second(ciphertext)
    ]
    return replace(ciphertext, ntt_form=False, residues=np.array(rows, dtype=np.uint32), seed=None)
