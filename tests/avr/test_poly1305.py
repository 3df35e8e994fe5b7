# SPDX-License-Identifier: Apache-2.0
"""Poly1305's blocks on AVR, with a multiplier and without: the polynomial, in constant time."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from avr_support import CHIPS, open_compact

VECTORS = Path(__file__).parents[2] / "vectors" / "compact.json"
PRIME = 2**130 - 5
CLAMP = 0x0FFFFFFC0FFFFFFC0FFFFFFC0FFFFFFF
LARGEST_HASH = 2**130 + 2**32 - 1
HASH, FACTOR, MESSAGE = 0x100, 0x114, 0x124
BLOCKS = 3
RUNS = 100

Inputs = tuple[int, int, bytes]
"""The hash so far, r, and the message."""


def polynomial(h: int, r: int, message: bytes, top: int) -> int:
    for start in range(0, len(message), 16):
        h = (h + int.from_bytes(message[start : start + 16], "little") + (top << 128)) * r % PRIME
    return h


def extremes() -> list[Inputs]:
    """All of the largest, all of the smallest, and sums that end near the prime."""
    ones = b"\xff" * 16 * BLOCKS
    return [
        (LARGEST_HASH, CLAMP, ones),
        (0, 0, bytes(len(ones))),
        (LARGEST_HASH, 3, ones),
        (0, 1, (2**128 - 5).to_bytes(16, "little") + bytes(16 * BLOCKS - 16)),
        (PRIME - 1, 1, bytes(len(ones))),
        (PRIME, 1, bytes(len(ones))),
        *((LARGEST_HASH, CLAMP & (0xFFFFFFFF << 32 * word), ones) for word in range(4)),
    ]


def drawn(random: np.random.Generator) -> Inputs:
    r = int.from_bytes(random.bytes(16), "little") & CLAMP
    return int.from_bytes(random.bytes(17), "little") % LARGEST_HASH, r, random.bytes(16 * BLOCKS)


@pytest.mark.parametrize("mcu", CHIPS)
@pytest.mark.parametrize("top", [0, 1])
def test_blocks_are_the_polynomial_and_take_the_same_time(mcu: str, top: int) -> None:
    random = np.random.default_rng(top)
    seen = set()
    with open_compact(mcu) as machine:
        for h, r, message in [*extremes(), *(drawn(random) for _ in range(RUNS))]:
            machine.write(HASH, h.to_bytes(20, "little") + r.to_bytes(16, "little") + message)
            counts = machine.call("cmi_avr_poly1305_blocks", HASH, FACTOR, MESSAGE, BLOCKS, top)
            seen.add((counts.cycles, counts.path, counts.addresses))
            found = int.from_bytes(machine.read(HASH, 20), "little")
            assert found <= LARGEST_HASH
            assert found % PRIME == polynomial(h, r, message, top)
            assert machine.read(FACTOR, 16 + len(message)) == r.to_bytes(16, "little") + message
    assert len(seen) == 1


@pytest.mark.parametrize("mcu", CHIPS)
def test_nothing_secret_is_left_on_the_stack(mcu: str) -> None:
    r = 0x0F0E0D0C0B0A09080706050403020100 & CLAMP
    with open_compact(mcu) as machine:
        machine.write(HASH, bytes(20) + r.to_bytes(16, "little") + bytes(16))
        counts = machine.call("cmi_avr_poly1305_blocks", HASH, FACTOR, MESSAGE, 1, 1)
        below = machine.read(counts.stack_low, machine.ram_end - counts.stack_low + 1)
    folded = b"".join(((r >> 32 * i & 0xFFFFFFFF) // 4 * 5).to_bytes(4, "little") for i in range(4))
    whole = r.to_bytes(16, "little")
    for secret in (whole, folded):
        assert not any(secret[at : at + 3] in below for at in range(1, 13))
