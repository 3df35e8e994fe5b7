# SPDX-License-Identifier: Apache-2.0
"""Decrypt to arrays: frames or ciphertexts, of either scheme, with the secret key."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ciphermote import bfv, ckks
from ciphermote.arguments import flag, instance
from ciphermote.bfv import Places
from ciphermote.bounds import UNKNOWN, check_digits
from ciphermote.ciphertexts import Bytes, as_seal, check_bytes, modulus_of
from ciphermote.errors import ParameterError
from ciphermote.keys import SecretKey
from ciphermote.labels import detach

Numbers = NDArray[np.float64] | NDArray[np.complex128] | NDArray[np.int64]


def decrypt(
    data: Bytes,
    key: SecretKey,
    *,
    complex_slots: bool = False,
    places: Places | None = None,
    signed: bool = False,
    plain_modulus: int = 0,
    bare: bool = False,
) -> Numbers:
    """The numbers in a ciphertext: frames as a device sends them, or what compute, an engine or SEAL made.

    CKKS: float64 [n/2], the slots' real parts, or with complex_slots complex128 [n/2]. Where something that
    went into the ciphertext declared no bound, values that outgrew the modulus on the way have wrapped around
    unnoticed. ValueRangeError if the noise that is expected leaves nothing of the values.
    BFV: int64 [n], from 0 to t - 1, or with signed from above -t/2 to t/2; places: "slots" or "coefficients",
    as the sender encrypted, which no ciphertext tells; None: where t leaves no choice.
    plain_modulus: BFV's t, needed only for ciphertexts that do not say it themselves: those without a label.
    bare: take such ciphertexts, whose key nothing names.
    FrameError if data is no ciphertext; MismatchError if it is of another key or decrypts to noise, of which
    nobody but the owner may learn; ParameterError for options of the other scheme.
    """
    instance(key, SecretKey, "The key", "an owner's secret_key")
    check_bytes(data, "The data")
    complex_slots = flag(complex_slots, "complex_slots (--complex)")
    signed = flag(signed, "signed (--signed)")
    bare = flag(bare, "bare (--bare)")
    plain_modulus = modulus_of(data, key.parameters, plain_modulus)
    seal = as_seal(data, key.parameters)
    _, label = detach(seal)
    known = UNKNOWN if label is None else label.known
    check_digits("The ciphertext", known, key.parameters)
    if not plain_modulus:
        if places is not None or signed:
            raise ParameterError("The ciphertext is of CKKS: leave places and signed (--as, --signed) out.")
        real = ckks.decrypt(seal, key, bare=bare)
        return real.complex_slots() if complex_slots else real.slots()
    if complex_slots:
        raise ParameterError("The ciphertext is of BFV, integers: leave complex_slots (--complex) out.")
    if signed and known.largest is not None and known.largest > plain_modulus // 2:
        raise ParameterError(
            f"The integers may reach {known.largest:,.15g} either way, and those with a sign go up to "
            f"{plain_modulus // 2:,} modulo {plain_modulus}: leave signed (--signed) out, or encrypt with a "
            "larger plain modulus."
        )
    return bfv.decrypt(seal, key, plain_modulus, bare=bare).integers(places, signed=signed)
