# SPDX-License-Identifier: Apache-2.0
"""The hardware's results by definition, in plain integers, with nothing of the RTL's structure."""

from __future__ import annotations

import random
from dataclasses import dataclass


def is_prime(n: int) -> bool:
    """Miller-Rabin with the twelve smallest primes as bases: exact below 2^64."""
    bases = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37)
    if n < 2 or any(n % p == 0 for p in bases):
        return n in bases
    odd, twos = n - 1, 0
    while odd % 2 == 0:
        odd, twos = odd // 2, twos + 1
    for base in bases:
        x = pow(base, odd, n)
        if x in (1, n - 1):
            continue
        for _ in range(twos - 1):
            x = x * x % n
            if x == n - 1:
                break
        else:
            return False
    return True


def random_prime(rng: random.Random, log2_n: int, bits: int) -> int:
    """A prime of exactly that many bits that is 1 modulo 2n."""
    step = 2 << log2_n
    while True:
        q = rng.randrange(1 << (bits - 1), 1 << bits) // step * step + 1
        if q.bit_length() == bits and is_prime(q):
            return q


def bit_reverse(i: int, bits: int) -> int:
    return int(f"{i:0{bits}b}"[::-1], 2) if bits else 0


@dataclass(frozen=True)
class Montgomery:
    """The constant R of the word-level reduction, for operands of `width` bits and primes 1 modulo 2n."""

    width: int
    log2_n: int

    @property
    def r(self) -> int:
        """R = 2^(words * bits of a word): as few words as log2(2n) bits allow, no longer than needed."""
        words = -(-self.width // (self.log2_n + 1))
        return 1 << (words * -(-self.width // words))


class Ring:
    """Z_q[x]/(x^n + 1) for a prime q = 1 modulo 2n. psi: a primitive 2n-th root of unity."""

    def __init__(self, q: int, log2_n: int, psi: int | None = None) -> None:
        self.q = q
        self.log2_n = log2_n
        self.n = 1 << log2_n
        if psi is None:
            psi = next(
                root
                for x in range(2, q)
                if pow(root := pow(x, (q - 1) // (2 * self.n), q), self.n, q) == q - 1
            )
        self.psi = psi

    def twiddles(self, factor: int = 1) -> list[int]:
        """Word j is psi^bitrev(j) times factor."""
        powers = [factor % self.q]
        for _ in range(self.n - 1):
            powers.append(powers[-1] * self.psi % self.q)
        return [powers[bit_reverse(j, self.log2_n)] for j in range(self.n)]

    def evaluate(self, a: list[int], i: int) -> int:
        """Output i of the transform, by its definition: a(psi^(2 bitrev(i) + 1))."""
        x = pow(self.psi, 2 * bit_reverse(i, self.log2_n) + 1, self.q)
        value = 0
        for coefficient in reversed(a):
            value = (value * x + coefficient) % self.q
        return value

    def forward(self, a: list[int]) -> list[int]:
        """The transform of n coefficients, by recursive splitting x^2m - r^2 = (x^m - r)(x^m + r)."""

        def split(a: list[int], exponent: int) -> list[int]:
            # a modulo x^len(a) - psi^(2 exponent)
            if len(a) == 1:
                return a
            half = len(a) // 2
            root = pow(self.psi, exponent, self.q)
            low, high = a[:half], [x * root % self.q for x in a[half:]]
            return split([(x + y) % self.q for x, y in zip(low, high, strict=True)], exponent // 2) + split(
                [(x - y) % self.q for x, y in zip(low, high, strict=True)], (exponent + self.n) // 2
            )

        return split(a, self.n // 2)

    def inverse(self, values: list[int]) -> list[int]:
        """The coefficients whose transform the values are."""

        def join(values: list[int], exponent: int) -> list[int]:
            if len(values) == 1:
                return values
            half = len(values) // 2
            low, high = join(values[:half], exponent // 2), join(values[half:], (exponent + self.n) // 2)
            root = pow(self.psi, -exponent, self.q)
            inverse_of_two = (self.q + 1) // 2
            return [(x + y) * inverse_of_two % self.q for x, y in zip(low, high, strict=True)] + [
                (x - y) * inverse_of_two * root % self.q for x, y in zip(low, high, strict=True)
            ]

        return join(values, self.n // 2)

    def multiply(self, a: list[int], b: list[int]) -> list[int]:
        """a b modulo x^n + 1, by the schoolbook method on integers packed into one."""
        bits = 2 * self.q.bit_length() + self.log2_n
        pack = lambda p: sum(x << (bits * i) for i, x in enumerate(p))  # noqa: E731
        product, mask = pack(a) * pack(b), (1 << bits) - 1
        full = [(product >> (bits * i)) & mask for i in range(2 * self.n)]
        return [(full[i] - full[i + self.n]) % self.q for i in range(self.n)]
