# SPDX-License-Identifier: Apache-2.0
"""The C library's and the C++ library's objects of parameter sets, made once for each set."""

from __future__ import annotations

import threading
from dataclasses import astuple
from functools import cache, lru_cache

from ciphermote import _core, _evaluator
from ciphermote.parameters import CKKS, ParameterSet, Scheme, prime_constants
from ciphermote.parameters.seal_chain import SealChain


@cache
def core_params(parameters: ParameterSet) -> _core.Params:
    """Return the C library's object of a set."""
    rows = [astuple(prime_constants(parameters.n, q)) for q in parameters.primes]
    return _core.Params(
        name=parameters.name,
        id=parameters.id,
        log2_n=parameters.log2_n,
        data_primes=len(parameters.data_primes),
        log2_q_data=parameters.data_modulus.bit_length() - 1,
        rows=rows,
    )


# Ciphertexts and keys go together if they share a context: two threads must not make two of one set.
_MAKING = threading.Lock()


def context_of(parameters: ParameterSet, scheme: Scheme = CKKS) -> _evaluator.Context:
    """Return the C++ library's context of a set and scheme, with the fastest instructions of this machine."""
    with _MAKING:
        return _context_of(parameters, scheme)


@lru_cache(16)
def _context_of(parameters: ParameterSet, scheme: Scheme) -> _evaluator.Context:
    return _evaluator.Context(
        parameters.log2_n,
        list(parameters.data_primes),
        list(parameters.special_primes),
        parameters.digit_primes,
        scheme.plain_modulus,
        insecure=parameters.standard != "2024",  # a set that its name says to rely on an older table
    )


def wide_chain_of(chain: ParameterSet | SealChain) -> _evaluator.WideChain:
    """Return the C++ library's object of a chain, which switches ciphertexts to others."""
    return _wide_chain_of(chain.n.bit_length() - 1, chain.primes)


@lru_cache(16)
def _wide_chain_of(log2_n: int, primes: tuple[int, ...]) -> _evaluator.WideChain:
    return _evaluator.WideChain(log2_n, list(primes))
