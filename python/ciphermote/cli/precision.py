# SPDX-License-Identifier: Apache-2.0
"""Tell owners the precision that their readings will have."""

from __future__ import annotations

import math

from ciphermote.cli.console import note, say
from ciphermote.owner.key_store import KeyPair
from ciphermote.parameters import CKKS, ParameterSet
from ciphermote.parameters.bounds import Readings, room
from ciphermote.parameters.noise import Key

WANTED_DIGITS = 3
_KEYS: tuple[tuple[Key, str], ...] = (("asymmetric", "public"), ("symmetric", "secret"))


def say_precision(keys: KeyPair, log2_scale: int | None = None) -> None:
    """Print the room for sums, and the errors of a reading and of a mean, for either key.

    log2_scale: the readings' scale; None for the one that suits the readings that the keys declare.
    """
    parameters, readings = keys.parameters, keys.readings
    scale = readings.log2_scale(parameters) if log2_scale is None else log2_scale
    most = room(parameters, len(parameters.data_primes), 2.0**scale, CKKS) / readings.largest
    say(
        f"Readings of up to {readings.largest:g} in magnitude, at scale 2^{scale}: sums of up to "
        f"{math.floor(most):,} of them have room in CKKS."
    )
    for key, name in _KEYS:
        error = readings.error(parameters, key, scale)
        mean = readings.error(parameters, key, scale, readings.summed)
        say(
            f"Under the {name} key one reading is right within {error:.2g}, and a mean of "
            f"{readings.summed:,} within {mean:.2g}."
        )
    _note_other_set(parameters, readings, scale)


def _note_other_set(parameters: ParameterSet, readings: Readings, scale: int) -> None:
    if readings.digits(parameters, "asymmetric", scale) >= WANTED_DIGITS:
        return
    other = readings.smallest_set(parameters, "asymmetric")
    advice = "declare smaller sums (--summed)" if other is None else f"{other.name} leaves them (--params)"
    note(
        f"noise under the public key leaves fewer than {WANTED_DIGITS} digits of such readings in "
        f"{parameters.name}: {advice}."
    )
