# SPDX-License-Identifier: Apache-2.0
"""The evaluator for arrays: ciphertexts as objects, computed on by Ciphermote's own native code.

    >>> owner = ciphermote.Owner.generate(rotations=[1])
    >>> evaluator = ciphermote.Evaluator(owner.evaluation_keys)
    >>> x = evaluator.load(ciphermote.encrypt([0.5, -1.25, 2.0], owner.public_key, largest=2))
    >>> y = evaluator.rescale(evaluator.multiply(x, x)) + 1
    >>> print(owner.decrypt(bytes(y))[:3].round(2))
    [1.25 2.56 5.  ]
    >>> print(owner.decrypt(bytes(evaluator.rotate(x, 1) - x))[:2].round(2))
    [-1.75  3.25]

It holds no secret. Methods release the interpreter's lock while they compute, and may run in several threads.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ciphermote import _evaluator as native
from ciphermote.arguments import array, instance, stream, whole
from ciphermote.bounds import UNKNOWN, Known, KnownSum, check_room, room, terms_of_product
from ciphermote.ciphertexts import Bytes, as_seal, check_bytes
from ciphermote.computation import EvaluationKeys
from ciphermote.engine.native import NativeEngine, expanded, opened, saved
from ciphermote.errors import EngineError, MismatchError, ParameterError
from ciphermote.hosted import context_of
from ciphermote.labels import check_key
from ciphermote.parameters import ParameterSet, batches
from ciphermote.polynomial_noise import evaluation_noise
from ciphermote.rekeying import read_rekey_key
from ciphermote.seal_bytes import Scheme, SealCiphertext, read_ciphertext
from ciphermote.uncertainty import Uncertainty
from ciphermote.words import count_of

_T = TypeVar("_T")
_A_SET = "a ParameterSet (ciphermote.parameters.by_name, Owner.parameters)"


class Ciphertext:
    """A ciphertext that computes: sums of two, and sums and products with numbers in the clear, need no key.

    x + y, x - y, -x; x + 2.5, x - [1, 2], 3 * x. Numbers are a single one, for all slots, or at most as many
    as there are slots. Of two ciphertexts at different levels the one with more primes is brought to the
    other's. CKKS: a product with an int keeps the scale. One with anything else multiplies it by the last
    prime, and rescale brings it back; match brings a ciphertext to the scale and level of another. Every
    operation works out the largest |value| of its result, and refuses one that its modulus may not hold.
    BFV, where t has no slots: a product is of the polynomials modulo X^n + 1, or of one and an int; a number
    cannot be added.

    bytes(x) gives SEAL's bytes with a label, which decrypt takes. Pickles as those bytes.
    ValueRangeError if values may outgrow the modulus; EngineError if scales, parameters or schemes differ;
    MismatchError for two keys.
    """

    __slots__ = ("_key_id", "_known", "_native", "parameters", "plain_modulus")

    def __init__(
        self,
        parameters: ParameterSet,
        plain_modulus: int,
        key_id: int | None,
        content: native.Ciphertext,
        known: Known = UNKNOWN,
    ) -> None:
        """Evaluator.load makes them."""
        self.parameters = parameters
        self.plain_modulus = plain_modulus
        self._key_id = key_id
        self._native = content
        self._known = known

    @classmethod
    def from_bytes(cls, data: Bytes, parameters: ParameterSet, plain_modulus: int = 0) -> Ciphertext:
        """From frames, or SEAL's bytes. FrameError."""
        check_bytes(data, "The input")
        instance(parameters, ParameterSet, "parameters", _A_SET)
        seal = as_seal(data, parameters)
        scheme = Scheme.BFV if plain_modulus else Scheme.CKKS
        found = read_ciphertext(seal, parameters, sizes=(2, 3), scheme=scheme, plain_modulus=plain_modulus)
        return cls._of(found)

    @classmethod
    def _of(cls, found: SealCiphertext) -> Ciphertext:
        content = opened(found, context_of(found.parms, found.plain_modulus))
        return cls(found.parms, found.plain_modulus, found.key_id, content, found.known)

    def __bytes__(self) -> bytes:
        return saved(
            self._native, self.parameters, self.plain_modulus, key_id=self._key_id, known=self._known
        )

    def __reduce__(self) -> tuple[Callable[..., Ciphertext], tuple[Any, ...]]:
        return Ciphertext.from_bytes, (bytes(self), self.parameters, self.plain_modulus)

    @property
    def scale(self) -> float:
        """CKKS's; 1 for BFV."""
        return self._native.scale

    @property
    def primes(self) -> int:
        """Residues a coefficient: its level."""
        return self._native.primes

    @property
    def known(self) -> Known:
        """What is known of the values in it without decrypting it."""
        return self._known

    @property
    def largest(self) -> float | None:
        """The largest |value| that it may hold, from what was declared at encryption; None if something that
        went into it declared nothing."""
        return self._known.largest

    def without_bound(self) -> Ciphertext:
        """The same, as if nothing had been declared: for sums and products modulo t that are meant to wrap.
        Nothing refuses results that outgrow the modulus then, and they are shown without an error."""
        return self._made(self._native, UNKNOWN)

    @property
    def bound(self) -> float:
        """The largest |value| that its modulus has room for. CKKS: a quarter of the modulus, over the scale;
        BFV: t - 1."""
        return room(self.parameters, self.primes, self.scale, self.plain_modulus)

    @property
    def key_id(self) -> int | None:
        """ID of the encrypting key, or None if unknown."""
        return self._key_id

    def __repr__(self) -> str:
        of = f"modulo {self.plain_modulus}" if self.plain_modulus else f"at scale 2^{np.log2(self.scale):.4g}"
        return f"<Ciphertext of {self.parameters.name}, {of}, {count_of(self.primes, 'prime')}>"

    def match(self, other: Ciphertext) -> Ciphertext:
        """At the scale and level of the other one, so that the two can be added. CKKS: needs a prime more
        than the other has; BFV's ciphertexts match without this. EngineError."""
        instance(other, Ciphertext, "What is to be matched", "a Ciphertext (Evaluator.load)")
        if self.plain_modulus or (self.scale, self.primes) == (other.scale, other.primes):
            return self
        if self.primes <= other.primes:
            raise EngineError(
                f"A ciphertext of {count_of(self.primes, 'prime')} is to match one of {other.primes}, and "
                "that takes a prime more: compute the other one further, or match that one to this."
            )
        above = self._native
        if self.primes > other.primes + 1:
            above = native.mod_switch(above, self.primes - other.primes - 1)
        scale = other.scale * self.parameters.primes[other.primes] / self.scale
        one = native.Plaintext.constant(context_of(self.parameters), 1.0, scale, above.primes)
        self._check("The match", self._known, other.primes, other.scale)
        known = self._known.times_rounded(1.0, scale)
        if scale != self.parameters.primes[other.primes]:  # what is a multiple of the prime is not rounded
            known = self._rescaled(known, other.scale)
        return self._made(native.rescale(native.multiply_plain(above, one)), known)

    def _rescaled(self, known: Known, scale: float) -> Known:
        return known.plus_noise(Uncertainty.rescaling(self.parameters, scale))

    def _switched(self, known: Known, primes: int, scale: float) -> Known:
        """After a key switch, if the set has any. BFV's integers have no error to follow."""
        if known.error is None or not self.parameters.special_primes:
            return known
        return known.plus_noise(Uncertainty.switching(self.parameters, primes, scale))

    def _product(self, other: Ciphertext) -> Known:
        """Of the product slot by slot, relinearized; where t has no slots, of polynomials, in which n
        products add up."""
        terms = terms_of_product(self.parameters, self.plain_modulus)
        known = self._known.square() if other is self else self._known.product(other._known)
        primes, scale = min(self.primes, other.primes), self.scale * other.scale
        return self._switched(known.times(terms), primes, scale)

    def _made(self, content: native.Ciphertext, known: Known, *others: Ciphertext) -> Ciphertext:
        key_id = self._key_id if all(other._key_id is not None for other in others) else None
        return Ciphertext(self.parameters, self.plain_modulus, key_id, content, known)

    def _check(self, what: str, known: Known, primes: int, scale: float) -> None:
        """ValueRangeError if values as large as known says have no room in a result of so many primes.

        A scale that has none itself is for the evaluator to refuse, which says what to do about it.
        """
        if scale >= math.prod(self.parameters.primes[:primes]):
            return
        check_room(what, known.largest, self.parameters, primes, scale, self.plain_modulus)

    def _level_with(self, other: Ciphertext) -> tuple[native.Ciphertext, native.Ciphertext]:
        """Both at the level of the shorter one."""
        if (self.parameters, self.plain_modulus) != (other.parameters, other.plain_modulus):
            raise EngineError(
                f"{self!r} and {other!r} do not go together: take ciphertexts of one set and scheme."
            )
        check_key("the first ciphertext", self._key_id, "the second one", other._key_id, bare=True)
        primes = min(self.primes, other.primes)
        for x in (self, other):
            x._check("An operand, at the level of the other one,", x._known, primes, x.scale)
        first, second = (
            native.mod_switch(x._native, x.primes - primes) if x.primes > primes else x._native
            for x in (self, other)
        )
        return first, second

    def _plain(self, numbers: ArrayLike, scale: float) -> native.Plaintext:
        return encoded(self.parameters, self.plain_modulus, numbers, scale, self.primes)

    def _factor(self, numbers: ArrayLike) -> native.Plaintext:
        integer = isinstance(numbers, int | np.integer) and not isinstance(numbers, bool)
        scale = 1.0 if integer else self._last_prime()
        plain = self._plain(numbers, scale)
        present = plain.residues().any(axis=1)
        if not present.any():
            raise EngineError("The product would be zero in the clear: multiply by numbers other than 0.")
        if not present.all() and not self.plain_modulus:
            # A multiple of a prime would leave nothing at it, which no ciphertext may be: the next integer.
            plain = self._plain(array(numbers) + 1 / scale, scale)
        return plain

    def __add__(self, other: Ciphertext | ArrayLike) -> Ciphertext:
        if isinstance(other, Ciphertext):
            operands = self._level_with(other)
            return self._made(native.add(*operands), self._joined("The sum", other, operands), other)
        if self.plain_modulus and not batches(self.plain_modulus, self.parameters.n):
            raise EngineError(
                f"The plain modulus {self.plain_modulus} has no slots at n = {self.parameters.n}, to which "
                f"numbers are added: take a prime that is 1 modulo {2 * self.parameters.n}."
            )
        plain = self._plain(other, self.scale)
        if is_one_real(other):
            known = self._known.plus_number(float(array(other).real))
            rounding = Uncertainty.of_constant(self.scale)
        else:
            known = self._known.plus_slots(largest_of(other))
            rounding = Uncertainty.encoding(self.parameters, self.scale)
        known = known.plus_noise(rounding)
        self._check("The sum", known, self.primes, self.scale)
        return self._made(native.add_plain(self._native, plain), known)

    def _joined(
        self, what: str, other: Ciphertext, operands: tuple[native.Ciphertext, native.Ciphertext]
    ) -> Known:
        """Of the sum or difference of two that were brought to one level."""
        known = self._known.plus(other._known)
        self._check(what, known, operands[0].primes, self.scale)
        return known

    def __radd__(self, other: ArrayLike) -> Ciphertext:
        return self + other

    def __neg__(self) -> Ciphertext:
        return self._made(native.negate(self._native), self._known.times(-1))

    def __sub__(self, other: Ciphertext | ArrayLike) -> Ciphertext:
        if isinstance(other, Ciphertext):
            operands = self._level_with(other)
            known = self._joined("The difference", -other, operands)
            return self._made(native.subtract(*operands), known, other)
        return -(-self + other)  # numbers of unsigned types cannot be negated

    def __rsub__(self, other: ArrayLike) -> Ciphertext:
        return -self + other

    def __mul__(self, other: ArrayLike) -> Ciphertext:
        if isinstance(other, Ciphertext):
            raise EngineError(
                "A product of ciphertexts takes evaluation keys: use Evaluator.multiply, or square."
            )
        factor = self._factor(other)
        known = self._times(other, factor.scale)
        self._check("The product", known, self.primes, self.scale * factor.scale)
        return self._made(native.multiply_plain(self._native, factor), known)

    def _times(self, numbers: ArrayLike, scale: float) -> Known:
        """Of the product with numbers in the clear at this scale."""
        if is_one_real(numbers):
            return self._known.times_rounded(float(array(numbers).real), scale)
        known = self._known.times_slots(largest_of(numbers))
        if self.largest is None or known.error is None:
            return known
        return known.plus_noise(Uncertainty.of_weights(self.parameters, scale, self.largest))

    def __rmul__(self, other: ArrayLike) -> Ciphertext:
        return self * other

    __array_ufunc__ = None  # so that numpy leaves array * ciphertext to __rmul__

    def _last_prime(self) -> float:
        return 1.0 if self.plain_modulus else float(self.parameters.primes[self.primes - 1])


def is_one_real(numbers: ArrayLike) -> bool:
    """Whether it is one real number, for all slots."""
    given = array(numbers)
    return given.ndim == 0 and given.dtype.kind != "c"


def largest_of(numbers: ArrayLike) -> float:
    """The largest magnitude among numbers in the clear."""
    return max((abs(complex(each)) for each in array(numbers).ravel().tolist()), default=0.0)


def encoded(
    parameters: ParameterSet, plain_modulus: int, numbers: ArrayLike, scale: float, primes: int
) -> native.Plaintext:
    """One number for all slots, or up to as many as there are. ParameterError, EngineError."""
    given = array(numbers)
    context = context_of(parameters, plain_modulus)
    if given.ndim > 1 or given.dtype.kind not in ("biu" if plain_modulus else "biufc") or not given.size:
        kind = "integers" if plain_modulus else "real or complex numbers"
        odd = "Integers beyond 64 bits, or what are no numbers," if given.dtype == object else "Numbers"
        raise ParameterError(
            f"{odd} of type {given.dtype} and shape {list(given.shape)} are given: give one of {kind}, or "
            "several in one dimension."
        )
    if plain_modulus:
        reduced = np.array(given.astype(object) % plain_modulus, dtype=np.int64)
        if given.ndim == 0:
            return native.Plaintext.constant_integer(context, int(reduced), primes)
        return native.Plaintext(context, reduced, native.Places.slots, primes)
    if given.ndim == 0 and given.dtype.kind != "c":
        return native.Plaintext.constant(context, float(given), scale, primes)
    slots = np.full(parameters.slots, given) if given.ndim == 0 else given
    return native.Plaintext(context, slots.astype(complex), scale, primes)


def _coefficients(given: ArrayLike, kinds: str, wanted: str) -> NDArray[Any]:
    found = array(given)
    if found.ndim != 1 or (found.size and found.dtype.kind not in kinds):
        raise ParameterError(
            f"Coefficients of type {found.dtype} and shape {list(found.shape)} are given: give {wanted} in "
            "one dimension."
        )
    return found


class Matrix:
    """A matrix in the clear, [rows, columns], ready to multiply ciphertexts of at most so many primes.

    steps: the rotations whose Galois keys the product takes (Owner.generate's rotations). Pickles as its
    numbers.
    """

    __slots__ = ("_given", "_native", "_scale", "largest_row", "parameters", "plain_modulus")

    def __init__(
        self,
        parameters: ParameterSet,
        numbers: ArrayLike,
        *,
        plain_modulus: int = 0,
        primes: int | None = None,
        scale: float | None = None,
    ) -> None:
        """primes: all data primes, unless said. scale: the last one of them, so that rescaling restores the
        ciphertext's. ParameterError, EngineError."""
        instance(parameters, ParameterSet, "parameters", _A_SET)
        table = array(numbers)
        kinds = "biu" if plain_modulus else "biuf"
        if table.ndim != 2 or table.dtype.kind not in kinds:
            raise ParameterError(
                f"The matrix has type {table.dtype} and shape {list(table.shape)}: give "
                f"{'integers' if plain_modulus else 'real numbers'} in two dimensions."
            )
        self.parameters, self.plain_modulus = parameters, plain_modulus
        most = len(parameters.data_primes)
        count = most if primes is None else whole(primes, "primes", 1, most)
        context = context_of(parameters, plain_modulus)
        if plain_modulus:
            reduced = np.array(table.astype(object) % plain_modulus, dtype=np.int64)
            self._native = native.Matrix(context, reduced, count)
            self._scale = 1.0
        else:
            wanted = float(parameters.primes[count - 1]) if scale is None else scale
            self._native = native.Matrix(context, table.astype(np.float64), wanted, count)
            self._scale = wanted
        rows = np.abs(table.astype(np.float64)).sum(axis=1)
        self.largest_row = float(rows.max(initial=0.0))
        """The largest sum of a row's magnitudes: no product exceeds it times the vector's largest value."""
        self._given = table, count, scale

    def __reduce__(self) -> tuple[Callable[..., Matrix], tuple[Any, ...]]:
        table, primes, scale = self._given
        make = partial(Matrix, plain_modulus=self.plain_modulus, primes=primes, scale=scale)
        return make, (self.parameters, table)

    @property
    def steps(self) -> tuple[int, ...]:
        return tuple(self._native.steps)

    def _applied(self, given: Ciphertext) -> Known:
        """What is known of the product: the vector is rotated before it is multiplied, and sums after it."""
        known = given.known
        largest = None if known.largest is None else known.largest * self.largest_row
        if known.error is None or known.largest is None:
            return Known(largest)
        scale = given.scale * self._scale
        after = Uncertainty.switching(self.parameters, given.primes, scale)
        (variance,), (spread,) = after.variance, after.spread
        own = Uncertainty((variance * len(self.steps),), (spread * len(self.steps),))
        weights = self._given[0].astype(np.float64)
        columns = weights.shape[1]
        own = own.plus_noise(Uncertainty.of_weights(self.parameters, self._scale, known.largest, columns))
        before = given._switched(known, given.primes, given.scale)
        return replace(before.weighted(weights, largest, own), reading=None)


def inner_sum_steps(parameters: ParameterSet, count: int) -> tuple[int, ...]:
    """The rotations that Evaluator.inner_sum of so many slots takes."""
    return tuple(native.inner_sum_steps(context_of(parameters, 0), count))


@dataclass(frozen=True, eq=False)
class RekeyKey:
    """What brings ciphertexts of the key source_id under the key key_id (Evaluator.rekey_key)."""

    source_id: int
    key_id: int
    _native: native.RekeyKey

    def __repr__(self) -> str:
        return f"<RekeyKey from key {self.source_id:016x} to key {self.key_id:016x}>"


class Evaluator:
    """Computes with an owner's evaluation keys, or with the parameter set alone where no keys are needed.

    plain_modulus: BFV's t, or 0 for CKKS. bare: take ciphertexts and keys without labels, whose key nothing
    names. Ciphertexts go in as Ciphertext, as frames, or as SEAL's bytes; Ciphertext comes out.
    Pickles as its keys, which are expanded anew: with many rotations that takes a second.
    FrameError, ParameterError, MismatchError; EngineError for missing keys, levels and scales, and where
    t has none of the slots that rotations, inner sums, matrices and polynomials are of.
    """

    def __init__(
        self, keys: EvaluationKeys | ParameterSet, plain_modulus: int = 0, *, bare: bool = False
    ) -> None:
        instance(keys, (EvaluationKeys, ParameterSet), "keys", f"an owner's evaluation_keys, or {_A_SET}")
        given = EvaluationKeys(keys) if isinstance(keys, ParameterSet) else keys
        engine = given.engine(plain_modulus, bare=bare, name="native")
        assert isinstance(engine, NativeEngine)
        self._engine = engine
        self._keys = engine.keys
        self._given = given, plain_modulus, bare

    def __reduce__(self) -> tuple[Callable[..., Evaluator], tuple[Any, ...]]:
        keys, plain_modulus, bare = self._given
        return partial(Evaluator, bare=bare), (keys, plain_modulus)

    @property
    def parameters(self) -> ParameterSet:
        return self._engine.parms

    @property
    def plain_modulus(self) -> int:
        return self._engine.plain_modulus

    def load(self, data: Bytes | Ciphertext) -> Ciphertext:
        """A ciphertext, checked: of this set and scheme, and under the evaluation keys' key."""
        if isinstance(data, Ciphertext):
            if (data.parameters, data.plain_modulus) != (self.parameters, self.plain_modulus):
                raise EngineError(
                    f"{data!r} is not of this evaluator's set and scheme: make an evaluator for it."
                )
            self._engine.check_key_of(data.key_id)
            given = data
        else:
            check_bytes(data, "The input")
            given = Ciphertext._of(self._engine.check(as_seal(data, self.parameters)))
        # What unnamed evaluation keys compute is under a key that nothing names.
        key_id = self._engine.known(given.key_id)
        return Ciphertext(self.parameters, self.plain_modulus, key_id, given._native, given._known)

    def sum(self, ciphertexts: Iterable[Bytes | Ciphertext]) -> Ciphertext:
        """Of one or more, of one scale and level. However many there are, memory does not grow."""
        total: Ciphertext | None = None
        known = KnownSum()
        for data in stream(ciphertexts, "ciphertexts", "a list of ciphertexts"):
            term = self.load(data)
            known.add(term._known)
            total = term if total is None else total + term
        if total is None:
            raise EngineError("A sum of no ciphertexts was asked for: give at least one.")
        return total._made(total._native, known.known)

    def multiply(self, a: Bytes | Ciphertext, b: Bytes | Ciphertext) -> Ciphertext:
        """The product, relinearized. CKKS: of the scales' product; rescale before going on."""
        first, second = self.load(a), self.load(b)
        if a is b:
            return self.square(first)
        operands = first._level_with(second)
        known = first._product(second)
        first._check("The product", known, operands[0].primes, first.scale * second.scale)
        return first._made(native.relinearize(native.multiply(*operands), self._keys), known, second)

    def square(self, a: Bytes | Ciphertext) -> Ciphertext:
        """As multiply, but faster."""
        given = self.load(a)
        known = given._product(given)
        given._check("The square", known, given.primes, given.scale**2)
        return given._made(native.relinearize(native.square(given._native), self._keys), known)

    def rekey_key(self, data: Bytes, *, owner_id: int | None = None) -> RekeyKey:
        """From DeviceKeys.rekey_key. owner_id: of the owner's key, if there are no evaluation keys that name
        it. FrameError; MismatchError if it leads to another key, such as from the owner's to a device's."""
        owner = self._engine.key_id if owner_id is None else owner_id
        if owner is None:
            raise MismatchError(
                "Nothing names the owner's key that ciphertexts are to be brought under: give owner_id, or "
                "an evaluator with the owner's evaluation keys."
            )
        found = read_rekey_key(data, self.parameters, owner)
        context = context_of(self.parameters, self.plain_modulus)
        residues = expanded(found.key, context)
        return RekeyKey(found.source_id, found.key_id, native.RekeyKey(context, residues))

    def rekey(self, a: Bytes | Ciphertext, key: RekeyKey) -> Ciphertext:
        """A device's ciphertext, under its own key, brought under the owner's; content and scale unchanged.
        MismatchError if it is of another key than key leads from, or key leads to another than the evaluation
        keys are of."""
        instance(key, RekeyKey, "key", "what Evaluator.rekey_key makes of a rekey key's bytes")
        if self._engine.key_id is not None:
            check_key("the rekey key's owner", key.key_id, "the evaluation keys", self._engine.key_id)
        if not isinstance(a, Ciphertext):
            check_bytes(a, "The input")
        given = (
            a if isinstance(a, Ciphertext) else Ciphertext.from_bytes(a, self.parameters, self.plain_modulus)
        )
        check_key(
            "the ciphertext",
            given.key_id,
            "the rekey key's device",
            key.source_id,
            advice="give the rekey key of the device that sent it",
        )
        content = native.rekey(given._native, key._native)
        known = given._switched(given._known, given.primes, given.scale)
        return Ciphertext(self.parameters, self.plain_modulus, key.key_id, content, known)

    def rescale(self, a: Bytes | Ciphertext, count: int = 1) -> Ciphertext:
        """CKKS: divide values' scale and modulus by the last count primes, 1 to 4."""
        given = self.load(a)
        result = native.rescale(given._native, whole(count, "count", 1, 4))
        return given._made(result, given._rescaled(given._known, result.scale))

    def mod_switch(self, a: Bytes | Ciphertext, count: int = 1) -> Ciphertext:
        """To count primes fewer, content and scale unchanged. CKKS: there is less room."""
        given = self.load(a)
        most = len(self.parameters.data_primes)
        dropped = whole(count, "count", 1, most)
        if dropped < given.primes:
            given._check("What is switched", given._known, given.primes - dropped, given.scale)
        return given._made(native.mod_switch(given._native, dropped), given._known)

    def rotate(self, a: Bytes | Ciphertext, step: int) -> Ciphertext:
        """Slot i of the result is slot i + step; BFV: in both rows."""
        given = self.load(a)
        result = native.rotate(given._native, self._step(step), self._keys)
        return given._made(result, given._switched(given._known, given.primes, given.scale))

    def rotate_many(self, a: Bytes | Ciphertext, steps: Iterable[int]) -> list[Ciphertext]:
        """Several rotations of one ciphertext, faster than one by one."""
        given = self.load(a)
        checked = [self._step(step) for step in stream(steps, "steps", "a list of whole numbers")]
        turned = native.rotate_hoisted(given._native, checked, self._keys)
        known = given._switched(given._known, given.primes, given.scale)
        return [given._made(x, known) for x in turned]

    def conjugate(self, a: Bytes | Ciphertext) -> Ciphertext:
        """CKKS: complex conjugates. BFV: the rows change places."""
        given = self.load(a)
        known = given._switched(given._known, given.primes, given.scale)
        return given._made(native.conjugate(given._native, self._keys), known)

    def inner_sum(self, a: Bytes | Ciphertext, count: int) -> Ciphertext:
        """Slot i of the result is the sum of slots i to i + count - 1; BFV: in both rows. Takes the rotations
        of inner_sum_steps."""
        given = self.load(a)
        checked = whole(count, "count", 1, self.parameters.slots)
        # The key switches' noise is added up over slots as well: less than once a slot that is added.
        switched = given._switched(given._known, given.primes, given.scale) if checked > 1 else given._known
        known = switched.slots_added(checked)
        given._check("The inner sum", known, given.primes, given.scale)
        return given._made(native.inner_sum(given._native, checked, self._keys), known)

    def matmul(self, matrix: Matrix, a: Bytes | Ciphertext) -> Ciphertext:
        """The matrix times the vector in the first slots. CKKS: of the scales' product."""
        instance(matrix, Matrix, "matrix", "a Matrix")
        given = self.load(a)
        if (matrix.parameters, matrix.plain_modulus) != (self.parameters, self.plain_modulus):
            raise EngineError("The matrix is of another set or scheme: make it for this one.")
        known = matrix._applied(given)
        given._check("The product with the matrix", known, given.primes, given.scale * matrix._scale)
        return given._made(native.multiply_matrix(matrix._native, given._native, self._keys), known)

    def polynomial(
        self, a: Bytes | Ciphertext, coefficients: Sequence[float], *, primes_per_level: int = 1
    ) -> Ciphertext:
        """The polynomial of each slot, coefficients from the constant one up.

        CKKS: at a's scale, after ceil(log2(degree + 1)) levels, the fewest there can be; primes_per_level:
        that each level rescales by. The scale may be any up to about their product; a smaller one costs
        precision (each level rounds by about n/6 over the scale), and a larger one is soon refused. Values of
        a, of its powers and of parts of the sum must stay below the bound of their level. BFV: modulo t.
        """
        given = self.load(a)
        if self.plain_modulus:
            reduced = [int(c) % self.plain_modulus for c in _coefficients(coefficients, "biu", "integers")]
            known = given._known.polynomial(coefficients)
            given._check("The polynomial", known, given.primes, given.scale)
            result = native.evaluate_integer_polynomial(given._native, reduced, self._keys)
            return given._made(result, known)
        checked = whole(primes_per_level, "primes_per_level", 1, 4)
        reals = [float(c) for c in _coefficients(coefficients, "biuf", "real numbers")]
        known = given._known.polynomial(reals)
        levels = (len(reals) - 1).bit_length()
        if levels * checked < given.primes:  # otherwise the evaluator refuses it
            for level in range(1, levels):
                power = UNKNOWN if given.largest is None else Known(given.largest ** (1 << level))
                left = given.primes - level * checked
                given._check(f"The power {1 << level} of the values", power, left, given.scale)
            given._check("The polynomial", known, given.primes - levels * checked, given.scale)
            if any(reals[1:]) and known.error is not None and given.largest is not None:
                of = self.parameters, given.primes, given.scale, reals, given.largest, checked
                known = given._known.polynomial(reals, evaluation_noise(*of))
        return given._made(native.evaluate_polynomial(given._native, reals, self._keys, checked), known)

    def map(
        self,
        operation: Callable[[Ciphertext], _T],
        ciphertexts: Iterable[Bytes | Ciphertext],
        *,
        workers: int | None = None,
    ) -> list[_T]:
        """The operation on each ciphertext, in so many threads (one a core, unless said), in order."""
        count = (os.cpu_count() or 1) if workers is None else whole(workers, "workers", 1, 64)
        with ThreadPoolExecutor(count) as pool:
            given = stream(ciphertexts, "ciphertexts", "a list of ciphertexts")
            return list(pool.map(lambda data: operation(self.load(data)), given))

    def _step(self, step: int) -> int:
        most = self.parameters.slots - 1
        return whole(step, "The step", -most, most)


__all__ = ["Ciphertext", "Evaluator", "Matrix", "RekeyKey", "inner_sum_steps"]
