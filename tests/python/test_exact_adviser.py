# SPDX-License-Identifier: Apache-2.0
"""The adviser for exact integers: up to the limit that it allows, results are exact; beyond, it refuses."""

from __future__ import annotations

import math
import re
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ciphermote import LinearModel, MismatchError, Owner, Sum, WeightedSum, compute, encrypt
from ciphermote.base.errors import ParameterError
from ciphermote.ciphertext import Ciphertext
from ciphermote.evaluate.program import Program, Step
from ciphermote.formats import seal as sb
from ciphermote.formats.declaration import split
from ciphermote.parameters import BFV, BUILTIN, batches, by_name, exact_adviser
from ciphermote.parameters.exact_adviser import ExactAdvice, ExactComputation, advise_exact
from ciphermote.parameters.noise import LARGEST, encryption_sigma
from exact import phase

ROOT = Path(__file__).resolve().parents[2]
RANDOM = np.random.default_rng(12)
T = 12289
both_keys = pytest.mark.parametrize("key", ["symmetric", "asymmetric"])


def readings(
    owner: Owner, computation: ExactComputation, advice: ExactAdvice
) -> tuple[np.ndarray, list[Ciphertext]]:
    """Random integers up to the magnitude, which each slot also reaches, [summed, slots]; encrypted."""
    shape = computation.summed, computation.slots
    values = RANDOM.integers(-computation.magnitude, computation.magnitude + 1, shape)
    values[:, 0], values[:, -1] = computation.magnitude, -computation.magnitude
    key = owner.secret_key if computation.key == "symmetric" else owner.public_key
    largest = computation.magnitude
    return values, [encrypt(row, key, largest=largest, scheme=BFV(advice.plain_modulus)) for row in values]


def noise_budget(result: Ciphertext, owner: Owner, t: int) -> float:
    """Bits."""
    ciphertext = result.as_seal()
    primes = owner.parameters.primes[: ciphertext.primes]
    q = math.prod(primes)
    scaled = [t * x for x in phase(ciphertext, owner.secret_key)]
    noise = max(abs(x - q * ((2 * x + q) // (2 * q))) for x in scaled)
    return math.log2(q / (2 * noise))


def check_result(
    result: Ciphertext, owner: Owner, advice: ExactAdvice, expected: np.ndarray, slack: float
) -> None:
    """Exact, and with the noise budget that was predicted or up to slack bits more."""
    t = advice.plain_modulus
    places: Any = "slots" if advice.batched else "coefficients"
    found = owner.decrypt(result, places=places, signed=True)[: len(expected)]
    assert found.tolist() == expected.tolist()
    budget = noise_budget(result, owner, t)
    assert advice.noise_budget <= budget <= advice.noise_budget + slack


def largest(computation: ExactComputation, field: str) -> ExactComputation:
    """The computation with the largest value of a field at which the same set is advised."""
    parameters = advise_exact(computation).parameters

    def fits(value: int) -> bool:
        try:
            return advise_exact(replace(computation, **{field: value})).parameters == parameters
        except ParameterError:
            return False

    low, high = getattr(computation, field), 1 << 30
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return replace(computation, **{field: low})


# --- the edge of the noise ------------------------------------------------------------------------


@both_keys
def test_the_largest_sum_that_one_prime_is_advised_for_is_exact(key: Any) -> None:
    edge = largest(ExactComputation(magnitude=5, slots=1024, plain_modulus=T, key=key), "summed")
    assert edge.summed > (1000 if key == "symmetric" else 1)
    advice = advise_exact(edge)
    assert advice.parameters.name == "n1024_q26"
    assert 1 <= advice.noise_budget < 1.4
    past = advise_exact(replace(edge, summed=edge.summed + 1))
    assert past.parameters.n > 1024
    owner = Owner.generate(advice.parameters)
    values, frames = readings(owner, edge, advice)
    total = compute(Sum(), frames, advice.parameters)
    check_result(total, owner, advice, values.sum(axis=0), slack=2.5)
    for _ in range(3):  # well past it, the noise shows
        total = compute(Sum(), [total, total], advice.parameters, bound=1)
    with pytest.raises(MismatchError, match="noise"):
        owner.decrypt(total, places="slots", signed=True)


@both_keys
def test_the_largest_weight_that_one_prime_is_advised_for_is_exact(key: Any) -> None:
    edge = ExactComputation(1, 1024, 1, largest_weight=1, plain_modulus=T, key=key)
    edge = largest(replace(edge, summed=4) if key == "symmetric" else edge, "largest_weight")
    advice = advise_exact(edge)
    assert advice.parameters.name == "n1024_q26"
    owner = Owner.generate(advice.parameters)
    values, frames = readings(owner, edge, advice)
    assert edge.largest_weight is not None
    weights = np.where(np.arange(edge.summed) % 2, -edge.largest_weight, edge.largest_weight)
    total = compute(WeightedSum(weights), frames, advice.parameters, bound=1)
    check_result(total, owner, advice, weights @ values, slack=2.5)


@both_keys
@pytest.mark.parametrize("magnitude", [127, 1000])
def test_a_model_of_the_largest_weights_scores_exactly(key: Any, magnitude: int) -> None:
    """Its weights and features are all as large as they may be, so scores reach the limit of the modulus."""
    computation = ExactComputation(magnitude, slots=64, largest_weight=127, rotations=True, key=key)
    advice = advise_exact(computation)
    signs = RANDOM.choice([-1, 1], (3, 64))
    model = LinearModel(127 * signs, np.zeros(3))
    owner = Owner.generate(advice.parameters, model=model)
    features = magnitude * signs[1]
    sender = owner.secret_key if key == "symmetric" else owner.public_key
    frames = encrypt(features, sender, largest=magnitude, scheme=BFV(advice.plain_modulus))
    scores = compute(model, frames, owner.evaluation_keys, bound=magnitude)
    expected = model.weights.astype(int) @ features
    assert expected.max() == computation.result_bound
    check_result(scores, owner, advice, expected, slack=16)


def test_slots_are_added_up_exactly() -> None:
    computation = ExactComputation(magnitude=10, slots=2048, rotations=True, key="symmetric")
    advice = advise_exact(computation)
    assert advice.parameters.name == "n4096_q26x3_p27"
    steps = [2**i for i in range(11)]
    owner = Owner.generate(advice.parameters, rotations=steps)
    program = Program(
        tuple(step for i in steps for step in (Step("rotate", 1, 0, i), Step("add", 0, 0, 1))), ()
    )
    frames = encrypt(np.full(2048, 10), owner.secret_key, largest=10, scheme=BFV(advice.plain_modulus))
    result = compute(program, frames, owner.evaluation_keys)
    check_result(result, owner, advice, np.full(2048, 20480), slack=16)


def test_fresh_noise_is_that_of_the_formulas() -> None:
    """Zeros scale without a rounding, under both keys."""
    owner = Owner.generate(by_name("n4096_q26x3_p27"))
    for key, sender in (("symmetric", owner.secret_key), ("asymmetric", owner.public_key)):
        frames = encrypt([0], sender, scheme=BFV(2))
        ciphertext = sb.read_ciphertext(
            compute(Sum(), [frames], owner.parameters).to_seal(),
            owner.parameters,
            scheme=BFV(2),
        )
        noise = np.array(phase(ciphertext, owner.secret_key), float)
        # One ciphertext's scatters by 1.7 %; without one of its products it would be 0.71 of this.
        assert np.sqrt(np.mean(noise**2)) == pytest.approx(encryption_sigma(4096, key), rel=0.15)
        if key == "symmetric":
            assert abs(noise).max() <= LARGEST


# --- the edge of the modulus ----------------------------------------------------------------------


def test_the_largest_result_of_a_modulus_is_exact_and_one_more_refused() -> None:
    computation = ExactComputation(magnitude=768, slots=8, summed=8, plain_modulus=T, key="symmetric")
    advice = advise_exact(computation)
    assert computation.result_bound == advice.largest_result == (T - 1) // 2
    owner = Owner.generate(advice.parameters)
    frames = [encrypt([768, -768], owner.secret_key, largest=768, scheme=BFV(T)) for _ in range(8)]
    total = compute(Sum(), frames, advice.parameters)
    assert owner.decrypt(total, places="slots", signed=True)[:2].tolist() == [6144, -6144]
    one = encrypt([1, -1], owner.secret_key, largest=1, scheme=BFV(T))
    beyond = compute(Sum(), [total, one], advice.parameters)
    with pytest.raises(ParameterError, match="may reach 6,145 either way"):
        owner.decrypt(beyond, places="slots", signed=True)
    vouched = compute(Sum(), [beyond], advice.parameters, bound=6144)
    assert owner.decrypt(vouched, places="slots", signed=True)[:2].tolist() == [-6144, 6144], "it wrapped"
    with pytest.raises(
        ParameterError, match=r"Results reach 6145, and integers modulo 12289 hold up to 6144"
    ):
        advise_exact(replace(computation, largest_result=6145))


@pytest.mark.parametrize("bound", [1, 6144, 6145, 20481, 10**6])
def test_the_smallest_modulus_that_batches_and_holds_results_is_advised(bound: int) -> None:
    advice = advise_exact(ExactComputation(bound, slots=10, key="symmetric"))
    n, t = advice.parameters.n, advice.plain_modulus
    assert batches(t, n)
    assert bound <= advice.largest_result == (t - 1) // 2
    assert not any(batches(smaller, n) for smaller in range(2 * bound + 1, t))
    assert t < min(advice.parameters.primes)


def test_a_modulus_without_slots_serves_sums_alone() -> None:
    computation = ExactComputation(100, slots=4, summed=3, plain_modulus=1000, key="symmetric")
    advice = advise_exact(computation)
    assert not advice.batched
    assert "no slots" in advice.explanation[0]
    owner = Owner.generate(advice.parameters)
    values, frames = readings(owner, computation, advice)
    check_result(compute(Sum(), frames, advice.parameters), owner, advice, values.sum(axis=0), slack=4)
    for more in ({"rotations": True, "slots": 1}, {"largest_weight": 1}):
        with pytest.raises(ParameterError, match="modulus 1000 has no slots in any set"):
            advise_exact(replace(computation, **more))


# --- what is advised ------------------------------------------------------------------------------


def test_the_smallest_set_that_serves_is_taken() -> None:
    plain_sum = ExactComputation(magnitude=100, slots=100, summed=10, key="symmetric")
    assert advise_exact(plain_sum).parameters.name == "n1024_q26"
    assert advise_exact(replace(plain_sum, slots=1025)).parameters.n == 2048
    assert advise_exact(replace(plain_sum, rotations=True)).parameters.n == 4096
    assert advise_exact(replace(plain_sum, rotations=True, slots=2049)).parameters.n == 8192
    assert advise_exact(replace(plain_sum, key="asymmetric", plain_modulus=40961)).parameters.n == 4096
    assert advise_exact(replace(plain_sum, standard="2018")).parameters.standard == "2024"


def test_more_of_anything_never_leaves_more_noise_budget() -> None:
    base = ExactComputation(magnitude=5, slots=64, key="symmetric")

    def budget(**changes: Any) -> float:
        fit = exact_adviser._Fit(replace(base, **changes), by_name("n4096_q26x3_p27"), 65537)
        return fit.noise_budget

    assert budget(summed=1) > budget(summed=9) > budget(summed=1000)
    assert budget() > budget(key="asymmetric")
    assert budget(largest_weight=2) > budget(largest_weight=9)
    assert budget() > budget(rotations=True) > budget(rotations=True, largest_weight=2)


def test_noise_parts_add_up_to_the_budget() -> None:
    advice = advise_exact(
        ExactComputation(magnitude=5, slots=2000, summed=10, rotations=True, key="symmetric")
    )
    total = sum(part.noise for part in advice.noise_parts)
    q, t = advice.parameters.data_modulus, advice.plain_modulus
    assert advice.noise_budget == pytest.approx(math.log2(q / (2 * t * total)))
    assert [part.source for part in advice.noise_parts] == [
        "symmetric encryption",
        "rounding of q m / t",
        "key switching",
    ]


def test_sizes_are_those_of_the_c_headers(tmp_path: Path) -> None:
    source, program = tmp_path / "sizes.c", tmp_path / "sizes"
    cases = [
        (ExactComputation(magnitude, slots=10, key=key), key[0].upper())
        for magnitude in (100, 10**6)
        for key in ("symmetric", "asymmetric")
    ]
    advised = [advise_exact(computation) for computation, _ in cases]
    prints = "".join(
        f'    printf("%zu\\n", (size_t)CM_BFV_{"SYMMETRIC" if key == "S" else "ASYMMETRIC"}_ARENA_BYTES('
        f"{advice.parameters.n}, {16 if advice.plain_modulus <= 1 << 16 else 32}, 0));\n"
        for advice, (_, key) in zip(advised, cases, strict=True)
    )
    source.write_text(
        f'#include <stdio.h>\n#include "ciphermote/ciphermote.h"\nint main(void)\n{{\n{prints}}}\n'
    )
    subprocess.run(["gcc", "-std=c11", f"-I{ROOT / 'core/include'}", "-o", program, source], check=True)
    sizes = [int(line) for line in subprocess.run([program], capture_output=True, check=True).stdout.split()]
    assert sizes == [advice.arena_bytes for advice in advised]
    owner = Owner.generate(advised[0].parameters)
    frames = encrypt([1], owner.secret_key, scheme=BFV(advised[0].plain_modulus))
    assert len(split(frames.to_frames())[1]) == advised[0].frame_bytes


# --- refusals -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"slots": 20000}, "20000 slots do not fit .* largest has 16384: split .* over 2 ciphertexts"),
        ({"slots": 8193, "rotations": True}, "8193 slots do not fit .* largest has 8192"),
        ({"magnitude": 2**26}, "no modulus of any set that serves holds more than"),
        ({"plain_modulus": 2**28}, "all its primes above 268435456: take a modulus below"),
        (
            {"magnitude": 1, "slots": 64, "largest_weight": 1, "summed": 6000, "plain_modulus": T},
            r"noise modulo 12289: the best, n\d+.*, is left -?\d+\.\d bits",
        ),
    ],
)
def test_the_impossible_is_refused_with_what_to_give_up(fields: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ParameterError, match=sentence) as refusal:
        advise_exact(ExactComputation(**({"magnitude": 1} | fields)))
    assert str(refusal.value).endswith(".")


@pytest.mark.parametrize(
    "wrong",
    [
        {"magnitude": 0},
        {"magnitude": 2.0},
        {"magnitude": True},
        {"slots": 0},
        {"summed": 2**64 + 1},
        {"largest_weight": 0},
        {"largest_result": -1},
        {"plain_modulus": 1},
        {"plain_modulus": -5},
        {"key": "none"},
        {"standard": "2020"},
        {"xof": "aes"},
    ],
)
def test_fields_out_of_range_are_refused_by_name(wrong: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match=re.escape(next(iter(wrong)))):
        ExactComputation(**({"magnitude": 1} | wrong))


@pytest.mark.parametrize("builtin", BUILTIN, ids=lambda builtin: builtin.name)
def test_each_set_serves_a_sum(builtin: Any) -> None:
    advice = advise_exact(
        ExactComputation(10, slots=builtin.n, summed=5, standard=builtin.standard, key="symmetric")
    )
    assert advice.parameters.n == builtin.n
