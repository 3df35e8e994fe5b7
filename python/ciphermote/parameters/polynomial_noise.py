# SPDX-License-Identifier: Apache-2.0
"""The noise that evaluating a polynomial adds to its value, as a polynomial of the input.

It follows the evaluator's steps (host/src/evaluate/polynomial.cpp): the same powers, sums and scales. Each
product and each rescaling is a source of noise, which reaches the result times a polynomial: the derivative
of the result with respect to the value that the noise was added to. Coefficients are rounded to their scales,
the same way each time.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.polynomial import polynomial
from numpy.typing import NDArray

from ciphermote.parameters import ParameterSet
from ciphermote.parameters.uncertainty import Uncertainty

_Polynomial = NDArray[Any]


@dataclass(frozen=True)
class _Term:
    """An intermediate ciphertext: its value, and the factor of each source of noise in it, as polynomials of
    the input."""

    value: _Polynomial
    gains: dict[int, _Polynomial]
    scale: float
    primes: int

    def times(self, other: _Term) -> _Term:
        gains: dict[int, _Polynomial] = {}
        for one, another in ((self, other), (other, self)):
            for source, gain in one.gains.items():
                _add(gains, source, polynomial.polymul(gain, another.value))
        value: _Polynomial = polynomial.polymul(self.value, other.value)
        return _Term(value, gains, self.scale * other.scale, min(self.primes, other.primes))

    def times_number(self, number: float, scale: float) -> _Term:
        """Multiply by a number rounded to this scale."""
        rounded = round(number * scale) / scale
        gains = {source: gain * rounded for source, gain in self.gains.items()}
        return _Term(self.value * rounded, gains, self.scale * scale, self.primes)

    def plus(self, other: _Term) -> _Term:
        gains = dict(self.gains)
        for source, gain in other.gains.items():
            _add(gains, source, gain)
        return _Term(polynomial.polyadd(self.value, other.value), gains, self.scale, self.primes)

    def plus_number(self, number: float) -> _Term:
        rounded = round(number * self.scale) / self.scale
        return _Term(polynomial.polyadd(self.value, [rounded]), self.gains, self.scale, self.primes)


def _add(gains: dict[int, _Polynomial], source: int, gain: _Polynomial) -> None:
    gains[source] = polynomial.polyadd(gains[source], gain) if source in gains else gain


@dataclass
class _Evaluation:
    """The evaluator's recursion. sources: the noise of each source."""

    parameters: ParameterSet
    step: int
    power_scale: float
    powers: dict[int, _Term]
    sources: list[Uncertainty] = field(default_factory=list)

    def result(self, coefficients: Sequence[float], levels: int, primes: int, scale: float) -> _Term:
        low = (1 << min(levels - 1, ((len(coefficients) - 1).bit_length() + 1) // 2)) - 1
        if len(coefficients) <= low + 1:
            return self._sum_of_powers(coefficients, primes, scale)
        split = 1 << ((len(coefficients) - 1).bit_length() - 1)
        high, rest = coefficients[split:], coefficients[:split]
        giant = self._power(split)
        unscaled = scale * self._divisor(primes)
        if len(high) == 1:
            product = giant.times_number(high[0], unscaled / giant.scale)
        else:
            factor = self.result(high, levels - 1, primes + self.step, unscaled / giant.scale)
            product = self._relinearized(factor.times(giant), primes + self.step)
        found = self._rescaled(product, primes)
        rest = _trimmed(rest)
        if not rest:
            return found
        if len(rest) == 1:
            return found.plus_number(rest[0])
        return found.plus(self.result(rest, levels, primes, scale))

    def _sum_of_powers(self, coefficients: Sequence[float], primes: int, scale: float) -> _Term:
        unscaled = scale * self._divisor(primes)
        total: _Term | None = None
        for exponent, coefficient in enumerate(coefficients[1:], 1):
            if coefficient:
                power = self._power(exponent)
                term = power.times_number(coefficient, unscaled / power.scale)
                total = term if total is None else total.plus(term)
        assert total is not None
        found = self._rescaled(total, primes)
        return found.plus_number(coefficients[0]) if coefficients[0] else found

    def _power(self, exponent: int) -> _Term:
        if exponent not in self.powers:
            half = 1 << ((exponent - 1).bit_length() - 1)
            left, right = self._power(half), self._power(exponent - half)
            primes = min(left.primes, right.primes)
            product = self._relinearized(left.times(right), primes)
            times = math.floor(1.01 * self.power_scale * self._divisor(primes - self.step) / product.scale)
            raised = _Term(product.value, product.gains, product.scale * max(times, 1), primes)
            self.powers[exponent] = self._rescaled(raised, primes - self.step)
        return self.powers[exponent]

    def _relinearized(self, product: _Term, primes: int) -> _Term:
        return self._noisy(product, Uncertainty.switching(self.parameters, primes, product.scale))

    def _rescaled(self, term: _Term, primes: int) -> _Term:
        scale = term.scale / self._divisor(primes)
        found = _Term(term.value, term.gains, scale, primes)
        return self._noisy(found, Uncertainty.rescaling(self.parameters, scale))

    def _noisy(self, term: _Term, noise: Uncertainty) -> _Term:
        gains = {**term.gains, len(self.sources): np.ones(1)}
        self.sources.append(noise)
        return _Term(term.value, gains, term.scale, term.primes)

    def _divisor(self, primes: int) -> float:
        """Return the divisor of rescaling to this many primes."""
        return float(math.prod(self.parameters.data_primes[primes : primes + self.step]))


def evaluation_noise(
    parameters: ParameterSet,
    primes: int,
    scale: float,
    coefficients: Sequence[float],
    largest: float,
    primes_per_level: int = 1,
) -> Uncertainty:
    """Return the noise of evaluating a polynomial of values up to largest, in a ciphertext with this many
    primes at this scale: variance and spread as polynomials of the value."""
    wanted = _trimmed(coefficients)
    levels = (len(wanted) - 1).bit_length()
    x = _Term(np.array([0.0, 1.0]), {}, scale, primes)
    evaluation = _Evaluation(parameters, primes_per_level, 0.0, {1: x})
    divisors = (evaluation._divisor(primes - level * primes_per_level) for level in range(1, levels + 1))
    evaluation.power_scale = min(divisors)
    found = evaluation.result(wanted, levels, primes - levels * primes_per_level, scale)
    variance, spread = np.zeros(1), np.zeros(1)
    for source, gain in found.gains.items():
        noise = evaluation.sources[source]
        squared: _Polynomial = polynomial.polymul(gain, gain)
        variance = polynomial.polyadd(variance, noise.variance[0] * squared)
        spread = polynomial.polyadd(spread, noise.spread[0] * squared)
    off = polynomial.polysub(found.value, wanted)
    bias = float(np.abs(polynomial.polyval(np.linspace(-largest, largest, 1025), off)).max())
    return Uncertainty(tuple(variance.tolist()), tuple(spread.tolist()), bias)


def _trimmed(coefficients: Sequence[float]) -> list[float]:
    found = list(coefficients)
    while found and not found[-1]:
        found.pop()
    return found
