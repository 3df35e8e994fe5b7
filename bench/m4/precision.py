# SPDX-License-Identifier: Apache-2.0
"""Measure the precision of decrypted values by key and scale; it is the same on every device, so it is
computed here."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from ciphermote import _core
from ciphermote.owner.decryption import decrypt
from ciphermote.owner.keys import SecretKey
from ciphermote.parameters import by_name
from ciphermote.parameters.native import core_params
from configurations import KINDS
from keys import KEY_ID, SECRET_SEED, public_key
from measure import COUNTED
from numpy.typing import NDArray

from bench.rows import Row

PARAMETERS = by_name("n4096_q26x3_p27")
CIPHERTEXTS = 8
_SHAKE256 = 2  # SEAL expands it, so that what is encrypted is a whole ciphertext


@dataclass(frozen=True)
class Choice:
    """precision: the encoder's bits. largest: values are spread over +- this, exclusive."""

    precision: int
    log2_scale: int
    largest: float


CHOICES = (
    *(Choice(31, 24, 32), Choice(31, 25, 16), Choice(31, 28, 2)),
    *(Choice(63, 32, 2**16), Choice(63, 40, 2**16)),
)
"""At each scale of 31 bits, the largest values that it holds."""


def rows() -> Iterator[Row]:
    """precision.<key>.<bits>.<log2 of the scale>.bits: -log2 of the error's root mean square."""
    for kind in KINDS:
        for choice in CHOICES:
            errors = _errors(kind, choice)
            rms = float(np.sqrt(np.mean(errors**2)))
            yield Row(
                f"precision.{kind}.fixed_{choice.precision}.scale_{choice.log2_scale}.bits",
                round(-np.log2(rms), 1),
                "bits",
                {
                    **COUNTED,
                    "parameters": PARAMETERS.name,
                    "values_below": choice.largest,
                    "values": errors.size,
                    "rms": float(f"{rms:.2g}"),
                    "largest_error": float(f"{np.abs(errors).max():.2g}"),
                },
                better="more",
            )


def _errors(kind: str, choice: Choice) -> NDArray[np.float64]:
    """The error of every value in some ciphertexts, from fixed seeds."""
    params = core_params(PARAMETERS)
    ternary = _core.secret_key_generate(params, SECRET_SEED)
    secret = SecretKey(PARAMETERS, ternary, KEY_ID)
    rng = np.random.default_rng(1)
    counters = [0]
    device = _core.Device(SECRET_SEED, rng.bytes, lambda: counters[-1], counters.append)
    found = []
    for _ in range(CIPHERTEXTS):
        values = rng.uniform(-choice.largest, choice.largest, PARAMETERS.n // 2).astype(np.float32)
        how = (KEY_ID, values, choice.log2_scale, choice.precision, False, 0, "seal")
        if kind == "symmetric":
            data = device.encrypt_symmetric(params, ternary, KEY_ID, _SHAKE256, *how[1:])
        else:
            data = device.encrypt_asymmetric(params, public_key(PARAMETERS, ternary).reshape(-1), *how)
        found.append(decrypt(data, secret, bare=True) - values)
    return np.concatenate(found)
