# SPDX-License-Identifier: Apache-2.0
"""Linear inference on one encrypted vector: scores = W x + b for C classes over d packed features.

The method is the hybrid diagonal one (Halevi and Shoup 2014; GAZELLE, Juvekar et al. 2018). With B the power
of two at or above C, and slots s, t over all n/2,
    y = sum over i < B of rotate(x, i) * diagonal_i,   diagonal_i[s] = W[s mod B][s + i]
collects in slot s what class s mod B gets from features s .. s + B - 1; adding the rotations of y by B, 2B,
..., n/4 collects the rest, and every slot s ends with the score of class s mod B.

Two choices serve precision. Products come first:
    rotate(x, i) * diagonal_i = rotate(x * rotate(diagonal_i, -i), i),
and so by Horner's rule all B - 1 inner rotations are rotations of products, by one; one Galois key serves
them all. And the rescale comes last: a rotation's key switch adds noise of fixed size, which a product's
scale makes negligible and a fresh ciphertext's does not (up to 0.007 on values of at most 1 at scale 2^25).

Many vectors fit one ciphertext, each in a block of `stride` slots (BFV: of either row): B empty slots, the
features, zeros. The rotations stop at stride/2 then, and slot c of a block collects the block's first stride
slots from c on, hence all of its features and none of the next block's, which begin B slots into it. Nothing
is masked: the other slots end with mixtures of blocks, which are not used. Exact integers (BFV modulo t) use
the same steps without scales.

This module plans and computes in the clear; it sees neither keys nor ciphertexts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ciphermote.base.arguments import shown
from ciphermote.base.errors import ParameterError
from ciphermote.base.words import count_of
from ciphermote.evaluate.linear_model import LinearModel, real_numbers
from ciphermote.evaluate.program import Constant, Program, Step
from ciphermote.parameters import CKKS, ParameterSet, Scheme, batches
from ciphermote.parameters.bounds import Known
from ciphermote.parameters.noise import fewest_result_primes, holds_integers
from ciphermote.parameters.uncertainty import Uncertainty


@dataclass(frozen=True, eq=False)
class LinearPlan:
    """A plan to score a ciphertext with a model.

    period: slot s of the result holds the score of class s mod period; with blocks, only the first `period`
    slots of a block do. score_bound: no score of features within their bound is larger; max_score: scores up
    to here are right. result_scale (1 for BFV) and result_primes: those of the result. stride: slots of a
    block. first_feature: the slot of feature 0 in a block. noise: the error that scoring adds to the
    reading's own; None for BFV.
    """

    model: LinearModel
    program: Program
    period: int
    result_scale: float
    result_primes: int
    max_score: float
    score_bound: float
    stride: int
    first_feature: int
    noise: Uncertainty | None = None

    def of(self, reading: Known) -> LinearPlan:
        """Return the plan for readings about which this is known, so that the program states what its result
        holds."""
        largest = None if reading.largest is None else self.score_bound
        known = reading.weighted(self.model.weights, largest, self.noise)
        return replace(self, program=replace(self.program, result=known))

    @property
    def rotation_steps(self) -> tuple[int, ...]:
        """The rotations that need Galois keys."""
        return self.program.rotation_steps

    def scores(self, slots: ArrayLike) -> NDArray[np.float64]:
        """Extract the scores from a decrypted result: float [slots] -> float64 [classes]."""
        values = real_numbers(slots, "Slots")
        if values.ndim != 1 or len(values) < self.model.classes:
            raise ParameterError(
                f"A decrypted result has one dimension and a slot for every class, not {list(values.shape)}."
            )
        return values[: self.model.classes].copy()


@dataclass(frozen=True)
class _Levels:
    """A choice of scales: the primes left before the products, the weights' scale, and whether to rescale."""

    primes: int
    weight_scale: float
    rescale: bool


_EXTRA_BITS, _DROWNING_BITS = 10, 6
_FEWEST_WEIGHT_BITS = 12
_BEYOND_ALL = 2.0**600
"""No modulus has room for a score this large, while floats still have room to compute with it."""


def _choose_levels(parms: ParameterSet, primes: int, scale: float, score_bound: float) -> _Levels:
    """Choose the fewest primes and the weights' scale with which scores up to score_bound fit.

    A product has scale * weight_scale, and its slots must stay below a quarter of the modulus, as devices
    that decrypt them require. With a rescale, the weights' scale is the dropped prime, which brings the
    result back to the data's scale exactly, times up to 2^10: the rescale's own rounding (about n/4 units a
    slot; fresh noise is 2.3 sqrt(n)) then drowns in the data's noise, and so does the weights' rounding.
    Fewer primes make rotations cheaper, so no more are used than needed.

    If a rescale leaves no room (two primes), there is none: the product's scale takes the room of the
    modulus, and weights have at least 12 bits. A bit of room is left if the rounding still drowns without it,
    so that noise on the largest score does not reach the quarter, and scores slightly beyond their bound are
    still right, or are refused.
    """
    best: _Levels | None = None
    for kept in range(2, primes + 1):
        room = _bits_of_room(parms, kept - 1, scale, score_bound)
        extra = min(_EXTRA_BITS, room - (room > _DROWNING_BITS))
        if extra >= 0:
            best = _Levels(kept, float(parms.primes[kept - 1]) * 2.0**extra, rescale=True)
        if room >= _EXTRA_BITS:
            break
    if best is not None:
        return best
    room = _bits_of_room(parms, primes, scale, score_bound)
    bits = min(26, room)
    if bits < _FEWEST_WEIGHT_BITS:
        more = "" if len(parms.data_primes) > 2 else "a set with more data primes, "
        raise ParameterError(
            f"Scores up to {score_bound:.3g} at scale 2^{math.log2(scale):.4g} leave {max(bits, 0)} bits for "
            f"the weights with {count_of(primes, 'data prime')} of {parms.name}, too few to be useful: use "
            f"{more}a smaller bound (--feature-bound), a smaller scale, or smaller weights."
        )
    return _Levels(primes, 2.0**bits, rescale=False)


def _bits_of_room(parms: ParameterSet, primes: int, scale: float, score_bound: float) -> int:
    """Return how often scores at this scale can be doubled and stay below a quarter of the first primes."""
    return math.floor(math.log2(parms.moduli[primes] / (4 * scale * score_bound)))


def plan_weighted_sum(
    weights: ArrayLike,
    parms: ParameterSet,
    scale: float,
    *,
    bound: float,
    primes: int | None = None,
    scheme: Scheme = CKKS,
) -> list[Program | None]:
    """Make a program for each weight, None for 0: an engine adds up their results for ciphertexts of parms at
    this scale and count of primes.

    bound: the largest |value|. scheme: CKKS, or BFV(t) with a t that batches and integer weights. Raises
    ParameterError if something does not fit.
    """
    w = real_numbers(weights)
    if w.ndim != 1 or not np.isfinite(w).all() or not w.any():
        raise ParameterError("Weights are not one finite number for each ciphertext, or all 0: give others.")
    bound = check_feature_bound(bound)
    total = float(np.abs(w).sum() * bound)
    if scheme.is_bfv:
        _check_integers(w, "The weights")
        _check_exact(total, scheme.plain_modulus)
        _check_batching(parms, scheme.plain_modulus)
        levels = _Levels(0, 1.0, rescale=False)
    else:
        available = len(parms.data_primes) if primes is None else primes
        levels = _choose_levels(parms, available, scale, min(max(total, 2.0**-10), _BEYOND_ALL))
    before = (Step("keep_primes", _DATA, _DATA, levels.primes),) if levels.primes else ()
    # Rescaled at once: a product with a multiple of the dropped prime is zero there, and no result may be.
    after = (Step("rescale", _SUM, _SUM),) if levels.rescale else ()
    steps = (*before, Step("multiply_plain", _SUM, _DATA, 0), *after)
    slots = parms.n if scheme.is_bfv else parms.slots
    return [
        Program(steps, (Constant(np.full(slots, weight), levels.weight_scale),)) if weight else None
        for weight in w.tolist()
    ]


def rotation_steps(model: LinearModel, parms: ParameterSet) -> tuple[int, ...]:
    """Return the rotations needed to score single readings with the model, in either scheme. Raises
    ParameterError like plan_linear."""
    _check_rotations(parms)
    return _program(model, _layout(model, parms, None), 1, 1.0, [], []).rotation_steps


def plan_linear(
    model: LinearModel,
    parms: ParameterSet,
    scale: float,
    *,
    feature_bound: float,
    primes: int | None = None,
    stride: int | None = None,
    centred: bool = True,
) -> LinearPlan:
    """Plan the scoring of ciphertexts of parms at this scale and count of primes (None: fresh ones).

    feature_bound: the largest |feature|, which keeps scores below plan.max_score; larger ones would be wrong.
    stride: many vectors in a ciphertext, in blocks of `stride` slots; None: one. centred: whether the engine
    centres digits of key switching (noise.switching_noise). Raises ParameterError if the set has no key
    switching, the model no room in its slots, or the scores none in its modulus.
    """
    available = len(parms.data_primes)
    primes = available if primes is None else primes
    _check_rotations(parms)
    if not 1 <= primes <= available:
        raise ParameterError(
            f"{parms.name} has no ciphertexts of {count_of(primes, 'prime')}: give 1 to {available}."
        )
    if not 2.0**10 <= scale <= 2.0**60:
        raise ParameterError(
            f"A scale of {scale:.6g} is not within 2^10 to 2^60: encrypt with a usual one, such as 2^25."
        )
    check_feature_bound(feature_bound)
    layout = _layout(model, parms, stride)
    bound = min(max(model.score_bound(feature_bound), 2.0**-10), _BEYOND_ALL)
    levels = _choose_levels(parms, primes, scale, bound)
    result_primes = levels.primes - levels.rescale
    result_scale = scale * levels.weight_scale
    if levels.rescale:
        result_scale /= parms.primes[levels.primes - 1]
    before = [Step("keep_primes", _DATA, _DATA, levels.primes)] if levels.primes < primes else []
    after = [Step("rescale", _SUM, _SUM)] if levels.rescale else []
    return LinearPlan(
        model=model,
        program=_program(model, layout, 1, levels.weight_scale, before, after),
        period=layout.period,
        result_scale=result_scale,
        result_primes=result_primes,
        max_score=parms.moduli[result_primes] / (4 * result_scale),
        score_bound=bound,
        stride=layout.stride,
        first_feature=layout.first_feature,
        noise=_scoring_noise(model, parms, levels, scale, layout, feature_bound, centred=centred),
    )


def _scoring_noise(
    model: LinearModel,
    parms: ParameterSet,
    levels: _Levels,
    scale: float,
    layout: _Layout,
    feature_bound: float,
    *,
    centred: bool,
) -> Uncertainty:
    """Return the error that the steps of a program add to a score: a key switch for each rotation, of which
    all but the last are added up over slots, stride - 1 in the end; and rounding."""
    product_scale = scale * levels.weight_scale
    switching = Uncertainty.switching(parms, levels.primes, product_scale, centred=centred)
    (variance,), (spread,) = switching.variance, switching.spread
    switches = layout.stride - 1
    noise = Uncertainty((variance * switches,), (spread * math.sqrt(switches),))
    result_scale = product_scale
    if levels.rescale:
        result_scale /= parms.primes[levels.primes - 1]
        noise = noise.plus_noise(Uncertainty.rescaling(parms, result_scale))
    if model.bias.any():
        noise = noise.plus_noise(Uncertainty.encoding(parms, result_scale))
    of_weights = Uncertainty.of_weights(parms, levels.weight_scale, feature_bound, model.features)
    return noise.plus_noise(of_weights)


def plan_exact(
    model: LinearModel,
    parms: ParameterSet,
    plain_modulus: int,
    *,
    feature_bound: float,
    stride: int | None = None,
    result_primes: int | None = 1,
) -> LinearPlan:
    """Plan the scoring of fresh, batched BFV ciphertexts modulo plain_modulus, t; both rows hold blocks.

    Weights and biases are integers. Every |feature| is at most feature_bound, and no sum may then leave +-(t
    - 1) / 2: this is checked, so results are exact. result_primes: the primes left in the end, which must
    hold the noise of a switch (noise.holds_integers); fewer make the result smaller; None for the fewest.
    Raises ParameterError if something does not fit.
    """
    _check_rotations(parms)
    check_feature_bound(feature_bound)
    _check_batching(parms, plain_modulus)
    available = len(parms.primes) - 1
    if result_primes is not None and not 1 <= result_primes <= available:
        raise ParameterError(
            f"{parms.name} has no results of {count_of(result_primes, 'prime')}: give 1 to {available}."
        )
    _check_integers(np.append(model.weights, model.bias), "The model's weights and biases")
    bound = model.score_bound(feature_bound)
    _check_exact(bound, plain_modulus)
    if result_primes is None:
        result_primes = fewest_result_primes(parms, plain_modulus)
    if not holds_integers(parms, plain_modulus, result_primes):
        raise ParameterError(
            f"There is no room for noise beside integers modulo {plain_modulus} in "
            f"{count_of(result_primes, 'prime')}: keep more."
        )
    layout = _layout(model, parms, stride)
    after = [Step("keep_primes", _SUM, _SUM, result_primes)] if result_primes < available else []
    return LinearPlan(
        model=model,
        program=_program(model, layout, 2, 1.0, [], after),
        period=layout.period,
        result_scale=1.0,
        result_primes=result_primes,
        max_score=(plain_modulus - 1) // 2,
        score_bound=bound,
        stride=layout.stride,
        first_feature=layout.first_feature,
    )


def _check_integers(numbers: NDArray[np.float64], who: str) -> None:
    if (numbers % 1).any():
        raise ParameterError(f"{who} are not all integers, which BFV needs: quantise them first.")


def _check_exact(bound: float, plain_modulus: int) -> None:
    if bound > (plain_modulus - 1) // 2:
        raise ParameterError(
            f"Scores reach {bound:.0f}, and integers modulo {plain_modulus} hold up to "
            f"{(plain_modulus - 1) // 2}: quantise to smaller weights, or take a larger modulus."
        )


def _check_batching(parms: ParameterSet, plain_modulus: int) -> None:
    if not (plain_modulus < min(parms.primes) and batches(plain_modulus, parms.n)):
        raise ParameterError(
            f"Batching at n = {parms.n} needs a plain modulus that is prime and 1 modulo {2 * parms.n}, which"
            f" {plain_modulus} is not: at n = 4096, 40961 and 65537 are."
        )


def _check_rotations(parms: ParameterSet) -> None:
    if len(parms.primes) < 2:
        raise ParameterError(
            f"{parms.name} has one prime and so no rotations, which summing over slots needs: use a set with "
            "a special prime."
        )


def check_feature_bound(feature_bound: float | None) -> float:
    """Return the bound. Raises ParameterError unless it is a positive number."""
    if feature_bound is None:
        raise ParameterError(
            "Weights need a bound: give the largest |value| that any reading may hold (--feature-bound; in "
            "Python, bound), such as the sensor's full range; beyond it results come out wrong, and a "
            "generous bound costs little precision."
        )
    if (
        isinstance(feature_bound, bool)
        or not isinstance(feature_bound, int | float | np.integer | np.floating)
        or not 0 < feature_bound < math.inf
    ):
        raise ParameterError(
            f"The bound {shown(feature_bound)} is not a positive number: give the largest |value| that any "
            "reading may hold (--feature-bound; in Python, bound)."
        )
    return float(feature_bound)


@dataclass(frozen=True)
class _Layout:
    """The places of features and scores, as the module's text describes."""

    slots: int
    period: int
    stride: int
    first_feature: int


def _layout(model: LinearModel, parms: ParameterSet, stride: int | None) -> _Layout:
    slots = parms.slots
    period = 1 << (model.classes - 1).bit_length()
    if model.features > slots or period > slots:
        raise ParameterError(
            f"The model has {model.features} features and {model.classes} classes but {parms.name} has "
            f"{slots} slots: use a larger n or fewer of them."
        )
    if stride is None:
        return _Layout(slots, period, slots, 0)
    if stride & (stride - 1) or not period + model.features <= stride <= slots:
        raise ParameterError(
            f"Blocks of {stride} slots do not hold {model.features} features behind {period} empty slots: "
            f"take a power of two from {period + model.features} to {slots}."
        )
    return _Layout(slots, period, stride, period)


def _diagonals(model: LinearModel, layout: _Layout) -> NDArray[np.float64]:
    """float64 [period, slots]: row i is diagonal i rotated by -i: the weight for class (s - i) mod period of
    the feature in slot s."""
    block = np.zeros((layout.period, layout.stride))
    start = layout.first_feature
    block[: model.classes, start : start + model.features] = model.weights
    padded = np.tile(block, layout.slots // layout.stride)
    slot = np.arange(layout.slots)
    return np.stack([padded[(slot - i) % layout.period, slot] for i in range(layout.period)])


_DATA, _SUM, _TERM = 0, 1, 2


def _program(
    model: LinearModel,
    layout: _Layout,
    rows: int,
    weight_scale: float,
    before: list[Step],
    after: list[Step],
) -> Program:
    data, sum_, term, period = _DATA, _SUM, _TERM, layout.period
    constants = [Constant(np.tile(row, rows), weight_scale) for row in _diagonals(model, layout)]
    steps = list(before)
    steps.append(Step("multiply_plain", sum_, data, period - 1))
    for i in range(period - 2, -1, -1):
        steps += [
            Step("rotate", sum_, sum_, 1),
            Step("multiply_plain", term, data, i),
            Step("add", sum_, sum_, term),
        ]
    width = period
    while width < layout.stride:
        steps += [Step("rotate", term, sum_, width), Step("add", sum_, sum_, term)]
        width *= 2
    steps += after
    if model.bias.any():
        bias = np.zeros(period)
        bias[: model.classes] = model.bias
        constants.append(Constant(np.tile(bias, rows * layout.slots // period)))
        steps.append(Step("add_plain", sum_, sum_, period))
    return Program(tuple(steps), tuple(constants), model.id)
