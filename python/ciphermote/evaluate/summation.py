# SPDX-License-Identifier: Apache-2.0
"""Sums of many ciphertexts: each is read, checked and added as it arrives, so that memory does not grow with
their number. No key is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from ciphermote import _evaluator as native
from ciphermote.base.arguments import Bytes, stream
from ciphermote.base.errors import EngineError, Error, about
from ciphermote.base.words import count_of, scale_name
from ciphermote.ciphertext import Ciphertext
from ciphermote.evaluate.keyed_engine import check_addable
from ciphermote.formats.seal import MAX_SCALE
from ciphermote.parameters import CKKS
from ciphermote.parameters.bounds import KnownSum, check_digits, check_room
from ciphermote.parameters.native import context_of

NONE_GIVEN = "A sum of no ciphertexts was asked for: give at least one."
Read = Callable[[Bytes | Ciphertext], Ciphertext]


def summand_name(place: int) -> str:
    """Name an unnamed ciphertext in errors."""
    return f"Ciphertext {place + 1} of the sum"


class Summands:
    """Reads the ciphertexts of a sum, and checks that they can be added and that the modulus has room for
    their sum.

    read: turns each into a Ciphertext. names: the ciphertexts' names in errors, such as their files'. bound:
    the largest |value| of any of them, for which the caller vouches (Known.assumed); None for the bound that
    each declares.
    distinct: the caller vouches that no encryption is in two of them (KnownSum).
    """

    def __init__(
        self, read: Read, names: Sequence[object] = (), *, bound: float | None = None, distinct: bool = False
    ) -> None:
        self._read, self._names, self._bound = read, names, bound
        self._known = KnownSum(distinct=distinct)
        self._first: Ciphertext | None = None
        self._form: object = None
        self._limit = 0.0

    def next(self, data: Bytes | Ciphertext) -> Ciphertext:
        """Read and check the next ciphertext. Raises the errors of read, MismatchError, EngineError, or
        ValueRangeError once the sum may exceed the modulus."""
        place = self._known.count
        try:
            found = self._read(data)
            first = self._first
            form = found.key_id, found.model_id, found.scale, found.primes
            if first is None:
                self._first, self._form, self._limit = found, form, found.bound
            elif form != self._form:
                check_addable(found, first)
        except Error:
            with about(self._names[place] if self._names else summand_name(place)):
                raise
        known = self._known
        known.add(found.known.bounded(self._bound))
        if known.largest is not None and known.largest > self._limit:
            what = f"The sum of {count_of(known.count, 'ciphertext')}"
            of = found.parameters, found.primes, found.scale, found.scheme
            check_room(what, known.largest, *of)
        return found

    def result(self, content: native.Ciphertext) -> Ciphertext:
        """Return the sum, whose content the back-end computed. Raises ValueRangeError if noise leaves no
        digit of it."""
        first, known = self._first, self._known.known
        if first is None:
            raise EngineError(NONE_GIVEN)
        check_digits(f"The sum of {count_of(self._known.count, 'ciphertext')}", known, first.parameters)
        return Ciphertext(first.parameters, first.scheme, first.key_id, content, known)


def add_up(
    ciphertexts: Iterable[Bytes | Ciphertext],
    read: Read,
    names: Sequence[object] = (),
    *,
    mean: bool = False,
    bound: float | None = None,
    distinct: bool = False,
) -> Ciphertext:
    """Add up or average one or more ciphertexts with Ciphermote's own evaluator. The other arguments and the
    errors are those of Summands."""
    summands = Summands(read, names, bound=bound, distinct=distinct)
    total: native.Sum | None = None
    for data in stream(ciphertexts, "ciphertexts", "a list of ciphertexts"):
        given = summands.next(data)
        if total is None:
            total = native.Sum(context_of(given.parameters, given.scheme))
        total.add(given.hosted)
    if total is None:
        raise EngineError(NONE_GIVEN)
    found = summands.result(total.total())
    return _mean(found, total) if mean else found


def _mean(found: Ciphertext, total: native.Sum) -> Ciphertext:
    if found.scheme.is_bfv:
        raise EngineError(
            "BFV computes with integers and has no means: take the sum, and divide what is decrypted."
        )
    scale = found.scale * total.count
    modulus = found.parameters.moduli[found.primes]
    if scale >= min(modulus, MAX_SCALE):
        raise EngineError(
            f"The mean of {total.count} would have the scale {scale_name(scale)}, which a modulus of "
            f"{modulus.bit_length()} bits has no room for: encrypt at a smaller scale."
        )
    known = found.known.times(1 / total.count)
    return Ciphertext(found.parameters, CKKS, found.key_id, total.mean(), known)
