# SPDX-License-Identifier: Apache-2.0
"""The noise of encryption, key switching and modulus switching, in the coefficients of a polynomial."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from ciphermote.parameters import ParameterSet

Key = Literal["symmetric", "asymmetric"]
"""What encrypts: the secret key or the public key."""

SIGMA = math.sqrt(21 / 2)
"""Standard deviation of the centred binomial noise with eta = 21: 3.24. It is sub-Gaussian: s of these are
exceeded with probability 2 exp(-s^2 / 2) or less."""

ENCODER_VARIANCE = 1 / 6
"""Variance of the encoder's rounding in a slot's real part. Coefficients are off by 1/12, but those of real
slots mirror each other, and so do their errors: the imaginary part has none, and the real part all."""

LARGEST = 21
"""No centred binomial noise with eta = 21 is larger."""

EXACT_TAIL = 8.0
"""Standard deviations that exact results have room for: more come with probability 2^-45 or less."""


@dataclass(frozen=True)
class Noise:
    """Noise of a polynomial. variance: of one coefficient, over all keys. spread: the standard deviation of
    that variance from key to key, as a slot has it.

    Under one key, noise that is multiplied by the secret s is Gaussian in a slot, with a variance
    proportional to |s(zeta)|^2. From key to key that is distributed exponentially, and so it spreads by as
    much as its mean. The same holds for the public key's own noise, which multiplies u.
    """

    variance: float
    spread: float = 0.0

    @property
    def sigma(self) -> float:
        return math.sqrt(self.variance)


def encryption_noise(n: int, key: Key) -> Noise:
    """e, or e u + e0 + e1 s with ternary u and s."""
    if key == "symmetric":
        return Noise(SIGMA**2)
    product = SIGMA**2 * 2 * n / 3
    return Noise(2 * product + SIGMA**2, math.hypot(product, product))


def encryption_sigma(n: int, key: Key) -> float:
    """The standard deviation of encryption_noise."""
    return encryption_noise(n, key).sigma


def rounding_noise(n: int) -> Noise:
    """Rounding both components: variance 1/12 a coefficient, the second's times 2n/3 (a ternary secret)."""
    product = 2 * n / 3 / 12
    return Noise(product + 1 / 12, product)


def rounding_sigma(n: int) -> float:
    """The standard deviation of rounding_noise."""
    return rounding_noise(n).sigma


def switching_noise(parameters: ParameterSet, primes: int, *, centred: bool = True) -> Noise:
    """Key switching with so many data primes left, and the rounding that it ends in.

    centred: digits D_j in [-D/2, D/2), as the evaluator takes them, of mean square D^2/12; else in [0, D), as
    SEAL takes them, in the slot where their mean gathers (adviser.py).
    """
    n, rounding = parameters.n, rounding_noise(parameters.n)
    mean = 0.0 if centred else (n / math.pi) ** 2
    digits = [SIGMA**2 * (n / 12 + mean) * ratio**2 for ratio in digit_ratios(parameters, primes)]
    return Noise(sum(digits) + rounding.variance, math.hypot(*digits) + rounding.spread)


def digit_ratios(parameters: ParameterSet, primes: int) -> list[float]:
    """Ratio of each digit's modulus, with this many data primes left, to the special primes' product P that
    divides it."""
    special = math.prod(parameters.special_primes)
    assert parameters.special_primes, "no key switching without a special prime"
    data, step = parameters.data_primes[:primes], parameters.digit_primes
    return [math.prod(data[i : i + step]) / special for i in range(0, len(data), step)]


def special_ratio(parameters: ParameterSet, primes: int) -> float:
    """The root of the sum of all squared ratios: sqrt(sum (D_j / P)^2)."""
    return math.hypot(*digit_ratios(parameters, primes))


def holds_integers(parameters: ParameterSet, plain_modulus: int, primes: int) -> bool:
    """Whether a BFV ciphertext that is switched to so many primes has a bit of noise budget then, if it had
    plenty before: the switch's rounding, times t, stays below a quarter of the modulus."""
    rounding = EXACT_TAIL * rounding_sigma(parameters.n)
    return 4 * plain_modulus * rounding < parameters.moduli[primes]


def fewest_result_primes(parameters: ParameterSet, plain_modulus: int) -> int:
    """How many primes exact scores keep: the fewest that hold integers, or all."""
    most = len(parameters.data_primes)
    fitting = (count for count in range(1, most) if holds_integers(parameters, plain_modulus, count))
    return next(fitting, most)
