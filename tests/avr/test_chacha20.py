# SPDX-License-Identifier: Apache-2.0
"""ChaCha20 on AVR: RFC 8439's blocks, in sequence, in constant time."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import numpy as np
import pytest
from avr_support import CHIPS, open_compact

VECTORS = Path(__file__).parents[2] / "vectors" / "random.json"
INPUT, OUT = 0x100, 0x140
RUNS = 100


def quarter_round(x: np.ndarray, a: int, b: int, c: int, d: int) -> None:
    for target, source, other, bits in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
        x[target] += x[source]
        mixed = x[other] ^ x[target]
        x[other] = mixed << np.uint32(bits) | mixed >> np.uint32(32 - bits)


def block(words: tuple[int, ...]) -> bytes:
    state = np.array([*struct.unpack("<4I", b"expand 32-byte k"), *words], dtype=np.uint32)
    x = state.copy()
    with np.errstate(over="ignore"):
        for _ in range(10):
            for column in range(4):
                quarter_round(x, column, 4 + column, 8 + column, 12 + column)
            for column in range(4):
                quarter_round(x, column, 4 + (column + 1) % 4, 8 + (column + 2) % 4, 12 + (column + 3) % 4)
    return (x + state).astype("<u4").tobytes()


def test_the_reference_gives_the_rfcs_block() -> None:
    known = json.loads(VECTORS.read_text())["chacha20"][0]
    key = struct.unpack("<8I", bytes(range(32)))
    nonce = struct.unpack("<3I", bytes.fromhex(known["nonce"]))
    assert block((*key, known["counter"], *nonce)).hex() == known["output"]


@pytest.mark.parametrize("mcu", CHIPS)
def test_blocks_follow_the_counter_and_take_the_same_time(mcu: str) -> None:
    random = np.random.default_rng(3)
    seen = set()
    with open_compact(mcu) as machine:
        for run in range(RUNS):
            words = [int(x) for x in random.integers(0, 1 << 32, 12)]
            words[8] = 0xFFFFFFFF if run == 0 else words[8]
            next_words = [*words[:8], (words[8] + 1) & 0xFFFFFFFF, *words[9:]]
            machine.write(INPUT, struct.pack("<12I", *words))
            counts = machine.call("cmi_avr_chacha20_blocks", OUT, INPUT, 2)
            seen.add((counts.cycles, counts.path, counts.addresses))
            assert machine.read(OUT, 128) == block(tuple(words)) + block(tuple(next_words))
            assert struct.unpack("<12I", machine.read(INPUT, 48))[8] == (words[8] + 2) & 0xFFFFFFFF
    assert len(seen) == 1
