# SPDX-License-Identifier: Apache-2.0
"""The counter in EEPROM: no seed is ever used twice, wherever the power is cut."""

from __future__ import annotations

import random
import struct
from functools import cache
from pathlib import Path

import pytest
from arduino import UNO, build_sketch
from avr_support import PARAMETERS
from boards import (
    LOG_SLOTS,
    LOG_START,
    SLOT_BYTES,
    counter_log,
    example,
    fixed_keys,
    open_board,
    read_log,
    slot,
)
from machine import Machine

CM_OK, CM_ERR_COUNTER = 0, 8
DRAW_BYTES = 2 + 8 + 32
CYCLES = 60_000_000
RESERVE = 16
PAIRS = LOG_SLOTS // 2


@cache
def image() -> Path:
    return build_sketch(Path(__file__).parent / "sketches/seeds.ino", UNO, fixed_keys(PARAMETERS))


def start(log: bytes | None) -> Machine:
    return open_board(image(), UNO, log)


def seeds_of(text: bytes) -> list[bytes]:
    """The counters of the draws sent completely. The EEPROM is not written until the next one."""
    return [seed[:8] for seed in whole_seeds(text)]


def whole_seeds(text: bytes) -> list[bytes]:
    """Counter and public seed of each draw."""
    return [text[i + 2 : i + DRAW_BYTES] for i in range(2, len(text) - DRAW_BYTES + 1, DRAW_BYTES)]


def first_seeds(log: bytes | None, count: int) -> list[bytes]:
    """Counters and public seeds of a device's first draws after a start, or fewer if it refuses."""
    with start(log) as machine:
        while len(machine.text) < 2 + count * DRAW_BYTES and machine.run_to_change(CYCLES):
            pass
        return whole_seeds(machine.text)


def torn(old: int, new: int, rng: random.Random) -> set[int]:
    """Return the values that a byte may have after an interrupted write: erased, programmed, or in
    between."""
    return {old, new, 0xFF, old & new, old | rng.randrange(256), new | rng.randrange(256), rng.randrange(256)}


def states_with_power_cut(log: bytes, draws: int, rng: random.Random) -> dict[bytes, set[bytes]]:
    """Every content that the log may be left with, and the counters used until then, over all
    instructions."""
    states: dict[bytes, set[bytes]] = {}
    with start(log) as machine:
        before = log
        while len(machine.text) < 2 + draws * DRAW_BYTES:
            busy = machine.eeprom_write()
            content = read_log(machine)
            used = set(seeds_of(machine.text))
            if busy is None:
                before = content
                possible = {content}
            else:
                at = busy[0] - LOG_START
                possible = {
                    before[:at] + bytes([value]) + before[at + 1 :]
                    for value in torn(before[at], busy[1], rng)
                }
            assert machine.run_to_change(CYCLES)
            used |= set(seeds_of(machine.text))
            for state in possible:
                states.setdefault(state, set()).update(used)
    return states


@pytest.mark.parametrize("pair", [4, PAIRS - 1], ids=["within", "at the ring's end"])
def test_no_seed_is_used_twice_wherever_the_power_is_cut(pair: int) -> None:
    rng = random.Random(pair)
    log = counter_log(5000, pair)
    states = states_with_power_cut(log, RESERVE + 2, rng)
    assert len(states) > 2 * 2 * SLOT_BYTES  # two updates of two slots, some of whose bytes change
    for state, used in states.items():
        drawn = first_seeds(state, 1)
        assert len(drawn) == 1, "a cut left a counter that is refused"
        assert drawn[0][:8] not in used


def test_no_seed_is_used_twice_when_the_power_is_cut_again_and_again() -> None:
    rng = random.Random(1)
    state, used = counter_log(0), set()
    for cut in range(40):
        found = states_with_power_cut(state, 3, rng)
        later = [left for left in sorted(found.items()) if left[1] or cut % 4]
        state, now = rng.choice(later)
        assert not used & now
        used |= now
    assert len(used) > 10


def test_one_damaged_slot_never_brings_a_used_counter_back() -> None:
    with start(counter_log(5000, 4)) as machine:
        while len(machine.text) < 2 + DRAW_BYTES:
            assert machine.run_to_change(CYCLES)
        log = read_log(machine)
    assert log != counter_log(5000, 4)
    for at in range(LOG_SLOTS):
        damaged = bytearray(log)
        damaged[at * SLOT_BYTES + 2] ^= 0x10
        (drawn,) = first_seeds(bytes(damaged), 1)
        assert struct.unpack("<Q", drawn[:8])[0] > 5000


def test_two_damaged_slots_are_refused() -> None:
    log = bytearray(counter_log(5000, 4))
    for at in (8, 9):
        log[at * SLOT_BYTES] ^= 1
    with start(bytes(log)) as machine:
        machine.run(CYCLES // 20)
        assert machine.text[:2] == bytes([ord("S"), CM_ERR_COUNTER])
        assert not seeds_of(machine.text)


def test_an_erased_eeprom_is_refused() -> None:
    with start(None) as machine:
        machine.run(CYCLES // 20)
        assert machine.text[:2] == bytes([ord("S"), CM_ERR_COUNTER])


def test_the_counter_ends_at_32_bits() -> None:
    log = counter_log(2**32 - 1)
    with start(log) as machine:
        machine.run(CYCLES // 20)
        assert machine.text == bytes([ord("S"), CM_OK, ord("D"), CM_ERR_COUNTER])
        assert read_log(machine) == log


def test_a_new_device_begins_at_0_and_an_old_one_stays() -> None:
    sketch = example("NewDevice", UNO, PARAMETERS)
    with open_board(sketch, UNO, None) as machine:
        machine.run(CYCLES)
        assert machine.text == b"The counter begins at 0.\r\n"
        assert read_log(machine) == LOG_SLOTS * slot(0)
    old = counter_log(5000)
    with open_board(sketch, UNO, old) as machine:
        machine.run(CYCLES)
        assert machine.text.startswith(b"Nothing was changed")
        assert read_log(machine) == old


def test_public_seeds_differ_from_draw_to_draw() -> None:
    drawn = first_seeds(counter_log(0), RESERVE + 2)
    assert len(set(drawn)) == RESERVE + 2
    assert [struct.unpack("<Q", seed[:8])[0] for seed in drawn] == list(range(RESERVE + 2))
