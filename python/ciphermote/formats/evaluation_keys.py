# SPDX-License-Identifier: Apache-2.0
"""Evaluation keys as bytes: in SEAL's format for sets whose keys SEAL supports, and seeded otherwise."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import cast

from ciphermote.base.errors import ParameterError
from ciphermote.formats import seal as sb
from ciphermote.formats import seeded_keys
from ciphermote.formats.seeded_keys import KeyKind, SeededKey, SeededKeys
from ciphermote.parameters import ParameterSet, Scheme

EvaluationKey = sb.KeySwitchKey | SeededKey
"""A relinearization key in SEAL's form, or seeded for sets whose keys SEAL does not support."""


def write_relin(parameters: ParameterSet, key: EvaluationKey, key_id: int) -> bytes:
    if isinstance(key, SeededKey):
        return seeded_keys.write(SeededKeys(parameters, KeyKind.RELINEARIZATION, key_id, {0: key}))
    return sb.write_relin_keys(sb.SealRelinKeys(parameters, key, key_id=key_id))


def write_galois(parameters: ParameterSet, keys: Mapping[int, EvaluationKey], key_id: int) -> bytes:
    """Write Galois keys as bytes. All have the one kind that make_galois_key makes for the set."""
    if seal_has_keys(parameters):
        seal = cast(dict[int, sb.KeySwitchKey], dict(keys))
        return sb.write_galois_keys(sb.SealGaloisKeys(parameters, seal, key_id=key_id))
    seeded = cast(Mapping[int, SeededKey], keys)
    return seeded_keys.write(SeededKeys(parameters, KeyKind.GALOIS, key_id, seeded))


def read_galois(data: bytes, parameters: ParameterSet) -> Mapping[int, EvaluationKey]:
    """Read Galois keys by their Galois elements. Raises FrameError or MismatchError."""
    if seal_has_keys(parameters):
        return sb.read_galois_keys(data, parameters).keys
    return seeded_keys.read(data, parameters, KeyKind.GALOIS).keys


def seal_has_keys(parameters: ParameterSet) -> bool:
    """Whether SEAL supports the set's keys: SEAL's key switching has one special prime, and digits of one
    prime."""
    return not parameters.further_special and parameters.digit_primes == 1


def _key_for_bfv(key: sb.KeySwitchKey, scheme: Scheme) -> sb.KeySwitchKey:
    return tuple(replace(part, scheme=scheme) for part in key)


def relin_keys_for_bfv(data: bytes, parameters: ParameterSet, scheme: Scheme) -> bytes:
    """Convert a relinearization key as galois_keys_for_bfv does."""
    found = sb.read_relin_keys(data, parameters)
    key = _key_for_bfv(found.key, scheme)
    return sb.write_relin_keys(sb.SealRelinKeys(parameters, key, scheme, found.key_id))


def galois_keys_for_bfv(data: bytes, parameters: ParameterSet, scheme: Scheme) -> bytes:
    """Convert SEAL's bytes of Galois keys made for CKKS to this BFV scheme: the same key-switch keys, which
    do not depend on the scheme, under the scheme's parms_id. Raises FrameError if data holds none."""
    found = sb.read_galois_keys(data, parameters)
    keys = {element: _key_for_bfv(key, scheme) for element, key in found.keys.items()}
    return sb.write_galois_keys(sb.SealGaloisKeys(parameters, keys, scheme, found.key_id))


def conjugation_element(n: int) -> int:
    """The Galois element that conjugates every slot."""
    return 2 * n - 1


def galois_elements(parameters: ParameterSet, steps: Iterable[int], *, conjugation: bool) -> tuple[int, ...]:
    slots = parameters.slots
    elements = set()
    for step in steps:
        if not -slots < step < slots or step == 0:
            raise ParameterError(
                f"{parameters.name} has no rotation by {step}: give steps from 1 to {slots - 1}, or "
                "negative for the other way."
            )
        elements.add(sb.galois_element(parameters.n, step))
    if conjugation:
        elements.add(conjugation_element(parameters.n))
    if len(elements) > sb.MAX_GALOIS_KEYS:
        raise ParameterError(
            f"{len(elements)} Galois keys are asked for and a store holds {sb.MAX_GALOIS_KEYS}: make those "
            "the computation needs, for a rotation can be made of several."
        )
    return tuple(sorted(elements))
