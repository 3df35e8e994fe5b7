# SPDX-License-Identifier: Apache-2.0
"""The expansion of public seeds on AVR: fields of 26 and of 20 bits, of which those below q are kept."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from avr_support import CHIPS, RAM_START, Machine, open_arithmetic, open_compact

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
    if fill != "random":
        wanted[places] = {"below q": Q - 1, "q": Q, "above": (1 << 26) - 1}[fill]
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


Q20 = 1038337
STREAM, RESIDUES, LEFT = 0x100, 0x180, 0x1F8
BLOCK_BYTES, STREAM_BYTES, USED = 64, 113, 112


def bits_below(fields: list[int]) -> bytes:
    """A string of 20-bit fields, low bits first."""
    return sum(field << 20 * i for i, field in enumerate(fields)).to_bytes(
        -(-20 * len(fields) // 8), "little"
    )


def residues_20(machine: Machine, count: int) -> list[int]:
    machine.call("cmi_avr_uniform_20", RESIDUES, STREAM, count, Q20 >> 16, Q20 & 0xFFFF, LEFT)
    data = machine.read(RESIDUES, 3 * count)
    return [int.from_bytes(data[at : at + 3], "little") for at in range(0, len(data), 3)]


@pytest.mark.parametrize("mcu", CHIPS)
@pytest.mark.parametrize("used", [0, 1, 24, 29])
def test_20_bit_fields_are_cut_from_a_block(mcu: str, used: int) -> None:
    random = np.random.default_rng(used)
    fields = [Q20 - 1, Q20, (1 << 20) - 1, 0, *(int(x) for x in random.integers(0, 1 << 20, 10))]
    kept = [field for field in fields if field < Q20]
    block = random.bytes(used) + bits_below(fields) + random.bytes(BLOCK_BYTES)
    with open_compact(mcu) as machine:
        machine.write(STREAM, block[:BLOCK_BYTES] + bytes(48) + bytes([used]))
        machine.write(LEFT, bytes(5))
        found = []
        for count in (3, 1, 2, len(kept) - 6):
            found += residues_20(machine, count)
        assert found == kept
        bits = 20 * len(fields) + machine.read(LEFT, 1)[0]
        assert bits == 8 * (machine.read(STREAM + USED, 1)[0] - used)


@pytest.mark.parametrize("mcu", CHIPS)
def test_20_bit_fields_go_on_in_the_next_block(mcu: str) -> None:
    key = np.random.default_rng(5).bytes(32)
    with open_compact(mcu) as machine:
        stream, text = STREAM, b""
        for counter in range(4):
            machine.write(0x180, key + struct.pack("<4I", counter, 1, 0, 0))
            machine.call("cmi_avr_chacha20_blocks", stream, 0x180, 1)
            text += machine.read(stream, BLOCK_BYTES)
        whole = int.from_bytes(text, "little")
        kept = [x for x in (whole >> at & 0xFFFFF for at in range(0, 8 * len(text) - 19, 20)) if x < Q20]
        machine.write(
            STREAM, bytes(BLOCK_BYTES) + key + struct.pack("<4I", 0, 1, 0, 0) + bytes([BLOCK_BYTES])
        )
        machine.write(LEFT, bytes(5))
        found = []
        for count in (1, 2, 13, 32, 31, 17):
            found += residues_20(machine, count)
        assert found == kept[: len(found)]


Q26 = 67104769
SMALL = "attiny85"
"""The core whose residues of 26 bits are drawn byte by byte."""


def residues_26(machine: Machine, count: int) -> list[int]:
    machine.call("cmi_avr_uniform_bytes", RESIDUES, STREAM, count, Q26 >> 16, Q26 & 0xFFFF, LEFT)
    return np.frombuffer(machine.read(RESIDUES, 4 * count), "<u4").tolist()  # type: ignore[no-any-return]


@pytest.mark.parametrize("used", [0, 1, 17, 25])
def test_26_bit_fields_are_cut_from_a_block(used: int) -> None:
    """Fields that are rejected leave a number of bits that the next call begins with."""
    random = np.random.default_rng(used)
    fields = [Q26 - 1, Q26, (1 << 26) - 1, 0, *(int(x) for x in random.integers(0, Q26, 7)), Q26 + 1]
    kept = [field for field in fields if field < Q26]
    text = sum(field << 26 * i for i, field in enumerate(fields)).to_bytes(39, "little")
    with open_compact(SMALL) as machine:
        machine.write(STREAM, (random.bytes(used) + text + bytes(BLOCK_BYTES))[:BLOCK_BYTES])
        machine.write(STREAM + BLOCK_BYTES, bytes(48) + bytes([used]))
        machine.write(LEFT, b"\0\xa5\x77\x77\x77")
        found = []
        for count in (1, 3, 2, len(kept) - 6):
            found += residues_26(machine, count)
        assert found == kept
        left, _, *behind = machine.read(LEFT, 5)
        assert behind == [0x77] * 3
        assert 26 * (len(fields) - 1) + left == 8 * (machine.read(STREAM + USED, 1)[0] - used)


def test_26_bit_fields_go_on_in_the_next_block() -> None:
    key = np.random.default_rng(6).bytes(32)
    with open_compact(SMALL) as machine:
        text = b""
        for counter in range(5):
            machine.write(0x180, key + struct.pack("<4I", counter, 1, 0, 0))
            machine.call("cmi_avr_chacha20_blocks", STREAM, 0x180, 1)
            text += machine.read(STREAM, BLOCK_BYTES)
        whole = int.from_bytes(text, "little")
        kept = [x for x in (whole >> at & 0x3FFFFFF for at in range(0, 8 * len(text) - 25, 26)) if x < Q26]
        machine.write(
            STREAM, bytes(BLOCK_BYTES) + key + struct.pack("<4I", 0, 1, 0, 0) + bytes([BLOCK_BYTES])
        )
        machine.write(LEFT, bytes(5))
        found = []
        for count in (1, 2, 13, 8, 8, 8, 8, 30):
            found += residues_26(machine, count)
        assert found == kept[: len(found)]
