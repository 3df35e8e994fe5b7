# SPDX-License-Identifier: Apache-2.0
"""Bounds of compact sums: the predicted failures against exact convolutions and against what is measured."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from ciphermote.base.errors import ParameterError
from ciphermote.compact import bounds
from ciphermote.compact.bounds import Term
from ciphermote.compact.sets import A10, A16, COMPACT_SETS, B, C, CompactSet, D
from compact_support import Fleet, wrong

TABLE = {"a10": -45.005, "a16": -45.990, "b": -92.877, "c": -135.291, "d": -46.197, "l": -460.135}
"""log2 failure of a coefficient of the sums that the sets are made for."""


def exact_failure(compact: CompactSet, weights: list[int], room: Fraction | None = None) -> float:
    """Compute the chance by convolution in integers: probabilities times 2^((42 + d) windows)."""
    half = 1 << compact.dropped_bits >> 1
    one: dict[int, int] = {}
    for pairs in range(43):
        for low in range(1 << compact.dropped_bits):
            error = pairs - 21 + half - low
            one[error] = one.get(error, 0) + math.comb(42, pairs)
    total = {0: 1}
    for weight in weights:
        following: dict[int, int] = {}
        for x, p in total.items():
            for error, times in one.items():
                place = x + weight * error
                following[place] = following.get(place, 0) + p * times
        total = following
    shift = sum(weights) // 2 if compact.dropped_bits else 0
    if room is None:
        coherent = Fraction(sum(map(abs, weights)), 2)
        room = Fraction(compact.modulus, 2 * compact.plain_modulus) - coherent
    failing = sum(p for x, p in total.items() if abs(x - shift) >= room)
    return math.log2(failing) - (42 + compact.dropped_bits) * len(weights) if failing else -math.inf


@pytest.mark.parametrize("compact", COMPACT_SETS, ids=lambda s: s.name)
def test_failure_of_the_sums_that_sets_are_made_for(compact: CompactSet) -> None:
    found = bounds.failure_log2(compact, {1: compact.usual_devices})
    assert found == pytest.approx(TABLE[compact.name], abs=5e-4)
    assert found < bounds.LOG2_FAILURE
    assert compact.usual_devices * compact.usual_value < compact.plain_modulus


@pytest.mark.parametrize("compact", COMPACT_SETS, ids=lambda s: s.name)
def test_one_window_cannot_fail(compact: CompactSet) -> None:
    assert bounds.failure_log2(compact, [1]) == -math.inf
    assert bounds.check(compact, [Term(1, compact.largest_value)]) == -math.inf


@pytest.mark.parametrize(
    ("compact", "weights"),
    [
        (A10, [1] * 10),
        (A10, [1] * 5 + [-1] * 5),
        (A10, [-1] * 9),
        (A10, [2, -3, 1]),
        (A10, [5, 1]),
        (A10, [-5, -1]),
        (A16, [1] * 16),
        (A16, [3, 3, -3]),
        (B, [7, -4, 2]),
    ],
)
def test_tails_are_those_of_the_exact_convolution(compact: CompactSet, weights: list[int]) -> None:
    assert bounds.failure_log2(compact, weights) == pytest.approx(exact_failure(compact, weights), rel=1e-9)


@pytest.mark.parametrize("room", [1, 20, 60, 100, 160, 219, 220, 221])
def test_every_part_of_a_tail_is_exact(room: int) -> None:
    found = bounds.exceeds_log2(A10, bounds.weights_of([3, -3]), room)
    exact = exact_failure(A10, [3, -3], Fraction(room))
    if exact > -2:  # a bound that counts both sides, and never less
        assert exact - 1e-9 <= found <= 0
    else:
        assert found == pytest.approx(exact, rel=1e-9)


def test_large_sums_agree_with_convolution_in_floats() -> None:
    """Positive terms alone are added, so nothing small is lost."""
    noise = np.array([math.comb(42, k) for k in range(43)]) / 2.0**42
    one = np.convolve(noise, np.full(32, 1 / 32))  # from -21 - 15
    total, lowest = np.ones(1), 0
    for bit in f"{D.usual_devices:b}":
        total, lowest = np.convolve(total, total), 2 * lowest
        if bit == "1":
            total, lowest = np.convolve(total, one), lowest - 36
        kept = np.flatnonzero(total > 1e-70)
        total, lowest = total[kept[0] : kept[-1] + 1], lowest + int(kept[0])
    x = lowest + np.arange(len(total)) - D.usual_devices // 2
    room = bounds.noise_room(D, {1: D.usual_devices})
    exact = math.log2(total[np.abs(x) >= room].sum())
    assert bounds.failure_log2(D, {1: D.usual_devices}) == pytest.approx(exact, rel=1e-8)


@pytest.mark.parametrize("compact", COMPACT_SETS, ids=lambda s: s.name)
def test_likely_noise_is_exceeded_no_more_often_than_said(compact: CompactSet) -> None:
    weights = bounds.weights_of([1] * min(compact.usual_devices, 60) + [-2])
    likely = bounds.likely_noise(compact, weights)
    assert bounds.exceeds_log2(compact, weights, likely + 1) <= bounds.LOG2_FAILURE + 1
    assert bounds.exceeds_log2(compact, weights, 0.9 * likely) > bounds.LOG2_FAILURE


def test_sums_past_t_are_refused() -> None:
    assert bounds.check(A10, [Term(1, 409)] * 10) < -40
    with pytest.raises(ParameterError, match=r"anything from 0 to 4091, and set a10 tells 4091 values"):
        bounds.check(A10, [Term(1, 409)] * 9 + [Term(1, 410)])
    bounds.check(A10, [Term(1, 2045), Term(-1, 2045)])
    with pytest.raises(ParameterError, match="from -2045 to 2046"):
        bounds.check(A10, [Term(1, 2046), Term(-1, 2045)])


def test_sums_past_the_noise_are_refused() -> None:
    bounds.check(A10, [Term(1, 1)] * 10)
    with pytest.raises(ParameterError, match=r"chance of 2\^-3\d\.\d, and 2\^-40 is allowed"):
        bounds.check(A10, [Term(1, 1)] * 12)
    with pytest.raises(ParameterError, match="of no windows"):
        bounds.check(A10, [])
    for weight in (0, bounds.LARGEST_WEIGHT + 1, -(2**40)):
        with pytest.raises(ParameterError, match="weight"):
            bounds.check(A10, [Term(weight, 1)])


@pytest.mark.parametrize("weight", [100, 10_000, bounds.LARGEST_WEIGHT])
@pytest.mark.parametrize("compact", COMPACT_SETS, ids=lambda s: s.name)
def test_large_weights_fail_and_never_break(compact: CompactSet, weight: int) -> None:
    found = bounds.failure_log2(compact, [weight, -weight, 1, weight - 1])
    assert found <= 0 and (found > -40 or (weight == 100 and compact in (C, D)))


def test_more_bits_of_a_sum_are_dropped_while_the_noise_allows() -> None:
    dropped = bounds.most_dropped(B, {1: 30})
    assert dropped > 4
    assert bounds.failure_log2(B, {1: 30}, dropped) <= -40 < bounds.failure_log2(B, {1: 30}, dropped + 1)


MIXTURES = [
    (A10, {1: 10}),
    (A16, {3: 2, -3: 1}),
    (B, {7: 1, -4: 1, 2: 1}),
    (B, {1: 30, -2: 3}),
    (C, {1: 200}),
    (C, {2: 20, -1: 40, 5: 3}),
    (B, {60: 2, 1: 20}),
    (D, {1: 5000}),
    (D, {-1: 800, 40: 2}),
]


@pytest.mark.parametrize(("compact", "weights"), MIXTURES, ids=str)
def test_frequencies_that_are_left_out_change_no_number(
    compact: CompactSet, weights: dict[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    rooms = [share * bounds.noise_room(compact, weights) for share in (0.3, 0.7, 1.0)]
    found = [bounds.exceeds_log2(compact, weights, room) for room in rooms]
    monkeypatch.setattr(bounds, "_near", lambda frequencies, *_: np.ones(len(frequencies), dtype=bool))
    assert found == [bounds.exceeds_log2(compact, weights, room) for room in rooms]


def test_few_frequencies_of_a_large_sum_are_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    computed = []
    function = bounds._Errors.log_function

    def counting(self: bounds._Errors, weight: int, z: bounds.Complex) -> bounds.Complex:
        computed.append(len(z))
        return function(self, weight, z)

    monkeypatch.setattr(bounds._Errors, "log_function", counting)
    bounds.most_dropped(C, {1: 1000})
    assert computed and sum(computed) < 10_000, computed


@pytest.mark.parametrize(("compact", "weights"), MIXTURES, ids=str)
def test_bits_are_dropped_until_the_first_too_many(compact: CompactSet, weights: dict[int, int]) -> None:
    dropped = 0
    while bounds.failure_log2(compact, weights, dropped + 1) <= bounds.LOG2_FAILURE:
        dropped += 1
    assert bounds.most_dropped(compact, weights) == dropped


# --- what is measured ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("compact", "weights", "value"),
    [
        (A10, [7], 0),
        (A10, [5, -5], 0),
        (A10, [6, 3], None),
        pytest.param(B, [15, 15, -15], 0, marks=pytest.mark.slow),
    ],
)
def test_failure_where_one_in_ten_thousand_is_predicted(
    compact: CompactSet, weights: list[int], value: int | None
) -> None:
    """value: that of all devices, whose rounding of Q m / t is 0; None: one whose rounding is nearest to
    half. It then adds up to one side: there the bound's tail begins, and on the other side twice as much
    further."""
    counted = bounds.weights_of(weights)
    if value is None:
        value = min(range(1, compact.usual_value), key=lambda m: _from_half(compact, m))
        upwards = compact.modulus * value % compact.plain_modulus > compact.plain_modulus // 2
        near, far = bounds._sides(compact, counted)[:: 1 if upwards else -1]
        room = bounds.noise_room(compact, counted)
        predicted = sum(
            2 ** bounds._tail(errors, math.ceil(at) + shift)
            for (errors, shift), at in ((near, room), (far, room + sum(weights)))
        )
        assert predicted <= 2 ** bounds.failure_log2(compact, counted)
    else:
        predicted = 2 ** bounds.exceeds_log2(compact, counted, compact.modulus / (2 * compact.plain_modulus))
    assert 3e-5 < predicted < 1e-3
    fleet = Fleet(compact, len(weights), packet_bytes=40_000)
    values = np.full(compact.n, value)
    expected = np.full(compact.n, value * sum(weights))
    failures = rounds = 0
    while failures < 400:
        windows = [fleet.window(device, values) for device in fleet.devices]
        total = fleet.sum(windows, weights, compact.n)
        failures += wrong(fleet, total, counted, expected)
        rounds += 1
        assert rounds * compact.n * predicted < 2000, "far fewer failures than predicted"
    assert failures / (rounds * compact.n) == pytest.approx(predicted, rel=0.2)


def _from_half(compact: CompactSet, value: int) -> float:
    return abs(compact.modulus * value % compact.plain_modulus / compact.plain_modulus - 0.5)


def test_starts_near_the_largest_error_have_a_bound():
    """Near the largest error that there can be, no tilt was found and a tail's digits cancelled, so that its
    logarithm could not be taken and no sum came out."""
    chances = []
    for count in (*range(110, 116), 175, 205, 239):
        weights = bounds.weights_of([1] * count)
        dropped = bounds.most_dropped(C, weights)
        bounds.check(C, [bounds.Term(1, 1)] * count, dropped)
        chances.append(dropped)
    assert chances == sorted(chances, reverse=True)
