# SPDX-License-Identifier: Apache-2.0
"""Engines compute on ciphertexts with evaluation keys, and never get a secret key.

`open_engine` makes one. Ciphertexts go in as objects or as the bytes of one, and results are objects. An
engine computes only on ciphertexts of the key that its evaluation keys belong to, and its results are under
that key.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Any, Self

from numpy.typing import NDArray

from ciphermote.base.arguments import Bytes
from ciphermote.base.errors import EngineError, Error, MismatchError, ParameterError
from ciphermote.ciphertext import Ciphertext
from ciphermote.evaluate.engine_names import EngineName
from ciphermote.evaluate.linear_model import LinearModel
from ciphermote.evaluate.linear_plans import (
    LinearPlan,
    check_feature_bound,
    plan_exact,
    plan_linear,
    plan_weighted_sum,
)
from ciphermote.evaluate.program import Program
from ciphermote.parameters import CKKS, ParameterSet, Scheme
from ciphermote.parameters.bounds import Known

Progress = Callable[[int, int], None]
"""Called with (done, total) after each ciphertext, in the calling thread."""


class Engine(ABC):
    """Computes on ciphertexts of one parameter set, CKKS's or (with a plain modulus) BFV's.

    A context manager: leaving it closes the engine.
    """

    parms: ParameterSet
    scheme: Scheme = CKKS
    key_id: int | None = None
    """ID of the key that the evaluation keys belong to; None if unknown or without any."""
    centred_digits: bool = True
    """Whether key switching centres digits, on which its noise depends (noise.switching_noise)."""

    @property
    def confined(self) -> frozenset[str]:
        """Resources that hostile bytes cannot reach after they take over the engine, such as "files"; empty
        by default."""
        return frozenset()

    @abstractmethod
    def load(self, data: Bytes | Ciphertext) -> Ciphertext:
        """Read and check a ciphertext: it has two polynomials, this set and scheme, and the evaluation keys'
        key. Raises FrameError, EngineError or MismatchError."""

    @abstractmethod
    def sum(
        self,
        ciphertexts: Iterable[Bytes | Ciphertext],
        *,
        bound: float | None = None,
        distinct: bool = False,
        names: Sequence[object] = (),
    ) -> Ciphertext:
        """Add up one or more ciphertexts of equal key, scale and level, which hold readings or one model's
        scores. bound: the largest |value| of any of them, for which the caller vouches; None for the bound
        that each declares. distinct: the caller vouches that no encryption is in two of them (KnownSum).
        names: the ciphertexts' names in errors, such as their files'. Raises ValueRangeError if the sum may
        exceed the modulus; FrameError, MismatchError, EngineError."""

    @abstractmethod
    def evaluate(self, program: Program, ciphertext: Bytes | Ciphertext) -> Ciphertext:
        """Run a program on a ciphertext. Raises FrameError or EngineError; MismatchError if it would score a
        ciphertext that already holds a model's scores."""

    @abstractmethod
    def evaluate_all(
        self,
        program: Callable[[Ciphertext], Program],
        ciphertexts: Sequence[Bytes | Ciphertext],
        progress: Progress | None = None,
    ) -> list[Ciphertext | Error]:
        """Evaluate many ciphertexts on all workers, in order; an error takes the place of its own result
        only.

        program: returns the program for a checked ciphertext; it is called one at a time.
        """

    @abstractmethod
    def close(self) -> None:
        """End every process of the engine. Closing twice is allowed."""

    def linear(
        self, ciphertext: Bytes | Ciphertext, model: LinearModel, *, feature_bound: float | None = None
    ) -> Ciphertext:
        """Score a ciphertext of packed features: slot s of the result holds class s mod plan.period (BFV: of
        either row).

        feature_bound: the largest |feature| of any reading (see plan_linear, plan_exact), for which the
        caller vouches; None for the bound that the reading declares. Raises FrameError, ParameterError or
        EngineError; MismatchError if it already holds scores.
        """
        result = self.linear_all([ciphertext], model, feature_bound=feature_bound)[0]
        if isinstance(result, Error):
            raise result
        return result

    def linear_all(
        self,
        ciphertexts: Sequence[Bytes | Ciphertext],
        model: LinearModel,
        progress: Progress | None = None,
        *,
        feature_bound: float | None = None,
    ) -> list[Ciphertext | Error]:
        """Score many ciphertexts, by the rules of linear and evaluate_all."""
        vouched = None if feature_bound is None else check_feature_bound(feature_bound)
        last: tuple[tuple[float, int, Known], LinearPlan] | None = None

        def program(ciphertext: Ciphertext) -> Program:
            nonlocal last
            check_reading(ciphertext)
            known = ciphertext.known.bounded(vouched)
            bound = check_feature_bound(known.largest)
            scale, primes, _ = kind = ciphertext.scale, ciphertext.primes, known
            if last is None or last[0] != kind:
                if self.scheme.is_bfv:
                    plan = plan_exact(
                        model, self.parms, self.scheme.plain_modulus, feature_bound=bound, result_primes=None
                    )
                else:
                    plan = plan_linear(
                        model,
                        self.parms,
                        scale,
                        primes=primes,
                        feature_bound=bound,
                        centred=self.centred_digits,
                    )
                last = kind, plan.of(known)
            return last[1].program

        return self.evaluate_all(program, ciphertexts, progress)

    def weighted_sum(
        self,
        ciphertexts: Sequence[Bytes | Ciphertext],
        weights: Sequence[float] | NDArray[Any],
        *,
        bound: float | None = None,
        distinct: bool = False,
    ) -> Ciphertext:
        """Add up one or more readings, each times its weight; BFV's weights are integers.

        bound: as linear's feature_bound. distinct: as sum's. Raises the errors of sum and linear.
        """
        if len(ciphertexts) != len(weights):
            raise ParameterError(
                f"{len(weights)} weights are given for {len(ciphertexts)} ciphertexts: give one for each."
            )
        checked = [self.load(ciphertext) for ciphertext in ciphertexts]
        for reading in checked:
            check_reading(reading)
        if not checked:
            raise EngineError("A sum of no ciphertexts was asked for: give at least one.")
        first = checked[0]
        largest = bound
        if largest is None:
            declared = [reading.known.largest for reading in checked]
            largest = None if None in declared else max(each for each in declared if each is not None)
        programs = plan_weighted_sum(
            weights,
            self.parms,
            first.scale,
            bound=check_feature_bound(largest),
            primes=first.primes,
            scheme=self.scheme,
        )
        vouched = None if bound is None else check_feature_bound(bound)
        terms = [
            self.evaluate(replace(program, result=self._followed(program, reading, vouched)), reading)
            for program, reading in zip(programs, checked, strict=True)
            if program is not None
        ]
        return self.sum(terms, distinct=distinct)

    def _followed(self, program: Program, given: Ciphertext, bound: float | None = None) -> Known:
        """Follow what is known through a program. bound: the largest |value| in the ciphertext, for which the
        caller vouches. Raises ValueRangeError if a step may exceed the modulus."""
        of = self.parms, given.primes, given.scale, self.scheme
        return program.follow(given.known.bounded(bound), *of, centred=self.centred_digits)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def describe_content(ciphertext: Ciphertext) -> str:
    """Describe in a message whether a ciphertext holds scores, and of which model."""
    model_id = ciphertext.model_id
    return "no model's scores" if model_id is None else f"scores of model {model_id:016x}"


def check_reading(ciphertext: Ciphertext) -> None:
    """Raises MismatchError if a ciphertext holds scores, because the scores of scores would be shown under
    the model's classes."""
    if ciphertext.model_id is not None:
        raise MismatchError(
            f"The ciphertext holds {describe_content(ciphertext)} already, and is not a reading to score: "
            "give the reading, as `ciphermote adapt` wrote it."
        )


def open_engine(
    parms: ParameterSet,
    *,
    galois_keys: Bytes | None = None,
    relin_keys: Bytes | None = None,
    scheme: Scheme = CKKS,
    bare: bool = False,
    workers: int = 1,
    name: EngineName = "native",
) -> Engine:
    """Open an engine with SEAL's bytes of evaluation keys: "native", Ciphermote's own evaluator, in threads
    of this process; or "seal", Microsoft SEAL in processes of its own, which needs the package tenseal.

    scheme: CKKS or BFV(t); the keys are for that scheme (keys.galois_keys_for_bfv). bare: accept keys and
    ciphertexts without labels, as SEAL itself saves them; a result has a label only if all its inputs had
    one. Raises FrameError if the keys are not of parms; MismatchError if they belong to two keys; EngineError
    if there is no such engine, or it cannot start.
    """
    kind: Callable[..., Engine]
    match name:
        case "native":
            from ciphermote.evaluate.native import NativeEngine as kind
        case "seal":
            from ciphermote.evaluate.seal import SealEngine as kind
        case _:
            raise EngineError(f"There is no engine {name!r}; the engines are: native, seal.")
    return kind(
        parms,
        galois_keys=galois_keys,
        relin_keys=relin_keys,
        scheme=scheme,
        bare=bare,
        workers=workers,
    )


__all__ = ["Engine", "Progress", "open_engine"]
