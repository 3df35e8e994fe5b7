# SPDX-License-Identifier: Apache-2.0
"""Chains of primes that SEAL computes with and Ciphermote does not: its default ones, and others of more than
27 bits a prime. Ciphertexts come in from them, and results go back, by a switch of the modulus."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from operator import mul

from ciphermote.base.errors import ParameterError
from ciphermote.base.words import count_of
from ciphermote.parameters.noise import Key, Noise, encryption_noise, rounding_noise
from ciphermote.parameters.schemes import CKKS, Scheme
from ciphermote.parameters.sets import (
    BUILTIN,
    OLDER_PREFIX,
    SECURITY_BOUNDS,
    ParameterSet,
    check_security,
    is_older,
    is_prime,
    name_by_content,
    seal_parms_id,
)

MOST_PRIME_BITS = 60
"""The most bits of a prime of SEAL's."""


@dataclass(frozen=True)
class SealChain:
    """The ring degree, primes and scheme of an application of SEAL.

    primes: in SEAL's order; with more than one, the last is the special prime, which no ciphertext has.
    scheme: CKKS, or BFV with its t, which is part of every name that SEAL gives to the chain. standard: the
    security table that its owner accepts, "2024" or "2018"; SEAL's default chains at n = 4096 and 8192 pass
    that of 2018 only. Raises ParameterError for a chain that fails it, or that is not SEAL's: n is 1024 to
    16384, and the primes are different ones of at most 60 bits that are 1 mod 2n.
    """

    n: int
    primes: tuple[int, ...]
    scheme: Scheme = CKKS
    standard: str = "2024"

    def __post_init__(self) -> None:
        if self.standard not in SECURITY_BOUNDS:
            raise ParameterError(f"There is no security standard {self.standard!r}: give '2024' or '2018'.")
        if self.n not in SECURITY_BOUNDS[self.standard]:
            raise ParameterError(
                f"SEAL's chain has n = {self.n}, and n is 1024, 2048, 4096, 8192 or 16384 here: take one of "
                "these in SEAL."
            )
        for q in self.primes:
            if q.bit_length() > MOST_PRIME_BITS or q % (2 * self.n) != 1 or not is_prime(q):
                raise ParameterError(
                    f"{q} is no prime of a SEAL chain at n = {self.n}, which are 1 mod {2 * self.n} and have "
                    f"at most {MOST_PRIME_BITS} bits: give the parameters that SEAL saved."
                )
        if not self.primes or len(set(self.primes)) != len(self.primes):
            raise ParameterError(
                "SEAL's chain has no primes, or one twice: give the parameters that SEAL saved."
            )
        check_security(self.n, self.primes, self.standard)

    @property
    def is_older(self) -> bool:
        """Whether it is secure by the 2018 table alone."""
        return is_older(self.n, self.primes)

    @property
    def name(self) -> str:
        """The chain's name in messages, such as std2018_seal_n4096_q36x2_p37."""
        count = len(self.data_primes)
        own = name_by_content(self.n, self.primes[:count], self.primes[count:], "2024")
        return (OLDER_PREFIX if self.is_older else "") + f"seal_{own}"

    @property
    def data_primes(self) -> tuple[int, ...]:
        """The primes of a fresh ciphertext."""
        return self.primes[:-1] or self.primes

    @cached_property
    def moduli(self) -> tuple[int, ...]:
        """The modulus at each level: moduli[k] is the product of the first k primes."""
        return tuple(accumulate(self.primes, mul, initial=1))

    @property
    def log2_q(self) -> float:
        """log2 of the product of all primes, to which the security bound applies."""
        return math.log2(self.moduli[-1])

    @property
    def security_bits(self) -> float:
        """About how many bits of security a key has that SEAL used with this chain, by the 2024 guidelines:
        128 at their bound, and near it in inverse proportion to log2 of the modulus."""
        return 128 * SECURITY_BOUNDS["2024"][self.n] / self.log2_q

    def parms_id(self, scheme: Scheme | None = None, primes: int | None = None) -> bytes:
        """Return SEAL's 32-byte parms_id of the chain's first ``primes`` primes; None: of a fresh
        ciphertext."""
        count = len(self.data_primes) if primes is None else primes
        return seal_parms_id(self.n, self.primes[:count], self.scheme if scheme is None else scheme)

    @property
    def nearest_set(self) -> ParameterSet:
        """The built-in set of this n that is secure by the 2024 guidelines, to which ciphertexts come in."""
        return next(each for each in BUILTIN if each.n == self.n and each.standard == "2024")

    def encryption_noise(self, key: Key) -> Noise:
        """Return the noise of SEAL's encryption. Under the public key it encrypts modulo all primes, and
        divides by the special one."""
        noise = encryption_noise(self.n, key)
        if key == "symmetric" or len(self.primes) == 1:
            return noise
        rounding, square = rounding_noise(self.n), float(self.primes[-1]) ** 2
        return Noise(
            noise.variance / square + rounding.variance, math.hypot(noise.spread / square, rounding.spread)
        )

    def check_set(self, parameters: ParameterSet) -> None:
        """Raises ParameterError unless the set has this ring degree."""
        if parameters.n != self.n:
            raise ParameterError(
                f"{parameters.name} has n = {parameters.n} and SEAL's chain {self.name} n = {self.n}: take a "
                "set of the same n."
            )


def nearest_level(modulus: int, moduli: Sequence[int], most: int) -> int:
    """Return how many primes a ciphertext of this modulus comes to in another chain: the fewest whose product
    is not below it, so that no precision or budget is lost; or all, if every product is below.

    moduli: moduli[k] is the product of the first k primes. most: the number of data primes.
    """
    return next((count for count in range(1, most) if moduli[count] >= modulus), most)


def level_in(modulus: int, moduli: Sequence[int], most: int, primes: int | None) -> int:
    """Return the level that the caller names, or the nearest one. Raises ParameterError if there is none."""
    if primes is None:
        return nearest_level(modulus, moduli, most)
    if isinstance(primes, bool) or not isinstance(primes, int) or not 1 <= primes <= most:
        raise ParameterError(
            f"A level of {primes} primes is asked for (--primes; in Python, primes), and the chain there has "
            f"{count_of(most, 'data prime')}: give 1 to {most}, or leave it out for the nearest level."
        )
    return primes
