# SPDX-License-Identifier: Apache-2.0
"""The noise of encryption, key switching and modulus switching, as standard deviations of one coefficient."""

from __future__ import annotations

import math
from typing import Literal

from ciphermote.parameters import ParameterSet

Key = Literal["symmetric", "asymmetric"]
"""What encrypts: the secret key or the public key."""

SIGMA = math.sqrt(21 / 2)
"""Of the centred binomial noise with eta = 21: 3.24. It is sub-Gaussian: s of these are exceeded with
probability 2 exp(-s^2 / 2) or less."""

LARGEST = 21
"""No centred binomial noise with eta = 21 is larger."""

EXACT_TAIL = 8.0
"""Standard deviations that exact results have room for: more come with probability 2^-45 or less."""


def encryption_sigma(n: int, key: Key) -> float:
    """e, or e u + e0 + e1 s with ternary u and s."""
    return SIGMA if key == "symmetric" else SIGMA * math.sqrt(4 * n / 3 + 1)


def rounding_sigma(n: int) -> float:
    """Rounding both components: variance 1/12 a coefficient, the second's times 2n/3 (a ternary secret)."""
    return math.sqrt((2 * n / 3 + 1) / 12)


def special_ratio(parameters: ParameterSet, primes: int) -> float:
    """Of the digits of key switching, with so many data primes left, to the special prime P that divides
    them: sqrt(sum (q_j / P)^2). They are residues in [0, q_j), of mean square q_j^2/3."""
    special = parameters.special_prime
    assert special is not None, "no key switching without a special prime"
    return math.sqrt(sum((q / special) ** 2 for q in parameters.data_primes[:primes]))


def holds_integers(parameters: ParameterSet, plain_modulus: int, primes: int) -> bool:
    """Whether a BFV ciphertext that is switched to so many primes has a bit of noise budget then, if it had
    plenty before: the switch's rounding, times t, stays below a quarter of the modulus."""
    rounding = EXACT_TAIL * rounding_sigma(parameters.n)
    return 4 * plain_modulus * rounding < math.prod(parameters.primes[:primes])


def fewest_result_primes(parameters: ParameterSet, plain_modulus: int) -> int:
    """How many primes exact scores keep: the fewest that hold integers, or all."""
    most = len(parameters.data_primes)
    fitting = (count for count in range(1, most) if holds_integers(parameters, plain_modulus, count))
    return next(fitting, most)
