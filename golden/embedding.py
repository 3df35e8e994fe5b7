# SPDX-License-Identifier: Apache-2.0
"""CKKS's canonical embedding in double precision, with which SEAL encodes and decodes; devices' encoders are
compared with it.

Slot j of a polynomial m is m(zeta^(3^j)) / scale with zeta = exp(i pi / n), SEAL's order.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import ArrayLike, NDArray


@cache
def _slot_positions(n: int) -> NDArray[np.int64]:
    """Return k for each slot, int64 [n/2]: slot j is at the odd power 2 k + 1 = 3^j mod 2n of zeta."""
    return np.array([(pow(3, j, 2 * n) - 1) // 2 for j in range(n // 2)])


@cache
def _twist(n: int) -> NDArray[np.complex128]:
    twist: NDArray[np.complex128] = np.exp(1j * np.pi * np.arange(n) / n)
    return twist


def decode(coefficients: ArrayLike, scale: float) -> NDArray[np.complex128]:
    """Return the slots of a polynomial of n real coefficients, divided by scale: complex128 [n/2]."""
    c = np.asarray(coefficients, dtype=np.float64)
    values = np.fft.ifft(c / scale * _twist(len(c)), norm="forward")
    return values[_slot_positions(len(c))]


def encode(values: ArrayLike, scale: float, n: int) -> NDArray[np.int64]:
    """Encode up to n/2 real or complex slots, the rest zeros: round(scale * inverse embedding), int64 [n]."""
    given = np.asarray(values)
    slots = np.zeros(n // 2, dtype=np.complex128)
    slots[: len(given)] = given
    spectrum = np.zeros(n, dtype=np.complex128)
    spectrum[_slot_positions(n)] = slots
    spectrum[n - 1 - _slot_positions(n)] = slots.conj()
    coefficients = (np.fft.fft(spectrum, norm="forward") / _twist(n)).real * scale
    if not np.abs(coefficients).max() < 2.0**62:
        raise ValueError("a value times the scale is not below 2^62")
    return np.rint(coefficients).astype(np.int64)
