# SPDX-License-Identifier: Apache-2.0
"""Parameter sets: made, checked against the security tables, and named.

Pure Python, with nothing but the standard library. tools/generate_tables.py generates the C library's tables
(core/src/params/sets.c) from this module, so the two cannot differ.

Security bounds: the largest log2 of the product of all primes, the special one included, for 128-bit security
with a uniform ternary secret. "2018" is the HomomorphicEncryption.org standard, which SEAL enforces; "2024"
is the guidelines of ePrint 2024/463, for classical attackers.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import accumulate, groupby
from operator import mul

from ciphermote.base.errors import ParameterError
from ciphermote.base.words import count_of
from ciphermote.parameters.c_names import check_name
from ciphermote.parameters.schemes import CKKS, Scheme

SECURITY_BOUNDS: dict[str, dict[int, int]] = {
    "2024": {1024: 26, 2048: 53, 4096: 106, 8192: 214, 16384: 430},
    "2018": {1024: 27, 2048: 54, 4096: 109, 8192: 218, 16384: 438},
}
"""Standard -> ring degree n -> the largest log2(product of all primes)."""

MOST_SLOTS = max(max(bounds) for bounds in SECURITY_BOUNDS.values()) // 2
"""The most slots of any set, and so the most features or classes of a model."""

MAX_LOG2_SCALE = 60
"""Devices encrypt at scales of 2^1 to 2^60, as far as the data primes have room."""

MAX_PRIME_BITS = 27
"""The most bits of a prime: five bits of head-room in a 32-bit word, which the lazy transforms need."""

MAX_SPECIAL_PRIMES = 4
"""The most special primes, and data primes in a digit, that the evaluator supports."""

MAX_PRIMES = 17
"""CM_MAX_PRIMES of the C library."""

CHEAP_PRIME = 67043329
"""2^26 - 2^16 + 1: 1 mod 2n for every n here, and its shape makes Montgomery steps cheap on 8 bits."""

OLDER_PREFIX = "std2018_"
"""The prefix of the name of every set that is secure only by the 2018 table."""


DEFAULT_SET = "n4096_q26x3_p27"
"""The default set for new keys."""


_BUILTIN_BY_NAME: dict[str, ParameterSet] = {}
"""Holds BUILTIN once it is made."""


@dataclass(frozen=True)
class ParameterSet:
    """A ring degree and a chain of primes that :func:`validate` accepts.

    ``primes`` are in SEAL's order; with more than one, the last is the special prime of key switching.
    ``further_special`` are more special primes, which only the owner's evaluation keys and the evaluator
    know: devices, frames, ciphertexts, the set's id and SEAL have only ``primes``. Key switching then
    decomposes ciphertexts in digits of ``digit_primes`` data primes. Without ``key_switching`` all primes are
    data primes, and none is special. ``standard`` is the security table that applies. Raises ParameterError
    for a set that fails it, for one that is secure only by the 2018 table and whose name does not start with
    OLDER_PREFIX, and for one with the name of another, built-in set.
    """

    name: str
    n: int
    primes: tuple[int, ...]
    standard: str = "2024"
    further_special: tuple[int, ...] = ()
    digit_primes: int = 1
    key_switching: bool = True

    def __post_init__(self) -> None:
        check_name(self.name, "The parameter set's name")
        validate(
            self.n,
            self.primes,
            self.standard,
            self.further_special,
            self.digit_primes,
            key_switching=self.key_switching,
        )
        if is_older(self.n, (*self.primes, *self.further_special)) and not self.name.startswith(OLDER_PREFIX):
            raise ParameterError(
                f"The parameter set {self.name} is secure by the 2018 table alone, which its name must say: "
                f"name it {OLDER_PREFIX}{self.name}."
            )
        if self != _BUILTIN_BY_NAME.get(self.name, self):
            raise ParameterError(
                f"{self.name} is the name of a built-in set, which has other primes: give yours another name "
                "(--name)."
            )

    @cached_property
    def id(self) -> int:
        """The set's name on the wire: the first 4 bytes (little-endian) of BLAKE2b-256 over [n, primes], and
        0 where two primes or more have no special one."""
        no_special = [0] if len(self.data_primes) > 1 and self.special_prime is None else []
        return int.from_bytes(_hash_words([self.n, *self.primes, *no_special])[:4], "little")

    @property
    def log2_n(self) -> int:
        return self.n.bit_length() - 1

    @property
    def log2_scales(self) -> range:
        """The powers of two at which devices encrypt CKKS's values."""
        return range(1, min(MAX_LOG2_SCALE, self.data_modulus.bit_length() - 1) + 1)

    @property
    def slots(self) -> int:
        """Numbers in one CKKS ciphertext: n/2."""
        return self.n // 2

    @property
    def data_primes(self) -> tuple[int, ...]:
        """The primes of a fresh ciphertext: all but the special one."""
        return self.primes[:-1] if self._has_special else self.primes

    @property
    def special_prime(self) -> int | None:
        """The prime of key switching, or None: then there are no rotations and no products of ciphertexts."""
        return self.primes[-1] if self._has_special else None

    @property
    def _has_special(self) -> bool:
        return self.key_switching and len(self.primes) > 1

    @property
    def special_primes(self) -> tuple[int, ...]:
        """All primes of key switching; none if there is none."""
        return (*self.primes[len(self.data_primes) :], *self.further_special)

    @property
    def log2_q(self) -> float:
        """log2 of the product of all primes, to which the security bound applies."""
        return _log2((*self.primes, *self.further_special))

    @property
    def data_modulus(self) -> int:
        """The product of the data primes."""
        return self.moduli[len(self.data_primes)]

    @cached_property
    def moduli(self) -> tuple[int, ...]:
        """The modulus at each level: moduli[k] is the product of the first k primes."""
        return tuple(accumulate(self.primes, mul, initial=1))

    def parms_id(self, scheme: Scheme = CKKS, primes: int | None = None) -> bytes:
        """Return SEAL's 32-byte parms_id of this set with its first ``primes`` primes.

        ``primes`` is 1 .. len(self.primes): all of them at the key level, fewer after each rescale; None is
        the level of a fresh ciphertext. Raises ParameterError if there is no such level.
        """
        count = len(self.data_primes) if primes is None else primes
        if not 1 <= count <= len(self.primes):
            raise ParameterError(
                f"{self.name} has no level with {count_of(count, 'prime')}: give 1 to {len(self.primes)}."
            )
        return seal_parms_id(self.n, self.primes[:count], scheme)


@dataclass(frozen=True)
class PrimeConstants:
    """One row of cm_prime (core/include/ciphermote/params.h)."""

    q: int
    neg_q_inv: int
    r1: int
    r2: int
    psi: int
    n_inv: int


def is_prime(q: int) -> bool:
    """Whether q is prime, for q < 2^64, where Miller-Rabin is exact with the first twelve primes as bases;
    below 3,215,031,751 the first four are enough."""
    if q >= 1 << 64:
        raise ValueError("is_prime is exact only below 2^64")
    if q < 2:
        return False
    bases = (2, 3, 5, 7) if q < 3_215_031_751 else (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37)
    for base in bases:
        if q % base == 0:
            return q == base
    odd, twos = q - 1, 0
    while odd % 2 == 0:
        odd, twos = odd // 2, twos + 1
    return all(_passes_miller_rabin(q, base, odd, twos) for base in bases)


def batches(plain_modulus: int, n: int) -> bool:
    """Whether BFV batches integers modulo plain_modulus in n slots: only a prime that is 1 modulo 2n has
    roots of unity of order 2n."""
    return plain_modulus % (2 * n) == 1 and plain_modulus < 1 << 31 and is_prime(plain_modulus)


def _passes_miller_rabin(q: int, base: int, odd: int, twos: int) -> bool:
    x = pow(base, odd, q)
    if x in (1, q - 1):
        return True
    for _ in range(twos - 1):
        x = x * x % q
        if x == q - 1:
            return True
    return False


@cache
def prime_constants(n: int, q: int) -> PrimeConstants:
    """Return the constants of arithmetic modulo q in Z_q[x]/(x^n + 1), for a prime q = 1 mod 2n."""
    return PrimeConstants(
        q=q,
        neg_q_inv=-pow(q, -1, 2**32) % 2**32,
        r1=2**32 % q,
        r2=2**64 % q,
        psi=_smallest_primitive_root(n, q),
        n_inv=pow(n, -1, q),
    )


def _smallest_primitive_root(n: int, q: int) -> int:
    """Return the smallest psi with psi^n = -1 mod q: the odd powers of any such root are all such roots."""
    exponent = (q - 1) // (2 * n)
    psi = next(root for g in range(2, q) if pow(root := pow(g, exponent, q), n, q) == q - 1)
    square, smallest, power = psi * psi % q, psi, psi
    for _ in range(n - 1):
        power = power * square % q
        smallest = min(smallest, power)
    return smallest


def validate(
    n: int,
    primes: Sequence[int],
    standard: str = "2024",
    further_special: Sequence[int] = (),
    digit_primes: int = 1,
    *,
    key_switching: bool = True,
) -> None:
    """Raises ParameterError, which says why and what to do, unless the set is valid and 128-bit secure."""
    _check_shape(n, primes, standard)
    everything = (*primes, *further_special)
    for position, q in enumerate(everything):
        _check_prime(n, q, position)
    if len(set(everything)) != len(everything):
        repeated = next(q for q in everything if everything.count(q) > 1)
        raise ParameterError(
            f"Prime {repeated} is in the set twice: every prime of a set must be another one."
        )
    if not key_switching and (further_special or digit_primes > 1):
        raise ParameterError(
            "A set without key switching has special primes or digits of several primes: leave them out."
        )
    if key_switching and len(primes) > 1 and primes[-1] < max(primes[:-1]):
        raise ParameterError(
            f"The special prime {primes[-1]} (the last one) is smaller than the data prime "
            f"{max(primes[:-1])}, which makes rotations and relinearization inexact: put the largest prime "
            "last."
        )
    _check_switching(primes, further_special, digit_primes)
    check_security(n, everything, standard)


def _check_switching(primes: Sequence[int], further: Sequence[int], digit_primes: int) -> None:
    """Check key switching, whose noise is that of a digit over the special primes' product."""
    if len(further) + 1 > MAX_SPECIAL_PRIMES or not 1 <= digit_primes <= MAX_SPECIAL_PRIMES:
        raise ParameterError(
            f"Key switching takes up to {MAX_SPECIAL_PRIMES} special primes and digits of 1 to "
            f"{MAX_SPECIAL_PRIMES} data primes: {len(further) + 1} and {digit_primes} are given."
        )
    if len(primes) < 2 and (further or digit_primes > 1):
        raise ParameterError("A set of one prime has no key switching: give it a special prime first.")
    data = primes[:-1]
    digits = [math.prod(data[i : i + digit_primes]) for i in range(0, len(data), digit_primes)]
    if digits and digit_primes > 1 and math.prod((primes[-1], *further)) < max(digits):
        raise ParameterError(
            f"The special primes' product is below that of a digit's {digit_primes} data primes, which makes "
            "rotations and relinearization inexact: take larger special primes, or more, or smaller digits."
        )


def _check_shape(n: int, primes: Sequence[int], standard: str) -> None:
    if standard not in SECURITY_BOUNDS:
        raise ParameterError(f"There is no security standard {standard!r}: give '2024' or '2018'.")
    if n not in SECURITY_BOUNDS[standard]:
        raise ParameterError(f"n = {n} is not supported: n is 1024, 2048, 4096, 8192 or 16384.")
    if not primes:
        raise ParameterError("The set has no primes: give at least one prime that is 1 mod 2n.")
    if len(primes) > MAX_PRIMES:
        raise ParameterError(
            f"The set has {len(primes)} primes and the library accepts {MAX_PRIMES}: drop some."
        )


def _check_prime(n: int, q: int, position: int) -> None:
    where = f"Number {q} (position {position + 1} of the set)"
    if q.bit_length() > MAX_PRIME_BITS:
        raise ParameterError(
            f"{where} has {q.bit_length()} bits and the library accepts primes of at most {MAX_PRIME_BITS}: "
            "use more, smaller primes, or bring in SEAL's ciphertexts with `ciphermote import`."
        )
    if not is_prime(q):
        raise ParameterError(f"{where} is not prime: let the generator choose primes by their bits.")
    if q % (2 * n) != 1:
        raise ParameterError(
            f"{where} is not 1 mod {2 * n}, so it has no transform for n = {n}: let the generator choose "
            "primes by their bits."
        )


def check_security(n: int, primes: Sequence[int], standard: str) -> None:
    """Raises ParameterError unless these primes, the special ones included, are 128-bit secure by the
    standard."""
    bound = SECURITY_BOUNDS[standard][n]
    product = math.prod(primes)
    if product <= 2**bound:
        return
    if standard == "2024" and product <= 2 ** SECURITY_BOUNDS["2018"][n]:
        sentence = (
            f"These primes total {_log2(primes):.2f} bits at n = {n}, secure by the 2018 table only (its "
            f"bound is {SECURITY_BOUNDS['2018'][n]} bits): the 2024 bound is {bound} bits and they are "
            f"{_log2(primes) - bound:.2f} over it; pass standard 2018 to accept that (--standard 2018), or "
        )
    else:
        sentence = (
            f"These primes total {_log2(primes):.2f} bits, {_log2(primes) - bound:.2f} more than the "
            f"{bound} bits that 128-bit security by the {standard} table allows at n = {n}: "
        )
    raise ParameterError(sentence + _ways_to_fit(n, primes, standard) + ".")


def _ways_to_fit(n: int, primes: Sequence[int], standard: str) -> str:
    bounds = SECURITY_BOUNDS[standard]
    ways = []
    enough = [larger for larger, bound in bounds.items() if larger > n and math.prod(primes) <= 2**bound]
    if enough:
        ways.append(f"take n = {enough[0]}")
    kept = list(primes)
    while len(kept) > 1 and math.prod(kept) > 2 ** bounds[n]:
        kept.remove(max(kept[:-1]))
    dropped = len(primes) - len(kept)
    if dropped and math.prod(kept) <= 2 ** bounds[n]:
        ways.append(f"drop {dropped} prime{'s' if dropped > 1 else ''}")
    ways.append("take smaller primes")
    return ", or ".join(ways)


def generate(
    n: int,
    bits: Sequence[int],
    standard: str = "2024",
    name: str | None = None,
    *,
    special: int = 1,
    digit_primes: int = 1,
) -> ParameterSet:
    """Make the parameter set of ring degree n with primes of the given bit sizes, the special ones' last.

    Each prime is the largest free one of its size that is 1 mod 2n; the special primes are chosen first,
    since the first must not be smaller than the others. CHEAP_PRIME is the first data prime of 26 bits
    whenever it is free. Without a name the set is named by its content, with ``std2018_`` in front if it is
    secure only by the 2018 table. special: number of special primes, if there are two primes or more;
    digit_primes: data primes in a digit of key switching. Raises ParameterError if there is no such set or
    :func:`validate` refuses it.
    """
    count = special if len(bits) > 1 else 0
    data_bits = bits[: len(bits) - count]
    _check_shape(n, data_bits, standard)
    taken: list[int] = []
    for size in bits[len(data_bits) :]:
        taken.append(_next_prime(n, size, taken))
    for size in data_bits:
        prefer_cheap = size == CHEAP_PRIME.bit_length() and CHEAP_PRIME not in taken
        taken.append(CHEAP_PRIME if prefer_cheap else _next_prime(n, size, taken))
    return _named(n, tuple(taken[count:]), tuple(taken[:count]), standard, name, digit_primes)


def from_primes(
    n: int,
    primes: Sequence[int],
    standard: str = "2024",
    name: str | None = None,
    *,
    special: int = 1,
    digit_primes: int = 1,
) -> ParameterSet:
    """Make the parameter set of these primes, the special ones last, with the name that :func:`generate`
    gives.

    Raises ParameterError if :func:`validate` refuses it.
    """
    count = special if len(primes) > 1 else 0
    split = len(primes) - count
    return _named(n, tuple(primes[:split]), tuple(primes[split:]), standard, name, digit_primes)


def _named(
    n: int,
    data: tuple[int, ...],
    special: tuple[int, ...],
    standard: str,
    name: str | None,
    digit_primes: int,
) -> ParameterSet:
    primes, further = (*data, *special[:1]), special[1:]
    validate(n, primes, standard, further, digit_primes)
    held = standard if is_older(n, (*primes, *further)) else "2024"
    own = name or name_by_content(n, data, special, held)
    return ParameterSet(own, n, primes, held, further, digit_primes)


def is_older(n: int, primes: Sequence[int]) -> bool:
    """Whether the product of all primes of a chain exceeds the 2024 bound."""
    return math.prod(primes) > 1 << SECURITY_BOUNDS["2024"][n]


def _next_prime(n: int, bits: int, taken: Sequence[int]) -> int:
    """Return the largest unused prime of exactly this many bits that is 1 mod 2n."""
    if not 1 <= bits <= MAX_PRIME_BITS:
        raise ParameterError(
            f"A prime of {bits} bits was asked for and the library accepts 1 to {MAX_PRIME_BITS}: use more, "
            "smaller primes."
        )
    step = 2 * n
    for q in range((2**bits - 1) // step * step + 1, 2 ** (bits - 1), -step):
        if q < 2**bits and q not in taken and is_prime(q):
            return q
    raise ParameterError(
        f"There are not enough primes of {bits} bits that are 1 mod {step}: ask for more bits or fewer "
        "primes."
    )


def name_by_content(n: int, data: Sequence[int], special: Sequence[int], standard: str) -> str:
    """Return the name of a set or chain that has none of its own, such as n4096_q26x3_p27."""

    def chain(primes: Sequence[int]) -> str:
        runs = [(size, len(list(run))) for size, run in groupby(q.bit_length() for q in primes)]
        return "_".join(f"{size}x{count}" if count > 1 else f"{size}" for size, count in runs)

    prefix = OLDER_PREFIX if standard == "2018" else ""
    return f"{prefix}n{n}_q{chain(data)}" + (f"_p{chain(special)}" if special else "")


def seal_parms_id(n: int, primes: Iterable[int], scheme: Scheme) -> bytes:
    """Return the 32 bytes by which SEAL names n, these primes and a scheme."""
    return _hash_words([scheme.code, n, *primes, scheme.plain_modulus])


def _log2(primes: Iterable[int]) -> float:
    return sum(math.log2(q) for q in primes)


def _hash_words(words: Iterable[int]) -> bytes:
    """Return BLAKE2b-256 over little-endian 64-bit words."""
    return hashlib.blake2b(b"".join(word.to_bytes(8, "little") for word in words), digest_size=32).digest()


BUILTIN: tuple[ParameterSet, ...] = (
    generate(1024, [26]),
    generate(2048, [26, 27]),
    generate(4096, [26] * 3 + [27]),
    generate(8192, [26] * 7 + [27]),
    generate(16384, [26] * 15 + [27]),
    generate(1024, [27], "2018"),
    generate(2048, [27] * 2, "2018"),
    generate(4096, [27] * 4, "2018"),
    generate(8192, [27] * 8, "2018"),
    generate(16384, [27] * 16, "2018"),
)
"""The C library's sets, in the order of cm_params_all."""

EVALUATOR_SETS: tuple[ParameterSet, ...] = (
    generate(8192, [24] * 5 + [23] * 2 + [24] * 2, special=2, digit_primes=2),
    generate(16384, [26] * 14 + [27] * 2, special=2, digit_primes=2),
)
"""Sets for long computations: with two special primes, key switching needs half the digits. The C library has
no tables of them; `ciphermote params` writes one."""

_BUILTIN_BY_NAME.update((parameters.name, parameters) for parameters in (*BUILTIN, *EVALUATOR_SETS))


def by_name(name: str) -> ParameterSet:
    """Return the built-in set of this name. Raises ParameterError, which lists them all, if there is none."""
    try:
        return _BUILTIN_BY_NAME[name]
    except KeyError:
        raise ParameterError(
            f"There is no parameter set {name!r}: give {', '.join(_BUILTIN_BY_NAME)}, or a set of your own."
        ) from None


def by_id(identifier: int) -> ParameterSet:
    """Return the built-in set with this 32-bit id. Raises ParameterError if there is none."""
    for parameters in _BUILTIN_BY_NAME.values():
        if parameters.id == identifier:
            return parameters
    raise ParameterError(
        f"No built-in parameter set has the id 0x{identifier:08x}: give your own set's primes."
    )
