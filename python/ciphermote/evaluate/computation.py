# SPDX-License-Identifier: Apache-2.0
"""Compute on ciphertexts without a secret key: sums, weighted sums, linear models and programs.

Each call borrows an engine (engine.py) that the evaluation keys cache, because expanding keys takes longer
than a row of scores. Sums and means are computed as the ciphertexts arrive.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from numpy.typing import NDArray

from ciphermote.base.arguments import Bytes, check_bytes, flag, instance, stream
from ciphermote.base.errors import ParameterError, about
from ciphermote.ciphertext import Ciphertext
from ciphermote.evaluate.engine_names import EngineName
from ciphermote.evaluate.evaluation_keys import EvaluationKeys
from ciphermote.evaluate.linear_model import LinearModel, real_numbers
from ciphermote.evaluate.linear_plans import check_feature_bound
from ciphermote.evaluate.native import NativeEngine
from ciphermote.evaluate.program import Program
from ciphermote.evaluate.summation import summand_name
from ciphermote.parameters import ParameterSet


@dataclass(frozen=True)
class Sum:
    """The sum of ciphertexts, slot by slot."""


@dataclass(frozen=True)
class Mean:
    """The mean of CKKS ciphertexts, slot by slot: their sum, with the scale multiplied by their number."""


@dataclass(frozen=True, eq=False)
class WeightedSum:
    """The sum of ciphertexts, each times its weight: real numbers, or integers for BFV."""

    weights: Sequence[float] | NDArray[Any]

    def __post_init__(self) -> None:
        """Raises ParameterError unless the weights are real numbers in one dimension."""
        if real_numbers(self.weights, "Weights").ndim != 1:
            raise ParameterError("Weights have one dimension, a number for each ciphertext: give a list.")


def compute(
    operation: Sum | Mean | WeightedSum | LinearModel | Program,
    ciphertexts: Bytes | Ciphertext | Iterable[Bytes | Ciphertext],
    keys: EvaluationKeys | ParameterSet | None = None,
    *,
    bound: float | None = None,
    bare: bool = False,
    engine: EngineName = "native",
) -> Ciphertext:
    """Compute an operation on ciphertexts, and return the encrypted result.

    operation: Sum(), Mean() or WeightedSum(weights) on one or more ciphertexts; or on exactly one,
    LinearModel(weights, bias), whose score c lies in slot c, or a Program. ciphertexts: Ciphertext objects,
    or the bytes of frames or results; all of one key, scheme, scale and level. A sum or a mean reads them
    from an iterator and stores none, so their number is not limited. keys: LinearModel needs Galois keys for
    its rotations (Owner.generate's model), a Program what its steps name. Sums need none: the parameter set
    suffices, and is known if it is built in. bound: the largest |value| in any ciphertext, for which you
    vouch: results are wrong if a value exceeds it, and say so if it is below what the ciphertexts declare
    (AssumptionWarning). None for the bound that each ciphertext declares
    (encrypt's largest); it is required if weights meet a ciphertext that declares none, such as one that SEAL
    saved. A generous bound costs little precision. bare: as in decrypt. engine: "native", or "seal" for
    Microsoft SEAL, which needs the package tenseal.

    A program rotates slots and multiplies. In this one, the first slot becomes the sum of the first two:

    >>> owner = ciphermote.Owner.generate(rotations=[1])
    >>> frames = ciphermote.encrypt([21.4, -27.0], owner.public_key)
    >>> steps = ciphermote.Step("rotate", 1, 0, 1), ciphermote.Step("add", 1, 1, 0)
    >>> result = ciphermote.compute(ciphermote.Program(steps, ()), frames, owner.evaluation_keys)
    >>> print(owner.decrypt(result)[:1].round(1))
    [-5.6]

    Raises ValueRangeError if the result may outgrow the modulus; ParameterError, FrameError, MismatchError,
    EngineError.
    """
    instance(
        operation,
        (Sum, Mean, WeightedSum, LinearModel, Program),
        "The operation",
        "Sum(), Mean(), WeightedSum(weights), a LinearModel or a Program",
    )
    limit = None if bound is None else check_feature_bound(bound)
    if limit is not None and isinstance(operation, Program):
        raise ParameterError("A program takes values as they were declared at encryption: leave bound out.")
    bare = flag(bare, "bare (--bare)")
    given = _given(ciphertexts)
    if isinstance(operation, Mean) and engine == "seal":
        raise ParameterError("SEAL has no means: take the native engine, or the sum.")
    if keys is not None:
        instance(
            keys, (EvaluationKeys, ParameterSet), "keys", "an owner's evaluation_keys, or a ParameterSet"
        )
    data = next(given, None)
    if data is None:
        raise ParameterError("There is no ciphertext to compute on: give one or more.")
    parameters = keys.parameters if isinstance(keys, EvaluationKeys) else keys
    with about(summand_name(0)) if isinstance(operation, Sum | Mean) else contextlib.nullcontext():
        first = data if isinstance(data, Ciphertext) else Ciphertext.from_bytes(data, parameters)
    parameters = parameters or first.parameters
    summands = chain([first], given)
    if not isinstance(operation, Sum | Mean):
        kept = tuple(summands)
    takes_keys = not isinstance(operation, Sum | Mean | WeightedSum)
    evaluation = keys if takes_keys and isinstance(keys, EvaluationKeys) else EvaluationKeys(parameters)
    if isinstance(operation, LinearModel | Program) and len(kept) != 1:
        raise ParameterError(
            f"{len(kept)} ciphertexts are given: a model or a program takes one at a time, or an "
            "engine of its own for many (EvaluationKeys.engine)."
        )
    with evaluation.borrowed(first.scheme, bare=bare, name=engine) as opened:
        match operation:
            case Sum():
                return opened.sum(summands, bound=limit)
            case Mean():
                assert isinstance(opened, NativeEngine)
                return opened.mean(summands, bound=limit)
            case WeightedSum(weights):
                return opened.weighted_sum(kept, weights, bound=limit)
            case LinearModel():
                return opened.linear(kept[0], operation, feature_bound=limit)
            case _:
                return opened.evaluate(operation, kept[0])


def _given(ciphertexts: Bytes | Ciphertext | Iterable[Bytes | Ciphertext]) -> Iterator[Bytes | Ciphertext]:
    if isinstance(ciphertexts, Bytes | Ciphertext):
        ciphertexts = (ciphertexts,)
    for data in stream(ciphertexts, "ciphertexts", "bytes, a Ciphertext, or a list of them"):
        if not isinstance(data, Ciphertext):
            check_bytes(data, "The input")
        yield data
