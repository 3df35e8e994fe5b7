"""Linear inference on one encrypted vector: scores = W x + b for C classes over d packed features.

The method is the hybrid diagonal one (Halevi and Shoup 2014; GAZELLE, Juvekar et al. 2018). With B the power
of two at or above C, and slots s, t over all n/2,
    y = sum over i < B of rotate(x, i) * diagonal_i,   diagonal_i[s] = W[s mod B][s + i]
collects in slot s what class s mod B gets from features s .. s + B - 1; adding the rotations of y by B, 2B,
..., n/4 collects the rest, and every slot s ends with the score of class s mod B.

Two things are done for precision. Products come first:
    rotate(x, i) * diagonal_i = rotate(x * rotate(diagonal_i, -i), i),
and so by Horner's rule all B - 1 inner rotations are rotations of products, by one; one Galois key serves
them all. And the rescale comes last: a rotation's key switch adds noise of fixed size, which a product's
scale makes negligible and a fresh ciphertext's does not (up to 0.007 on values of at most 1 at scale 2^25).

This module plans and computes in the clear; it sees neither keys nor ciphertexts.
"""

from __future__ import annotations

import io
import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ciphermote import json_text
from ciphermote.errors import ParameterError
from ciphermote.parameters import ParameterSet
from ciphermote.program import Constant, Program, Step

DEFAULT_FEATURE_BOUND = 16.0
"""The |feature| a plan leaves room for unless told: standardised features pass it practically never."""

_FORMAT = "ciphermote-linear-model"
_FORMAT_VERSION = 1


@dataclass(frozen=True, eq=False)
class LinearModel:
    """scores = weights @ x + bias.

    weights: float64 [classes, features]; bias: float64 [classes]; labels: the classes' names, or none at all.
    ParameterError if the shapes do not fit or a number is not finite.
    """

    weights: NDArray[np.float64]
    bias: NDArray[np.float64]
    labels: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        weights = np.array(self.weights, dtype=np.float64)
        bias = np.array(self.bias, dtype=np.float64)
        if weights.ndim != 2 or 0 in weights.shape or bias.shape != (len(weights),):
            raise ParameterError(
                "A linear model has weights [classes, features] and bias [classes], not "
                f"{list(weights.shape)} and {list(bias.shape)}: give one row of weights and one bias a class."
            )
        if not (np.isfinite(weights).all() and np.isfinite(bias).all()):
            raise ParameterError(
                "The linear model has a weight or a bias that is not finite: train it again."
            )
        if len(self.labels) not in (0, len(weights)):
            raise ParameterError(
                f"{len(self.labels)} labels are given for {len(weights)} classes: give all or none."
            )
        weights.setflags(write=False)
        bias.setflags(write=False)
        object.__setattr__(self, "weights", weights)
        object.__setattr__(self, "bias", bias)
        object.__setattr__(self, "labels", tuple(str(label) for label in self.labels))

    @property
    def classes(self) -> int:
        return len(self.weights)

    @property
    def features(self) -> int:
        return int(self.weights.shape[1])

    def scores(self, x: ArrayLike) -> NDArray[np.float64]:
        """Plain scores: x float [..., features] -> float64 [..., classes]. ParameterError for another d."""
        values = np.asarray(x, dtype=np.float64)
        if values.ndim == 0 or values.shape[-1] != self.features:
            raise ParameterError(
                f"The model takes {self.features} features but x has shape {list(values.shape)}."
            )
        return np.asarray(values @ self.weights.T + self.bias)

    def score_bound(self, feature_bound: float = DEFAULT_FEATURE_BOUND) -> float:
        """What no |score| and no partial sum can pass while every |feature| is at most feature_bound."""
        return float((np.abs(self.weights).sum(axis=1) * feature_bound + np.abs(self.bias)).max())

    def to_json(self) -> str:
        return json.dumps(
            {
                "format": _FORMAT,
                "version": _FORMAT_VERSION,
                "labels": list(self.labels),
                "weights": self.weights.tolist(),
                "bias": self.bias.tolist(),
            }
        )

    @classmethod
    def from_json(cls, text: str | bytes) -> LinearModel:
        """The model that to_json wrote. ParameterError if text is none."""
        try:
            found = json_text.parse(text)
        except ValueError as error:
            raise ParameterError(
                f"The linear model is no JSON ({error}): write it with LinearModel.save."
            ) from None
        if not isinstance(found, dict):
            raise ParameterError("The linear model is no JSON object: write it with LinearModel.save.")
        return cls._from_fields(found)

    @classmethod
    def _from_fields(cls, fields: dict[str, Any]) -> LinearModel:
        if fields.get("format") != _FORMAT or fields.get("version") != _FORMAT_VERSION:
            raise ParameterError(
                f"The file is no linear model of version {_FORMAT_VERSION}: write it with LinearModel.save."
            )
        try:
            weights = np.asarray(fields["weights"], dtype=np.float64)
            bias = np.asarray(fields["bias"], dtype=np.float64)
            labels = tuple(json_text.string(label) for label in fields["labels"])
        except (KeyError, TypeError, ValueError, OverflowError):
            raise ParameterError(
                "The linear model's weights, bias or labels are missing or no tables of numbers: write it "
                "with LinearModel.save."
            ) from None
        return cls(weights, bias, labels)

    def save(self, path: str | Path) -> None:
        """Write .json (readable) or .npz (compact), by the path's suffix. ParameterError for another one."""
        path = Path(path)
        if _suffix(path) == ".json":
            path.write_text(self.to_json() + "\n", encoding="utf-8")
            return
        with path.open("wb") as file:
            np.savez(
                file,
                format=np.array(_FORMAT),
                version=np.array(_FORMAT_VERSION),
                labels=np.array(self.labels, dtype=np.str_),
                weights=self.weights,
                bias=self.bias,
            )

    @classmethod
    def load(cls, path: str | Path) -> LinearModel:
        """The model that save wrote. ParameterError if it cannot be read or is none."""
        path = Path(path)
        suffix = _suffix(path)
        try:
            content = path.read_bytes()
        except OSError as error:
            raise ParameterError(f"The linear model {path} cannot be read: {error.strerror}.") from None
        if suffix == ".json":
            return cls.from_json(content)
        try:
            with np.load(io.BytesIO(content), allow_pickle=False) as archive:
                fields = {name: archive[name] for name in ("format", "version", "labels", "weights", "bias")}
                fields["format"], fields["version"] = str(fields["format"]), int(fields["version"])
        except Exception as error:  # zipfile, zlib and numpy each have their own errors for damaged bytes
            raise ParameterError(f"The linear model {path} is damaged or no .npz of one ({error}).") from None
        return cls._from_fields(fields)


def _suffix(path: Path) -> str:
    if path.suffix not in (".json", ".npz"):
        raise ParameterError(f"The linear model {path} must end in .json or .npz.")
    return path.suffix


@dataclass(frozen=True, eq=False)
class LinearPlan:
    """How an engine scores a ciphertext with a model.

    period: slot s of the result holds the score of class s mod period. max_score: larger scores wrap.
    result_scale and result_primes: what the result will have.
    """

    model: LinearModel
    program: Program
    period: int
    result_scale: float
    result_primes: int
    max_score: float

    @property
    def rotation_steps(self) -> tuple[int, ...]:
        """The rotations the owner makes Galois keys for."""
        return self.program.rotation_steps

    def scores(self, slots: ArrayLike) -> NDArray[np.float64]:
        """The scores in a decrypted result: float [slots] -> float64 [classes]."""
        values = np.asarray(slots, dtype=np.float64)
        if values.ndim != 1 or len(values) < self.model.classes:
            raise ParameterError(
                f"A decrypted result has one dimension and a slot for every class, not {list(values.shape)}."
            )
        return values[: self.model.classes].copy()


@dataclass(frozen=True)
class _Levels:
    """The choice of scales: primes kept before the products, weights' scale, whether a rescale follows."""

    primes: int
    weight_scale: float
    rescale: bool


_EXTRA_BITS = 10
_FEWEST_WEIGHT_BITS = 12


def _choose_levels(parms: ParameterSet, primes: int, scale: float, score_bound: float) -> _Levels:
    """The fewest primes and the weights' scale with which scores up to score_bound fit.

    A product has scale * weight_scale and its slots must stay below half the modulus. With a rescale, the
    weights' scale is the dropped prime, which brings the result back to the data's scale exactly, times up to
    2^10: the rescale's own rounding (about n/4 units a slot; fresh noise is 2.3 sqrt(n)) then drowns in the
    data's noise, and so does the weights' rounding. Fewer primes make rotations cheaper, so no more are kept
    than that takes. Where a rescale leaves no room (two primes), none is made: the product's scale takes what
    the modulus offers, and 12 bits of weights is the least that is worth having.
    """
    best: _Levels | None = None
    for kept in range(2, primes + 1):
        room = math.prod(parms.primes[: kept - 1]) / (2 * scale * score_bound)
        extra = min(_EXTRA_BITS, math.floor(math.log2(room)))
        if extra >= 0:
            best = _Levels(kept, float(parms.primes[kept - 1]) * 2.0**extra, rescale=True)
        if extra == _EXTRA_BITS:
            break
    if best is not None:
        return best
    room = math.prod(parms.primes[:primes]) / (2 * scale * score_bound)
    bits = min(26, math.floor(math.log2(room)))
    if bits < _FEWEST_WEIGHT_BITS:
        raise ParameterError(
            f"Scores up to {score_bound:.3g} at scale 2^{math.log2(scale):.4g} leave {max(bits, 0)} bits for "
            f"the weights with {primes} data prime(s) of {parms.name}, too few to be useful: use a set "
            "with more data primes (three suffice), a smaller scale, or smaller weights."
        )
    return _Levels(primes, 2.0**bits, rescale=False)


def plan_linear(
    model: LinearModel,
    parms: ParameterSet,
    scale: float,
    *,
    primes: int | None = None,
    feature_bound: float = DEFAULT_FEATURE_BOUND,
) -> LinearPlan:
    """Plan the scoring of ciphertexts of parms that have this scale and count of primes (None: fresh ones).

    feature_bound: every |feature| is at most this; scores that pass plan.max_score come out wrong, and this
    keeps them away from it. ParameterError if the set has no key switching, the model no room in its slots,
    or the scores none in its modulus.
    """
    available = max(1, len(parms.primes) - 1)
    primes = available if primes is None else primes
    if len(parms.primes) < 2:
        raise ParameterError(
            f"{parms.name} has one prime and so no rotations, which summing over slots needs: use a set with "
            "a special prime."
        )
    if not 1 <= primes <= available:
        raise ParameterError(f"{parms.name} has no ciphertexts of {primes} primes: give 1 to {available}.")
    if not 2.0**10 <= scale <= 2.0**60:
        raise ParameterError(
            f"A scale of {scale:.6g} is not within 2^10 to 2^60: encrypt with a usual one, such as 2^25."
        )
    if not (math.isfinite(feature_bound) and feature_bound > 0):
        raise ParameterError(f"The feature bound {feature_bound!r} is no positive number.")
    slots = parms.slots
    period = 1 << (model.classes - 1).bit_length()
    if model.features > slots or period > slots:
        raise ParameterError(
            f"The model has {model.features} features and {model.classes} classes but {parms.name} has "
            f"{slots} slots: use a larger n or fewer of them."
        )
    bound = min(max(model.score_bound(feature_bound), 2.0**-10), 2.0**100)
    levels = _choose_levels(parms, primes, scale, bound)
    result_primes = levels.primes - levels.rescale
    result_scale = scale * levels.weight_scale
    if levels.rescale:
        result_scale /= parms.primes[levels.primes - 1]
    return LinearPlan(
        model=model,
        program=_program(model, slots, period, levels, primes),
        period=period,
        result_scale=result_scale,
        result_primes=result_primes,
        max_score=math.prod(parms.primes[:result_primes]) / (2 * result_scale),
    )


def _diagonals(model: LinearModel, slots: int, period: int) -> NDArray[np.float64]:
    """float64 [period, slots]: row i is diagonal i rotated by -i: W[(s - i) mod period][s] in slot s."""
    padded = np.zeros((period, slots))
    padded[: model.classes, : model.features] = model.weights
    slot = np.arange(slots)
    return np.stack([padded[(slot - i) % period, slot] for i in range(period)])


def _program(model: LinearModel, slots: int, period: int, levels: _Levels, primes: int) -> Program:
    data, sum_, term = 0, 1, 2
    constants = [Constant(row, levels.weight_scale) for row in _diagonals(model, slots, period)]
    steps: list[Step] = []
    if levels.primes < primes:
        steps.append(Step("keep_primes", data, data, levels.primes))
    steps.append(Step("multiply_plain", sum_, data, period - 1))
    for i in range(period - 2, -1, -1):
        steps += [
            Step("rotate", sum_, sum_, 1),
            Step("multiply_plain", term, data, i),
            Step("add", sum_, sum_, term),
        ]
    width = period
    while width < slots:
        steps += [Step("rotate", term, sum_, width), Step("add", sum_, sum_, term)]
        width *= 2
    if levels.rescale:
        steps.append(Step("rescale", sum_, sum_))
    if model.bias.any():
        bias = np.zeros(period)
        bias[: model.classes] = model.bias
        constants.append(Constant(np.tile(bias, slots // period)))
        steps.append(Step("add_plain", sum_, sum_, period))
    return Program(tuple(steps), tuple(constants))
