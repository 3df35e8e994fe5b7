# SPDX-License-Identifier: Apache-2.0
"""The AVR transforms at primes below 2^14: correct, and in the same time whatever the coefficients."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from avr_support import RAM_START, Machine, edge_vectors, open_arithmetic, transform

SIZES = [
    *((7681, n) for n in (64, 128, 256)),
    *((12289, n) for n in (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)),
]
RUNS = 100


@pytest.fixture(scope="module")
def machine() -> Iterator[Machine]:
    with open_arithmetic() as opened:
        yield opened


@pytest.fixture(scope="module")
def mega() -> Iterator[Machine]:
    with open_arithmetic("atmega2560") as opened:
        yield opened


def first_free(machine: Machine) -> int:
    """An address after the image's variables."""
    return RAM_START if machine.ram_end < 0x1000 else 0x400


def call(machine: Machine, direction: str, q: int, a: np.ndarray) -> tuple[np.ndarray, tuple[int, int, int]]:
    """The result, and what must not depend on a: cycles, path and addresses."""
    start = first_free(machine)
    machine.write(start, a.astype("<u2").tobytes())
    table = machine.symbols[f"cm_avr_ntt14_q{q}_n{len(a)}"]
    counts = machine.call(f"cm_avr_ntt14_{direction}", start, table)
    out = np.frombuffer(machine.read(start, 2 * len(a)), dtype="<u2").astype(np.int64)
    return out, (counts.cycles, counts.path, counts.addresses)


def inputs(q: int, n: int, count: int) -> list[np.ndarray]:
    random = np.random.default_rng(q + n)
    return [*edge_vectors(q, n), *(random.integers(0, q, n) for _ in range(count))]


@pytest.mark.parametrize(("q", "n"), SIZES)
def test_forward_evaluates_the_polynomial_in_seals_order(machine: Machine, q: int, n: int) -> None:
    for a in inputs(q, n, 4):
        np.testing.assert_array_equal(call(machine, "forward", q, a)[0], transform(a, q))


@pytest.mark.parametrize(("q", "n"), SIZES)
def test_inverse_undoes_forward(machine: Machine, q: int, n: int) -> None:
    for a in inputs(q, n, 4):
        np.testing.assert_array_equal(call(machine, "inverse", q, transform(a, q))[0], a)


def test_1024_points_in_words_are_transformed_and_back_in_constant_time(mega: Machine) -> None:
    seen = set()
    for a in inputs(12289, 1024, 3):
        values = transform(a, 12289)
        forward, *times = call(mega, "forward", 12289, a)
        np.testing.assert_array_equal(forward, values)
        inverse, *more = call(mega, "inverse", 12289, values)
        np.testing.assert_array_equal(inverse, a)
        seen.add((*times, *more))
    assert len(seen) == 1


@pytest.mark.parametrize("direction", ["forward", "inverse"])
@pytest.mark.parametrize(("q", "n"), SIZES)
def test_time_path_and_addresses_depend_on_the_length_alone(
    machine: Machine, direction: str, q: int, n: int
) -> None:
    runs = RUNS if n <= 256 else 10
    assert len({call(machine, direction, q, a)[1] for a in inputs(q, n, runs)}) == 1


@pytest.mark.parametrize(
    ("direction", "n", "most"),
    [
        ("forward", 64, 18_000),
        ("inverse", 64, 18_500),
        ("forward", 256, 90_000),
        ("forward", 512, 200_000),
    ],
)
def test_cycles_stay_within_their_bounds(machine: Machine, direction: str, n: int, most: int) -> None:
    assert call(machine, direction, 12289, np.arange(n))[1][0] <= most


@pytest.mark.parametrize(("q", "n"), [*((q, n) for q, n in SIZES if n <= 256), (12289, 1024)])
def test_products_of_transforms_are_those_of_negacyclic_products(
    request: pytest.FixtureRequest, q: int, n: int
) -> None:
    machine = request.getfixturevalue("machine" if n <= 256 else "mega")
    table = machine.symbols[f"cm_avr_ntt14_q{q}_n{n}"]
    seen = set()
    for a, b in zip(inputs(q, n, 3), reversed(inputs(q, n, 3)), strict=True):
        left = first_free(machine)
        right = left + 2 * n
        for address, values in ((left, a), (right, b)):
            machine.write(address, values.astype("<u2").tobytes())
            machine.call("cm_avr_ntt14_forward", address, table)
        counts = machine.call("cm_avr_ntt14_multiply", left, right, table)
        machine.call("cm_avr_ntt14_inverse", left, table)
        seen.add((counts.cycles, counts.path, counts.addresses))
        full = np.convolve(a, b)
        full = np.concatenate([full, np.zeros(2 * n - len(full), dtype=np.int64)])
        out = np.frombuffer(machine.read(left, 2 * n), dtype="<u2").astype(np.int64)
        np.testing.assert_array_equal(out, (full[:n] - full[n:]) % q)
    assert len(seen) == 1
