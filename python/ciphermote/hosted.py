# SPDX-License-Identifier: Apache-2.0
"""The hosted library's view of parameter sets, made once for each: what meets must be of one."""

from __future__ import annotations

import threading
from functools import lru_cache

from ciphermote import _evaluator
from ciphermote.parameters import ParameterSet

# Ciphertexts and keys go together if they share a context: two threads must not make two of one set.
_MAKING = threading.Lock()


def context_of(parameters: ParameterSet, plain_modulus: int = 0) -> _evaluator.Context:
    """The set's arithmetic, CKKS's or BFV's, in the fastest instructions of this machine."""
    with _MAKING:
        return _context_of(parameters, plain_modulus)


@lru_cache(16)
def _context_of(parameters: ParameterSet, plain_modulus: int) -> _evaluator.Context:
    return _evaluator.Context(
        parameters.log2_n,
        list(parameters.data_primes),
        list(parameters.special_primes),
        parameters.digit_primes,
        plain_modulus,
    )
