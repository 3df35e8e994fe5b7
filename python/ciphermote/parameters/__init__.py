# SPDX-License-Identifier: Apache-2.0
"""Parameter sets: made, checked against the security tables, and named; their noise and room, and advice on
the set for a computation (adviser, exact_adviser)."""

from ciphermote.parameters.schemes import BFV, CKKS, Scheme
from ciphermote.parameters.sets import (
    BUILTIN,
    CHEAP_PRIME,
    DEFAULT_SET,
    EVALUATOR_SETS,
    MAX_LOG2_SCALE,
    MOST_SLOTS,
    OLDER_PREFIX,
    SECURITY_BOUNDS,
    ParameterSet,
    PrimeConstants,
    batches,
    by_id,
    by_name,
    from_primes,
    generate,
    is_prime,
    prime_constants,
    validate,
)

__all__ = [
    "BFV",
    "BUILTIN",
    "CHEAP_PRIME",
    "CKKS",
    "DEFAULT_SET",
    "EVALUATOR_SETS",
    "MAX_LOG2_SCALE",
    "MOST_SLOTS",
    "OLDER_PREFIX",
    "SECURITY_BOUNDS",
    "ParameterSet",
    "PrimeConstants",
    "Scheme",
    "batches",
    "by_id",
    "by_name",
    "from_primes",
    "generate",
    "is_prime",
    "prime_constants",
    "validate",
]
