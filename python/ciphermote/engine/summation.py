# SPDX-License-Identifier: Apache-2.0
"""Sums of many ciphertexts, in this process: each is checked and added when it comes, and its seed is
expanded into the sum alone, so memory does not grow with their number. No key is needed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ciphermote import _evaluator as native
from ciphermote import seal_bytes
from ciphermote.bounds import KnownSum, check_digits, check_room
from ciphermote.ciphertexts import Bytes, are_frames, set_of
from ciphermote.engine.keyed import check_addable
from ciphermote.errors import EngineError, MismatchError, about
from ciphermote.hosted import context_of
from ciphermote.labels import check_key, describe_scheme
from ciphermote.parameters import ParameterSet
from ciphermote.seal_bytes import SealCiphertext, scheme_options
from ciphermote.words import count_of, scale_name


@dataclass(frozen=True)
class Summand:
    """A checked ciphertext. seed: its XOF, numbered as on the wire, and the seed, in place of the second
    polynomial; None if both are there."""

    ciphertext: SealCiphertext
    seed: tuple[int, bytes] | None

    @classmethod
    def of(cls, ciphertext: SealCiphertext) -> Summand:
        return cls(ciphertext, ciphertext.seed)


def summand_name(place: int, names: Sequence[object] = ()) -> object:
    """For errors."""
    return names[place] if names else f"Ciphertext {place + 1} of the sum"


def add_up(
    ciphertexts: Iterable[Bytes],
    parameters: ParameterSet,
    plain_modulus: int = 0,
    *,
    bare: bool = False,
    mean: bool = False,
    bound: float | None = None,
    names: Sequence[object] = (),
) -> bytes:
    """The sum of one or more ciphertexts of equal key, content, scale and level, or their mean, in SEAL's
    bytes with a label. Each is SEAL's bytes, or the frames of one ciphertext.

    plain_modulus: BFV's t; 0: CKKS. bare: take bytes of an unknown key too. bound: the largest |value| of any
    of them, which the caller vouches for; None: as each declares. names: as Engine.add's. ValueRangeError if
    the sum may outgrow the modulus; FrameError, MismatchError, EngineError.
    """
    if mean and plain_modulus:
        raise EngineError(
            "BFV computes with integers and has no means: take the sum, and divide what is decrypted."
        )

    def read(data: Bytes) -> Summand:
        if are_frames(data):
            return _read_frames(data, parameters, plain_modulus)
        found = seal_bytes.read_ciphertext(data, parameters, **scheme_options(plain_modulus))
        check_key("the ciphertext", found.key_id, "the sum", found.key_id, bare=bare)
        return Summand.of(found)

    total, count = summed(ciphertexts, read, names, bound=bound)
    check_digits(f"The sum of {count_of(count, 'ciphertext')}", total.known, parameters)
    return seal_bytes.write_ciphertext(_mean(total, count) if mean else total)


def summed(
    ciphertexts: Iterable[Bytes],
    read: Callable[[Bytes], Summand],
    names: Sequence[object] = (),
    *,
    bound: float | None = None,
    known: KnownSum | None = None,
) -> tuple[SealCiphertext, int]:
    """The sum, of the first one's key, and how many it is of. bound: as add_up's. known: takes what is known
    of each. The errors of read; MismatchError, EngineError; ValueRangeError once the sum may outgrow the
    modulus."""
    first: SealCiphertext | None = None
    total: native.Sum | None = None
    known = KnownSum() if known is None else known
    for place, data in enumerate(ciphertexts):
        with about(summand_name(place, names)):
            summand = read(data)
            if first is None or total is None:
                first = replace(summand.ciphertext, residues=np.empty(0, np.uint32), seed=None)
                total = native.Sum(context_of(first.parms))
            check_addable(summand.ciphertext, first)
        known.add(summand.ciphertext.known.bounded(bound))
        check_sum(known, first)
        _add(total, summand)
    if first is None or total is None:
        raise EngineError("A sum of no ciphertexts was asked for: give at least one.")
    found = total.total()
    residues = found.residues() if first.ntt_form else found.coefficients()
    return replace(first, residues=residues, model_id=None, known=known.known), total.count


def check_sum(known: KnownSum, first: SealCiphertext) -> None:
    """ValueRangeError if a sum so far may outgrow the modulus of its ciphertexts."""
    what = f"The sum of {count_of(known.count, 'ciphertext')}"
    check_room(what, known.largest, first.parms, first.primes, first.scale, first.plain_modulus)


def _read_frames(data: Bytes, parameters: ParameterSet, plain_modulus: int) -> Summand:
    frames = set_of(data, parameters)
    head = frames.header
    if head.plain_modulus != plain_modulus:
        wanted = scheme_options(plain_modulus)
        raise MismatchError(
            f"The ciphertext is {describe_scheme(head.scheme, head.plain_modulus)}'s, and the sum "
            f"{describe_scheme(**wanted)}'s: add up ciphertexts of one scheme and plain modulus."
        )
    return Summand(frames.unexpanded(), None if frames.seed is None else (head.xof, frames.seed))


def _mean(total: SealCiphertext, count: int) -> SealCiphertext:
    scale = total.scale * count
    modulus = math.prod(total.parms.primes[: total.primes])
    if scale >= min(modulus, seal_bytes.MAX_SCALE):
        raise EngineError(
            f"The mean of {count} would have the scale {scale_name(scale)}, which a modulus of "
            f"{modulus.bit_length()} bits has no room for: encrypt at a smaller scale."
        )
    return replace(total, scale=scale, known=total.known.times(1 / count))


def _add(total: native.Sum, summand: Summand) -> None:
    ciphertext = summand.ciphertext
    form = native.Form.values if ciphertext.ntt_form else native.Form.coefficients
    residues = np.ascontiguousarray(ciphertext.residues, dtype=np.uint32)
    if summand.seed is None:
        total.add_residues(residues, ciphertext.scale, form)
    else:
        total.add_seeded(*summand.seed, residues[0], ciphertext.scale, form)
