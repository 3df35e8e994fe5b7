# SPDX-License-Identifier: Apache-2.0
"""The owner's end of CKKS: decrypt SEAL's ciphertext bytes and decode them, by our own arithmetic.

Slot j of a polynomial m is m(zeta^(3^j)) / scale with zeta = exp(i pi / n), SEAL's order. The hosted library
decrypts (host/include/ciphermote/owner.h); it joins residues exactly, so that a message far smaller than the
modulus loses nothing on the way to a float.

A decrypted value carries the noise of its ciphertext, and that noise tells about the secret key: give
results to others rounded to what they need, and only of ciphertexts whose computation you agreed to.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ciphermote import _evaluator, _owner
from ciphermote.base import arguments
from ciphermote.base.errors import MismatchError, ParameterError, ValueRangeError
from ciphermote.formats import seal as sb
from ciphermote.formats.labels import check_key
from ciphermote.formats.residues import transformed
from ciphermote.owner.keys import SecretKey
from ciphermote.parameters import ParameterSet
from ciphermote.parameters.native import context_of


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
    or decrypts to noise, or to a slot that reaches a quarter of the modulus (docs/security.md).
    """
    ciphertext = sb.read_ciphertext(data, secret.parameters, sizes=(2, 3))
    check_key("the ciphertext", ciphertext.key_id, "the secret key", secret.key_id, bare=bare)
    return Plain(
        _owner.decrypt_coefficients(opened(ciphertext, secret), secret.hosted),
        ciphertext.scale,
        ciphertext.primes,
        secret.parameters,
        known_key(ciphertext, secret),
        ciphertext.model_id,
    )


def decrypt_integers(data: bytes, secret: SecretKey, *, bare: bool = False) -> list[int]:
    """The n centred coefficients of decrypt, exact."""
    ciphertext = sb.read_ciphertext(data, secret.parameters, sizes=(2, 3))
    check_key("the ciphertext", ciphertext.key_id, "the secret key", secret.key_id, bare=bare)
    digits = _owner.decrypt_digits(opened(ciphertext, secret), secret.hosted)
    total = np.zeros(digits.shape[1], dtype=object)
    for row, q in zip(digits[::-1], secret.parameters.primes[len(digits) - 1 :: -1], strict=True):
        total = total * q + row
    return [int(x) for x in total]


def known_key(ciphertext: sb.SealCiphertext, secret: SecretKey) -> int | None:
    """The key id of a decryption: None unless ciphertext and key both say it."""
    return None if ciphertext.key_id is None else secret.key_id


def opened(ciphertext: sb.SealCiphertext, secret: SecretKey) -> _evaluator.Ciphertext:
    """As the hosted library takes it, of scale 1. MismatchError if ciphertext and key are known to be of two
    keys or sets."""
    check_key("the ciphertext", ciphertext.key_id, "the secret key", secret.key_id, bare=True)
    if ciphertext.parms != secret.parameters:
        raise MismatchError(
            f"The ciphertext is of {ciphertext.parms.name} and the secret key of {secret.parameters.name}: "
            "use the ciphertext and the key of one set."
        )
    residues = np.ascontiguousarray(transformed(ciphertext, ciphertext.primes), dtype=np.uint32)
    return _evaluator.Ciphertext(context_of(secret.parameters), residues, 1.0)


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
    given = arguments.array(values, ValueRangeError)
    if given.ndim != 1 or len(given) > n // 2 or given.dtype.kind not in "biufc":
        raise ValueRangeError(
            f"Values of type {given.dtype} and shape {given.shape} are given for {n // 2} slots: give "
            "numbers in one dimension, no more than that."
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
