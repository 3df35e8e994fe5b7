# SPDX-License-Identifier: Apache-2.0
"""Public knowledge about the values in a ciphertext, and the rule that keeps results right.

A value beyond the modulus wraps around and decrypts to another number without an error. So every reading has
a declared bound on |value|, which is public and never taken from the values; every operation works out the
bound of its result, and `check_room` refuses a result that the modulus may not hold before it is computed.
Ciphertexts without a declaration (SEAL's own bytes, older files) are computed on, and their results state
that the bound is unknown.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ciphermote.base.arguments import shown, whole
from ciphermote.base.errors import ParameterError, ValueRangeError
from ciphermote.base.words import count_of, scale_name
from ciphermote.parameters import BUILTIN, CKKS, ParameterSet, Scheme, batches
from ciphermote.parameters.noise import Key
from ciphermote.parameters.uncertainty import FLOAT_ROUNDING, Coefficients, Uncertainty

DEFAULT_LARGEST = 100.0
"""The default for the largest |value| of a reading."""

DEFAULT_SUMMED = 1000
"""The default for the number of readings that a sum has room for."""

LARGEST_BOUND = 2.0**100
"""No scale and modulus have room for values beyond this, or resolve values below its inverse."""

_MOST_DEFERRED = 64
"""The longest chain of operations whose knowledge has not been computed."""

MOST_SOURCES = 16
"""The most named sources; ciphertexts made from more encryptions name none."""

MOST_SUMMED = 2**40
"""The most readings in a sum."""

_PRODUCT_BITS, _WIDE_PRODUCT_BITS = 29, 58
"""log2(largest * scale) stays below the first: 31-bit precision on devices holds no more, and readings that
are added up need one scale. At n = 4096 the public key's noise is 2^-15 of the largest value then. Values
that 31 bits hold at no scale have 63, and stay below the second."""
_DIGITS_TO_SAY, _DIGITS_TO_SHOW = 3, 1


def device_precision(largest: float, log2_scale: int) -> int:
    """Return the bits of the fixed-point numbers with which a device encrypts values up to largest: 31 or
    63."""
    return 31 if largest * 2.0**log2_scale < 2.0**_PRODUCT_BITS else 63


def check_largest(largest: object) -> float:
    """Return the bound as a float. Raises ParameterError unless it is a number from 2^-100 to 2^100."""
    if (
        isinstance(largest, bool | np.bool_)
        or not isinstance(largest, int | float | np.integer | np.floating)
        or not 1 / LARGEST_BOUND <= largest <= LARGEST_BOUND
    ):
        raise ParameterError(
            f"The largest value (--largest; in Python, largest) is {shown(largest)}: give the largest "
            "|value| that any reading may hold, a positive number, such as the sensor's full range."
        )
    return float(largest)


def check_error(error: object) -> float:
    """Return a bound on errors as a float. Raises ParameterError unless it is a number from 0 to 2^100."""
    if (
        isinstance(error, bool | np.bool_)
        or not isinstance(error, int | float | np.integer | np.floating)
        or not 0 <= error <= LARGEST_BOUND
    ):
        raise ParameterError(
            f"The error (--error; in Python, error) is {shown(error)}: give how far each value may be off, a "
            "number from 0 on."
        )
    return float(error)


def float32_above(bound: float) -> float:
    """Return the smallest binary32 number that is not below a bound, because devices store binary32."""
    nearest = np.float32(bound)
    return float(nearest if nearest >= bound else np.nextafter(nearest, np.float32(np.inf)))


@dataclass(frozen=True)
class Readings:
    """An owner's public declarations about all readings under a key.

    largest: the largest |value| of any reading. summed: the number of readings that sums must have room for.
    Raises ParameterError for values outside their ranges.
    """

    largest: float = DEFAULT_LARGEST
    summed: int = DEFAULT_SUMMED

    def __post_init__(self) -> None:
        object.__setattr__(self, "largest", check_largest(self.largest))
        object.__setattr__(self, "summed", whole(self.summed, "summed (--summed)", 1, MOST_SUMMED, "2^40"))

    def declared(self, largest: float | None, summed: int | None) -> Readings | None:
        """Return these declarations with the given changes; None if nothing is given."""
        if largest is None and summed is None:
            return None
        return Readings(
            self.largest if largest is None else largest, self.summed if summed is None else summed
        )

    def widened(self, readings: Readings | None) -> Readings:
        """Return new declarations; None leaves a field unchanged. Raises ParameterError for a smaller largest
        value, because readings up to the larger one may exist."""
        if readings is None:
            return self
        if readings.largest < self.largest:
            raise ParameterError(
                f"The keys declare a largest value of {self.largest:g}, and readings up to that may be "
                f"encrypted already: declare no smaller one than {self.largest:g} (--largest)."
            )
        return readings

    def checked_largest(self, largest: float | None) -> float:
        """Return the bound of a device or of a reading in a file: the given one, or that of all. Raises
        ParameterError for a larger one: frames without a declaration count as within that of all."""
        if largest is None:
            return self.largest
        if check_largest(largest) > self.largest:
            raise ParameterError(
                f"The largest value (--largest) is {largest:g}, and the keys declare {self.largest:g} for "
                f"all readings: raise that first (`ciphermote extend KEYS --largest {largest:g}`; in Python, "
                "Owner.extend), or make keys for it."
            )
        return float(largest)

    def log2_scale(self, parameters: ParameterSet) -> int:
        """Return the most precise CKKS scale with room for the readings' sum in a fresh ciphertext.

        Raises ParameterError if the set has no room at any scale.
        """
        size, smallest = math.log2(self.largest), parameters.log2_scales[0]
        bits = _PRODUCT_BITS if size + smallest < _PRODUCT_BITS else _WIDE_PRODUCT_BITS
        wanted = math.ceil(bits - size) - 1
        room = math.floor(math.log2(parameters.data_modulus / 4 / self.largest / self.summed))
        found = min(wanted, room, parameters.log2_scales[-1])
        if found < smallest:
            raise ParameterError(
                f"{parameters.name} has no room for sums of {self.summed:,} readings of up to "
                f"{self.largest:g}: declare fewer (--summed), give values in a larger unit, or take a larger "
                "set."
            )
        return found

    def chosen_log2_scale(self, parameters: ParameterSet, log2_scale: int | None, largest: float) -> int:
        """Return the CKKS scale of readings up to largest: the given one, or log2_scale's for all readings.
        Raises ParameterError for a scale that the set does not have, or ValueRangeError for one without room
        for largest."""
        if log2_scale is None:
            return self.log2_scale(parameters)
        steps = parameters.log2_scales
        scale = whole(log2_scale, "log2_scale (--log2-scale)", steps[0], steps[-1])
        check_room("A reading", largest, parameters, len(parameters.data_primes), 2.0**scale, CKKS)
        return scale

    def error(
        self, parameters: ParameterSet, key: Key, log2_scale: int | None = None, count: int = 1
    ) -> float:
        """Return the stated error of the mean of `count` fresh readings."""
        scale = self.log2_scale(parameters) if log2_scale is None else log2_scale
        return Uncertainty.fresh(parameters, key, 2.0**scale).repeated(count).times(1 / count).stated

    def digits(self, parameters: ParameterSet, key: Key, log2_scale: int | None = None) -> float:
        """Return the decimal digits of the largest value that the noise leaves."""
        return math.log10(self.largest / self.error(parameters, key, log2_scale))

    def smallest_set(self, parameters: ParameterSet, key: Key) -> ParameterSet | None:
        """Return the smallest built-in set of the same or a stricter standard that leaves such readings three
        digits; None if there is none."""
        fitting = (
            other
            for other in BUILTIN
            if other.n >= parameters.n and other.standard in ("2024", parameters.standard)
        )
        return next((other for other in fitting if self._suits(other, key)), None)

    def _suits(self, parameters: ParameterSet, key: Key) -> bool:
        try:
            return self.digits(parameters, key) >= _DIGITS_TO_SAY
        except ParameterError:
            return False


DEFAULT_READINGS = Readings()


@dataclass(frozen=True)
class Known:
    """Public knowledge about the values in a ciphertext; None stands for unknown.

    largest: a bound on |value| (CKKS: of a slot; BFV: of an integer before it is reduced modulo t). error:
    the error of a slot (CKKS). reading: for scores, the error of a slot of the scored reading, from which
    each class's error follows. sources: names of the encryptions that contribute to the error, () if unknown
    or too many; errors without a common source are independent. slots_independent: whether the slots' errors
    are independent, as encryption makes them. assumed: whether a caller has vouched for a bound that not all
    encryptions declare, or only a larger one, so that all of this holds only if he is right.
    """

    largest: float | None = None
    error: Uncertainty | None = None
    reading: Uncertainty | None = None
    sources: frozenset[int] = frozenset()
    slots_independent: bool = False
    assumed: bool = False

    @classmethod
    def encrypted(
        cls, largest: float, parameters: ParameterSet, key: Key, scale: float, source: int | None = None
    ) -> Known:
        """Return what is known about a fresh CKKS ciphertext at this scale. source: its name, or None."""
        error = Uncertainty.fresh(parameters, key, scale)
        sources = frozenset(() if source is None else (source,))
        return cls(largest, error, sources=sources, slots_independent=True)

    @property
    def bound_text(self) -> str:
        """The bound in words."""
        if self.largest is None:
            return "not known"
        bound = f"no |value| is beyond {self.largest:,.15g}"
        return f"{bound}, on a caller's word" if self.assumed else bound

    def times(self, factor: float) -> Known:
        """Multiply each value by a number."""
        error = None if self.error is None else self.error.times(factor)
        return replace(self, largest=_product(self.largest, factor), error=error, reading=None)

    def times_rounded(self, factor: float, scale: float) -> Known:
        """Multiply each value by a number that is rounded to a plaintext's scale, the same way each time."""
        found = self.times(factor)
        if found.error is None or self.largest is None:
            return found
        off = abs(round(factor * scale) / scale - factor) + FLOAT_ROUNDING * abs(factor)
        return replace(found, error=found.error.biased(off * self.largest))

    def times_slots(self, largest: float) -> Known:
        """Multiply each value by its own number of at most this magnitude. The error is that of the largest
        factor."""
        error = None if self.error is None else self.error.worst.times(largest)
        return replace(self, largest=_product(self.largest, largest), error=error, reading=None)

    def plus(self, other: Known) -> Known:
        """Add or subtract two ciphertexts."""
        both = KnownSum()
        both.add(self)
        both.add(other)
        return both.known

    def plus_number(self, number: float) -> Known:
        """Add the same number to each value."""
        error = None if self.error is None else self.error.moved(number)
        return replace(self, largest=sum_of((self.largest, abs(number))), error=error)

    def plus_slots(self, largest: float) -> Known:
        """Add to each value its own number of at most this magnitude."""
        error = None if self.error is None else self.error.worst
        return replace(self, largest=sum_of((self.largest, largest)), error=error)

    def plus_noise(self, noise: Uncertainty | None) -> Known:
        """Add the noise of an operation that does not change the values. None: unknown noise."""
        error = None if self.error is None or noise is None else self.error.plus_noise(noise)
        return replace(self, error=error)

    def product(self, other: Known) -> Known:
        """Multiply two ciphertexts slot by slot."""
        if self.largest is None or other.largest is None:
            return UNKNOWN
        largest = self.largest * other.largest
        assumed = self.assumed or other.assumed
        if self.error is None or other.error is None:
            return Known(largest, assumed=assumed)
        errors = self.error.worst.times(other.largest), other.error.worst.times(self.largest)
        error = errors[0].plus(errors[1], independent=self.is_independent_of(other))
        both = self.error.worst.total * other.error.worst.total
        error = error.plus_noise(Uncertainty((2 * both,), (2 * both,)))
        return Known(largest, error, assumed=assumed)

    def square(self) -> Known:
        """Square each value."""
        return self.polynomial((0.0, 0.0, 1.0))

    def polynomial(self, coefficients: Sequence[float], own: Uncertainty | None = None) -> Known:
        """Evaluate a polynomial of each value, with coefficients from the constant one up. own: the noise
        that the evaluation adds, as a polynomial of the value."""
        if self.largest is None:
            return UNKNOWN
        magnitudes = np.abs(np.array(coefficients, dtype=np.float64))
        largest = float(np.polynomial.polynomial.polyval(self.largest, magnitudes))
        error = None if self.error is None else self.error.through(coefficients, self.largest, own)
        error = None if error is None else error.biased(FLOAT_ROUNDING * largest)
        return replace(self, largest=largest, error=error, reading=None)

    def slots_added(self, count: int) -> Known:
        """Add up `count` slots."""
        return self.weighted(np.ones((1, count)), _product(self.largest, count), None)

    def weighted(self, weights: NDArray[np.float64], largest: float | None, own: Uncertainty | None) -> Known:
        """Compute weighted sums over slots, with weights [sums, slots]. largest: the bound on the sums. own:
        the noise that the computation adds."""
        if self.error is None:
            return Known(largest, sources=self.sources, assumed=self.assumed)
        norms = _Norms.of(weights, independent=self.slots_independent)
        given = self.error.worst
        error = Uncertainty(
            (norms.variance.max() * given.variance[0],),
            (norms.spread.max() * given.spread[0],),
            norms.bias * given.bias + FLOAT_ROUNDING * (largest or 0.0),
            rounding=(norms.variance.max() * given.rounding[0],),
        )
        if own is not None:
            error = error.plus_noise(own)
        reading = given if self.slots_independent else None
        return Known(largest, error, reading, self.sources, assumed=self.assumed)

    def of_classes(self, weights: NDArray[np.float64]) -> NDArray[np.float64] | None:
        """Return how far each score of a model with these weights may be off; None if unknown."""
        if self.error is None or self.largest is None:
            return None
        if self.reading is None:
            return np.full(len(weights), self.error.stated)
        norms = _Norms.of(weights, independent=True)
        lighter = norms.variance.max() - norms.variance, norms.spread.max() - norms.spread
        mine, of_reading = self.error, self.reading

        def left(whole: Coefficients, part: Coefficients, less: float) -> Coefficients:
            return (max(whole[0] - less * part[0], 0.0),)

        return np.array(
            [
                Uncertainty(
                    left(mine.variance, of_reading.variance, less),
                    left(mine.spread, of_reading.spread, less_spread),
                    mine.bias,
                    rounding=left(mine.rounding, of_reading.rounding, less),
                ).stated
                for less, less_spread in zip(*lighter, strict=True)
            ]
        )

    def is_independent_of(self, other: Known) -> bool:
        return bool(self.sources and other.sources) and self.sources.isdisjoint(other.sources)

    def bounded(self, largest: float | None) -> Known:
        """Return a copy with the bound for which the caller vouches, if there is one."""
        if largest is None:
            return self
        assumed = self.assumed or self.largest is None or largest < self.largest
        return replace(self, largest=largest, assumed=assumed)


UNKNOWN = Known()


class Knowledge:
    """Knowledge about a ciphertext, computed on demand. The bound is available at once, because results are
    checked against it before they are computed; the rest is computed when requested."""

    __slots__ = ("_depth", "_known", "_make", "largest")

    def __init__(self, largest: float | None, make: Callable[[], Known], *of: Knowledge) -> None:
        """make: computes what is known from `of`. largest: the bound that make would compute."""
        self.largest = largest
        self._known: Known | None = None
        self._make: Callable[[], Known] | None = make
        self._depth = 1
        for each in of:
            if each._depth >= self._depth:
                self._depth = each._depth + 1
        if self._depth > _MOST_DEFERRED:
            self._depth = 1
            for each in of:
                _ = each.known

    @classmethod
    def of(cls, known: Known) -> Knowledge:
        found = cls(known.largest, lambda: known)
        found._known, found._make, found._depth = known, None, 0
        return found

    @property
    def known(self) -> Known:
        if self._known is None:
            assert self._make is not None
            self._known, self._make, self._depth = self._make(), None, 0
        return self._known


@dataclass(frozen=True)
class _Norms:
    """Factors of a slot's variance, spread and bias in weighted sums over slots."""

    variance: NDArray[np.float64]
    spread: NDArray[np.float64]
    bias: float

    @classmethod
    def of(cls, weights: NDArray[np.float64], *, independent: bool) -> _Norms:
        most = np.abs(weights).sum(axis=1)
        if not independent:
            return cls(most**2, most**2, float(most.max()))
        # Each slot has a variance of its own, so the sum's spreads less.
        return cls((weights**2).sum(axis=1), np.sqrt((weights**4).sum(axis=1)), float(most.max()))


class KnownSum:
    """Knowledge about a sum, term by term.

    Errors of terms without a common source are independent. All others may be equal and add up: those without
    a known source, and those with a repeated one, such as a ciphertext that is given twice. distinct: the
    caller vouches that no two terms have a common source.
    """

    def __init__(self, *, distinct: bool = False) -> None:
        self.count = 0
        self.largest: float | None = 0.0
        self._distinct = distinct
        self._sources: set[int] = set()
        self._slots_independent = True
        self._assumed = False
        self._is_known = True
        self._independent = _ErrorSum(independent=True)
        self._others = _ErrorSum(independent=False)
        self._only: Known | None = None

    def add(self, term: Known) -> None:
        self.count += 1
        self._only = term if self.count == 1 else None
        if self.largest is not None:
            self.largest = None if term.largest is None else self.largest + term.largest
        self._slots_independent &= term.slots_independent
        self._assumed |= term.assumed
        if term.error is None:
            self._is_known = False
        elif self._is_new(term):
            self._independent.add(term.error)
        else:
            self._others.add(term.error)
            self._slots_independent = False

    def _is_new(self, term: Known) -> bool:
        if self._distinct:
            return True
        if not term.sources or not self._sources.isdisjoint(term.sources):
            return False
        self._sources |= term.sources
        return True

    @property
    def known(self) -> Known:
        if self._only is not None:
            return self._only
        error, independent, others = None, self._independent.error, self._others.error
        if self._is_known:
            error = others if independent is None else _joined(others, independent, independent=False)
        are_all = self._is_known and others is None and len(self._sources) <= MOST_SOURCES
        sources = frozenset(self._sources if are_all else ())
        return Known(
            self.largest,
            error,
            sources=sources,
            slots_independent=self._slots_independent,
            assumed=self._assumed,
        )


class _ErrorSum:
    """The error of a sum, term by term.

    independent: whether the errors are; otherwise all may be equal. Consecutive errors of equal size, such as
    those of fresh readings, are counted and added up at once.
    """

    def __init__(self, *, independent: bool) -> None:
        self._independent = independent
        self._before: Uncertainty | None = None
        self._last: Uncertainty | None = None
        self._count = 0

    def add(self, error: Uncertainty) -> None:
        if error is self._last and not error.is_curve:
            self._count += 1
        else:
            self._before, self._last, self._count = self.error, error, 1

    @property
    def error(self) -> Uncertainty | None:
        """The error so far; None without terms."""
        last = self._last
        if last is None:
            return None
        if self._count > 1:
            last = last.repeated(self._count) if self._independent else last.times(self._count)
        return _joined(self._before, last, independent=self._independent)


def _joined(total: Uncertainty | None, term: Uncertainty, *, independent: bool) -> Uncertainty:
    return term if total is None else total.plus(term, independent=independent)


def terms_of_product(parameters: ParameterSet, scheme: Scheme) -> int:
    """Return how many products of two values a product adds up in one value: 1, slot by slot, or n if BFV's
    plain modulus has no slots and the product is of polynomials."""
    slotted = not scheme.is_bfv or batches(scheme.plain_modulus, parameters.n)
    return 1 if slotted else parameters.n


def room(parameters: ParameterSet, primes: int, scale: float, scheme: Scheme) -> float:
    """Return the largest |value| that fits a ciphertext of this many primes: a quarter of the modulus over
    the scale, as decryption requires (CKKS), or t - 1 (BFV)."""
    if scheme.is_bfv:
        return scheme.plain_modulus - 1
    return parameters.moduli[primes] / 4 / scale


def check_room(
    what: str, largest: float | None, parameters: ParameterSet, primes: int, scale: float, scheme: Scheme
) -> None:
    """Raises ValueRangeError if a result's |values| may not fit its ciphertext.

    what: the operation in words, such as "The sum of 13 ciphertexts". largest: the result's bound; None,
    unknown, passes. primes, scale: those of the result.
    """
    if largest is None:
        return
    limit = room(parameters, primes, scale, scheme)
    if largest <= limit:
        return
    if scheme.is_bfv:
        raise ValueRangeError(
            f"{what} may reach {largest:,.15g}, and integers modulo {scheme.plain_modulus} go up to "
            f"{limit:,}: take a larger plain modulus, add up fewer, or declare a smaller largest value "
            "(--largest)."
        )
    raise ValueRangeError(
        f"{what} may reach {largest:,.6g}, and a ciphertext of {parameters.name} with "
        f"{count_of(primes, 'prime')} at scale {scale_name(scale)} holds values up to {limit:,.6g}: encrypt "
        "at a smaller scale (--log2-scale), declare a smaller largest value (--largest) if that is true, or "
        "take a larger set."
    )


def check_digits(what: str, known: Known, parameters: ParameterSet) -> None:
    """Raises ValueRangeError if the expected error leaves no digit of the largest value that a CKKS result
    may hold, so that it would decrypt to noise. Unknown errors pass."""
    if known.largest is None or known.error is None:
        return
    error = known.error.least  # a curve's largest error is that of some values only
    if error * 10**_DIGITS_TO_SHOW <= known.largest:
        return
    raise ValueRangeError(
        f"{what} holds values of up to {known.largest:,.4g} with an error of {error:,.3g} or more, which "
        "leaves nothing of them: encrypt at a larger scale (--log2-scale), or under the secret key, or take "
        f"a larger set than {parameters.name} (`ciphermote keygen` says which)."
    )


def _product(value: float | None, factor: float) -> float | None:
    return None if value is None else value * abs(factor)


def sum_of(values: Iterable[float | None]) -> float | None:
    total = 0.0
    for value in values:
        if value is None:
            return None
        total += value
    return total
