# SPDX-License-Identifier: Apache-2.0
"""The owner's end of CKKS: decrypt SEAL's ciphertext bytes and decode them, by our own arithmetic.

Slot j of a polynomial m is m(zeta^(3^j)) / scale with zeta = exp(i pi / n), SEAL's order. Residues are
joined exactly, by Garner's mixed-radix digits, so that a message far smaller than the modulus loses
nothing on the way to a float.

A decrypted value carries the noise of its ciphertext, and that noise tells about the secret key: give
results to others rounded to what they need, and only of ciphertexts whose computation you agreed to.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ciphermote import _core
from ciphermote import seal_bytes as sb
from ciphermote.core import core_params
from ciphermote.errors import MismatchError, ParameterError, ValueRangeError
from ciphermote.keys import SecretKey
from ciphermote.labels import check_key
from ciphermote.parameters import ParameterSet


@dataclass(frozen=True, eq=False)
class Plain:
    """A decrypted polynomial. coefficients: float64 [n], centred; primes: of the ciphertext; key_id: of the
    key, None if nothing named it; model_id: of the model whose scores the label says it holds, or None."""

    coefficients: NDArray[np.float64]
    scale: float
    primes: int
    parameters: ParameterSet
    key_id: int | None
    model_id: int | None = None

    def slots(self) -> NDArray[np.float64]:
        """float64 [n/2]: the slots' real parts."""
        return self.complex_slots().real.copy()

    def complex_slots(self) -> NDArray[np.complex128]:
        """complex128 [n/2]."""
        return decode(self.coefficients, self.scale)


def decrypt(data: bytes, secret: SecretKey, *, bare: bool = False) -> Plain:
    """Decrypt SEAL's bytes of a ciphertext of two or three polynomials, at any level, full or seeded.

    bare: take a ciphertext without a label, or a key without an id, for nothing names their key then.
    FrameError if they are no such ciphertext of the key's parameters; MismatchError if it is of another key,
    or decrypts to noise (refuse_noise).
    """
    ciphertext = sb.read_ciphertext(data, secret.parameters, sizes=(2, 3))
    primes = secret.parameters.primes[: ciphertext.primes]
    coefficients = _to_float(*_decrypted(ciphertext, secret, bare), primes)
    refuse_noise(coefficients, primes)
    return Plain(
        coefficients,
        ciphertext.scale,
        ciphertext.primes,
        secret.parameters,
        known_key(ciphertext, secret),
        ciphertext.model_id,
    )


def decrypt_integers(data: bytes, secret: SecretKey, *, bare: bool = False) -> list[int]:
    """The n centred coefficients of decrypt, exact."""
    ciphertext = sb.read_ciphertext(data, secret.parameters, sizes=(2, 3))
    primes = secret.parameters.primes[: ciphertext.primes]
    digits, negative = _decrypted(ciphertext, secret, bare)
    refuse_noise(_to_float(digits, negative, primes), primes)
    return to_integers(digits, negative, primes)


def _decrypted(
    ciphertext: sb.SealCiphertext, secret: SecretKey, bare: bool
) -> tuple[NDArray[np.uint64], NDArray[np.bool_]]:
    """The phase, as centred gives it."""
    check_key("the ciphertext", ciphertext.key_id, "the secret key", secret.key_id, bare=bare)
    return centred(phase(ciphertext, secret), secret.parameters.primes[: ciphertext.primes])


def known_key(ciphertext: sb.SealCiphertext, secret: SecretKey) -> int | None:
    """The key id of a decryption: None unless ciphertext and key both say it."""
    return None if ciphertext.key_id is None else secret.key_id


def refuse_noise(coefficients: NDArray[np.float64], primes: Sequence[int]) -> None:
    """MismatchError if centred coefficients (float64 [n]) hold a slot that no result can, as noise does.

    Q is the primes' product. Devices and LinearPlan.max_score keep each part of |slot| * scale below Q/4, so
    no result of theirs is ever refused; a value from Q/2 on has wrapped around.

    Under another key, or after a key switch with another key's, the coefficients are uniform modulo Q and
    independent, as the ciphertext's c1 is (else it would not hide). Embedding keeps lengths: slots below the
    bound have coefficients whose squares sum to less than Q^2/8, which is 1/2 in units of Q/2. The chance of
    that for n of them is the share of the ball in the cube, (pi/8)^(n/2) / (n/2)!: below 2^-4500 at n = 1024.
    A program may confine noise to a few coefficients, though, as a sum over slots does: a linear model of 2^b
    classes leaves 2^(b+1) of them, and the chance is 1/4 for one class, 1/65 for 2, below 2^-9 for 4, 2^-26
    for 8, 2^-65 for 16. Nor is it noticed if values wrap around and end below the bound. Labels tell what
    this cannot.
    """
    bound = math.prod(primes) / 4
    slots = decode(coefficients, 1.0)
    if max(np.abs(slots.real).max(), np.abs(slots.imag).max()) >= bound:
        raise MismatchError(
            "The ciphertext decrypts to noise, or to values that outgrew its modulus (a slot times the scale "
            "reaches a quarter of it): it or the evaluation keys that computed it are of another key, or its "
            "values or its scale are too large; decrypt it with its own key, or compute it again with "
            "smaller values or a smaller scale."
        )


def to_integers(digits: NDArray[np.uint64], negative: NDArray[np.bool_], primes: Sequence[int]) -> list[int]:
    """The integers whose digits and signs centred gives, exact."""
    value = digits[-1].astype(object)
    for digit, q in zip(digits[-2::-1], primes[-2::-1], strict=True):
        value = value * q + digit
    return [-int(x) if sign else int(x) for x, sign in zip(value, negative, strict=True)]


def expand_second(ciphertext: sb.SealCiphertext) -> NDArray[np.uint32]:
    """uint32 [size, primes, n]: the residues, a seed expanded as SEAL does."""
    if ciphertext.seed is None:
        return ciphertext.residues
    kind, seed = ciphertext.seed
    return np.concatenate(
        [ciphertext.residues, expand_seed(ciphertext.parms, int(kind), seed, ciphertext.primes)[np.newaxis]]
    )


def expand_seed(parameters: ParameterSet, xof: int, seed: bytes, primes: int) -> NDArray[np.uint32]:
    """uint32 [primes, n]: the uniform polynomial of a public seed; xof as in cm_xof_kind (1, 2 or 3)."""
    return _core.expand_seed(core_params(parameters), xof, seed, primes)


def transformed(ciphertext: sb.SealCiphertext, primes: int) -> NDArray[np.uint32]:
    """uint32 [size, primes, n]: the residues at the first primes in NTT form, a seed expanded."""
    residues = expand_second(ciphertext)[:, :primes]
    if ciphertext.ntt_form:
        return residues
    params = core_params(ciphertext.parms)
    rows = [
        [_core.ntt_forward(params, i, np.ascontiguousarray(row)) for i, row in enumerate(polynomial)]
        for polynomial in residues
    ]
    return np.array(rows, dtype=np.uint32)


def phase(ciphertext: sb.SealCiphertext, secret: SecretKey) -> NDArray[np.uint32]:
    """uint32 [primes, n], coefficient form: c0 + c1 s, and + c2 s^2 if there are three.

    MismatchError if ciphertext and key are known to be of two keys or sets.
    """
    check_key("the ciphertext", ciphertext.key_id, "the secret key", secret.key_id, bare=True)
    if ciphertext.parms != secret.parameters:
        raise MismatchError(
            f"The ciphertext is of {ciphertext.parms.name} and the secret key of {secret.parameters.name}: "
            "use the ciphertext and the key of one set."
        )
    params = core_params(secret.parameters)
    residues = transformed(ciphertext, ciphertext.primes)
    rows = []
    for i in range(ciphertext.primes):
        q = np.uint64(secret.parameters.primes[i])
        s = secret.residues(i).astype(np.uint64)
        total = residues[-1, i].astype(np.uint64)
        for polynomial in residues[-2::-1, i]:
            total = (total * s + polynomial) % q
        rows.append(_core.ntt_inverse(params, i, total.astype(np.uint32)))
    return np.stack(rows)


def centred(
    residues: NDArray[np.uint32], primes: Sequence[int]
) -> tuple[NDArray[np.uint64], NDArray[np.bool_]]:
    """Join residues [k, n] to integers in (-Q/2, Q/2), Q the primes' product.

    Returns the magnitudes' mixed-radix digits, uint64 [k, n] (magnitude = d_0 + q_0 (d_1 + q_1 (d_2 +
    ...))), and whether each integer is negative, bool [n].
    """
    digits = _mixed_radix(residues, primes)
    half = (math.prod(primes) - 1) // 2
    negative = np.zeros(residues.shape[1], dtype=np.bool_)
    for digit, q in zip(digits, primes, strict=True):
        half, half_digit = divmod(half, q)
        negative = (digit > half_digit) | ((digit == half_digit) & negative)
    bound = np.array(primes, dtype=np.uint32)[:, np.newaxis]
    return _mixed_radix(np.where(negative & (residues != 0), bound - residues, residues), primes), negative


def _mixed_radix(residues: NDArray[np.uint32], primes: Sequence[int]) -> NDArray[np.uint64]:
    """Garner: digit j = (x - d_0 - q_0 d_1 - ...) / (q_0 .. q_{j-1}) mod q_j."""
    digits = residues.astype(np.uint64)
    for j, q in enumerate(primes):
        for i in range(j):
            inverse = np.uint64(pow(primes[i], -1, q))
            digits[j] = (digits[j] + np.uint64(q) - digits[i] % np.uint64(q)) * inverse % np.uint64(q)
    return digits


def _to_float(
    digits: NDArray[np.uint64], negative: NDArray[np.bool_], primes: Sequence[int]
) -> NDArray[np.float64]:
    """Every term is non-negative, so the k roundings add up to a relative error of at most k 2^-52."""
    value = digits[-1].astype(np.float64)
    for digit, q in zip(digits[-2::-1], primes[-2::-1], strict=True):
        value = value * q + digit
    return np.where(negative, -value, value)


@cache
def _slot_positions(n: int) -> NDArray[np.int64]:
    """int64 [n/2]: slot j sits at the odd power 2 k + 1 = 3^j mod 2n of zeta; this is k."""
    powers = np.empty(n // 2, dtype=np.int64)
    power = 1
    for j in range(n // 2):
        powers[j] = power
        power = power * 3 % (2 * n)
    return (powers - 1) // 2


@cache
def _twist(n: int) -> NDArray[np.complex128]:
    twist: NDArray[np.complex128] = np.exp(1j * np.pi * np.arange(n) / n)
    return twist


def decode(coefficients: NDArray[Any], scale: float) -> NDArray[np.complex128]:
    """complex128 [n/2]: the slots of a polynomial of n real coefficients, divided by scale."""
    c = np.asarray(coefficients, dtype=np.float64)
    n = len(c)
    if n < 4 or n & (n - 1) or not (math.isfinite(scale) and scale > 0):
        raise ParameterError(
            f"{n} coefficients at scale {scale!r} are not a CKKS polynomial: n is a power of two, the scale "
            "positive."
        )
    values = np.fft.ifft(c / scale * _twist(n), norm="forward")
    return values[_slot_positions(n)]


def encode_reference(values: ArrayLike, scale: float, n: int) -> NDArray[np.int64]:
    """int64 [n]: round(scale * inverse embedding) in double precision, as SEAL's encoder does it.

    values: up to n/2 real or complex slots, the rest zeros. What device encoders are measured against.
    ValueRangeError if values are too many, not finite, or reach 2^62 when scaled.
    """
    slots = np.zeros(n // 2, dtype=np.complex128)
    given = np.asarray(values)
    if given.ndim != 1 or len(given) > n // 2:
        raise ValueRangeError(
            f"Values of shape {given.shape} are given for {n // 2} slots: give one dimension, no more than "
            "that."
        )
    slots[: len(given)] = given
    if not np.isfinite(slots).all():
        raise ValueRangeError("A value is NaN or infinite, which has no encoding: check where it comes from.")
    spectrum = np.zeros(n, dtype=np.complex128)
    spectrum[_slot_positions(n)] = slots
    spectrum[n - 1 - _slot_positions(n)] = slots.conj()
    coefficients = (np.fft.fft(spectrum, norm="forward") / _twist(n)).real * scale
    if np.abs(coefficients).max() >= 2.0**62:
        raise ValueRangeError("A value times the scale reaches 2^62: take a smaller scale.")
    return np.rint(coefficients).astype(np.int64)
