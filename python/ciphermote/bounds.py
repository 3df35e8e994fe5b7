# SPDX-License-Identifier: Apache-2.0
"""What is known of the values in a ciphertext without decrypting it, and the rule that keeps them readable.

A value beyond the modulus wraps around and decrypts to another number without a word. So every reading has a
declared bound on |value|, which is public and never taken from the values; every operation works out the
bound of its result, and `check_room` refuses a result that the modulus may not hold before it is computed.
What came without a declaration (SEAL's own bytes, older files) is computed on, and its results say that their
bound is not known.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from ciphermote.arguments import shown, whole
from ciphermote.errors import ParameterError, ValueRangeError
from ciphermote.noise import Key, encryption_sigma
from ciphermote.parameters import BUILTIN, ParameterSet
from ciphermote.words import count_of, scale_name

DEFAULT_LARGEST = 100.0
"""The largest |value| of a reading where nothing is declared."""

DEFAULT_SUMMED = 1000
"""How many readings a sum has room for where nothing is declared."""

LARGEST_BOUND = 2.0**100
"""No scale and modulus have room for values beyond this, and none tells those below its inverse apart."""

DEVIATIONS = 4.0
"""A stated error is this many standard deviations: one value in 16,000 is off by more."""

_MOST_SUMMED = 2**40
_PRODUCT_BITS = 29
"""log2(largest * scale) stays below this: 31-bit precision on devices holds no more, and readings that are
added up need one scale. At n = 4096 the public key's noise is 2^-15 of the largest value then."""
_DIGITS_TO_SAY, _DIGITS_TO_SHOW = 3, 1


def check_largest(largest: object) -> float:
    """The bound as a float. ParameterError unless it is a number from 2^-100 to 2^100."""
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


def float32_above(bound: float) -> float:
    """The smallest binary32 number that is not below a bound: devices hold no more digits."""
    nearest = np.float32(bound)
    return float(nearest if nearest >= bound else np.nextafter(nearest, np.float32(np.inf)))


@dataclass(frozen=True)
class Readings:
    """What an owner declares of all readings under a key: public.

    largest: no |value| of any reading is beyond it. summed: sums of this many readings have room.
    ParameterError for values outside their ranges.
    """

    largest: float = DEFAULT_LARGEST
    summed: int = DEFAULT_SUMMED

    def __post_init__(self) -> None:
        object.__setattr__(self, "largest", check_largest(self.largest))
        object.__setattr__(self, "summed", whole(self.summed, "summed (--summed)", 1, _MOST_SUMMED, "2^40"))

    def declared(self, largest: float | None, summed: int | None) -> Readings | None:
        """With what is given in place of what is declared; None if nothing is given."""
        if largest is None and summed is None:
            return None
        return Readings(
            self.largest if largest is None else largest, self.summed if summed is None else summed
        )

    def widened(self, readings: Readings | None) -> Readings:
        """As declared anew; None: as before. ParameterError for a smaller largest value, for readings up to
        the larger one may be there already."""
        if readings is None:
            return self
        if readings.largest < self.largest:
            raise ParameterError(
                f"The keys declare a largest value of {self.largest:g}, and readings up to that may be "
                f"encrypted already: declare no smaller one than {self.largest:g} (--largest)."
            )
        return readings

    def of_device(self, largest: float | None) -> float:
        """The bound of one device: as given, or else that of all. ParameterError for one beyond that, for
        whoever adds its readings up would not know."""
        if largest is None:
            return self.largest
        if check_largest(largest) > self.largest:
            raise ParameterError(
                f"The device's largest value is {largest:g}, and the keys declare {self.largest:g}: raise "
                f"that first (`ciphermote extend KEYS --largest {largest:g}`; in Python, Owner.extend)."
            )
        return float(largest)

    def log2_scale(self, parameters: ParameterSet) -> int:
        """The CKKS scale for such readings: precise, and with room for their sum in a fresh ciphertext.

        ParameterError if the set has no room at any scale.
        """
        wanted = math.ceil(_PRODUCT_BITS - math.log2(self.largest)) - 1
        room = math.floor(math.log2(parameters.data_modulus / 4 / self.largest / self.summed))
        found = min(wanted, room, parameters.log2_scales[-1])
        if found < parameters.log2_scales[0]:
            raise ParameterError(
                f"{parameters.name} has no room for sums of {self.summed:,} readings of up to "
                f"{self.largest:g}: declare fewer (--summed), give values in a larger unit, or take a larger "
                "set."
            )
        return found

    def error(self, parameters: ParameterSet, key: Key, log2_scale: int | None = None) -> float:
        """The stated error of one fresh reading: DEVIATIONS standard deviations of a slot."""
        scale = self.log2_scale(parameters) if log2_scale is None else log2_scale
        return DEVIATIONS * fresh_error(parameters, key, 2.0**scale)

    def digits(self, parameters: ParameterSet, key: Key, log2_scale: int | None = None) -> float:
        """The decimal digits of the largest value that the noise leaves."""
        return math.log10(self.largest / self.error(parameters, key, log2_scale))

    def smallest_set(self, parameters: ParameterSet, key: Key) -> ParameterSet | None:
        """The smallest built-in set of the same standard or a stricter one that leaves such readings three
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
    """What is known of the values in a ciphertext; None: not known.

    largest: no |value| is beyond it (CKKS: |slot|; BFV: |integer|, as an integer before it is reduced modulo
    t). error: the standard deviation of the error in the real part of a slot, in the values' unit (CKKS).
    fresh: nothing but encryption made it, so its error is independent of every other ciphertext's.
    """

    largest: float | None = None
    error: float | None = None
    fresh: bool = False

    @classmethod
    def encrypted(cls, largest: float, parameters: ParameterSet, key: Key, scale: float) -> Known:
        """Of a fresh CKKS ciphertext at this scale."""
        return cls(largest, fresh_error(parameters, key, scale), fresh=True)

    def times(self, factor: float) -> Known:
        """Each value times a number of at most this magnitude. The error is that of the largest factor."""
        return Known(_product(self.largest, factor), _product(self.error, factor))

    def plus(self, other: Known) -> Known:
        """The sum or difference of two. Their errors may be one and the same, so they add up."""
        return Known(_sum((self.largest, other.largest)), _sum((self.error, other.error)))

    def plus_plain(self, largest: float) -> Known:
        """With numbers in the clear of at most this magnitude added."""
        return Known(_sum((self.largest, largest)), self.error)

    def product(self, other: Known) -> Known:
        """The product of two, slot by slot."""
        return Known(None if self.largest is None or other.largest is None else self.largest * other.largest)

    def polynomial(self, coefficients: Iterable[float]) -> Known:
        """A polynomial of each value, with coefficients from the constant one up."""
        if self.largest is None:
            return Known()
        magnitudes = np.abs(np.array(list(coefficients), dtype=np.float64))
        return Known(float(np.polynomial.polynomial.polyval(self.largest, magnitudes)))

    def bounded(self, largest: float | None) -> Known:
        """As it is, but with the bound that the caller vouches for, if there is one."""
        return self if largest is None else replace(self, largest=largest)


UNKNOWN = Known()


class KnownSum:
    """What is known of a sum, term by term; each ciphertext is a term once.

    Errors of fresh terms are independent of each other; others may be one and the same, and add up.
    """

    def __init__(self) -> None:
        self.count = 0
        self._largest: float | None = 0.0
        self._error: float | None = 0.0
        self._variance = 0.0

    def add(self, term: Known) -> None:
        self.count += 1
        self._largest = _sum((self._largest, term.largest))
        if term.fresh and term.error is not None:
            self._variance += term.error**2
        else:
            self._error = _sum((self._error, term.error))

    @property
    def known(self) -> Known:
        return Known(self._largest, _sum((self._error, math.sqrt(self._variance))))


def fresh_error(parameters: ParameterSet, key: Key, scale: float) -> float:
    """The standard deviation of the error of encryption and encoding in the real part of a slot."""
    coefficient = math.hypot(encryption_sigma(parameters.n, key), math.sqrt(1 / 12))
    return math.sqrt(parameters.n / 2) * coefficient / scale


def room(parameters: ParameterSet, primes: int, scale: float, plain_modulus: int) -> float:
    """The largest |value| that a ciphertext of this many primes holds: a quarter of the modulus over the
    scale, as decryption demands it (CKKS); t - 1 (BFV)."""
    if plain_modulus:
        return plain_modulus - 1
    return math.prod(parameters.primes[:primes]) / 4 / scale


def check_room(
    what: str, largest: float | None, parameters: ParameterSet, primes: int, scale: float, plain_modulus: int
) -> None:
    """The rule: ValueRangeError if a result's |values| may be larger than its ciphertext holds.

    what: the operation, for people, as in "The sum of 13 ciphertexts". largest: the result's bound; None, not
    known, passes. primes, scale: of the result.
    """
    if largest is None:
        return
    limit = room(parameters, primes, scale, plain_modulus)
    if largest <= limit:
        return
    if plain_modulus:
        raise ValueRangeError(
            f"{what} may reach {largest:,.15g}, and integers modulo {plain_modulus} go up to {limit:,}: take "
            "a larger plain modulus, add up fewer, or declare a smaller largest value (--largest)."
        )
    raise ValueRangeError(
        f"{what} may reach {largest:,.6g}, and a ciphertext of {parameters.name} with "
        f"{count_of(primes, 'prime')} at scale {scale_name(scale)} holds values up to {limit:,.6g}: encrypt "
        "at a smaller scale (--log2-scale), declare a smaller largest value (--largest) if that is true, or "
        "take a larger set."
    )


def check_digits(what: str, known: Known, parameters: ParameterSet) -> None:
    """ValueRangeError if the expected error leaves not one digit of the largest value that a CKKS result may
    hold: what it decrypts to would be noise. What is not known passes."""
    if known.largest is None or known.error is None:
        return
    error = DEVIATIONS * known.error
    if error * 10**_DIGITS_TO_SHOW <= known.largest:
        return
    raise ValueRangeError(
        f"{what} holds values of up to {known.largest:,.4g} with an error of up to {error:,.3g}, which "
        "leaves nothing of them: encrypt at a larger scale (--log2-scale), or under the secret key, or take "
        f"a larger set than {parameters.name} (`ciphermote keygen` says which)."
    )


def _product(value: float | None, factor: float) -> float | None:
    return None if value is None else value * abs(factor)


def _sum(values: Iterable[float | None]) -> float | None:
    total = 0.0
    for value in values:
        if value is None:
            return None
        total += value
    return total
