# SPDX-License-Identifier: Apache-2.0
"""Compute on ciphertexts without a secret key: sums, weighted sums, linear models and programs.

Sums and means are computed as the ciphertexts come (engine/summation.py). Each other call takes an engine
(engine/), which evaluation keys keep: expanding them takes longer than a row of scores.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from ciphermote.arguments import flag, instance, modulus, stream
from ciphermote.choices import EngineName
from ciphermote.ciphertext import Ciphertext
from ciphermote.ciphertexts import Bytes, as_seal, check_bytes, modulus_of, stated_parameters
from ciphermote.engine import Engine, open_engine
from ciphermote.engine.summation import add_up, summand_name
from ciphermote.errors import ParameterError, about
from ciphermote.inference import check_feature_bound
from ciphermote.keys import (
    GALOIS_FILE,
    RELIN_FILE,
    KeyContents,
    KeyStore,
    galois_keys_for_bfv,
    relin_keys_for_bfv,
    seal_has_keys,
)
from ciphermote.linear_model import LinearModel, real_numbers
from ciphermote.parameters import ParameterSet
from ciphermote.program import Program


@dataclass(frozen=True, eq=False)
class EvaluationKeys:
    """What an engine computes with: public. galois, relin: SEAL's bytes and their label, as made for CKKS, or
    None. compute expands them once and keeps that in memory, for the last two schemes."""

    parameters: ParameterSet
    galois: bytes | None = field(default=None, repr=False)
    relin: bytes | None = field(default=None, repr=False)
    _kept: dict[tuple[int, bool], Engine] = field(default_factory=dict, init=False, repr=False)
    _keeping: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)

    def __reduce__(self) -> tuple[type[EvaluationKeys], tuple[Any, ...]]:
        return EvaluationKeys, (self.parameters, self.galois, self.relin)

    @classmethod
    def of(cls, contents: KeyContents) -> EvaluationKeys:
        files = contents.files
        return cls(contents.parameters, files.get(GALOIS_FILE), files.get(RELIN_FILE))

    @classmethod
    def load(cls, path: str | Path) -> EvaluationKeys:
        """From a directory of keys, or its public part. KeyFileError if it holds none."""
        return cls.of(KeyStore.open(path).contents(secret=False))

    def engine(
        self, plain_modulus: int = 0, *, bare: bool = False, workers: int = 1, name: EngineName = "native"
    ) -> Engine:
        """Open an engine with these keys, of CKKS or of BFV modulo plain_modulus, as open_engine does."""
        galois, relin = self.galois, self.relin
        plain_modulus = modulus(plain_modulus)
        if plain_modulus and seal_has_keys(self.parameters):
            galois = galois and galois_keys_for_bfv(galois, self.parameters, plain_modulus)
            relin = relin and relin_keys_for_bfv(relin, self.parameters, plain_modulus)
        return open_engine(
            self.parameters,
            galois_keys=galois,
            relin_keys=relin,
            plain_modulus=plain_modulus,
            bare=bare,
            workers=workers,
            name=name,
        )

    @contextlib.contextmanager
    def borrowed(self, plain_modulus: int, *, bare: bool, name: EngineName) -> Iterator[Engine]:
        """An engine for one call: the native one is kept for the next."""
        if name != "native":
            with self.engine(plain_modulus, bare=bare, name=name) as opened:
                yield opened
            return
        with self._keeping:
            wanted = plain_modulus, bare
            engine = self._kept.pop(wanted, None) or self.engine(plain_modulus, bare=bare)
            self._kept[wanted] = engine
            while len(self._kept) > _MOST_KEPT:
                del self._kept[next(iter(self._kept))]
        yield engine


_MOST_KEPT = 2


@dataclass(frozen=True)
class Sum:
    """The sum of ciphertexts, slot by slot."""


@dataclass(frozen=True)
class Mean:
    """The mean of CKKS ciphertexts, slot by slot: their sum, at a scale as many times as large."""


@dataclass(frozen=True, eq=False)
class WeightedSum:
    """The sum of ciphertexts, each times its weight: real numbers, or integers for BFV."""

    weights: Sequence[float] | NDArray[Any]

    def __post_init__(self) -> None:
        """ParameterError unless the weights are real numbers in one dimension."""
        if real_numbers(self.weights, "Weights").ndim != 1:
            raise ParameterError("Weights have one dimension, a number for each ciphertext: give a list.")


def compute(
    operation: Sum | Mean | WeightedSum | LinearModel | Program,
    ciphertexts: Bytes | Ciphertext | Iterable[Bytes | Ciphertext],
    keys: EvaluationKeys | ParameterSet | None = None,
    *,
    bound: float | None = None,
    plain_modulus: int = 0,
    bare: bool = False,
    engine: EngineName = "native",
) -> bytes:
    """The encrypted result of an operation, in SEAL's bytes with a label: decrypt takes them.

    operation: Sum(), Mean() or WeightedSum(weights) of one ciphertext or more; of one alone,
    LinearModel(weights, bias), whose score c lies in slot c, or a Program.
    ciphertexts: frames as encrypt or a device gives them, results, or Ciphertext objects; of one key, scheme,
    scale and level. A sum or a mean takes them as an iterator gives them and keeps none, so there may be any
    number.
    keys: LinearModel needs Galois keys for its rotations (Owner.generate's model), a Program what its steps
    name. Sums need none: the parameter set is enough, and is known if it is a built-in one.
    bound: the largest |value| that any ciphertext may hold, which you vouch for: beyond it results come out
    wrong. None: as each declares (encrypt's largest); it is required where weights meet a ciphertext that
    declares none, such as one that SEAL saved. A generous one costs little precision.
    plain_modulus, bare: as in decrypt.
    engine: "native", or "seal" for Microsoft SEAL, which needs the package tenseal.

    A program moves slots and multiplies; owner and frames as in help(ciphermote). Here, the first slot
    becomes the sum of the first two:

    >>> owner = ciphermote.Owner.generate(rotations=[1])
    >>> frames = ciphermote.encrypt([21.4, -27.0], owner.public_key)
    >>> steps = ciphermote.Step("rotate", 1, 0, 1), ciphermote.Step("add", 1, 1, 0)
    >>> result = ciphermote.compute(ciphermote.Program(steps, ()), frames, owner.evaluation_keys)
    >>> print(owner.decrypt(result)[:1].round(1))
    [-5.6]

    ValueRangeError if the result may outgrow the modulus; ParameterError, FrameError, MismatchError,
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
    if not isinstance(operation, Sum | Mean):
        given = iter(kept := tuple(given))
    if keys is not None:
        instance(
            keys, (EvaluationKeys, ParameterSet), "keys", "an owner's evaluation_keys, or a ParameterSet"
        )
    first = next(given, None)
    if first is None:
        raise ParameterError("There is no ciphertext to compute on: give one or more.")
    keys = keys or stated_parameters(first)
    evaluation = EvaluationKeys(keys) if isinstance(keys, ParameterSet) else keys
    parameters = evaluation.parameters
    plain_modulus = modulus_of(first, parameters, plain_modulus)
    if isinstance(operation, Sum | Mean | WeightedSum):
        evaluation = EvaluationKeys(parameters)  # which sums need no more of
    if isinstance(operation, Sum | Mean):
        summands = chain([first], given)
        if engine == "native":
            mean = isinstance(operation, Mean)
            return add_up(summands, parameters, plain_modulus, bare=bare, mean=mean, bound=limit)
        with evaluation.engine(plain_modulus, bare=bare, name=engine) as opened:
            return opened.add(_all_as_seal(summands, parameters), bound=limit)
    if not isinstance(operation, WeightedSum) and len(kept) != 1:
        raise ParameterError(
            f"{len(kept)} ciphertexts are given: a model or a program takes one at a time, or an "
            "engine of its own for many (EvaluationKeys.engine)."
        )
    seal = [as_seal(data, parameters) for data in kept]
    with evaluation.borrowed(plain_modulus, bare=bare, name=engine) as opened:
        match operation:
            case WeightedSum(weights):
                return opened.weighted_sum(seal, weights, bound=limit)
            case LinearModel():
                return opened.linear(seal[0], operation, feature_bound=limit)
            case _:
                return opened.evaluate(operation, seal[0])


def _all_as_seal(ciphertexts: Iterable[Bytes], parameters: ParameterSet) -> Iterator[bytes]:
    for place, data in enumerate(ciphertexts):
        with about(summand_name(place)):
            seal = as_seal(data, parameters)
        yield seal


def _given(ciphertexts: Bytes | Ciphertext | Iterable[Bytes | Ciphertext]) -> Iterator[Bytes]:
    if isinstance(ciphertexts, Bytes | Ciphertext):
        ciphertexts = (ciphertexts,)
    for data in stream(ciphertexts, "ciphertexts", "bytes, a Ciphertext, or a list of them"):
        if isinstance(data, Ciphertext):
            yield bytes(data)
        else:
            check_bytes(data, "The input")
            yield data
