# SPDX-License-Identifier: Apache-2.0
"""Scores of compact windows: exact within their bounds, refused beyond, with the noise that is predicted."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np
import pytest
from ciphermote import _core, _evaluator, _owner
from ciphermote.base.errors import EngineError, FrameError, MismatchError, ParameterError
from ciphermote.compact import bounds, scores
from ciphermote.compact.frames import Window
from ciphermote.compact.keys import lane_key
from ciphermote.compact.scores import (
    CompactScorer,
    CompactScores,
    ScorePlan,
    are_exact,
    check_weights,
    decrypt_scores,
    largest_digit,
)
from ciphermote.compact.sets import A10, COMPACT_SETS, CompactSet, L, compact_set
from ciphermote.compact.sums import composed
from ciphermote.evaluate.linear_model import LinearModel
from ciphermote.parameters.native import context_of
from compact_support import Fleet
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from golden import compact as golden_compact
from golden.device import chained_digest

PINNED = json.loads((Path(__file__).parents[2] / "vectors/compact.json").read_text())["scores"]
VALUES = 16
LARGEST = 255
EDGES = {
    "all 8": [8] * VALUES,
    "all -8": [-8] * VALUES,
    "alternating": [8, -8] * (VALUES // 2),
    "two halves": [8] * (VALUES // 2) + [-8] * (VALUES // 2),
    "one": [46] + [0] * (VALUES - 1),
    "mixed": [8, 0, -1, 5, -8, 8, 2, -3, 7, -7, 1, 0, 4, -6, 8, -8],
}
"""Weights at the edge of what is exact for 16 values up to 255."""


def linear(weights: Sequence[Sequence[float]], bias: Sequence[float] | None = None) -> LinearModel:
    return LinearModel(np.array(weights, float), np.zeros(len(weights)) if bias is None else np.array(bias))


def edge_windows(rng: np.random.Generator, weights: Sequence[int], largest: int) -> list[NDArray[np.int64]]:
    """Values at both ends: all, none, and those that take the score to its largest and smallest value."""
    signs = np.sign(weights)
    return [
        np.zeros(len(weights), np.int64),
        np.full(len(weights), largest),
        np.where(signs > 0, largest, 0),
        np.where(signs < 0, largest, 0),
        rng.integers(0, largest + 1, len(weights)),
    ]


def scored(
    fleet: Fleet, model: LinearModel, windows: Iterable[NDArray[np.int64]], **options: int
) -> tuple[CompactScores, NDArray[np.int64]]:
    """Scores of windows that a device sends, as they are stored; and the values."""
    values = np.array(list(windows))
    plan = ScorePlan.of(fleet.set, model, fleet.keys.enrolment(1).largest_value, **options)
    scorer = CompactScorer(plan, fleet.keys.key_id, range(values.shape[1]))
    for window in values:
        scorer.add(fleet.window(1, window))
    return CompactScores.from_bytes(scorer.result().to_bytes()), values


# --- exact scores -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", EDGES)
def test_scores_at_the_edge_are_exact_under_many_keys(name: str) -> None:
    weights, rng = EDGES[name], np.random.default_rng(len(name))
    model = linear([weights], [3])
    for _ in range(20):
        fleet = Fleet(L, packet_bytes=83)
        result, values = scored(fleet, model, edge_windows(rng, weights, LARGEST))
        found = decrypt_scores(fleet.keys, result, model)
        assert np.array_equal(found.scores, model.scores(values))
        assert not found.errors.any() and found.failure_log2 <= bounds.LOG2_FAILURE


@pytest.mark.parametrize("compact", COMPACT_SETS, ids=lambda s: s.name)
def test_every_set_scores_what_its_bounds_allow(compact: CompactSet) -> None:
    """Two primes too, and positions that begin anywhere."""
    features, largest = 5, min(compact.usual_value, 100)
    digit = min(largest_digit(compact, features, largest), 127)
    assert digit >= 1
    fleet = Fleet(compact, largest=largest, packet_bytes=222)
    model = linear([[digit, -digit, 1, 0, digit], [0.5, -7, 60, 3, 1]], [0, -1])
    first = compact.n - features
    plan = ScorePlan.of(compact, model, largest)
    scorer = CompactScorer(plan, fleet.keys.key_id, range(first, compact.n))
    values = np.random.default_rng(compact.id).integers(0, largest + 1, (4, features))
    for row in values:
        scorer.add(fleet.window(1, row, first))
    found = decrypt_scores(fleet.keys, scorer.result(), model)
    assert np.array_equal(found.scores, model.scores(values))


def test_the_figures_of_the_page() -> None:
    assert [largest_digit(L, k, LARGEST) for k in (1, 8, 16, 32, 64)] == [46, 14, 8, 4, 2]
    assert [largest_digit(L, 64, 16), largest_digit(L, 4, 4095)] == [4, 1]
    assert check_weights(L, [8] * 16, 255) == pytest.approx(-60.4, abs=0.05)
    assert L.packet_bytes(VALUES) == 83 and L.wire_bits == 24


@pytest.mark.parametrize("compact", COMPACT_SETS, ids=lambda s: s.name)
@pytest.mark.parametrize("features", [4, 9, 16, 100])
def test_the_largest_digit_is_exact_and_the_next_is_not(compact: CompactSet, features: int) -> None:
    for largest in (15, 255):
        digit = largest_digit(compact, features, largest)
        assert not digit or are_exact(compact, [digit] * features, largest)
        assert not are_exact(compact, [digit + 1] * features, largest)


def test_weights_of_eight_bits_are_exact_in_two_digits() -> None:
    fleet, rng = Fleet(L, packet_bytes=83), np.random.default_rng(8)
    weights = rng.integers(-127, 128, (3, VALUES))
    weights[0] = 127
    model = linear(weights.tolist(), [1, 2, 3])
    result, values = scored(fleet, model, edge_windows(rng, weights[1].tolist(), LARGEST))
    assert result.c0.shape[1] == 6
    found = decrypt_scores(fleet.keys, result, model)
    assert np.array_equal(found.scores, model.scores(values)) and not found.errors.any()


def test_rounded_weights_have_the_error_that_is_stated() -> None:
    fleet, rng = Fleet(L, packet_bytes=83), np.random.default_rng(9)
    model = linear(rng.normal(size=(4, VALUES)).tolist(), rng.normal(size=4).tolist())
    windows = [rng.integers(0, LARGEST + 1, VALUES) for _ in range(20)]
    for bits, most in ((4, 1000), (8, 60), (12, 4)):
        result, values = scored(fleet, model, windows, weight_bits=bits)
        found = decrypt_scores(fleet.keys, result, model)
        off = np.abs(found.scores - model.scores(values)).max(axis=0)
        assert (off <= found.errors).all() and (off > found.errors / 50).all()
        assert (found.errors < most).all()


def test_the_stated_error_is_reached_where_every_weight_is_rounded_one_way() -> None:
    model = linear([[127, *[0.5 - 1e-9] * (VALUES - 1)]])
    plan = ScorePlan.of(L, model, LARGEST)
    worst = model.scores(np.full(VALUES, LARGEST)) - plan.scores(np.full((1, len(plan.forms)), 0))
    assert plan.errors[0] == pytest.approx(worst[0, 0] - 127 * LARGEST, rel=1e-6)


def test_fractions_by_powers_of_two_and_zeros_stay_exact() -> None:
    model = linear([[0.25, -1.5, 3], [0, 0, 0], [2**-13, 0, 0]], [0, 7, 0])
    plan = ScorePlan.of(L, model, LARGEST)
    assert plan.scales.tolist() == [4, 1, 2**13] and not plan.errors.any()
    assert {row for row, _ in plan.places} == {0, 2}
    fleet = Fleet(L)
    result, values = scored(fleet, model, [np.array([1, 200, 3])])
    assert np.array_equal(decrypt_scores(fleet.keys, result, model).scores, model.scores(values))


def test_a_model_of_zeros_scores_its_bias() -> None:
    fleet, model = Fleet(L), linear([[0.0, 0.0]], [2.5])
    result, _ = scored(fleet, model, [np.array([1, 2])])
    assert result.c0.shape == (1, 0)
    assert decrypt_scores(fleet.keys, result, model).scores.tolist() == [[2.5]]


@given(st.lists(st.integers(-32767, 32767), min_size=1, max_size=8), st.integers(1, 50))
@settings(max_examples=200, deadline=None)
def test_digits_put_together_are_the_weights(weights: list[int], digit: int) -> None:
    radix = 2 * digit + 1
    forms, places = scores._digits(np.array([weights]), radix)
    assert not len(forms) or np.abs(forms).max() <= digit
    total = sum((form * radix**power for form, (_, power) in zip(forms, places, strict=True)), np.int64(0))
    assert np.array_equal(np.broadcast_to(total, len(weights)), weights)


# --- bounds -------------------------------------------------------------------------------------------------


def test_scores_past_t_are_refused() -> None:
    check_weights(L, [1] * 128, 255)
    with pytest.raises(ParameterError, match=r"score from 0 to 32895, and set l tells 32641 values apart"):
        check_weights(L, [1] * 129, 255)
    check_weights(L, [8, -8] * 8, 255)
    with pytest.raises(ParameterError, match="from -16384 to 16384"):
        check_weights(L, [8, -8] * 8, 256)
    check_weights(L, [0] * 5, 4095)


def test_scores_past_the_noise_are_refused() -> None:
    check_weights(L, [40] + [0] * 15, 255)
    with pytest.raises(ParameterError, match=r"The noise of 1 weight that come to 50 .* 2\^-3\d\.\d"):
        check_weights(L, [50], 1)
    with pytest.raises(ParameterError, match="no room for a model of 200 features with values up to 255"):
        ScorePlan.of(L, linear([[1.0] * 200]), 255)
    with pytest.raises(ParameterError, match="tells 32641 values apart"):
        ScorePlan.of(L, linear([[9.0] * 16]), 255, digit=9)


def test_plans_that_cannot_be_are_refused() -> None:
    for bits in (1, 17, 2.5):
        with pytest.raises(ParameterError, match="bits of a weight"):
            ScorePlan.of(L, linear([[1.0]]), 255, bits)  # type: ignore[arg-type]
    for largest in (0, 4096):
        with pytest.raises(ParameterError, match="largest value"):
            ScorePlan.of(L, linear([[1.0]]), largest)
    with pytest.raises(ParameterError, match="forms of weights up to 46"):
        ScorePlan.of(L, linear([[127.0]] * 2049), 255)
    with pytest.raises(ParameterError, match="beyond binary64"):
        ScorePlan.of(L, linear([[1e308, 1e308]]), 255)
    assert ScorePlan.of(L, linear([[5e-324, 0]]), 255).errors[0] < 1e-300


def noises(
    fleet: Fleet, window: Window, weights: Sequence[int]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Messages and noise, in units of a coefficient, of a form at every place of a window of all n values,
    without the checks that refuse it."""
    compact, context = fleet.set, context_of(fleet.set.parameters)
    seed = _core.compact_seed(
        lane_key(compact, window.key_id, window.device, window.epoch), window.counter, window.random
    )
    bias = bounds.bias(compact, bounds.weights_of(w for w in weights if w))
    messages, found = [], []
    for at in range(0, compact.n, len(weights)):
        positions = np.arange(at, at + len(weights), dtype=np.uint32)
        form = _evaluator.CompactForms(context, positions, np.array([weights], np.int64))
        residues = np.zeros((2, 1, compact.n), np.uint32)
        payload = window.payload[np.newaxis, positions]
        constant = int(form.constants(np.ascontiguousarray(payload), compact.dropped_bits)[0, 0, 0])
        residues[0, 0, 0] = (constant - bias) % compact.modulus
        residues[1] = form.polynomials(seed)[0]
        ciphertext = _evaluator.Ciphertext(context, residues, 1.0, _evaluator.Form.coefficients)
        message, noise = _owner.decrypt_bfv_at(
            ciphertext, fleet.keys.secret.hosted, compact.plain_modulus, np.zeros(1, np.uint32)
        )
        messages.append(int(message[0]))
        found.append(float(noise[0]) * compact.modulus / compact.plain_modulus)
    return np.array(messages), np.array(found)


@pytest.mark.parametrize("name", EDGES)
@pytest.mark.parametrize("value", [0, LARGEST])
def test_noise_over_many_keys_is_as_the_bound_has_it(name: str, value: int) -> None:
    weights = EDGES[name]
    counted = bounds.weights_of(w for w in weights if w)
    found = []
    for _ in range(16):
        fleet = Fleet(L, packet_bytes=40_000)
        messages, noise = noises(fleet, fleet.window(1, np.full(L.n, value)), weights)
        assert (messages == value * sum(weights) % L.plain_modulus).all()
        found.append(noise)
    all_noise = np.concatenate(found)
    deviation = math.sqrt(11.75 * sum(w * w for w in weights))
    coherent = abs(value * L.modulus / L.plain_modulus % 1 - 0.5 - (0 if value else -0.5)) * abs(sum(weights))
    assert all_noise.std() == pytest.approx(deviation, rel=6 / math.sqrt(2 * len(all_noise)))
    assert abs(all_noise.mean()) < coherent + 1 + 6 * deviation / math.sqrt(len(all_noise))
    assert np.abs(all_noise).max() < bounds.likely_noise(L, counted) + coherent
    assert np.abs(all_noise).max() < bounds.noise_room(L, counted)


def test_what_dropped_bits_add_on_average_is_taken_off(monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[NDArray[np.float64]] = []
    monkeypatch.setattr(scores, "check_noise", lambda _compact, _weights, noise: found.append(noise))
    fleet, model = Fleet(L, packet_bytes=83), linear([[8] * VALUES, [-8] * VALUES])
    result, _ = scored(fleet, model, [np.zeros(VALUES, np.int64)] * 150)
    decrypt_scores(fleet.keys, result, model)
    deviation = math.sqrt(11.75 * VALUES) * 8
    for noise in found:
        mean = float(noise.mean()) * L.modulus / L.plain_modulus
        assert abs(mean) < 1 + 5 * deviation / math.sqrt(150)
    assert len(found) == 2


@pytest.mark.parametrize(
    "weights",
    [[27] * 16, [27, -27] * 8, [108, 0, 0, 0]],
)
def test_failure_where_one_in_hundreds_is_predicted(weights: list[int]) -> None:
    """Beyond what is allowed, forms fail as often as the bound's distribution has it: values of 0, whose
    rounding is 0."""
    nonzero = [w for w in weights if w]
    predicted = 2 ** bounds.exceeds_log2(L, bounds.weights_of(nonzero), L.modulus / (2 * L.plain_modulus))
    assert 3e-3 < predicted < 1e-2
    failures = trials = 0
    while failures < 400:
        fleet = Fleet(L, packet_bytes=40_000)
        for _ in range(10):
            messages, _ = noises(fleet, fleet.window(1, np.zeros(L.n, np.int64)), weights)
            failures += int((messages != 0).sum())
            trials += len(messages)
        assert trials * predicted < 2000, "far fewer failures than predicted"
    assert failures / trials == pytest.approx(predicted, rel=0.25)


# --- the evaluator ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("index", range(len(PINNED)))
def test_forms_are_as_pinned(index: int) -> None:
    """By the native evaluator, and by the golden model."""
    pinned = PINNED[index]
    compact, first, weights = compact_set(pinned["set"]), pinned["first"], pinned["weights"]
    positions = np.arange(first, first + len(weights), dtype=np.uint32)
    forms = _evaluator.CompactForms(context_of(compact.parameters), positions, np.array([weights]))
    constants = forms.constants(np.array([pinned["payload"]], np.uint64), compact.dropped_bits)
    assert int(composed(compact, constants[0, 0][:, np.newaxis])[0]) == pinned["constant"]
    polynomials = forms.polynomials(bytes(range(32)))[0]
    assert chained_digest(polynomials.astype("<u4").tobytes()).hex() == pinned["polynomials"]
    ring = golden_compact.Ring(
        compact.id, compact.n, compact.primes, compact.plain_modulus, compact.dropped_bits
    )
    constant, found = golden_compact.linear_form(
        ring, bytes(range(32)), positions.tolist(), weights, pinned["payload"]
    )
    assert constant == pinned["constant"] and np.array_equal(np.stack(found), polynomials)


def test_forms_are_products_with_negative_powers_of_x() -> None:
    """Against plain Python: a X^-p in Z_q[X] / (X^n + 1)."""
    for compact in (L, COMPACT_SETS[3]):
        context, rng = context_of(compact.parameters), np.random.default_rng(1)
        positions = np.array([0, 3, 500, compact.n - 1], np.uint32)
        weights = np.array([[1, 0, 0, 0], [0, -1, 0, 0], [1 << 20, -(1 << 20), 1 << 20, 7]])
        forms = _evaluator.CompactForms(context, positions, weights)
        seed = bytes(range(32))
        found = forms.polynomials(seed)
        whole = _evaluator.CompactForms(context, positions[:1], np.array([[1]])).polynomials(seed)[0]
        payload = rng.integers(0, compact.largest_payload, (2, 4)).astype(np.uint64)
        constants = forms.constants(payload, compact.dropped_bits)
        for m, q in enumerate(compact.primes):
            a = whole[m].tolist()
            for j, row in enumerate(weights.tolist()):
                wanted = [0] * compact.n
                for weight, position in zip(row, positions.tolist(), strict=True):
                    for i in range(compact.n):
                        turned = a[i + position] if i + position < compact.n else -a[i + position - compact.n]
                        wanted[i] = (wanted[i] + weight * turned) % q
                assert found[j, m].tolist() == wanted
                for w in range(2):
                    restored = [
                        (int(x) << compact.dropped_bits) + (1 << compact.dropped_bits >> 1)
                        for x in payload[w]
                    ]
                    total = sum(weight * x for weight, x in zip(row, restored, strict=True))
                    assert constants[w, j, m] == total % q


def test_forms_refuse_what_they_cannot_compute() -> None:
    context = context_of(L.parameters)
    place, one = np.array([0, 5], np.uint32), np.array([[1, 2]])
    forms = _evaluator.CompactForms(context, place, one)
    for positions, weights, words in (
        (np.array([5, 5], np.uint32), one, "go up"),
        (np.array([0, 1024], np.uint32), one, "past the ring"),
        (np.zeros(0, np.uint32), np.zeros((1, 0), np.int64), "weights are given"),
        (place, np.array([[1, 2, 3]]), "weights are given"),
        (place, np.array([[1, (1 << 20) + 1]]), "at most 1048576 in magnitude"),
    ):
        with pytest.raises(EngineError, match=words):
            _evaluator.CompactForms(context, positions, weights)
    with pytest.raises(EngineError, match="32"):
        forms.polynomials(bytes(31))
    with pytest.raises(EngineError, match="no whole number of windows"):
        forms.constants(np.zeros((1, 3), np.uint64), 2)
    with pytest.raises(EngineError, match="damaged, or of another set"):
        forms.constants(np.full((1, 2), L.largest_payload + 1, np.uint64), 2)
    with pytest.raises(EngineError, match="drop fewer"):
        forms.constants(np.zeros((1, 2), np.uint64), 64)


# --- what is refused ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def made() -> tuple[Fleet, LinearModel, CompactScores]:
    fleet, rng = Fleet(L, packet_bytes=83), np.random.default_rng(5)
    model = linear([[8] * VALUES, [-8] * VALUES])
    result, _ = scored(fleet, model, [rng.integers(0, LARGEST + 1, VALUES) for _ in range(12)])
    return fleet, model, result


def test_windows_that_do_not_belong_are_not_scored(
    made: tuple[Fleet, LinearModel, CompactScores], monkeypatch: pytest.MonkeyPatch
) -> None:
    fleet, model, _ = made
    plan = ScorePlan.of(L, model, LARGEST)
    scorer = CompactScorer(plan, fleet.keys.key_id, range(VALUES))
    window = fleet.window(1, [1] * VALUES)
    with pytest.raises(ParameterError, match="No window is scored"):
        scorer.result()
    for change, words in (
        ({"set": A10}, "score windows of one fleet"),
        ({"key_id": 1}, "score windows of one fleet"),
        ({"positions": window.positions + 1}, "other positions"),
        ({"largest_value": 256}, "planned for 255"),
    ):
        with pytest.raises(MismatchError, match=words):
            scorer.add(dataclasses.replace(window, **change))
    scorer.add(window)
    with pytest.raises(MismatchError, match="counts once"):
        scorer.add(window)
    with pytest.raises(ParameterError, match="takes 16 features and windows have 15 values"):
        CompactScorer(plan, fleet.keys.key_id, range(15))
    scorer.check_size(400_000)
    with pytest.raises(ParameterError, match="result is at most 16 MiB"):
        scorer.check_size(500_000)
    monkeypatch.setattr(scores, "MOST_OBJECT_BYTES", 100)
    with pytest.raises(ParameterError, match="score fewer at a time"):
        scorer.result()


def test_scores_of_other_keys_models_and_windows_are_refused(
    made: tuple[Fleet, LinearModel, CompactScores],
) -> None:
    fleet, model, result = made
    places = [window.place for window in result.windows]
    assert decrypt_scores(fleet.keys, result, model, reversed(places)).scores.shape == (12, 2)
    for windows in (places[1:], [*places, (1, 1, 99)], [(2, 1, w) for _, _, w in places]):
        with pytest.raises(MismatchError, match="which are not those"):
            decrypt_scores(fleet.keys, result, model, windows)
    with pytest.raises(MismatchError, match="give the one that they were asked for"):
        decrypt_scores(fleet.keys, result, linear([[8] * VALUES, [8] * VALUES]))
    with pytest.raises(MismatchError, match="use the keys"):
        decrypt_scores(Fleet(L).keys, result, model)
    unknown = dataclasses.replace(result, windows=(result.windows[0]._replace(device=9),), c0=result.c0[:1])
    with pytest.raises(MismatchError, match="not enrolled"):
        decrypt_scores(fleet.keys, unknown, model)
    with pytest.raises(MismatchError, match="up to 255, and the scores are planned for 100"):
        decrypt_scores(fleet.keys, dataclasses.replace(result, largest_value=100), model)
    with pytest.raises(ParameterError, match="tells 32641 values apart"):
        decrypt_scores(fleet.keys, dataclasses.replace(result, digit=9), linear_like(result, model))
    with pytest.raises(MismatchError, match="forms of 16 values, and the model makes"):
        decrypt_scores(fleet.keys, dataclasses.replace(result, digit=3), model)


def linear_like(result: CompactScores, model: LinearModel) -> LinearModel:
    """A model with the id that the scores name, and weights that are not exact."""
    found = linear([[9] * VALUES, [9] * VALUES])
    object.__setattr__(found, "id", result.model_id)
    assert found.id == model.id
    return found


def test_altered_scores_decrypt_to_noise(made: tuple[Fleet, LinearModel, CompactScores]) -> None:
    """A wrong c0 or another seed fills the range, and the noise of these weights takes 85 % of it: the page
    says so. Of 300 forms, one is outside. Smaller weights leave the range of values to look at too."""
    fleet, model, _ = made
    rng = np.random.default_rng(3)
    windows = [rng.integers(0, LARGEST + 1, VALUES) for _ in range(150)]
    step = L.modulus / L.plain_modulus
    share = (bounds.likely_noise(L, {8: VALUES}) + 8 * VALUES / 2) / (step / 2)
    assert share == pytest.approx(0.85, abs=0.01)
    for weights in (model, linear([[1] * VALUES, [-2] * VALUES])):
        result, _ = scored(fleet, weights, windows)
        random = rng.integers(0, L.modulus, result.c0.shape).astype(np.uint64)
        strangers = tuple(window._replace(counter=window.counter + 1000) for window in result.windows)
        for change in ({"c0": random}, {"windows": strangers}):
            with pytest.raises(MismatchError, match=r"decrypts to noise|has a value that is not"):
                decrypt_scores(fleet.keys, dataclasses.replace(result, **change), weights)  # type: ignore[arg-type]


def resealed(data: bytes, change: Callable[[bytearray], None]) -> bytes:
    body = bytearray(data[:-16])
    change(body)
    return bytes(body) + hashlib.blake2b(bytes(body), digest_size=16).digest()


def put(at: int, content: bytes) -> Callable[[bytearray], None]:
    def change(body: bytearray) -> None:
        body[at : at + len(content)] = content

    return change


def test_the_bytes_of_scores(made: tuple[Fleet, LinearModel, CompactScores]) -> None:
    _, model, result = made
    data = result.to_bytes()
    assert len(data) == 36 + 4 + 12 * 30 + (12 * 2 * 26 + 7) // 8 + 16
    assert data[:8] == b"CMCS\x01\x00\x06\x08"
    assert int.from_bytes(data[16:24], "little") == model.id
    again = CompactScores.from_bytes(data)
    assert again.to_bytes() == data and again.windows == result.windows
    with pytest.raises(FrameError, match="no compact scores"):
        CompactScores.from_bytes(b"CMCR" + data[4:])
    with pytest.raises(FrameError, match="damaged, for its digest"):
        CompactScores.from_bytes(data[:-20] + bytes([data[-20] ^ 1]) + data[-19:])
    with pytest.raises(FrameError, match="version 2"):
        CompactScores.from_bytes(resealed(data, put(4, b"\x02\x00")))
    with pytest.raises(FrameError, match="No compact set has the id 9"):
        CompactScores.from_bytes(resealed(data, put(6, b"\x09")))
    first, second = data[40:70], data[70:100]
    for at, content in (
        (7, b"\x01"),  # bits of a weight
        (7, b"\x11"),
        (24, b"\x00\x00"),  # largest value
        (24, b"\x00\x10"),
        (26, b"\x00\x00"),  # digit
        (26, b"\x00\x80"),
        (28, b"\x00\x00\x00\x00"),  # windows
        (28, b"\x0d\x00\x00\x00"),
        (28, b"\x01\x00\x40\x00"),
        (32, b"\x01\x00"),  # forms
        (32, b"\xff\xff"),
        (34, b"\x00\x00"),  # runs
        (34, b"\x02\x00"),
        (36, b"\xff\x03\x10\x00"),  # positions
        (40, second + first),  # the order of the windows
        (40, second),
        (400, b"\xff\xff\xff\xff"),  # above Q
    ):
        with pytest.raises(FrameError, match="damaged or hostile"):
            CompactScores.from_bytes(resealed(data, put(at, content)))
    with pytest.raises(FrameError, match="damaged or hostile"):
        CompactScores.from_bytes(resealed(data, lambda body: body.extend(b"\0")))
