# SPDX-License-Identifier: Apache-2.0
"""The compact lane's sums on AVR, with a multiplier and without: terms of as many residues as are taken at
once, in constant time."""

from __future__ import annotations

import numpy as np
import pytest
from avr_support import CHIPS, Machine, open_compact
from numpy.typing import NDArray

N, Q = 1024, 1038337
TERMS = {"atmega328p": 32, "attiny85": 8}
WINDOW_BYTES = 13
IN_FLASH = 0x1C00
SUMS, RESIDUES, WINDOW = 0x100, 0x140, 0x1A0
RUNS = 100

Trits = NDArray[np.int64]


def packed(trits: Trits) -> bytes:
    """Four in a byte, each plus 1 (ciphermote/keys.h)."""
    codes = (trits + 1).reshape(-1, 4)
    return bytes((codes << (0, 2, 4, 6)).sum(axis=1).astype(np.uint8))


def minus(s: Trits, indices: Trits) -> Trits:
    """-s, which continues below 0 with the opposite sign."""
    return np.where(indices < 0, s[indices % N], -s[indices % N])


def three_bytes(residues: Trits) -> bytes:
    return b"".join(int(x).to_bytes(3, "little") for x in residues)


def some_secrets(random: np.random.Generator) -> list[Trits]:
    drawn = [random.integers(-1, 2, N) for _ in range(RUNS)]
    return [*(np.full(N, trit) for trit in (-1, 0, 1)), np.arange(N) % 3 - 1, *drawn]


def make_window(machine: Machine, s: Trits, start: int) -> tuple[int, int, int]:
    machine.write_flash(IN_FLASH, packed(s))
    machine.write(WINDOW, b"\x99" * (WINDOW_BYTES + 1))
    counts = machine.call("cmi_avr_ternary_window", WINDOW, IN_FLASH, N // 4, start & 0xFFFF, WINDOW_BYTES)
    assert machine.read(WINDOW + WINDOW_BYTES, 1) == b"\x99"
    return counts.cycles, counts.path, counts.addresses


@pytest.mark.parametrize("mcu", CHIPS)
@pytest.mark.parametrize("start", [-N, 1 - N, -53, -50, -31, -4, -3, -2, -1, 0, 1, 2, 3, 500, N - 52])
def test_a_window_has_coefficients_of_minus_s(mcu: str, start: int) -> None:
    seen = set()
    with open_compact(mcu) as machine:
        for s in some_secrets(np.random.default_rng(start + N))[:20]:
            seen.add(make_window(machine, s, start))
            trits = minus(s, start + np.arange(4 * WINDOW_BYTES))
            assert machine.read(WINDOW, WINDOW_BYTES) == packed(trits)
    assert len(seen) == 1


def add_terms(machine: Machine, mcu: str, count: int) -> tuple[int, int, int]:
    """Add terms as avr_compact.c does for sums that are one or a multiple of four."""
    if mcu == "attiny85":
        counts = machine.call("cmi_avr_ternary_sums", SUMS, RESIDUES, WINDOW, count)
    elif count == 1:
        counts = machine.call("cmi_avr_ternary_one", SUMS, RESIDUES, WINDOW)
    else:
        counts = machine.call("cmi_avr_ternary_fours", SUMS, RESIDUES, WINDOW, count // 4)
    return counts.cycles, counts.path, counts.addresses


@pytest.mark.parametrize("mcu", CHIPS)
@pytest.mark.parametrize("count", [1, 4, 16])
def test_sums_of_terms_take_the_same_time(mcu: str, count: int) -> None:
    random = np.random.default_rng(count)
    terms = TERMS[mcu]
    highest = np.full(terms, (1 << 20) - 1)
    seen = set()
    with open_compact(mcu) as machine:
        for run, s in enumerate(some_secrets(random)):
            first = int(random.integers(0, N - count))
            residues = highest if run < 5 else random.integers(0, Q, terms)
            sums = random.integers(0, 1 << 32, count)
            make_window(machine, s, first - terms + 1)
            machine.write(SUMS, sums.astype("<u4").tobytes() + b"\x77\x77")
            machine.write(RESIDUES, three_bytes(residues))
            seen.add(add_terms(machine, mcu, count))
            trits = minus(s, first + np.arange(count)[:, None] - np.arange(terms))
            wanted = (sums + trits @ residues) % (1 << 32)
            assert np.array_equal(np.frombuffer(machine.read(SUMS, 4 * count), "<u4"), wanted)
            assert count == 16 or machine.read(SUMS + 4 * count, 2) == b"\x77\x77"
            assert machine.read(RESIDUES, 3 * terms) == three_bytes(residues)
    assert len(seen) == 1
