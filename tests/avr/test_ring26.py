# SPDX-License-Identifier: Apache-2.0
"""The AVR back-end at q = 67043329: tiles of the transform, and point-wise products; in constant time."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from avr_support import RAM_START, Machine, open_arithmetic, transform

Q = 67043329
N = 1024
R_INVERSE = pow(1 << 32, -1, Q)
LAZY = 1 << 32
EDGES = [0, 1, Q - 1, Q, 2 * Q, LAZY - 1, LAZY // 2, LAZY // 2 - 1, LAZY // 2 + 1]
RUNS = 100
OUT, LEFT, RIGHT = RAM_START, RAM_START + 0x100, RAM_START + 0x200


@pytest.fixture(scope="module")
def machine() -> Iterator[Machine]:
    with open_arithmetic() as opened:
        yield opened


def words(values: np.ndarray | list[int]) -> bytes:
    return np.asarray(values, dtype=np.int64).astype("<u4").tobytes()


def read_words(machine: Machine, address: int, count: int) -> np.ndarray:
    return np.frombuffer(machine.read(address, 4 * count), dtype="<u4").astype(np.int64)


def fold(a: np.ndarray, log2_tiles: int, tile: int) -> np.ndarray:
    """a modulo the tile's factor x^(n/T) - r, with r a power of psi that SEAL's order gives."""
    points = N >> log2_tiles
    psi = 25439
    assert pow(psi, N, Q) == Q - 1
    first = int(f"{tile << (10 - log2_tiles):010b}"[::-1], 2)
    r = pow(pow(psi, 2 * first + 1, Q), points, Q)
    rows = a.reshape(-1, points)
    return sum((row * pow(r, j, Q) % Q for j, row in enumerate(rows)), np.zeros(points, dtype=np.int64)) % Q


@pytest.mark.parametrize(("log2_tiles", "tile"), [(2, 0), (2, 3), (3, 5), (4, 9)])
def test_a_tile_is_its_part_of_the_whole_transform(machine: Machine, log2_tiles: int, tile: int) -> None:
    random = np.random.default_rng(tile)
    points = N >> log2_tiles
    machine.call("kernel_select_tile", 10, log2_tiles, tile)
    for a in (random.integers(0, Q, N), np.full(N, Q - 1, dtype=np.int64)):
        lazy = fold(a, log2_tiles, tile) + Q * random.integers(0, 4, points)
        machine.write(OUT, words(lazy))
        machine.call("kernel_ntt_forward", OUT)
        out = read_words(machine, OUT, points)
        assert out.max() < 32 * Q
        np.testing.assert_array_equal(out % Q, transform(a, Q)[tile * points : (tile + 1) * points])


def test_the_transform_takes_the_same_time_for_all_coefficients(machine: Machine) -> None:
    random = np.random.default_rng(1)
    machine.call("kernel_select_tile", 10, 4, 7)
    seen = set()
    for _ in range(RUNS):
        machine.write(OUT, words(random.integers(0, 4 * Q, N // 16)))
        counts = machine.call("kernel_ntt_forward", OUT)
        seen.add((counts.cycles, counts.path, counts.addresses))
    assert len(seen) == 1


@pytest.mark.parametrize("name", ["cmi_avr_multiply26", "cmi_avr_multiply_add26"])
def test_products_are_residues_of_any_lazy_factor_in_constant_time(machine: Machine, name: str) -> None:
    random = np.random.default_rng(2)
    seen = set()
    for run in range(RUNS):
        out = [*EDGES, *(int(x) for x in random.integers(0, LAZY, 7))]
        lazy = [EDGES[run % len(EDGES)]] * 8 + [int(x) for x in random.integers(0, LAZY, 8)]
        right = [0, Q - 1, 0xFFFF, 1, *(int(x) for x in random.integers(0, Q, 12))]
        for address, values in ((OUT, out), (LEFT, lazy), (RIGHT, right)):
            machine.write(address, words(values))
        counts = machine.call(name, OUT, LEFT, RIGHT, 16)
        seen.add((counts.cycles, counts.path, counts.addresses))
        add = [x if name.endswith("add26") else 0 for x in out]
        expected = [(x + a * b * R_INVERSE) % Q for x, a, b in zip(add, lazy, right, strict=True)]
        assert read_words(machine, OUT, 16).tolist() == expected
    assert len(seen) == 1


def test_residues_are_right_for_any_factor(machine: Machine) -> None:
    random = np.random.default_rng(3)
    drawn = [
        (int(a), int(b))
        for a, b in zip(random.integers(0, LAZY, 500), random.integers(0, Q, 500), strict=True)
    ]
    edges = [(a, b) for a in EDGES for b in (0, 1, 0xFFFF, 0x1FFFE0, 0x3EFFC0, Q - 1)]
    for a, b in edges + drawn:
        machine.call("cmi_avr_residue26", a >> 16, a & 0xFFFF, b >> 16, b & 0xFFFF)
        assert int.from_bytes(machine.read(22, 4), "little") == a * b * R_INVERSE % Q, (a, b)
