# SPDX-License-Identifier: Apache-2.0
"""The golden model: the whole encryption, slow and simple, from the specification alone.

docs/encoding.md, docs/wire-format.md and docs/security.md as Python integers (numpy where it is exact: words
of ChaCha20 and BLAKE2b, and products below 2^54). It shares no code with the C library and never calls it.
tests/python/test_golden.py checks the library against it; vectors/ has its digests.

A polynomial modulo q is an int64 array of n residues in 0 .. q - 1, one of coefficients a list of n integers,
a ternary one an array of -1, 0 and 1.
"""

from __future__ import annotations

import hashlib
import math
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property

import mpmath
import numpy as np
from numpy.typing import NDArray

Residues = NDArray[np.int64]
Nonce = tuple[int, int, int]

BFV, CKKS = 1, 2
NONE, BLAKE2XB, SHAKE256, CHACHA20 = 0, 1, 2, 3
"""What expands a public seed: the XOF numbers of the frame header."""
UNIFORM, TERNARY, NOISE, DERIVE, PUBLIC_SEED, SECRET_SEED, DRAW_CHECK, KEY_PUBLIC, KEY_SECRET = range(1, 10)
"""First nonce word of every ChaCha20 stream (docs/security.md)."""


@dataclass(frozen=True)
class Chain:
    """A ring degree and its primes in SEAL's order; with two or more, the last is the special prime."""

    n: int
    primes: tuple[int, ...]

    @property
    def data_primes(self) -> tuple[int, ...]:
        """The primes of a fresh ciphertext."""
        return self.primes[:-1] if len(self.primes) > 1 else self.primes

    @property
    def id(self) -> bytes:
        """The 4 bytes of the frame header that name the set."""
        return hash_words([self.n, *self.primes])[:4]

    def parms_id(self, plain_modulus: int = 0) -> bytes:
        """SEAL's 32-byte identifier of a fresh ciphertext's level: BFV's modulo t, or CKKS's for t = 0."""
        scheme = BFV if plain_modulus else CKKS
        return hash_words([scheme, self.n, *self.data_primes, plain_modulus])


def hash_words(words: Iterable[int]) -> bytes:
    """BLAKE2b-256 over u64 words."""
    return hashlib.blake2b(b"".join(struct.pack("<Q", word) for word in words), digest_size=32).digest()


def bit_reversed(i: int, bits: int) -> int:
    """The lowest ``bits`` bits of i in the opposite order."""
    return int(f"{i:0{bits}b}"[::-1], 2) if bits else 0


# ---- streams of bytes ----


def chacha20(key: bytes, nonce: Nonce, counter: int, length: int) -> bytes:
    """``length`` bytes of the RFC 8439 key stream from block ``counter`` on; nonce is three words."""
    blocks = -(-length // 64)
    start = np.empty((16, blocks), dtype=np.uint32)
    start[:4] = np.frombuffer(b"expand 32-byte k", dtype="<u4")[:, None]
    start[4:12] = np.frombuffer(key, dtype="<u4")[:, None]
    start[12] = np.arange(counter, counter + blocks, dtype=np.uint64).astype(np.uint32)
    start[13:] = np.array(nonce, dtype=np.uint32)[:, None]
    state = start.copy()

    def quarter_round(a: int, b: int, c: int, d: int) -> None:
        for target, addend, rotated, bits in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
            state[target] += state[addend]
            state[rotated] ^= state[target]
            state[rotated] = (state[rotated] << np.uint32(bits)) | (state[rotated] >> np.uint32(32 - bits))

    for _ in range(10):
        for column in range(4):
            quarter_round(column, 4 + column, 8 + column, 12 + column)
        for diagonal in range(4):
            quarter_round(diagonal, 4 + (diagonal + 1) % 4, 8 + (diagonal + 2) % 4, 12 + (diagonal + 3) % 4)
    state += start
    return state.T.astype("<u4").tobytes()[:length]


BLAKE2B_IV = np.array(
    [math.isqrt(prime << 128) % 2**64 for prime in (2, 3, 5, 7, 11, 13, 17, 19)], dtype=np.uint64
)
BLAKE2B_SIGMA = (
    (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15),
    (14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3),
    (11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4),
    (7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8),
    (9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13),
    (2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9),
    (12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11),
    (13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10),
    (6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5),
    (10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0),
)


def blake2xb_nodes(root: bytes, length: int) -> bytes:
    """The output nodes of BLAKE2Xb: 64 bytes each, ``length`` bytes (a multiple of 64) in total.

    Node i is BLAKE2b of the root with the parameters digest 64, key, fanout and depth 0, leaf length 64, node
    offset i, output length, node depth 0, inner length 64. hashlib refuses depth 0, so its one compression
    stands here, for every node at once.
    """
    nodes = length // 64
    parameters = np.zeros((8, nodes), dtype=np.uint64)
    parameters[0] = 64 | 64 << 32
    parameters[1] = np.arange(nodes, dtype=np.uint64) | np.uint64(length << 32)
    parameters[2] = 64 << 8
    h = BLAKE2B_IV[:, None] ^ parameters
    message = np.zeros((16, nodes), dtype=np.uint64)
    message[:8] = np.frombuffer(root, dtype="<u8")[:, None]
    v = np.concatenate([h, np.repeat(BLAKE2B_IV[:, None], nodes, axis=1)])
    v[12] ^= np.uint64(64)
    v[14] = ~v[14]

    def mix(a: int, b: int, c: int, d: int, x: int, y: int) -> None:
        for word, first, second in ((x, 32, 24), (y, 16, 63)):
            v[a] += v[b] + message[word]
            v[d] = _rotated_right(v[d] ^ v[a], first)
            v[c] += v[d]
            v[b] = _rotated_right(v[b] ^ v[c], second)

    for number in range(12):
        order = BLAKE2B_SIGMA[number % 10]
        for i in range(4):
            mix(i, 4 + i, 8 + i, 12 + i, order[2 * i], order[2 * i + 1])
        for i in range(4):
            mix(i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4, order[8 + 2 * i], order[9 + 2 * i])
    return (h ^ v[:8] ^ v[8:]).T.astype("<u8").tobytes()


def _rotated_right(x: NDArray[np.uint64], bits: int) -> NDArray[np.uint64]:
    return (x >> np.uint64(bits)) | (x << np.uint64(64 - bits))


def blake2xb(key: bytes, message: bytes, length: int) -> bytes:
    """``length`` bytes, a multiple of 64, of BLAKE2Xb (the BLAKE2X paper): a root, then nodes from it."""
    root = hashlib.blake2b(message, key=key, digest_size=64, node_offset=length << 32).digest()
    return blake2xb_nodes(root, length)


def seal_stream(xof: int, seed: bytes, length: int) -> bytes:
    """``length`` bytes of the generators of SEAL: blocks of 4096 bytes numbered 0, 1, 2 .."""
    blocks = []
    for number in range(-(-length // 4096)):
        counter = struct.pack("<Q", number)
        if xof == SHAKE256:
            blocks.append(hashlib.shake_256(seed + counter).digest(4096))
        else:
            blocks.append(blake2xb(seed, counter, 4096))
    return b"".join(blocks)[:length]


# ---- samplers ----


def uniform(chain: Chain, xof: int, seed: bytes, primes: int) -> list[Residues]:
    """The expansion of a public seed: one uniform polynomial for each of the first ``primes`` primes."""
    if xof == CHACHA20:
        return [_uniform_chacha20(chain.n, q, seed, i) for i, q in enumerate(chain.primes[:primes])]
    return _uniform_seal(chain, xof, seed, primes)


def _uniform_chacha20(n: int, q: int, seed: bytes, prime: int) -> Residues:
    width = q.bit_length()
    stream = int.from_bytes(chacha20(seed, (UNIFORM, prime, 0), 0, 3 * n * width // 8), "little")
    bits = np.frombuffer(f"{stream:0{3 * n * width}b}"[::-1].encode(), dtype=np.uint8) - ord("0")
    candidates = bits.reshape(-1, width).astype(np.int64) @ (1 << np.arange(width, dtype=np.int64))
    accepted = candidates[candidates < q]
    assert len(accepted) >= n, "at most one field in two is rejected, so 3 n of them hold n residues"
    return accepted[:n]


def _uniform_seal(chain: Chain, xof: int, seed: bytes, primes: int) -> list[Residues]:
    n, spare = chain.n, 64
    stream = seal_stream(xof, seed, 8 * (n * primes + spare))
    words = [word for (word,) in struct.iter_unpack("<Q", stream)]
    bulk, replacements = words[: n * primes], iter(words[n * primes :])
    polynomials = []
    for i, q in enumerate(chain.primes[:primes]):
        limit = (2**64 - 1) - ((2**64 - 1) % q) - 1
        residues = []
        for word in bulk[i * n : (i + 1) * n]:
            while word >= limit:
                word = next(replacements)
            residues.append(word % q)
        polynomials.append(np.array(residues, dtype=np.int64))
    return polynomials


def ternary(key: bytes, n: int) -> Residues:
    """n uniform ternary coefficients: 16 digits base 3 of each u64 of the stream, as a fraction of 2^64."""
    coefficients = []
    for (fraction,) in struct.iter_unpack("<Q", chacha20(key, (TERNARY, 0, 0), 0, n // 2)):
        for _ in range(16):
            digit, fraction = divmod(3 * fraction, 2**64)
            coefficients.append(digit - 1)
    return np.array(coefficients, dtype=np.int64)


def pack_ternary(coefficients: Residues) -> bytes:
    """Four coefficients a byte, the first in the lowest two bits, each as value + 1."""
    return (
        (((coefficients + 1).reshape(-1, 4)) << np.array([0, 2, 4, 6])).sum(axis=1).astype(np.uint8).tobytes()
    )


def noise(key: bytes, component: int, n: int) -> Residues:
    """n centred binomial coefficients, eta = 21: 42 words give 32, one in each bit."""
    words = np.frombuffer(chacha20(key, (NOISE, component, 0), 0, n // 32 * 168), dtype="<u4").reshape(-1, 42)
    bits = (words[:, :, None] >> np.arange(32, dtype=np.uint32) & 1).astype(np.int64)
    return (bits[:, :21].sum(axis=1) - bits[:, 21:].sum(axis=1)).reshape(-1)


# ---- seeds ----


@dataclass(frozen=True)
class Seeds:
    """The seeds of one ciphertext. ``public`` is 64 bytes; ChaCha20 uses the first 32."""

    counter: int
    public: bytes
    secret: bytes


def derive_seeds(device_secret: bytes, randomness: bytes, counter: int) -> Seeds:
    """The seeds of the ciphertext with this counter; the secrets are 32 bytes each."""
    k = chacha20(device_secret, (DERIVE, counter >> 32, 0), counter & 0xFFFFFFFF, 32)
    key = bytes(a ^ b for a, b in zip(k, randomness, strict=True))
    return Seeds(
        counter, chacha20(key, (PUBLIC_SEED, 0, 0), 0, 64), chacha20(key, (SECRET_SEED, 0, 0), 0, 32)
    )


# ---- the ring ----


@cache
def smallest_root(n: int, q: int) -> int:
    """The smallest primitive 2n-th root of unity modulo q, which SEAL takes."""
    base = next(r for g in range(2, q) if pow(r := pow(g, (q - 1) // (2 * n), q), n, q) == q - 1)
    return min(pow(base, odd, q) for odd in range(1, 2 * n, 2))


@cache
def _root_powers(n: int, q: int) -> Residues:
    """psi^0 .. psi^(2n - 1)."""
    psi, powers = smallest_root(n, q), [1]
    for _ in range(2 * n - 1):
        powers.append(powers[-1] * psi % q)
    return np.array(powers, dtype=np.int64)


@cache
def _reversal(n: int) -> Residues:
    bits = n.bit_length() - 1
    return np.array([bit_reversed(i, bits) for i in range(n)])


def ntt(a: Residues | Sequence[int], q: int) -> Residues:
    """a(psi^(2 bitrev(i) + 1)) for each i: the residues of integer coefficients in the transform's order."""
    n = len(a)
    powers = _root_powers(n, q)
    reduced = np.array([int(x) % q for x in a], dtype=np.int64)
    return _evaluate(reduced * powers[:n] % q, powers[::2], q)[_reversal(n)]


def _evaluate(a: Residues, roots: Residues, q: int) -> Residues:
    """a at every power of a root of unity of order len(a), all given: even and odd terms separately."""
    if len(a) <= 32:
        exponents = np.arange(len(a))[:, None] * np.arange(len(a)) % len(a)
        return (roots[exponents] * a % q).sum(axis=1) % q
    even, odd = _evaluate(a[::2], roots[::2], q), _evaluate(a[1::2], roots[::2], q)
    turned = roots[: len(odd)] * odd % q
    return np.concatenate([even + turned, even - turned]) % q


# ---- encoding (docs/encoding.md) ----


@dataclass(frozen=True)
class Precision:
    """The table at the head of docs/encoding.md. ``bits`` is 31 or 63."""

    bits: int

    @cached_property
    def word(self) -> int:
        return self.bits + 1

    @property
    def fraction(self) -> int:
        return self.bits

    @property
    def guard(self) -> int:
        return {31: 1, 63: 3}[self.bits]

    @property
    def limit(self) -> int:
        return {31: 29, 63: 58}[self.bits]


class ValueRangeError(Exception):
    """A number is too large for the precision or the modulus."""


def shifted(x: int, bits: int) -> int:
    """x * 2^bits, rounded, halves away from zero."""
    if bits >= 0:
        return x << bits
    magnitude = (abs(x) + (1 << (-bits - 1))) >> -bits
    return magnitude if x >= 0 else -magnitude


def fixed_point(number: float | int, exponent: int, bits: int) -> int:
    """number * 2^(exponent + bits), rounded, halves away from zero. A float must be finite."""
    numerator, denominator = number.as_integer_ratio()
    return shifted(numerator, exponent + bits - (denominator.bit_length() - 1))


def any_beyond(
    parts: Sequence[int],
    numbers: Sequence[float | int],
    exponent: int,
    *,
    complex_slots: bool,
    largest: float,
    shift: int,
) -> bool:
    """Whether a number is beyond largest; of complex ones the absolute value, in fixed point."""
    bound, unit = Fraction(largest), Fraction(2) ** exponent
    if any(abs(Fraction(number)) * unit > bound for number in numbers):
        return True
    if not complex_slots:
        return False
    scaled = math.floor(bound * Fraction(2) ** shift)
    places = max(0, scaled.bit_length() - 31)
    places += scaled >> places == 2**31 - 1
    square = ((scaled >> places) + 2) ** 2
    magnitudes = [abs(part) >> places for part in parts]
    return any(re**2 + im**2 > square for re, im in zip(magnitudes[::2], magnitudes[1::2], strict=True))


@cache
def _quarter_wave(n: int) -> list[int]:
    """cos(pi t/n) * 2^192 to within a few units, for t = 0 .. n/2."""
    with mpmath.workprec(256):
        return [
            int(mpmath.floor(mpmath.ldexp(mpmath.cospi(mpmath.mpf(t) / n), 192))) for t in range(n // 2 + 1)
        ]


@cache
def cosines(n: int, fraction: int) -> list[int]:
    """C(t) for t = 0 .. 2n - 1, to the nearest; 2^fraction, 0 and -2^fraction at the multiples of pi/2."""
    drop = 192 - fraction
    quarter = []
    for x in _quarter_wave(n):
        rounded = (x + (1 << (drop - 1))) >> drop
        assert abs(abs(x - (rounded << drop)) - (1 << (drop - 1))) > 2**20, "no entry is near a tie"
        quarter.append(rounded)
    half = [*quarter, *(-x for x in quarter[-2::-1])]
    return [*half, *half[-2:0:-1]]


def encode(
    chain: Chain,
    numbers: Sequence[float | int],
    *,
    complex_slots: bool,
    exponent: int = 0,
    log2_scale: int,
    precision: int,
    largest: float | None = None,
) -> list[int]:
    """The n coefficients of the encoded polynomial.

    ``numbers`` holds one number a slot, or pairs (real, imaginary) in turn; slots not given are 0.
    ``exponent`` scales integers. Raises ValueRangeError where the library must refuse: for a value beyond
    ``largest``, or a number that does not fit below the limit in fixed point.
    """
    fixed = Precision(precision)
    n, slots = chain.n, chain.n // 2
    limit = 1 << (min(fixed.limit, math.prod(chain.data_primes).bit_length() - 3) + fixed.guard)
    parts = [fixed_point(number, exponent, log2_scale + fixed.guard) for number in numbers]
    if largest is None:
        if any(abs(part) >= limit for part in parts):
            raise ValueRangeError
    elif any_beyond(
        parts, numbers, exponent, complex_slots=complex_slots, largest=largest, shift=log2_scale + fixed.guard
    ):
        raise ValueRangeError
    parts += [0] * (slots * (2 if complex_slots else 1) - len(parts))
    if complex_slots:
        points = _complex_points(n, list(zip(parts[::2], parts[1::2], strict=True)))
        return _complex_coefficients(n, _transform(n, points, fixed), fixed)
    return _real_coefficients(n, _transform(n, _real_points(n, parts), fixed), fixed)


def _samples(n: int) -> list[tuple[int, bool]]:
    """(sample index, whether the sample is the conjugate) of each slot."""
    samples, power = [], 1
    for _ in range(n // 2):
        conjugate = power % 4 != 1
        samples.append((((2 * n - power if conjugate else power) - 1) // 4, conjugate))
        power = power * 3 % (2 * n)
    return samples


def _complex_points(n: int, slots: list[tuple[int, int]]) -> list[tuple[int, int]]:
    bits = (n // 2).bit_length() - 1
    points = [(0, 0)] * (n // 2)
    for (re, im), (sample, conjugate) in zip(slots, _samples(n), strict=True):
        points[bit_reversed(sample, bits)] = (re, -im if conjugate else im)
    return points


def _real_points(n: int, slots: list[int]) -> list[tuple[int, int]]:
    samples = [0] * (n // 2)
    for value, (sample, _) in zip(slots, _samples(n), strict=True):
        samples[sample] = value
    bits = (n // 4).bit_length() - 1
    points = [(0, 0)] * (n // 4)
    for p in range(n // 4):
        points[bit_reversed(p, bits)] = (samples[2 * p], samples[2 * p + 1])
    return points


def _transform(n: int, points: list[tuple[int, int]], fixed: Precision) -> list[tuple[int, int]]:
    """Section 4: the inverse transform, divided by the number of points."""
    cosine, one = cosines(n, fixed.fraction), 1 << fixed.fraction
    re, im = [p[0] for p in points], [p[1] for p in points]
    h = 1
    while h < len(points):
        for block in range(0, len(points), 2 * h):
            for j in range(h):
                angle = j * n // h
                w_re, w_im = cosine[angle], -cosine[(angle - n // 2) % (2 * n)]
                a, b = block + j, block + j + h
                first_re = (re[a] * one + w_re * re[b] - w_im * im[b] + one) >> fixed.word
                first_im = (im[a] * one + w_re * im[b] + w_im * re[b] + one) >> fixed.word
                re[b], im[b] = re[a] - first_re, im[a] - first_im
                re[a], im[a] = first_re, first_im
        h *= 2
    return list(zip(re, im, strict=True))


def _rounded(x: int, bits: int) -> int:
    """R of section 5: x / 2^bits to the nearest, halves up."""
    return (x + (1 << (bits - 1))) >> bits


def _complex_coefficients(n: int, u: list[tuple[int, int]], fixed: Precision) -> list[int]:
    cosine, bits = cosines(n, fixed.fraction), fixed.fraction + fixed.guard
    m = [0] * n
    m[0], m[n // 2] = _rounded(u[0][0], fixed.guard), _rounded(u[0][1], fixed.guard)
    for k in range(1, n // 2):
        (re, im), c, s = u[k], cosine[k], cosine[(k - n // 2) % (2 * n)]
        m[k] = _rounded(c * re + s * im, bits)
        m[k + n // 2] = _rounded(c * im - s * re, bits)
    return m


def _real_coefficients(n: int, u: list[tuple[int, int]], fixed: Precision) -> list[int]:
    cosine, bits = cosines(n, fixed.fraction), fixed.fraction + 2 + fixed.guard
    slots, quarter = n // 2, n // 4

    def conjugate(x: tuple[int, int]) -> tuple[int, int]:
        return x[0], -x[1]

    m = [0] * n
    m[0] = _rounded(u[0][0] + u[0][1], 1 + fixed.guard)
    m[quarter] = _rounded((u[0][0] - u[0][1]) * cosine[quarter], fixed.fraction + 1 + fixed.guard)
    for k in range(1, quarter // 2 + 1):
        (a_re, a_im), (b_re, b_im) = u[k], conjugate(u[quarter - k])
        e = (a_re + b_re, a_im + b_im)
        o = (a_im - b_im, b_re - a_re)
        (x, y), (z, w) = _turned(cosine, quarter - k, e), _turned(cosine, quarter - 5 * k, o)
        m[quarter - k], m[quarter + k] = _rounded(x - z, bits), _rounded(y - w, bits)
        (x, y), (z, w) = _turned(cosine, k, conjugate(e)), _turned(cosine, 5 * k, conjugate(o))
        m[k], m[slots - k] = _rounded(x + z, bits), _rounded(y + w, bits)
    for k in range(1, slots):
        m[n - k] = -m[k]
    return m


# ---- decoding (docs/encoding.md, section 8) ----


def embed(n: int, m: Sequence[int], *, complex_slots: bool, precision: int) -> list[int]:
    """The slots of coefficients that are shifted left by g: one part a slot, or two in turn.

    Raises ValueRangeError where the library must refuse.
    """
    fixed = Precision(precision)
    u = _complex_transform(n, m, fixed) if complex_slots else _real_transform(n, m, fixed)
    _transform_back(n, u, fixed)
    if not complex_slots:
        bits = (n // 4).bit_length() - 1
        return [u[bit_reversed(sample // 2, bits)][sample % 2] for sample, _ in _samples(n)]
    bits = (n // 2).bit_length() - 1
    parts = []
    for sample, conjugate in _samples(n):
        re, im = u[bit_reversed(sample, bits)]
        parts += [re, -im if conjugate else im]
    return parts


def _complex_transform(n: int, m: Sequence[int], fixed: Precision) -> list[tuple[int, int]]:
    cosine, slots = cosines(n, fixed.fraction), n // 2
    u = [(m[0], m[slots])]
    for k in range(1, slots):
        re, im = _turned(cosine, k, (m[k], m[k + slots]))
        u.append((_rounded(re, fixed.fraction), _rounded(im, fixed.fraction)))
    return u


def _real_transform(n: int, m: Sequence[int], fixed: Precision) -> list[tuple[int, int]]:
    cosine, one = cosines(n, fixed.fraction), 1 << fixed.fraction
    slots, quarter = n // 2, n // 4
    d = [m[0], *(m[k] - m[n - k] for k in range(1, slots))]
    plus, minus = (d[0] * one + sign * d[quarter] * cosine[quarter] for sign in (1, -1))
    u = [(_rounded(plus, fixed.fraction), _rounded(minus, fixed.fraction))] + [(0, 0)] * (quarter - 1)
    for k in range(1, quarter // 2 + 1):
        near, far = (d[k], -d[slots - k]), (d[quarter - k], d[quarter + k])
        a, b = _turned(cosine, k, near), _turned(cosine, k - quarter, far)
        e = a[0] + b[0], a[1] + b[1]
        a, b = _turned(cosine, 5 * k, near), _turned(cosine, 5 * k - quarter, far)
        o = a[0] - b[0], a[1] - b[1]
        bits = fixed.fraction + 1
        u[quarter - k] = (_rounded(e[0] + o[1], bits), _rounded(o[0] - e[1], bits))
        u[k] = (_rounded(e[0] - o[1], bits), _rounded(e[1] + o[0], bits))
    return u


def _transform_back(n: int, u: list[tuple[int, int]], fixed: Precision) -> None:
    cosine, limit = cosines(n, fixed.fraction), 1 << (fixed.word - 3)

    def check() -> None:
        if not all(-limit <= part < limit for point in u for part in point):
            raise ValueRangeError

    h = len(u) // 2
    while h >= 1:
        check()
        for block in range(0, len(u), 2 * h):
            for j in range(h):
                (a_re, a_im), (b_re, b_im) = u[block + j], u[block + j + h]
                re, im = _turned(cosine, j * n // h, (a_re - b_re, a_im - b_im))
                u[block + j] = (a_re + b_re, a_im + b_im)
                u[block + j + h] = (_rounded(re, fixed.fraction), _rounded(im, fixed.fraction))
        h //= 2
    check()


def _turned(cosine: list[int], t: int, x: tuple[int, int]) -> tuple[int, int]:
    """zeta^t x"""
    n = len(cosine) // 2
    c, s = cosine[t % (2 * n)], cosine[(t - n // 2) % (2 * n)]
    return c * x[0] - s * x[1], c * x[1] + s * x[0]


def decoded_float(x: int, log2_scale: int, precision: int) -> int:
    """The binary32 bits of x 2^-g / 2^log2_scale, to the nearest, halves away from zero."""
    exponent = abs(x).bit_length() - 1
    significand = shifted(abs(x), 23 - exponent)
    field = exponent - Precision(precision).guard - log2_scale + 127
    if x == 0 or field < 1:
        return 0
    return (x < 0) << 31 | ((field - 1) << 23) + significand


def decoded_integer(x: int, exponent: int, log2_scale: int, precision: int) -> int:
    """x 2^-g / 2^log2_scale in multiples of 2^exponent. Raises ValueRangeError if that is 2^31 or more."""
    number = shifted(x, -Precision(precision).guard - log2_scale - exponent)
    if abs(number) >= 1 << 31:
        raise ValueRangeError
    return number


# ---- BFV (docs/encoding.md, section 7) ----


class PlainModulusError(Exception):
    """The plain modulus does not suit the chain, the encoding or the key."""


def check_plain_modulus(chain: Chain, t: int, *, public_key: bool) -> None:
    """Raises PlainModulusError where the library must refuse t, batching's own conditions apart."""
    q = math.prod(chain.data_primes)
    noise = 45 << -(-(chain.n.bit_length() - 1) // 2) if public_key else 44
    if t < 2 or t >= min(chain.data_primes) or noise * t > q:
        raise PlainModulusError


def encode_integers(chain: Chain, numbers: Sequence[int], t: int, *, signed: bool, batch: bool) -> list[int]:
    """The n coefficients, in [0, t), of the encoded polynomial.

    Raises ValueRangeError for a number out of range modulo t, and PlainModulusError for a t that batching
    cannot have.
    """
    n = chain.n
    if not all(-t < 2 * x <= t if signed else 0 <= x < t for x in numbers):
        raise ValueRangeError
    values = [x % t for x in numbers] + [0] * (n - len(numbers))
    if not batch:
        return values
    if t % (2 * n) != 1 or any(t % divisor == 0 for divisor in range(3, math.isqrt(t) + 1, 2)):
        raise PlainModulusError
    by_exponent, power = {}, 1
    for j in range(n // 2):
        by_exponent[power] = values[j]
        by_exponent[2 * n - power] = values[n // 2 + j]
        power = power * 3 % (2 * n)
    return _interpolate(n, t, [by_exponent[2 * i + 1] for i in range(n)])


def _interpolate(n: int, t: int, values: list[int]) -> list[int]:
    """The coefficients of the polynomial whose value at psi^(2i + 1) is values[i]."""
    powers = _root_powers(n, t)
    sums = _evaluate(np.array(values, dtype=np.int64), powers[(-2 * np.arange(n)) % (2 * n)], t)
    n_inverse = pow(n, -1, t)
    return [int(x) * int(powers[-k % (2 * n)]) * n_inverse % t for k, x in enumerate(sums)]


def scale_up(chain: Chain, m: Sequence[int], t: int) -> list[int]:
    """round(q m / t), halves up."""
    q = math.prod(chain.data_primes)
    return [(q * x + (t + 1) // 2) // t for x in m]


# ---- keys ----


def zero_encryption(chain: Chain, secret: Residues, seed: bytes, prime: int) -> tuple[Residues, Residues]:
    """(c0, c1) = (e - a s, a) at one prime, NTT form: a public key."""
    n, q = chain.n, chain.primes[prime]
    a = _uniform_chacha20(n, q, chacha20(seed, (KEY_PUBLIC, 0, 0), 0, 32), prime)
    e = noise(chacha20(seed, (KEY_SECRET, 0, 0), 0, 32), 0, n)
    return (ntt(e, q) - a * ntt(secret, q)) % q, a


def public_key(chain: Chain, secret: Residues, seed: bytes) -> list[tuple[Residues, Residues]]:
    """(pk0, pk1) at each data prime."""
    return [zero_encryption(chain, secret, seed, prime) for prime in range(len(chain.data_primes))]


# ---- ciphertexts ----


@dataclass(frozen=True)
class Ciphertext:
    """``components[c][i]`` is component c at prime i; ``seed`` stands for component 1 unless xof is NONE.

    ``plain_modulus`` is BFV's t, or 0 for CKKS, which alone has a scale.
    """

    chain: Chain
    key_id: int
    counter: int
    log2_scale: int
    xof: int
    seed: bytes
    components: tuple[list[Residues], list[Residues]]
    plain_modulus: int = 0
    ntt_form: bool = True

    @property
    def scale(self) -> float:
        """Scale as SEAL does."""
        return 1.0 if self.plain_modulus else 2.0**self.log2_scale


def inverse_ntt(a: Residues, q: int) -> Residues:
    """The coefficients modulo q whose transform a is."""
    natural = a[_reversal(len(a))]
    return np.array(_interpolate(len(a), q, natural.tolist()), dtype=np.int64)


def encrypt_symmetric(
    chain: Chain,
    secret: Residues,
    key_id: int,
    xof: int,
    m: Sequence[int],
    log2_scale: int,
    seeds: Seeds,
    *,
    plain_modulus: int = 0,
    ntt_form: bool = True,
) -> Ciphertext:
    """c0 = m + e - a s, c1 = a, in NTT form or, for BFV (where m comes from scale_up), as coefficients."""
    seed = seeds.public[: 32 if xof == CHACHA20 else 64]
    c1 = uniform(chain, xof, seed, len(chain.data_primes))
    e = noise(seeds.secret, 0, chain.n)
    message = [coefficient + int(error) for coefficient, error in zip(m, e, strict=True)]
    c0 = []
    for q, a in zip(chain.data_primes, c1, strict=True):
        product = (a if ntt_form else ntt(a, q)) * ntt(secret, q) % q
        transformed = (ntt(message, q) - product) % q
        c0.append(transformed if ntt_form else inverse_ntt(transformed, q))
    return Ciphertext(chain, key_id, seeds.counter, log2_scale, xof, seed, (c0, c1), plain_modulus, ntt_form)


def encrypt_asymmetric(
    chain: Chain,
    key: Sequence[tuple[Residues, Residues]],
    key_id: int,
    m: Sequence[int],
    log2_scale: int,
    seeds: Seeds,
    *,
    plain_modulus: int = 0,
    ntt_form: bool = True,
) -> Ciphertext:
    """c0 = u pk0 + e0 + m, c1 = u pk1 + e1; forms as in encrypt_symmetric."""
    u = ternary(seeds.secret, chain.n)
    e0, e1 = noise(seeds.secret, 0, chain.n), noise(seeds.secret, 1, chain.n)
    message = [coefficient + int(error) for coefficient, error in zip(m, e0, strict=True)]
    c0, c1 = [], []
    for q, (pk0, pk1) in zip(chain.data_primes, key, strict=True):
        transformed = ntt(u, q)
        c0.append((transformed * pk0 + ntt(message, q)) % q)
        c1.append((transformed * pk1 + ntt(e1, q)) % q)
    if not ntt_form:
        for component in (c0, c1):
            component[:] = [inverse_ntt(a, q) for a, q in zip(component, chain.data_primes, strict=True)]
    return Ciphertext(chain, key_id, seeds.counter, log2_scale, NONE, b"", (c0, c1), plain_modulus, ntt_form)


# ---- bytes (docs/wire-format.md) ----


@cache
def _crc_table() -> list[int]:
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    return table


def crc32c(data: bytes) -> int:
    """CRC-32C (Castagnoli): reflected polynomial 0x82F63B78, all ones at the start, inverted at the end."""
    table, crc = _crc_table(), 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ table[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def pack(residues: Residues, bits: int) -> bytes:
    """Residues without gaps, low bits first."""
    ones = (residues[:, None] >> np.arange(bits)) & 1
    return np.packbits(ones.astype(np.uint8).ravel(), bitorder="little").tobytes()


def _frame(ciphertext: Ciphertext, payload_kind: int, component: int, prime: int, payload: bytes) -> bytes:
    t = ciphertext.plain_modulus
    header = struct.pack(
        "<2sBBBBBB4sQQ8sBBBBI",
        b"CM",
        1,
        payload_kind,
        BFV if t else CKKS,
        ciphertext.ntt_form,
        2,
        len(ciphertext.chain.data_primes),
        ciphertext.chain.id,
        ciphertext.key_id,
        ciphertext.counter,
        struct.pack("<Q", t) if t else struct.pack("<d", ciphertext.scale),
        ciphertext.xof,
        component,
        prime,
        0,
        len(payload),
    )
    return header + payload + struct.pack("<I", crc32c(header + payload))


def frames(ciphertext: Ciphertext) -> bytes:
    """The frame set in the order the device sends: the seed first; then prime after prime, c1 before c0."""
    sent = [_frame(ciphertext, 1, 1, 0, ciphertext.seed)] if ciphertext.xof != NONE else []
    components = (1, 0) if ciphertext.xof == NONE else (0,)
    for prime, q in enumerate(ciphertext.chain.data_primes):
        for component in components:
            residues = ciphertext.components[component][prime]
            sent.append(_frame(ciphertext, 0, component, prime, pack(residues, q.bit_length())))
    return b"".join(sent)


def _seal_object(body: bytes) -> bytes:
    """A SEAL object: its header of version 3.6 and no compression, and its body."""
    return struct.pack("<HBBBBHQ", 0xA15E, 16, 3, 6, 0, 0, 16 + len(body)) + body


def seal_bytes(ciphertext: Ciphertext, *, seeded: bool) -> bytes:
    """The ciphertext as SEAL saves it, in full or with its seed in place of component 1."""
    chain = ciphertext.chain
    components = ciphertext.components[:1] if seeded else ciphertext.components
    words = np.concatenate([residues for component in components for residues in component])
    body = struct.pack(
        "<32sBQQQd",
        chain.parms_id(ciphertext.plain_modulus),
        ciphertext.ntt_form,
        2,
        chain.n,
        len(chain.data_primes),
        ciphertext.scale,
    )
    body += _seal_object(struct.pack("<Q", len(words)) + words.astype("<u8").tobytes())
    if seeded:
        body += _seal_object(struct.pack("<B", ciphertext.xof) + ciphertext.seed)
    return _seal_object(body)


def chained_digest(data: bytes) -> bytes:
    """The digest of vectors/, computed as bytes come: BLAKE2b-256 of (digest so far || next piece).

    It starts from 32 zeros; pieces are of 96 bytes, the last one shorter: each step is one compression.
    """
    digest = bytes(32)
    for start in range(0, len(data), 96):
        digest = hashlib.blake2b(digest + data[start : start + 96], digest_size=32).digest()
    return digest


def coefficient_bytes(chain: Chain, m: Sequence[int]) -> bytes:
    """Coefficients at every data prime, prime after prime: n residues in coefficient order, as u32."""
    return b"".join(np.array([x % q for x in m], dtype="<u4").tobytes() for q in chain.data_primes)
