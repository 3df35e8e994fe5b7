# SPDX-License-Identifier: Apache-2.0
"""Evaluation keys as bytes: SEAL's where SEAL has such keys, and seeded ones where it has none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from ciphermote import seal_bytes as sb
from ciphermote import seeded_keys
from ciphermote.keys.making import EvaluationKey, seal_has_keys
from ciphermote.parameters import ParameterSet
from ciphermote.seeded_keys import KeyKind, SeededKey, SeededKeys


def write_relin(parameters: ParameterSet, key: EvaluationKey, key_id: int) -> bytes:
    if isinstance(key, SeededKey):
        return seeded_keys.write(SeededKeys(parameters, KeyKind.RELINEARIZATION, key_id, {0: key}))
    return sb.write_relin_keys(sb.SealRelinKeys(parameters, key, key_id=key_id))


def write_galois(parameters: ParameterSet, keys: Mapping[int, EvaluationKey], key_id: int) -> bytes:
    """Of one kind all, as make_galois_key gives them for the set."""
    if seal_has_keys(parameters):
        seal = cast(dict[int, sb.KeySwitchKey], dict(keys))
        return sb.write_galois_keys(sb.SealGaloisKeys(parameters, seal, key_id=key_id))
    seeded = cast(Mapping[int, SeededKey], keys)
    return seeded_keys.write(SeededKeys(parameters, KeyKind.GALOIS, key_id, seeded))


def read_galois(data: bytes, parameters: ParameterSet) -> Mapping[int, EvaluationKey]:
    """By Galois element. FrameError, MismatchError."""
    if seal_has_keys(parameters):
        return sb.read_galois_keys(data, parameters).keys
    return seeded_keys.read(data, parameters, KeyKind.GALOIS).keys
