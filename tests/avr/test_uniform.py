# SPDX-License-Identifier: Apache-2.0
"""The expansion of public seeds on AVR: fields of 26 bits, of which those below q are kept."""

from __future__ import annotations

import numpy as np
import pytest
from avr_support import RAM_START, open_arithmetic

Q = 67043329
IN, OUT, PENDING = RAM_START, RAM_START + 0x100, RAM_START + 0x200
COUNT = 31


def fields(bits: np.ndarray, count: int) -> np.ndarray:
    return bits[: 26 * count].reshape(count, 26).astype(np.int64) @ (1 << np.arange(26, dtype=np.int64))


@pytest.mark.parametrize("pending_bits", [0, 2, 4, 6])
@pytest.mark.parametrize("fill", ["random", "below q", "q", "above"])
def test_fields_are_cut_and_rejected_as_the_string_of_bits_says(pending_bits: int, fill: str) -> None:
    random = np.random.default_rng(pending_bits)
    wanted = random.integers(0, 1 << 26, COUNT)
    places = random.permutation(COUNT)[: COUNT // 2]
    wanted[places] = {"random": wanted[places], "below q": Q - 1, "q": Q, "above": (1 << 26) - 1}[fill]
    bits = (wanted[:, None] >> np.arange(26) & 1).reshape(-1).astype(np.uint8)
    rest = -(len(bits) - pending_bits) % 8
    bits = np.concatenate([bits, random.integers(0, 2, rest).astype(np.uint8)])
    first = int(
        np.packbits(
            np.concatenate([np.zeros(8 - pending_bits, np.uint8), bits[:pending_bits]]), bitorder="little"
        )[0]
    )
    data = np.packbits(bits[pending_bits:], bitorder="little").tobytes()
    with open_arithmetic() as machine:
        machine.write(IN, data)
        machine.write(PENDING, bytes([first, pending_bits]))
        machine.call("cmi_avr_uniform_26", OUT, IN, COUNT, PENDING)
        kept = wanted[wanted < Q]
        assert machine.result() == OUT + 4 * len(kept)
        assert np.array_equal(np.frombuffer(machine.read(OUT, 4 * len(kept)), dtype="<u4"), kept)
        left, left_bits = machine.read(PENDING, 2)
        assert left_bits == rest
        assert np.array_equal(
            np.unpackbits(np.array([left], np.uint8), bitorder="little")[8 - rest :], bits[len(bits) - rest :]
        )
