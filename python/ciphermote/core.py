# SPDX-License-Identifier: Apache-2.0
"""The C library's view of parameter sets, made once for each."""

from __future__ import annotations

from dataclasses import astuple
from functools import cache

from ciphermote import _core
from ciphermote.parameters import ParameterSet, prime_constants


@cache
def core_params(parameters: ParameterSet) -> _core.Params:
    """The set as the C library sees it."""
    rows = [astuple(prime_constants(parameters.n, q)) for q in parameters.primes]
    return _core.Params(
        name=parameters.name,
        id=parameters.id,
        log2_n=parameters.log2_n,
        data_primes=len(parameters.data_primes),
        log2_q_data=parameters.data_modulus.bit_length() - 1,
        rows=rows,
    )
