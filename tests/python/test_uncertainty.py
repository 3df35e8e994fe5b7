# SPDX-License-Identifier: Apache-2.0
"""Stated errors are as large as the errors: for sums, scores, products and polynomials, whatever the slot."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

import ciphermote
import numpy as np
import pytest
from ciphermote.evaluate.evaluator import inner_sum_steps
from ciphermote.formats import labels
from ciphermote.formats import seal as sb
from ciphermote.parameters import BFV, CKKS, by_name
from ciphermote.parameters.bounds import UNKNOWN, Known, KnownSum
from ciphermote.parameters.noise import Key
from ciphermote.parameters.uncertainty import Uncertainty
from numpy.typing import NDArray

ROOT = Path(__file__).resolve().parents[2]
SET = by_name("n4096_q26x3_p27")


def load_bench() -> object:
    spec = importlib.util.spec_from_file_location("errors_bench", ROOT / "bench/errors.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


BENCH = load_bench()


def shares(found: ciphermote.Decrypted, truth: NDArray[np.float64]) -> NDArray[np.float64]:
    assert found.errors is not None, found.why_unknown
    return np.abs(found.values - truth) / found.errors


def check(found: NDArray[np.float64]) -> None:
    """Check that stated errors of thousands of values are as wide as they should be."""
    assert np.mean(found > 1) <= 0.002 and 0.012 <= np.mean(found > 0.5) <= 0.08, np.mean(found > 0.5)


@pytest.mark.parametrize("kind", ["sum", "mean", "variance", "weighted_sum", "square", "polynomial"])
def test_errors_of_slots_are_as_large_as_is_stated(kind: str) -> None:
    random = np.random.default_rng(3)
    runs = [run for _ in range(2) for run in BENCH.COMPUTATIONS[kind](kind, random)]  # type: ignore[attr-defined]
    check(np.concatenate([values for _, values in runs]))


def test_errors_of_scores_are_as_large_as_is_stated_under_every_key() -> None:
    """All slots of a class hold the same noise, so that no scatter of slots tells how large it is."""
    random = np.random.default_rng(4)
    runs = [run for _ in range(40) for run in BENCH.COMPUTATIONS["linear2"]("linear2", random)]  # type: ignore[attr-defined]
    found = np.concatenate([values for _, values in runs])
    assert found.size == 1280 and np.mean(found > 1) < 0.01 and np.mean(found > 0.5) < 0.1
    assert np.mean(found > 0.25) > 0.1


@pytest.fixture(scope="module")
def owner() -> ciphermote.Owner:
    return ciphermote.Owner.generate(SET, rotations={1, 5, *inner_sum_steps(SET, 8)}, conjugation=True)


@pytest.fixture(scope="module")
def evaluator(owner: ciphermote.Owner) -> ciphermote.Evaluator:
    return ciphermote.Evaluator(owner.evaluation_keys)


@pytest.mark.parametrize("key", ["symmetric", "asymmetric"])
def test_errors_follow_the_evaluator(
    owner: ciphermote.Owner, evaluator: ciphermote.Evaluator, key: Key
) -> None:
    used = owner.secret_key if key == "symmetric" else owner.public_key
    random = np.random.default_rng(5)
    x, y, z = (random.uniform(-50, 50, SET.slots) for _ in range(3))
    a, b, c = (evaluator.load(ciphermote.encrypt(values, used)) for values in (x, y, z))
    rescaled = evaluator.rescale(a * 0.37)
    square = evaluator.rescale(evaluator.square(a))
    found = []
    for result, truth in (
        (a - b + c, x - y + z),
        (-a + 2.5, 2.5 - x),
        (a + y, x + y),
        (rescaled, 0.37 * x),
        (evaluator.rotate(a, 5), np.roll(x, -5)),
        (evaluator.conjugate(a), x),
        (evaluator.inner_sum(a, 8), sum(np.roll(x, -i) for i in range(8))),
        (square, x**2),
        (-square, -(x**2)),
        (evaluator.rotate(square, 1), np.roll(x**2, -1)),
    ):
        found.append(shares(owner.decrypt_with_errors(result), truth))
        assert 0.012 <= np.mean(found[-1] > 0.5) <= 0.08 and np.mean(found[-1] > 1) <= 0.008
    check(np.concatenate(found))  # one result under one key has too few that are beyond to count them
    product = owner.decrypt_with_errors(evaluator.rescale(evaluator.multiply(a, b)))
    assert np.mean(shares(product, x * y) > 1) < 0.002  # of the largest values, for all


def test_an_error_that_comes_twice_counts_twice(
    owner: ciphermote.Owner, evaluator: ciphermote.Evaluator
) -> None:
    """However it comes: two independent errors add up to 1.4 times one, the same twice to twice one."""
    frames, other = (ciphermote.encrypt(np.full(8, 3.0), owner.secret_key) for _ in range(2))
    x, y = evaluator.load(frames), evaluator.load(other)
    assert x.known.error is not None
    once = x.known.error.stated

    def stated(result: ciphermote.Ciphertext) -> float:
        found = owner.decrypt_with_errors(result.to_seal())
        assert found.errors is not None
        return float(found.errors[0] / once)

    again = evaluator.load(frames.to_seal())  # the same encryption, read anew
    for twice in (
        x + x,
        x + again,
        evaluator.sum([frames, frames]),
        ciphermote.compute(ciphermote.Sum(), [frames, frames]),
        ciphermote.compute(ciphermote.Sum(), [frames.to_seal(), frames.to_frames()]),
        (x + y) + (x + y),
    ):
        assert stated(twice) >= 1.999
    weighted = ciphermote.compute(ciphermote.WeightedSum([1.0, 1.0]), [frames, frames])
    apart = ciphermote.compute(ciphermote.WeightedSum([1.0, 1.0]), [frames, other])
    assert stated(weighted) == pytest.approx(stated(apart) * 2**0.5, rel=0.01)
    assert stated(x + y) == pytest.approx(2**0.5, rel=0.01)
    assert stated(ciphermote.compute(ciphermote.Sum(), [frames, other, frames])) >= 2.4


def test_slots_that_hold_one_error_add_it_up(
    owner: ciphermote.Owner, evaluator: ciphermote.Evaluator
) -> None:
    x = evaluator.load(ciphermote.encrypt(np.full(SET.slots, 1.0), owner.public_key))
    once = evaluator.inner_sum(x, 8)
    twice = evaluator.inner_sum(once, 8)
    assert x.known.error is not None and once.known.error is not None and twice.known.error is not None
    assert once.known.error.worst.variance[0] == pytest.approx(8 * x.known.error.variance[0], rel=0.1)
    assert twice.known.error.worst.variance[0] >= 64 * once.known.error.worst.variance[0]


def test_what_is_not_known_has_no_error(owner: ciphermote.Owner) -> None:
    labelled = ciphermote.encrypt([1.0], owner.secret_key).to_seal()
    bare = owner.decrypt_with_errors(bytes(labels.detach(labelled)[0]), bare=True)
    assert bare.errors is None and bare.why_unknown == "bound not known"
    ciphertext = sb.read_ciphertext(labelled, SET)
    for known, why in ((Known(1.0), "error not known"), (UNKNOWN, "bound not known")):
        data = sb.write_ciphertext(sb.SealCiphertext(**{**vars(ciphertext), "known": known}))
        assert owner.decrypt_with_errors(data).why_unknown == why
    total = KnownSum()
    total.add(Known.encrypted(1.0, SET, "symmetric", 2.0**25, 1))
    total.add(Known(1.0))
    assert total.known == Known(2.0)


def test_integers_are_exact_if_their_bound_is_known(owner: ciphermote.Owner) -> None:
    frames = ciphermote.encrypt([3, 5], owner.secret_key, scheme=BFV(40961))
    found = owner.decrypt_with_errors(frames, places="slots")
    assert found.errors is not None and not found.errors.any()
    bare = ciphermote.Ciphertext.from_seal(labels.detach(frames.to_seal())[0], SET, BFV(40961))
    unknown = owner.decrypt_with_errors(bare, places="slots", bare=True, signed=True)
    assert unknown.errors is None


def test_labels_carry_all_that_is_known(owner: ciphermote.Owner) -> None:
    fresh = Known.encrypted(50.0, SET, "asymmetric", 2.0**25, 2**64 - 1)
    scores = fresh.weighted(np.array([[1.0, 2.0]]), 150.0, Uncertainty((1.0,), (0.5,), 0.25))
    curve = fresh.polynomial([1.0, 2.0, 3.0, 4.0])
    seal = bytes(labels.detach(ciphermote.encrypt([1.0], owner.secret_key).to_seal())[0])
    for known in (UNKNOWN, Known(3.0), fresh, scores, curve, fresh.square().times(-2.0)):
        label = labels.Label(labels.Kind.CIPHERTEXT, CKKS, SET.id, 7, 2.0**25, known=known)
        found = labels.detach(labels.attach(seal, label))[1]
        assert found == label and (known.error is None or found.known.error.stated == known.error.stated)  # type: ignore[union-attr]


def test_a_value_with_several_preimages_has_the_largest_of_their_errors() -> None:
    """x^3 - 3 x is 0 at 0 and at 1.73, where it is twice as steep."""
    fresh = Known.encrypted(4.0, SET, "symmetric", 2.0**25)
    error = fresh.polynomial([0.0, -3.0, 0.0, 1.0]).error
    assert fresh.error is not None and error is not None
    steepness = error.stated_at(np.array([0.0, 52.0])) / fresh.error.stated
    assert steepness == pytest.approx([6.0, 45.0], rel=0.01)


def test_readings_of_the_same_numbers_are_rounded_alike(
    owner: ciphermote.Owner, evaluator: ciphermote.Evaluator
) -> None:
    """200 encryptions of the same numbers have noise of their own, and one rounding between them; so have
    numbers in the clear that are added to each."""
    random, count = np.random.default_rng(6), 200
    same, moved = (random.uniform(-50, 50, owner.parameters.slots) for _ in range(2))
    alike = [ciphermote.encrypt(same, owner.secret_key) for _ in range(count)]
    for operation, times in ((ciphermote.Sum(), count), (ciphermote.Mean(), 1)):
        found = owner.decrypt_with_errors(ciphermote.compute(operation, alike))
        assert found.errors is not None
        shares = np.abs(found.values - times * same) / found.errors
        assert np.mean(shares > 1) <= 0.002 and 0.02 < np.mean(shares > 0.5) < 0.08
    readings = [random.uniform(-50, 50, owner.parameters.slots) for _ in range(count)]
    frames = (ciphermote.encrypt(values, owner.secret_key) for values in readings)
    total = evaluator.sum([evaluator.load(each) + moved for each in frames])
    found = owner.decrypt_with_errors(total.to_seal())
    assert found.errors is not None
    assert np.mean(np.abs(found.values - sum(readings) - count * moved) > found.errors) <= 0.001
    scored = evaluator.load(alike[0]) + 0.3  # one coefficient is rounded
    assert scored.known.error is not None
    (fresh,) = evaluator.load(alike[0]).known.error.rounding  # type: ignore[union-attr]
    assert scored.known.error.rounding == (fresh,)
    assert scored.known.error.bias * scored.scale == pytest.approx(0.5, rel=1e-6)


@pytest.mark.parametrize(("log2_scale", "added"), [(40, 1e6), (40, 1e9), (45, 1e7)])
@pytest.mark.parametrize("form", ["a number", "one slot", "all slots"])
def test_the_rounding_of_floats_is_stated(
    owner: ciphermote.Owner, log2_scale: int, added: float, form: str
) -> None:
    slots = owner.parameters.slots
    random = np.random.default_rng(log2_scale)
    number: dict[str, Any] = {
        "a number": added,
        "one slot": added * np.eye(1, slots, 3)[0],
        "all slots": random.uniform(-added, added, slots),
    }
    values = random.uniform(-50, 50, slots)
    x = ciphermote.encrypt(values, owner.secret_key, log2_scale=log2_scale)
    for found, truth in (
        (x + number[form], np.longdouble(values) + number[form]),
        (x + number[form] - number[form], values),
    ):
        read = owner.decrypt_with_errors(found)
        assert read.errors is not None
        shares = np.abs(read.values - truth) / read.errors
        assert np.mean(shares > 1) <= 0.002


@pytest.mark.parametrize("angle", [np.pi / 4, np.pi / 2])
def test_the_real_part_of_a_complex_square_is_as_far_off_as_is_stated(
    owner: ciphermote.Owner, evaluator: ciphermote.Evaluator, angle: float
) -> None:
    """By 2 |z| times the error of z, however small or negative the real part of z^2."""
    z = np.random.default_rng(8).uniform(30, 45, owner.parameters.slots) * np.exp(1j * angle)
    square = evaluator.rescale(evaluator.square(ciphermote.encrypt(z, owner.secret_key, largest=50)))
    assert square.known.error is not None
    found = owner.decrypt_with_errors(square.to_seal())
    assert found.errors == pytest.approx(square.known.error.stated)


@pytest.mark.parametrize("factor", [1.0, -2.0, 1e4, 0.1])
@pytest.mark.parametrize("log2_scale", [22, 40])
def test_products_by_whole_numbers_state_what_their_encoding_costs(
    owner: ciphermote.Owner, factor: float, log2_scale: int
) -> None:
    """At the last prime's scale these are multiples of the prime, which are moved to the next integer."""
    values = np.random.default_rng(1).uniform(-100, 100, owner.parameters.slots)
    x = ciphermote.encrypt(values, owner.secret_key, log2_scale=log2_scale)
    try:
        found = owner.decrypt_with_errors(x * factor)
    except ciphermote.ValueRangeError:
        assert (factor, log2_scale) == (1e4, 40), "it has no room"
        return
    assert found.errors is not None
    assert np.mean(np.abs(found.values - factor * values) > found.errors) <= 0.002


def test_an_integer_that_is_a_multiple_of_a_prime_is_no_factor(owner: ciphermote.Owner) -> None:
    x = ciphermote.encrypt([1.0], owner.secret_key)
    with pytest.raises(ciphermote.EngineError, match="67043329 is a multiple of a prime"):
        _ = x * owner.parameters.primes[0]


def test_noise_is_no_factor(owner: ciphermote.Owner, evaluator: ciphermote.Evaluator) -> None:
    """What noise leaves nothing of is refused before it is multiplied, and so are products that it hides."""
    noisy = ciphermote.encrypt([0.1], owner.secret_key, largest=0.1, log2_scale=8)
    for act in (evaluator.square, lambda x: evaluator.polynomial(x, [0.0, 1.0, 2.0])):
        with pytest.raises(ciphermote.ValueRangeError, match="leaves nothing of them"):
            act(noisy)
    cube = evaluator.polynomial(
        ciphermote.encrypt([0.01], owner.secret_key, largest=0.05, log2_scale=18), [0.0] * 3 + [1.0]
    )
    with pytest.raises(ciphermote.ValueRangeError, match="leaves nothing of them"):
        owner.decrypt(cube)


@pytest.mark.parametrize("part", [1j, "mixed"])
def test_squares_of_imaginary_numbers_state_their_errors(
    owner: ciphermote.Owner, evaluator: ciphermote.Evaluator, part: Any
) -> None:
    random = np.random.default_rng(2)
    for size, log2_scale in ((1.0, 24), (1e-2, 20)):
        values = random.uniform(-size, size, owner.parameters.slots) * 1j
        if part == "mixed":
            values = np.where(np.arange(len(values)) % 2, values, values.imag)
        x = ciphermote.encrypt(values, owner.secret_key, largest=1, log2_scale=log2_scale)
        found = owner.decrypt_with_errors(evaluator.square(x))
        assert found.errors is not None
        assert np.mean(np.abs(found.values - (values**2).real) > found.errors) <= 0.002


@pytest.mark.parametrize("times", [0.0, 0.3, 0.7, 1.0, 2.0, 5.0])
def test_squares_near_the_noise_state_their_errors(
    owner: ciphermote.Owner, evaluator: ciphermote.Evaluator, times: float
) -> None:
    """The noise itself moves the decrypted value, by which its error is looked up."""
    stated = ciphermote.encrypt([0.0], owner.secret_key, largest=1, log2_scale=16).known.error
    assert stated is not None
    reading = times * stated.stated
    beyond = []
    for _ in range(4):
        values = np.full(owner.parameters.slots, reading)
        x = ciphermote.encrypt(values, owner.secret_key, largest=1, log2_scale=16)
        found = owner.decrypt_with_errors(evaluator.square(x))
        assert found.errors is not None
        beyond.append(np.mean(np.abs(found.values - values**2) > found.errors))
    assert np.mean(beyond) <= 0.002


def test_a_multiple_of_a_prime_is_said_to_need_rescaling(
    owner: ciphermote.Owner, evaluator: ciphermote.Evaluator
) -> None:
    x = evaluator.load(ciphermote.encrypt([0.25], owner.public_key, largest=1, log2_scale=20))
    total = x * 1.5 + x * 2.5
    with pytest.raises(ciphermote.EngineError, match=r"a multiple of a prime.*rescale"):
        total.to_seal()
    found = owner.decrypt_with_errors(evaluator.rescale(total).to_seal())
    assert found.errors is not None and abs(found.values[0] - 1.0) < 2 * found.errors[0]
    with pytest.raises(ciphermote.EngineError, match="in the clear"):
        (x - x).to_seal()


def test_published_shares_beyond_the_stated_errors_are_within_their_limits() -> None:
    """make bench-errors measures them, with 500 fresh keys of each kind."""
    results = json.loads((Path(__file__).parents[2] / "bench/results/errors.json").read_text())
    rows = {row["name"]: row for row in results["rows"]}
    kinds = ("sum", "mean", "variance", "weighted_sum", "linear1", "linear2", "linear3", "linear10")
    for kind in (*kinds, "square", "polynomial"):
        assert rows[f"errors.{kind}.beyond"]["value"] <= 0.001
        assert 0.02 <= rows[f"errors.{kind}.beyond_half"]["value"] <= 0.08
        assert rows[f"errors.{kind}.beyond"]["params"]["keys"] >= 500
