# SPDX-License-Identifier: Apache-2.0
"""Encrypt arrays as a device does: with the C library, under either key.

While a device has one secret and counts, every call here draws a new secret, so that no seed repeats, and
numbers the reading by the clock.
"""

from __future__ import annotations

import contextlib
import math
import os
import threading
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ciphermote import _core
from ciphermote.base import arguments
from ciphermote.base.arguments import choice, instance, whole
from ciphermote.base.errors import (
    Error,
    KeyFileError,
    ParameterError,
    PrecisionWarning,
    ValueRangeError,
    of_status,
)
from ciphermote.base.words import count_of
from ciphermote.ciphertext import Ciphertext
from ciphermote.formats import seal as sb
from ciphermote.formats.declaration import Declaration
from ciphermote.formats.seal import key_id_of
from ciphermote.owner.key_store import KeyStore
from ciphermote.owner.keys import SecretKey
from ciphermote.owner.places import Places
from ciphermote.parameters import CKKS, ParameterSet, Scheme, batches
from ciphermote.parameters.bounds import DEFAULT_READINGS, Readings, check_largest, float32_above
from ciphermote.parameters.native import core_params
from ciphermote.parameters.noise import Key
from ciphermote.parameters.schemes import checked_scheme

Xof = Literal["blake2xb", "shake256", "chacha20"]
XOFS: dict[str, int] = {"blake2xb": 1, "shake256": 2, "chacha20": 3}
_PLACES: dict[str, int] = {"slots": 1, "coefficients": 2}
_PRECISION, _MESSAGE_BITS = 63, 58
_DEVICE_SECRET_BYTES = 32
_FLOAT64_BITS = 53
_DIGITS_TO_WARN = 2
_LARGEST_LOG2 = 100
"""No scale and modulus have room for values from here on."""


@dataclass(frozen=True, eq=False)
class PublicKey:
    """A public key, which encrypts without a secret. residues: uint32 [data primes, 2, n] in NTT form, as a
    device holds them; key_id: the pair's; readings: the owner's declarations about readings."""

    parameters: ParameterSet
    key_id: int
    residues: NDArray[np.uint32] = field(repr=False)
    readings: Readings = DEFAULT_READINGS

    @classmethod
    def from_seal(cls, data: bytes, parameters: ParameterSet) -> PublicKey:
        """Read SEAL's bytes, as in public.key. Raises FrameError if they are not a public key of these
        parameters, or KeyFileError if it is seeded."""
        return cls(parameters, key_id_of(data), device_residues(sb.read_public_key(data, parameters)))

    @classmethod
    def load(cls, path: str | Path) -> PublicKey:
        """Read the public key of a directory of keys, or of its public part. Raises KeyFileError if it holds
        none."""
        store = KeyStore.open(path)
        residues = device_residues(store.public_key())
        return cls(store.parameters, store.checked_key_id(), residues, store.readings)


def device_residues(key: sb.SealPublicKey) -> NDArray[np.uint32]:
    """Convert SEAL's public key to a device's form: uint32 [data primes, 2, n]. Raises KeyFileError if it is
    seeded."""
    if key.seed is not None:
        raise KeyFileError("The public key is seeded, which devices do not expand: make new keys.")
    data = key.residues[:, : len(key.parms.data_primes)]
    return np.ascontiguousarray(data.transpose(1, 0, 2))


def encrypt(
    values: ArrayLike,
    key: SecretKey | PublicKey,
    *,
    largest: float | None = None,
    log2_scale: int | None = None,
    scheme: Scheme = CKKS,
    places: Places | None = None,
    xof: Xof = "chacha20",
    counter: int | None = None,
) -> Ciphertext:
    """Encrypt values as a device does; Ciphertext.to_frames returns its frames, after a declaration of the
    values' bound.

    values: one dimension. CKKS: up to n/2 real or complex numbers, one for each slot, not rounded beforehand
    (except integers from 2^53 on, to float64). BFV: up to n integers from 0 to t - 1 or, if any is negative,
    from above -t/2 to t/2. key: the owner's secret key (half the bytes, less noise) or public key. largest:
    the declared bound on |value|, which is public: choose it independently of the values. A larger value is
    refused, and so is every result that could exceed the modulus for values up to this bound. None for the
    bound declared with the keys (Owner.generate's largest; 100 if nothing was declared). log2_scale (CKKS):
    the scale is 2^log2_scale; largest times it must be below a quarter of the modulus and 2^58. None for the
    scale that suits largest and the declared number of readings (Readings.log2_scale). Ciphertexts can be
    added only if they have the same scale. scheme: CKKS for real numbers, BFV(t) for integers. places (BFV):
    "slots", which are added and multiplied separately, or "coefficients", which are added separately; None
    for slots if t has them. xof (secret key): the function that expands the public seed; SEAL itself supports
    all but "chacha20", the fastest. counter: the reading's number, from 0 to 2^64 - 1, by which readers
    distinguish readings of one key; None for nanoseconds since 1970. Raises ParameterError or
    ValueRangeError; KeyFileError for a secret key that names no pair. Warns with a PrecisionWarning if noise
    leaves fewer than two digits of the largest number given.
    """
    instance(key, (SecretKey, PublicKey), "The key", "an owner's public_key or secret_key, or PublicKey.load")
    checked_scheme(scheme)
    bound = declared_bound(largest, key.readings, scheme)
    numbered = _Counter(counter)
    device = _core.Device(os.urandom(_DEVICE_SECRET_BYTES), os.urandom, *numbered.callables)
    frames = encrypt_on(
        device,
        values,
        key,
        largest=bound,
        log2_scale=log2_scale,
        scheme=scheme,
        places=places,
        xof=xof,
    )
    assert key.key_id is not None
    if not scheme.is_bfv:
        _warn_of_noise(values, key, replace(key.readings, largest=bound), log2_scale)
    declared = Declaration(key.parameters.id, key.key_id, numbered.used, bound).to_bytes()
    return Ciphertext.from_frames(declared + frames, key.parameters, scheme)


def _warn_of_noise(
    values: ArrayLike, key: SecretKey | PublicKey, readings: Readings, log2_scale: int | None
) -> None:
    kind: Key = "symmetric" if isinstance(key, SecretKey) else "asymmetric"
    error = readings.error(key.parameters, kind, log2_scale)
    most = float(np.abs(arguments.array(values)).max())
    if 0 < most < error * 10**_DIGITS_TO_WARN:
        warnings.warn(
            f"Noise leaves fewer than {_DIGITS_TO_WARN} digits of these numbers, each of which may be off by "
            f"{error:.2g}: declare a smaller largest value if none is beyond it (--largest; in Python, "
            "largest), or smaller sums when you make keys (--summed), or take a larger set than "
            f"{key.parameters.name}.",  # the same for all readings: Python shows it once
            PrecisionWarning,
            stacklevel=3,
        )


def declared_bound(largest: float | None, readings: Readings, scheme: Scheme) -> float:
    """Return the bound declared for a reading: the given one, or the keys', in BFV at most what integers
    modulo t can hold. Raises ParameterError."""
    most = scheme.plain_modulus - 1 if scheme.is_bfv else math.inf
    if largest is None:
        return min(readings.largest, most)
    bound = check_largest(largest)
    if bound > most:
        raise ParameterError(
            f"The largest value (--largest) is {bound:g}, and integers modulo {scheme.plain_modulus} go up "
            f"to {most}: declare no more, or take a larger plain modulus."
        )
    return bound


def encrypt_on(
    device: _core.Device,
    values: ArrayLike,
    key: SecretKey | PublicKey,
    *,
    largest: float | None = None,
    log2_scale: int | None = None,
    scheme: Scheme = CKKS,
    places: Places | None = None,
    xof: Xof = "chacha20",
) -> bytes:
    """Encrypt as encrypt does, without a declaration, on a device with its own secret and counter, which may
    tag its frames."""
    instance(key, (SecretKey, PublicKey), "The key", "an owner's public_key or secret_key, or PublicKey.load")
    checked_scheme(scheme)
    if key.key_id is None:
        raise KeyFileError("The secret key has no key id: take the one of an Owner or a KeyStore.")
    params = core_params(key.parameters)
    bound = declared_bound(largest, key.readings, scheme)
    code = choice(xof, XOFS, "xof (--xof)")
    if scheme.is_bfv:
        t = scheme.plain_modulus
        if log2_scale is not None:
            raise ParameterError("BFV's integers have no scale: leave log2_scale (--log2-scale) out.")
        if places is None:
            places = "slots" if batches(t, key.parameters.n) else "coefficients"
        where = choice(places, _PLACES, "places (--as)")
        integers = _integers(values)
        _check_within(integers, bound)
        _check_sign(integers, bound, t)
        options = (integers, t, where, 32, True, "frames", max(int(bound), 1))
        with _naming_values(integers, key.parameters, t=t):
            if isinstance(key, SecretKey):
                return device.encrypt_bfv_symmetric(params, key.packed, key.key_id, code, *options)
            return device.encrypt_bfv_asymmetric(params, key.residues.reshape(-1), key.key_id, *options)
    if places is not None:
        raise ParameterError(
            "CKKS's numbers are in slots: leave places (--as) out, or encrypt integers "
            "(--plain-modulus; in Python, scheme=BFV(t))."
        )
    scale = replace(key.readings, largest=bound).chosen_log2_scale(key.parameters, log2_scale, bound)
    _check_within(_one_dimension(values, "fiuc", "real or complex numbers"), bound)
    numbers, exponent, is_complex = _numbers(values)
    reals = (numbers, scale, _PRECISION, is_complex, exponent, "frames", float32_above(bound))
    with _naming_values(arguments.array(values), key.parameters, scale=scale):
        if isinstance(key, SecretKey):
            return device.encrypt_symmetric(params, key.packed, key.key_id, code, *reals)
        return device.encrypt_asymmetric(params, key.residues.reshape(-1), key.key_id, *reals)


def _check_sign(integers: NDArray[Any], largest: float, plain_modulus: int) -> None:
    """Raises ValueRangeError for a negative integer whose declared bound leaves it another reading."""
    negative = integers < 0
    if 2 * largest >= plain_modulus and negative.any():
        place = int(np.argmax(negative))
        raise of_status(
            "CM_ERR_VALUE_RANGE",
            f"{integers[place]} (number {place + 1}) is negative, and with a largest value of "
            f"{largest:,.15g} modulo {plain_modulus} it could not be told from a large one: declare less "
            "than half of that modulus (--largest; in Python, largest), or take a larger one.",
        )


def _check_within(values: NDArray[Any], largest: float) -> None:
    """Raises ValueRangeError if a value exceeds the declared bound; the library refuses values that are not
    finite."""
    magnitudes = np.abs(values.astype(np.complex128 if values.dtype.kind == "c" else np.float64))
    beyond = np.isfinite(magnitudes) & (magnitudes > largest)
    if beyond.any():
        place = int(np.argmax(beyond))
        raise of_status(
            "CM_ERR_VALUE_RANGE",
            f"{values[place]} (number {place + 1}) is beyond the declared largest value, {largest:g}: "
            "declare a larger one (--largest; in Python, largest), or check where it comes from.",
        )


@contextlib.contextmanager
def _naming_values(
    values: NDArray[Any], parameters: ParameterSet, *, scale: int = 0, t: int = 0
) -> Iterator[None]:
    """Turn the library's refusal of a value into an error with the value, its place and the limit."""
    try:
        yield
    except Error as error:
        sentence = _about_values(str(error.status), values, parameters, scale, t)
        if sentence is None:
            raise
        raise of_status(str(error.status), sentence) from None


def _about_values(
    status: str, values: NDArray[Any], parameters: ParameterSet, scale: int, t: int
) -> str | None:
    """Return a sentence for a status about BFV's integers modulo t or CKKS's numbers at a scale, or None."""
    if status == "CM_ERR_PLAIN_MODULUS":
        return (
            f"The plain modulus {t} has no slots at n = {parameters.n}, or leaves no room for noise: take a "
            f"smaller one, for slots a prime that is 1 modulo {2 * parameters.n} (`ciphermote advise`)."
        )
    if status == "CM_ERR_TOO_MANY":
        room = f"{parameters.n} integers" if t else f"{parameters.slots} numbers"
        return (
            f"{count_of(len(values), 'number')} are given, and a ciphertext of {parameters.name} holds "
            f"{room}: send the rest in another one, or take a larger set."
        )
    if status == "CM_ERR_NOT_FINITE":
        place = int(np.argmin(np.isfinite(values)))
        return f"Number {place + 1} is {values[place]}, which cannot be encrypted: check where it comes from."
    if status not in ("CM_ERR_VALUE_RANGE", "CM_ERR_SCALE"):
        return None
    if t:
        signed = bool((values < 0).any())
        place = int(np.argmax(np.abs(values.astype(np.int64)) if signed else values))
        limit = (
            f"half the plain modulus {t}, as integers with a sign are" if signed else f"the plain modulus {t}"
        )
        return (
            f"{values[place]} (number {place + 1}) is not below {limit}: take a larger modulus "
            "(`ciphermote advise`), or smaller integers."
        )
    place = int(np.argmax(np.maximum(np.abs(values.real), np.abs(values.imag))))
    bits = min(_MESSAGE_BITS, parameters.data_modulus.bit_length() - 3)
    return (
        f"{values[place]} (number {place + 1}) times the scale 2^{scale} is not below 2^{bits}, the room in "
        f"{parameters.name}: take a smaller scale (--log2-scale), or values in a larger unit."
    )


class _Counter:
    """The counter of one encryption, in memory."""

    _lock = threading.Lock()
    _latest = -1

    def __init__(self, value: int | None) -> None:
        self._value = self._next() if value is None else whole(value, "counter", 0, 2**64 - 1, "2^64 - 1")
        self.used = self._value
        """The number of the reading."""

    @classmethod
    def _next(cls) -> int:
        """Return the clock's time, made different from every earlier number of this process."""
        with cls._lock:
            cls._latest = max(cls._latest + 1, time.time_ns())
            return cls._latest

    @property
    def callables(self) -> tuple[Any, Any]:
        return (lambda: self._value), self._store

    def _store(self, value: int) -> None:
        self._value = value


def _one_dimension(values: ArrayLike, kinds: str, what: str) -> NDArray[Any]:
    found = arguments.array(values, ValueRangeError)
    if found.ndim != 1:
        raise ValueRangeError(
            f"The values are of shape {list(found.shape)}: give an array of one dimension, a number for each "
            "slot."
        )
    if found.size == 0:
        raise ValueRangeError("There are no values: give at least one.")
    if found.dtype.kind not in kinds:
        raise ValueRangeError(f"The values are of type {found.dtype}: give {what}.")
    return found


def _numbers(values: ArrayLike) -> tuple[NDArray[Any], int, bool]:
    """Return (float32, int32 or int64 [count], with complex ones as pairs; the exponent of the unit of
    integers; whether they are complex).

    Exact, except for parts below 2^-53 of the largest number, or 2^-128.
    """
    given = _one_dimension(values, "fiuc", "real or complex numbers")
    is_complex = given.dtype.kind == "c"
    if is_complex:
        given = np.ascontiguousarray(given, dtype=np.complex128).view(np.float64)
    if given.dtype.kind in "iu" and np.abs(given.astype(np.float64)).max() < 2**31:
        return np.ascontiguousarray(given, dtype=np.int32), 0, False
    if given.dtype in (np.float16, np.float32) or not np.isfinite(given).all():
        return np.ascontiguousarray(given, dtype=np.float32), 0, is_complex
    reals = given.astype(np.float64)
    _, bits = np.frexp(np.abs(reals).max())
    if bits > _LARGEST_LOG2:
        raise ValueRangeError("A value is too large for any scale and modulus: give values in a larger unit.")
    exponent = max(int(bits) - _FLOAT64_BITS, -128)
    return np.rint(np.ldexp(reals, -exponent)).astype(np.int64), exponent, is_complex


def _integers(values: ArrayLike) -> NDArray[Any]:
    """Return the integers as int32 or uint32 [count]."""
    given = _one_dimension(values, "iu", "integers, which are what BFV encrypts")
    low, high = int(given.min()), int(given.max())
    kind = np.int32 if low < 0 else np.uint32
    limits = np.iinfo(kind)
    if low < limits.min or high > limits.max:
        raise ValueRangeError("An integer has more than 32 bits, as no plain modulus has: give smaller ones.")
    return np.ascontiguousarray(given, dtype=kind)
