# SPDX-License-Identifier: Apache-2.0
"""The noise of encryption, key switching and modulus switching, in the coefficients of a polynomial."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from ciphermote.parameters import ParameterSet

Key = Literal["symmetric", "asymmetric"]
"""The key that encrypts: the secret key or the public key."""

SIGMA = math.sqrt(21 / 2)
"""Standard deviation of the centred binomial noise with eta = 21: 3.24. It is sub-Gaussian: s of these are
exceeded with probability 2 exp(-s^2 / 2) or less."""

ENCODER_VARIANCE = 1 / 6
"""Variance of the encoder's rounding in a slot's real part. That of a coefficient is 1/12, but the
coefficients of real slots mirror each other, and so do their errors: the whole error is in the real part."""

LARGEST = 21
"""The largest centred binomial noise with eta = 21."""

EXACT_TAIL = 8.0
"""Standard deviations that exact results have room for; more occur with a probability of at most 2^-45."""


@dataclass(frozen=True)
class Noise:
    """Noise of a polynomial. variance: that of one coefficient, over all keys. spread: the standard deviation
    of a slot's variance from key to key.

    Under one key, noise that is multiplied by the secret s is Gaussian in a slot, with a variance
    proportional to |s(zeta)|^2. Over all keys that is distributed exponentially, so its standard deviation
    equals its mean. The same holds for the public key's own noise, which multiplies u.
    """

    variance: float
    spread: float = 0.0

    @property
    def sigma(self) -> float:
        return math.sqrt(self.variance)


def encryption_noise(n: int, key: Key) -> Noise:
    """Return the noise of encryption: e, or e u + e0 + e1 s with ternary u and s."""
    if key == "symmetric":
        return Noise(SIGMA**2)
    product = SIGMA**2 * 2 * n / 3
    return Noise(2 * product + SIGMA**2, math.hypot(product, product))


def encryption_sigma(n: int, key: Key) -> float:
    """Return the standard deviation of encryption_noise."""
    return encryption_noise(n, key).sigma


def rounding_noise(n: int, components: int = 2) -> Noise:
    """Return the noise of rounding two or three components: variance 1/12 for a coefficient, times 2n/3 for
    the second (a ternary secret s), and times 8n^2/9 for the third, the mean of |s(zeta)|^4, whose standard
    deviation is sqrt(5) times as large."""
    product = 2 * n / 3 / 12
    square = 8 * n**2 / 9 / 12 if components == 3 else 0.0
    return Noise(square + product + 1 / 12, product + math.sqrt(5) * square)


def rounding_sigma(n: int) -> float:
    """Return the standard deviation of rounding_noise."""
    return rounding_noise(n).sigma


def switching_noise(parameters: ParameterSet, primes: int, *, centred: bool = True) -> Noise:
    """Return the noise of key switching with this many data primes left, including its final rounding.

    centred: digits D_j are in [-D/2, D/2), as in the evaluator, with mean square D^2/12; otherwise in [0, D),
    as in SEAL, in the slot where their mean accumulates (adviser.py).
    """
    n, rounding = parameters.n, rounding_noise(parameters.n)
    mean = 0.0 if centred else (n / math.pi) ** 2
    digits = [SIGMA**2 * (n / 12 + mean) * ratio**2 for ratio in digit_ratios(parameters, primes)]
    return Noise(sum(digits) + rounding.variance, math.hypot(*digits) + rounding.spread)


def digit_ratios(parameters: ParameterSet, primes: int) -> list[float]:
    """Return the ratio of each digit's modulus, with this many data primes left, to the special primes'
    product P."""
    special = math.prod(parameters.special_primes)
    assert parameters.special_primes, "no key switching without a special prime"
    data, step = parameters.data_primes[:primes], parameters.digit_primes
    return [math.prod(data[i : i + step]) / special for i in range(0, len(data), step)]


def special_ratio(parameters: ParameterSet, primes: int) -> float:
    """Return the root of the sum of all squared ratios: sqrt(sum (D_j / P)^2)."""
    return math.hypot(*digit_ratios(parameters, primes))


def holds_integers(parameters: ParameterSet, plain_modulus: int, primes: int) -> bool:
    """Whether a BFV ciphertext has a bit of noise budget after a switch to this many primes, if it had enough
    before: the switch's rounding, times t, stays below a quarter of the modulus."""
    rounding = EXACT_TAIL * rounding_sigma(parameters.n)
    return 4 * plain_modulus * rounding < parameters.moduli[primes]


def fewest_result_primes(parameters: ParameterSet, plain_modulus: int) -> int:
    """Return the number of primes of exact scores: the fewest that hold integers, or all."""
    most = len(parameters.data_primes)
    fitting = (count for count in range(1, most) if holds_integers(parameters, plain_modulus, count))
    return next(fitting, most)
