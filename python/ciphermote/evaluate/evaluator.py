# SPDX-License-Identifier: Apache-2.0
"""The evaluator for arrays: ciphertexts as objects, computed on by Ciphermote's own native code.

    >>> owner = ciphermote.Owner.generate(rotations=[1])
    >>> evaluator = ciphermote.Evaluator(owner.evaluation_keys)
    >>> x = evaluator.load(ciphermote.encrypt([0.5, -1.25, 2.0], owner.public_key, largest=2))
    >>> y = evaluator.rescale(evaluator.multiply(x, x)) + 1
    >>> print(owner.decrypt(y)[:3].round(2))
    [1.25 2.56 5.  ]
    >>> print(owner.decrypt(evaluator.rotate(x, 1) - x)[:2].round(2))
    [-1.75  3.25]

It holds no secret. Methods release the interpreter's lock while they compute, and may run in several threads.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ciphermote import _evaluator as native
from ciphermote.base.arguments import Bytes, array, check_bytes, instance, stream, whole
from ciphermote.base.errors import EngineError, MismatchError, ParameterError
from ciphermote.ciphertext import A_SET, RELINEARIZED, Ciphertext
from ciphermote.evaluate.evaluation_keys import EvaluationKeys
from ciphermote.evaluate.native import NativeEngine, expanded
from ciphermote.formats.labels import check_key
from ciphermote.formats.rekey_keys import read_rekey_key
from ciphermote.parameters import CKKS, ParameterSet, Scheme
from ciphermote.parameters.bounds import UNKNOWN, Known, check_digits
from ciphermote.parameters.native import context_of
from ciphermote.parameters.polynomial_noise import evaluation_noise
from ciphermote.parameters.schemes import checked_scheme
from ciphermote.parameters.uncertainty import Uncertainty

_T = TypeVar("_T")


def _coefficients(given: ArrayLike, kinds: str, wanted: str) -> NDArray[Any]:
    found = array(given)
    if found.ndim != 1 or not found.size or found.dtype.kind not in kinds:
        raise ParameterError(
            f"Coefficients of type {found.dtype} and shape {list(found.shape)} are given: give {wanted} in "
            "one dimension."
        )
    return found


class Matrix:
    """A matrix in the clear, [rows, columns], encoded to multiply ciphertexts of at most `primes` primes.

    steps: the rotations whose Galois keys the product needs (Owner.generate's rotations). Pickles as its
    numbers.
    """

    __slots__ = ("_given", "_native", "_scale", "largest_row", "parameters", "scheme")

    def __init__(
        self,
        parameters: ParameterSet,
        numbers: ArrayLike,
        *,
        scheme: Scheme = CKKS,
        primes: int | None = None,
        scale: float | None = None,
    ) -> None:
        """Encode a matrix. primes: by default all data primes. scale: by default the last of them, so that
        rescaling restores the ciphertext's scale. Raises ParameterError or EngineError."""
        instance(parameters, ParameterSet, "parameters", A_SET)
        checked_scheme(scheme)
        table = array(numbers)
        kinds = "biu" if scheme.is_bfv else "biuf"
        if table.ndim != 2 or table.dtype.kind not in kinds:
            raise ParameterError(
                f"The matrix has type {table.dtype} and shape {list(table.shape)}: give "
                f"{'integers' if scheme.is_bfv else 'real numbers'} in two dimensions."
            )
        self.parameters, self.scheme = parameters, scheme
        most = len(parameters.data_primes)
        count = most if primes is None else whole(primes, "primes", 1, most)
        context = context_of(parameters, scheme)
        if scheme.is_bfv:
            reduced = np.array(table.astype(object) % scheme.plain_modulus, dtype=np.int64)
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
        make = partial(Matrix, scheme=self.scheme, primes=primes, scale=scale)
        return make, (self.parameters, table)

    @property
    def steps(self) -> tuple[int, ...]:
        return tuple(self._native.steps)

    def _applied(self, given: Ciphertext) -> Known:
        """Return what is known of the product: the vector is rotated before it is multiplied, and sums after
        it."""
        known = given.known
        largest = None if known.largest is None else known.largest * self.largest_row
        if known.error is None or known.largest is None:
            return Known(largest, assumed=known.assumed)
        scale = given.scale * self._scale
        after = Uncertainty.switching(self.parameters, given.primes, scale)
        (variance,), (spread,) = after.variance, after.spread
        own = Uncertainty((variance * len(self.steps),), (spread * len(self.steps),))
        weights = self._given[0].astype(np.float64)
        columns = weights.shape[1]
        own = own.plus_noise(Uncertainty.of_weights(self.parameters, self._scale, known.largest, columns))
        before = given._switched()
        return replace(before.weighted(weights, largest, own), reading=None)


def inner_sum_steps(parameters: ParameterSet, count: int) -> tuple[int, ...]:
    """Return the rotations that Evaluator.inner_sum of `count` slots needs."""
    return tuple(native.inner_sum_steps(context_of(parameters), count))


@dataclass(frozen=True, eq=False)
class RekeyKey:
    """A public key that converts ciphertexts under the key source_id to the key key_id
    (Evaluator.rekey_key)."""

    source_id: int
    key_id: int
    _native: native.RekeyKey

    def __repr__(self) -> str:
        return f"<RekeyKey from key {self.source_id:016x} to key {self.key_id:016x}>"


class Evaluator(NativeEngine):
    """Computes with an owner's evaluation keys, or with just the parameter set if no keys are needed.

    scheme: CKKS or BFV(t). bare: accept ciphertexts and keys without labels, whose key is unknown. Methods
    take Ciphertext objects, frames or SEAL's bytes, and return Ciphertext objects. Pickles as its keys, which
    are expanded again when loaded: with many rotations that takes a second. Raises FrameError, ParameterError
    or MismatchError; EngineError for missing keys, levels and scales, and for rotations, inner sums, matrices
    and polynomials if t has no slots.
    """

    def __init__(
        self, keys: EvaluationKeys | ParameterSet, scheme: Scheme = CKKS, *, bare: bool = False
    ) -> None:
        instance(keys, (EvaluationKeys, ParameterSet), "keys", f"an owner's evaluation_keys, or {A_SET}")
        given = EvaluationKeys(keys) if isinstance(keys, ParameterSet) else keys
        super().__init__(given.parameters, **given.for_scheme(scheme), scheme=scheme, bare=bare)
        self._given = given, scheme, bare

    def __reduce__(self) -> tuple[Callable[..., Evaluator], tuple[Any, ...]]:
        keys, scheme, bare = self._given
        return partial(Evaluator, bare=bare), (keys, scheme)

    @property
    def parameters(self) -> ParameterSet:
        return self.parms

    def multiply(self, a: Bytes | Ciphertext, b: Bytes | Ciphertext) -> Ciphertext:
        """Multiply and relinearize. CKKS: the result's scale is the product of the scales; rescale before the
        next product."""
        first, second = self.load(a), self.load(b)
        if a is b:
            return self.square(first)
        operands = first._level_with(second)
        known = first._product(second)
        first._check("The product", known, operands[0].primes, first.scale * second.scale)
        return first._made(native.relinearize(native.multiply(*operands), self.keys), known, second)

    def square(self, a: Bytes | Ciphertext) -> Ciphertext:
        """Multiply a ciphertext by itself, faster than multiply does."""
        given = self.load(a)
        known = given._product(given)
        given._check("The square", known, given.primes, given.scale**2)
        return given._made(native.relinearize(native.square(given._native), self.keys), known)

    def relinearize(self, a: Bytes | Ciphertext) -> Ciphertext:
        """Bring a product of three polynomials back to two, such as one that SEAL multiplied and did not
        relinearize; one of two is returned as it is."""
        given = a if isinstance(a, Ciphertext) else Ciphertext.from_bytes(a, self.parameters, self.scheme)
        if given.hosted.components in RELINEARIZED:
            return self.load(given)
        if (given.parameters, given.scheme) != (self.parameters, self.scheme):
            raise self._other_set(given)
        self.check_key_of(given.key_id)
        return given._made(native.relinearize(given._native, self.keys), given._switched())

    def rekey_key(self, data: Bytes, *, owner_id: int | None = None) -> RekeyKey:
        """Read and check a rekey key of DeviceKeys.rekey_key. owner_id: ID of the owner's key, if no
        evaluation keys name it. Raises FrameError; MismatchError if it converts to another key, such as from
        the owner's to a device's."""
        owner = self.key_id if owner_id is None else owner_id
        if owner is None:
            raise MismatchError(
                "Nothing names the owner's key that ciphertexts are to be brought under: give owner_id, or "
                "an evaluator with the owner's evaluation keys."
            )
        found = read_rekey_key(data, self.parameters, owner)
        context = context_of(self.parameters, self.scheme)
        residues = expanded(found.key, context)
        return RekeyKey(found.source_id, found.key_id, native.RekeyKey(context, residues))

    def rekey(self, a: Bytes | Ciphertext, key: RekeyKey) -> Ciphertext:
        """Convert a ciphertext under a device's own key to the owner's key; content and scale do not change.
        Raises MismatchError if the ciphertext's key is not the one that `key` converts from, or if `key` does
        not convert to the evaluation keys' key."""
        instance(key, RekeyKey, "key", "what Evaluator.rekey_key makes of a rekey key's bytes")
        if self.key_id is not None:
            check_key("the rekey key's owner", key.key_id, "the evaluation keys", self.key_id)
        if not isinstance(a, Ciphertext):
            check_bytes(a, "The input")
        given = a if isinstance(a, Ciphertext) else Ciphertext.from_bytes(a, self.parameters, self.scheme)
        check_key(
            "the ciphertext",
            given.key_id,
            "the rekey key's device",
            key.source_id,
            advice="give the rekey key of the device that sent it",
        )
        content = native.rekey(given._native, key._native)
        known = given._switched()
        return Ciphertext(self.parameters, self.scheme, key.key_id, content, known)

    def rescale(self, a: Bytes | Ciphertext, count: int = 1) -> Ciphertext:
        """Divide the scale and the modulus by the last `count` primes, 1 to 4. CKKS only."""
        given = self.load(a)
        result = native.rescale(given._native, whole(count, "count", 1, 4))
        return given._made(result, given._rescaled(given.known, result.scale))

    def mod_switch(self, a: Bytes | Ciphertext, count: int = 1) -> Ciphertext:
        """Drop `count` primes; content and scale do not change. CKKS: the modulus has less room
        afterwards."""
        given = self.load(a)
        most = len(self.parameters.data_primes)
        dropped = whole(count, "count", 1, most)
        if dropped < given.primes:
            given._check("What is switched", given.known, given.primes - dropped, given.scale)
        return given._made(native.mod_switch(given._native, dropped), given.known)

    def rotate(self, a: Bytes | Ciphertext, step: int) -> Ciphertext:
        """Rotate slots: slot i of the result is slot i + step; BFV: in both rows."""
        given = self.load(a)
        result = native.rotate(given._native, self._rotation(step), self.keys)
        return given._made(result, given._switched())

    def rotate_many(self, a: Bytes | Ciphertext, steps: Iterable[int]) -> list[Ciphertext]:
        """Rotate one ciphertext by several steps, faster than one by one."""
        given = self.load(a)
        checked = [self._rotation(step) for step in stream(steps, "steps", "a list of whole numbers")]
        turned = native.rotate_hoisted(given._native, checked, self.keys)
        known = given._switched()
        return [given._made(x, known) for x in turned]

    def conjugate(self, a: Bytes | Ciphertext) -> Ciphertext:
        """Conjugate the slots; BFV: swap the rows."""
        given = self.load(a)
        known = given._switched()
        return given._made(native.conjugate(given._native, self.keys), known)

    def inner_sum(self, a: Bytes | Ciphertext, count: int) -> Ciphertext:
        """Sum runs of slots: slot i of the result is the sum of slots i to i + count - 1; BFV: in both rows.
        Needs the rotations of inner_sum_steps."""
        given = self.load(a)
        checked = whole(count, "count", 1, self.parameters.slots)
        # The key switches' noise is added up over slots as well: less than once a slot that is added.
        switched = given._switched() if checked > 1 else given.known
        known = switched.slots_added(checked)
        given._check("The inner sum", known, given.primes, given.scale)
        return given._made(native.inner_sum(given._native, checked, self.keys), known)

    def matmul(self, matrix: Matrix, a: Bytes | Ciphertext) -> Ciphertext:
        """Multiply a matrix by the vector in the first slots. CKKS: the result's scale is the product of the
        scales."""
        instance(matrix, Matrix, "matrix", "a Matrix")
        given = self.load(a)
        if (matrix.parameters, matrix.scheme) != (self.parameters, self.scheme):
            raise EngineError("The matrix is of another set or scheme: make it for this one.")
        known = matrix._applied(given)
        given._check("The product with the matrix", known, given.primes, given.scale * matrix._scale)
        return given._made(native.multiply_matrix(matrix._native, given._native, self.keys), known)

    def polynomial(
        self, a: Bytes | Ciphertext, coefficients: Sequence[float], *, primes_per_level: int = 1
    ) -> Ciphertext:
        """Evaluate a polynomial at each slot, with coefficients from the constant one up.

        CKKS: at a's scale, after ceil(log2(degree + 1)) levels, the fewest possible; primes_per_level: the
        primes that each level rescales by. The scale may be at most about their product; a smaller one costs
        precision (each level rounds by about n/6 over the scale). Values of a, of its powers and of parts of
        the sum must stay below the bound of their level. BFV: modulo t.
        """
        given = self.load(a)
        if self.scheme.is_bfv:
            reduced = [
                int(c) % self.scheme.plain_modulus for c in _coefficients(coefficients, "biu", "integers")
            ]
            known = given.known.polynomial(coefficients)
            given._check("The polynomial", known, given.primes, given.scale)
            result = native.evaluate_integer_polynomial(given._native, reduced, self.keys)
            return given._made(result, known)
        checked = whole(primes_per_level, "primes_per_level", 1, 4)
        reals = [float(c) for c in _coefficients(coefficients, "biuf", "real numbers")]
        check_digits("The polynomial's argument", given.known, self.parameters)
        known = given.known.polynomial(reals)
        levels = (len(reals) - 1).bit_length()
        if levels * checked < given.primes:  # otherwise the evaluator refuses it
            for level in range(1, levels):
                power = UNKNOWN if given.largest is None else Known(given.largest ** (1 << level))
                left = given.primes - level * checked
                given._check(f"The power {1 << level} of the values", power, left, given.scale)
            given._check("The polynomial", known, given.primes - levels * checked, given.scale)
            if any(reals[1:]) and known.error is not None and given.largest is not None:
                of = self.parameters, given.primes, given.scale, reals, given.largest, checked
                known = given.known.polynomial(reals, evaluation_noise(*of))
        return given._made(native.evaluate_polynomial(given._native, reals, self.keys, checked), known)

    def map(
        self,
        operation: Callable[[Ciphertext], _T],
        ciphertexts: Iterable[Bytes | Ciphertext],
        *,
        workers: int | None = None,
    ) -> list[_T]:
        """Apply an operation to each ciphertext, in order, in `workers` threads (by default one per core)."""
        count = (os.cpu_count() or 1) if workers is None else whole(workers, "workers", 1, 64)
        with ThreadPoolExecutor(count) as pool:
            given = stream(ciphertexts, "ciphertexts", "a list of ciphertexts")
            return list(pool.map(lambda data: operation(self.load(data)), given))

    def _rotation(self, step: int) -> int:
        most = self.parameters.slots - 1
        return whole(step, "The step", -most, most)


__all__ = ["Evaluator", "Matrix", "RekeyKey", "inner_sum_steps"]
