# SPDX-License-Identifier: Apache-2.0
"""The AVR transforms of 1024 packed residues: within 2 KB of RAM, correct, and in constant time."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from avr_support import Machine, edge_vectors, open_arithmetic, transform

Q, N = 12289, 1024
PACKED_BYTES = 1792
START = 0x100
RUNS = 20


@pytest.fixture(scope="module")
def machine() -> Iterator[Machine]:
    with open_arithmetic() as opened:
        yield opened


def pack(a: np.ndarray) -> bytes:
    groups = a.reshape(-1, 4)
    upper = groups >> 8
    shared = upper[:, :3] | (upper[:, 3:] >> np.array([0, 2, 4]) & 3) << 6
    return np.concatenate([groups & 255, shared], axis=1).astype(np.uint8).tobytes()


def unpack(packed: bytes) -> np.ndarray:
    groups = np.frombuffer(packed, dtype=np.uint8).reshape(-1, 7).astype(np.int64)
    shared = groups[:, 4:]
    last = (shared >> 6) @ np.array([1, 4, 16])
    upper = np.concatenate([shared & 63, last[:, None]], axis=1)
    return (groups[:, :4] | upper << 8).reshape(-1)


def call(machine: Machine, direction: str, a: np.ndarray) -> tuple[np.ndarray, tuple[int, int, int], int]:
    """The result; cycles, path and addresses; the lowest address of the stack."""
    machine.write(START, pack(a))
    counts = machine.call(
        f"cm_avr_ntt14_{direction}_packed", START, machine.symbols[f"cm_avr_ntt14_q{Q}_n{N}"]
    )
    out = unpack(machine.read(START, PACKED_BYTES))
    return out, (counts.cycles, counts.path, counts.addresses), counts.stack_low


def inputs(count: int) -> list[np.ndarray]:
    random = np.random.default_rng(N)
    return [*edge_vectors(Q, N), *(random.integers(0, Q, N) for _ in range(count))]


def test_forward_evaluates_and_inverse_undoes_it(machine: Machine) -> None:
    for a in inputs(3):
        forward, _, _ = call(machine, "forward", a)
        np.testing.assert_array_equal(forward, transform(a, Q))
        np.testing.assert_array_equal(call(machine, "inverse", forward)[0], a)


@pytest.mark.parametrize("direction", ["forward", "inverse"])
def test_residues_and_stack_share_the_ram_and_the_time_is_constant(machine: Machine, direction: str) -> None:
    runs = [call(machine, direction, a) for a in inputs(RUNS)]
    assert len({counts for _, counts, _ in runs}) == 1
    assert min(low for _, _, low in runs) >= START + PACKED_BYTES
