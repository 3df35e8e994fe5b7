# SPDX-License-Identifier: Apache-2.0
"""Bounds on the error of decrypted values, by the noise model (noise.py).

An uncertainty is computed along with the ciphertext from public numbers, and never from decrypted values:
slots that a rotation has added up all hold the same noise, so their scatter reveals nothing about it.

The error of most operations does not depend on the value. That of products of ciphertexts and of polynomials
does: the error of x^2 is 2|x| times that of x. Such an uncertainty is a curve over a hidden number u from -1
to 1, on which the value and the variance of its error are polynomials; a decrypted value is looked up on it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, lru_cache
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
from numpy.polynomial import polynomial
from numpy.typing import NDArray

from ciphermote.parameters import ParameterSet
from ciphermote.parameters.noise import (
    ENCODER_VARIANCE,
    Key,
    Noise,
    encryption_noise,
    rounding_noise,
    switching_noise,
)

Coefficients = tuple[float, ...]
"""A polynomial's coefficients, from the constant one up."""

DEVIATIONS = 4.0
"""Number of a Gaussian's standard deviations in a stated error."""

TAIL = 0.3
"""If the variance's relative standard deviation from key to key is r, a stated error is 1 + TAIL r^2 times as
large. Then at most one value in 1,400 is off by more, and under a secret key, where r is 0, one in 16,000."""

MOST_COEFFICIENTS = 128
"""The most coefficients of one polynomial; with more, the largest variance is used for all values."""

FLOAT_ROUNDING = 2.0**-50
"""A bound on the rounding of float64 when slots are encoded, and again when they are decoded, as a share of
the largest slot. Measured at n = 4096 and 16384: both together round by up to 2^-50 of it."""

_MOST_SHARE = 2.2
_Floats = TypeVar("_Floats", float, NDArray[np.float64])
_GRID_POINTS = 4097


@dataclass(frozen=True)
class Uncertainty:
    """The error of the real part of a slot, in the values' unit.

    variance: the noise's; spread: the variance's, from key to key (Noise). bias: a bound on rounding that is
    the same each time. values: the value on the curve, () if the error is the same for all values. rounding:
    the variance of rounding when numbers are encoded in coefficients: two encryptions of the same numbers are
    rounded the same way, so in a sum it adds up like one repeated error. All but bias are polynomials in u.
    """

    variance: Coefficients
    spread: Coefficients = (0.0,)
    bias: float = 0.0
    values: Coefficients = ()
    rounding: Coefficients = (0.0,)

    @classmethod
    def of(cls, noise: Noise, n: int, scale: float) -> Uncertainty:
        """Return the error of noise in a polynomial's coefficients at this scale, which has n/2 times its
        variance in a slot's real part."""
        slot = n / 2 / scale**2
        return cls((noise.variance * slot,), (noise.spread * slot,))

    @classmethod
    @lru_cache(256)
    def fresh(cls, parameters: ParameterSet, key: Key, scale: float) -> Uncertainty:
        """Return the error of encryption and of rounding to coefficients."""
        noise = cls.of(encryption_noise(parameters.n, key), parameters.n, scale)
        return noise.plus_noise(cls.encoding(parameters, scale))

    @classmethod
    def rescaling(cls, parameters: ParameterSet, scale: float) -> Uncertainty:
        """Return the error of rescaling to this scale."""
        return cls.of(rounding_noise(parameters.n), parameters.n, scale)

    @classmethod
    def switching(
        cls, parameters: ParameterSet, primes: int, scale: float, *, centred: bool = True
    ) -> Uncertainty:
        """Return the error of key switching: of a rotation, a relinearization (at the product's scale), or a
        change of key."""
        return cls.of(switching_noise(parameters, primes, centred=centred), parameters.n, scale)

    @classmethod
    def encoding(cls, parameters: ParameterSet, scale: float) -> Uncertainty:
        """Return the error of encoding numbers at this scale, one for each slot."""
        return cls((0.0,), rounding=cls.of(Noise(ENCODER_VARIANCE), parameters.n, scale).variance)

    @classmethod
    def of_constant(cls, scale: float) -> Uncertainty:
        """Return the error of encoding one number for all slots at this scale, in a single coefficient."""
        return cls((0.0,), bias=1 / 2 / scale)

    @classmethod
    def of_weights(
        cls, parameters: ParameterSet, scale: float, largest: float, terms: int = 1
    ) -> Uncertainty:
        """Return the error of rounding this many weights at this scale, on values up to largest. The same
        weights are rounded the same way each time."""
        (variance,) = cls.encoding(parameters, scale).rounding
        return cls((0.0,), bias=DEVIATIONS * math.sqrt(terms * variance) * largest)

    @property
    def is_curve(self) -> bool:
        return bool(self.values)

    @cached_property
    def worst(self) -> Uncertainty:
        """Return the largest error of any value on the curve, for all values."""
        if not self.is_curve:
            return self
        parts = self.variance, self.spread, self.rounding
        most = (float(polynomial.polyval(_grid(), each).max()) for each in parts)
        variance, spread, rounding = most
        return Uncertainty((variance,), (spread,), self.bias, rounding=(rounding,))

    @property
    def stated(self) -> float:
        """The bound on every value's error."""
        worst = self.worst
        variance, (spread,) = worst.total, worst.spread
        share = spread / variance if variance > 0 else 0.0
        return _widened(math.sqrt(max(variance, 0.0)), min(share, _MOST_SHARE)) + self.bias

    @property
    def total(self) -> float:
        """Return the largest variance of any value, of noise and rounding."""
        worst = self.worst
        return worst.variance[0] + worst.rounding[0]

    def stated_at(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return a bound on the error of each of these decrypted values: the largest error of all points of
        the curve whose value may be this one with its error, or of all points if there is none."""
        if not self.is_curve:
            return np.full(values.shape, self.stated)
        at, variance, spread = self._curve
        first = self._looked_up(values, at, variance, spread)
        # The noise has moved the value on the curve by up to its error.
        moved = (self._looked_up(values + by, at, variance, spread) for by in (first, -first))
        found = np.maximum.reduce([first, *moved])
        outside = np.maximum(values - at.max(), at.min() - values)
        return np.where(outside > found + self.bias, self.stated - self.bias, found) + self.bias

    @property
    def least(self) -> float:
        """The smallest stated error of any value."""
        if not self.is_curve:
            return self.stated
        _, variance, spread = self._curve
        return float(_stated(variance, spread).min()) + self.bias

    @property
    def _curve(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Values on the curve, the variances of their errors, and these variances' spreads."""
        both = _tuple(polynomial.polyadd(self.variance, self.rounding))
        at, variance, spread = (
            np.asarray(polynomial.polyval(_grid(), each), dtype=np.float64)
            for each in (self.values, both, self.spread)
        )
        return at, variance, spread

    @staticmethod
    def _looked_up(
        values: NDArray[np.float64],
        at: NDArray[np.float64],
        variance: NDArray[np.float64],
        spread: NDArray[np.float64],
    ) -> NDArray[np.float64]:
        """Return the error, without bias, of each value, or of the end of the curve that it is beyond."""
        inside = np.clip(values, at.min(), at.max())
        found = np.zeros(values.shape)
        for first, last in _monotone_runs(at):
            piece = (
                slice(first, last + 1)
                if at[last] >= at[first]
                else slice(last, first - 1 if first else None, -1)
            )
            run = at[piece]
            here = (inside >= run[0]) & (inside <= run[-1])
            looked_up = (np.interp(inside[here], run, each[piece]) for each in (variance, spread))
            found[here] = np.maximum(found[here], _stated(*looked_up))
        return found

    def times(self, factor: float) -> Uncertainty:
        """Return the error of each value times a number."""
        square = factor**2
        return Uncertainty(
            tuple(each * square for each in self.variance),
            tuple(each * square for each in self.spread),
            self.bias * abs(factor),
            tuple(each * factor for each in self.values),
            tuple(each * square for each in self.rounding),
        )

    def moved(self, number: float) -> Uncertainty:
        """Return the error of each value plus a number."""
        if not self.is_curve:
            return self
        return replace(self, values=(self.values[0] + number, *self.values[1:]))

    def biased(self, bias: float) -> Uncertainty:
        return replace(self, bias=self.bias + bias)

    def plus_noise(self, noise: Uncertainty) -> Uncertainty:
        """Return the error with more noise, which is independent of it and of the value."""
        (variance,), (spread,) = noise.variance, noise.spread
        return Uncertainty(
            (self.variance[0] + variance, *self.variance[1:]),
            (self.spread[0] + spread, *self.spread[1:]),
            self.bias + noise.bias,
            self.values,
            _rounded_alike(self.rounding, noise.rounding),
        )

    def plus(self, other: Uncertainty, *, independent: bool) -> Uncertainty:
        """Return the error of a sum of two values. Errors not known to be independent may be equal, and add
        up."""
        if not independent:
            return _added_up(self.worst, other.worst)
        if not self.is_curve and not other.is_curve:
            return self.plus_noise(other)
        mine, others = _Square.of(self), _Square.of(other)
        if mine is not None and others is not None and (mine.factor > 0) == (others.factor > 0):
            return mine.plus(others)
        return self.worst.plus_noise(other.worst)

    def repeated(self, count: int) -> Uncertainty:
        """Return the error of a sum of values with independent noise and equal rounding."""
        worst = self.worst
        (variance,), (spread,), (rounding,) = worst.variance, worst.spread, worst.rounding
        return Uncertainty(
            (variance * count,), (spread * count,), worst.bias * count, rounding=(rounding * count**2,)
        )

    def through(
        self, function: Sequence[float], largest: float, own: Uncertainty | None = None
    ) -> Uncertainty | None:
        """Return the error of a polynomial of each value up to largest, whose evaluation adds the error own:
        a curve with polynomials in the value. None if it exceeds all floats."""
        x = np.array(self.values if self.is_curve else (0.0, largest))
        slope, bend = (_composed(polynomial.polyder(function, order), x) for order in (1, 2))
        slope_squared, bend_squared = (polynomial.polymul(each, each) for each in (slope, bend))
        most, (scatter,) = self.total, self.worst.spread
        share = 1 + (scatter / most) ** 2 if most else 1.0
        # (x + e)^2 is off by 2 x e, and by e^2 less the square of the noise's imaginary part. That has the
        # tail of a variance that spreads by sqrt(2) of itself even under one key.
        second = most**2 * share * bend_squared
        parts = []
        for mine, added, factor in (
            (self.variance, None if own is None else own.variance, 1.0),
            (self.spread, None if own is None else own.spread, math.sqrt(2) * share),
            (self.rounding, None if own is None else own.rounding, 0.0),
        ):
            part = polynomial.polyadd(polynomial.polymul(slope_squared, mine), factor * second)
            parts.append(part if added is None else polynomial.polyadd(part, _composed(added, x)))
        steepest = float(np.abs(polynomial.polyval(_grid(), slope)).max())
        bias = self.bias * steepest + (0.0 if own is None else own.bias)
        variance, spread, rounding = parts
        values = _composed(np.array(function, dtype=np.float64), x)
        found = Uncertainty(_tuple(variance), _tuple(spread), bias, _tuple(values), _tuple(rounding))
        if not found._is_finite:
            return None
        return found if found._is_short else found.worst

    @property
    def _is_finite(self) -> bool:
        return all(
            map(math.isfinite, (*self.variance, *self.spread, *self.values, *self.rounding, self.bias))
        )

    @property
    def _is_short(self) -> bool:
        return max(map(len, (self.variance, self.spread, self.values, self.rounding))) <= MOST_COEFFICIENTS


@dataclass(frozen=True)
class _Square:
    """The curve of a square, or of a sum of squares, times a factor: value factor u^2, error variance + slope
    |value|. Sums of these have the same form: equal rounding adds up by sqrt(a |x|) + sqrt(b |y|) <= sqrt((a
    + b) |x + y|)."""

    factor: float
    variance: float
    variance_slope: float
    spread: float
    spread_slope: float
    rounding: float
    rounding_slope: float
    bias: float

    @classmethod
    def of(cls, given: Uncertainty) -> _Square | None:
        values = given.values
        if len(values) != 3 or any(values[:2]) or not values[2]:
            return None
        parts = [_padded(each) for each in (given.variance, given.spread, given.rounding)]
        if any(len(part) > 3 or part[1] for part in parts):
            return None
        size = abs(values[2])
        (variance, spread, rounding), bias = ((part[0], part[2] / size) for part in parts), given.bias
        return cls(values[2], *variance, *spread, *rounding, bias)

    def plus(self, other: _Square) -> Uncertainty:
        factor = self.factor + other.factor
        slopes = (
            max(self.variance_slope, other.variance_slope),
            max(self.spread_slope, other.spread_slope),
        )
        return Uncertainty(
            (self.variance + other.variance, 0.0, slopes[0] * abs(factor)),
            (self.spread + other.spread, 0.0, slopes[1] * abs(factor)),
            self.bias + other.bias,
            (0.0, 0.0, factor),
            (
                *_rounded_alike((self.rounding,), (other.rounding,)),
                0.0,
                (self.rounding_slope + other.rounding_slope) * abs(factor),
            ),
        )


def _padded(coefficients: Coefficients) -> Coefficients:
    return (*coefficients, 0.0, 0.0, 0.0)[: max(3, len(coefficients))]


def _added_up(a: Uncertainty, b: Uncertainty) -> Uncertainty:
    variances = a.variance[0], b.variance[0]
    (total,) = _rounded_alike(a.variance, b.variance)
    shares = [
        spread / variance
        for spread, variance in zip((a.spread[0], b.spread[0]), variances, strict=True)
        if variance
    ]
    rounding = _rounded_alike(a.rounding, b.rounding)
    return Uncertainty((total,), (total * max(shares, default=0.0),), a.bias + b.bias, rounding=rounding)


def _rounded_alike(a: Coefficients, b: Coefficients) -> Coefficients:
    """Return the variance of the sum of two errors that may be equal. On curves they count as independent,
    because they belong to different numbers."""
    if len(a) == len(b) == 1:
        return ((math.sqrt(a[0]) + math.sqrt(b[0])) ** 2,)
    return _tuple(polynomial.polyadd(a, b))


def _stated(variance: NDArray[np.float64], spread: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the bound on errors with these variances and spreads, without bias."""
    positive = np.maximum(variance, 0.0)
    share = np.divide(spread, positive, out=np.zeros_like(positive), where=positive > 0)
    return _widened(np.sqrt(positive), np.minimum(share, _MOST_SHARE))


def _widened(deviation: _Floats, share: _Floats) -> _Floats:
    """Return the factor for a spread: a fit to mixtures of Gaussians whose variance is a sum of exponential
    variables and a constant."""
    return DEVIATIONS * deviation * (1 + TAIL * share**2)


def _composed(outer: NDArray[Any] | Coefficients, inner: NDArray[Any]) -> NDArray[Any]:
    found: NDArray[Any] = np.zeros(1)
    for coefficient in reversed(list(outer)):
        found = polynomial.polyadd(polynomial.polymul(found, inner), [coefficient])
    return found


def _tuple(coefficients: NDArray[Any]) -> Coefficients:
    return tuple(polynomial.polytrim(coefficients).tolist())


@cache
def _grid() -> NDArray[np.float64]:
    """Return u from -1 to 1, denser near 0, because values are often far below their bound."""
    grid: NDArray[np.float64] = np.linspace(-1, 1, _GRID_POINTS) ** 3
    return grid


def _monotone_runs(values: NDArray[Any]) -> list[tuple[int, int]]:
    """Return (first, last) of each maximal monotone run; the next one begins where it ends."""
    signs = np.sign(np.diff(values))
    turns = np.flatnonzero(signs[1:] != signs[:-1]) + 1
    edges = [0, *turns.tolist(), len(values) - 1]
    return [(first, last) for first, last in pairwise(edges) if first < last]
