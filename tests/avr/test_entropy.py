# SPDX-License-Identifier: Apache-2.0
"""Entropy on simulated boards: the watchdog's periods decide the seeds, and without noise there are none.

The periods are made up, and say nothing about a real board's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import cycle, islice
from pathlib import Path

import numpy as np
import pytest
from arduino import UNO, build_sketch
from avr_support import PARAMETERS
from boards import (
    GATHERED,
    LOG_BYTES,
    LOG_START,
    LOOP_CYCLES,
    REAL_PERIOD,
    SALT_BYTES,
    SHORT_PERIOD,
    counter_log,
    example,
    fixed_keys,
    open_board,
    read_log,
    salt_record,
    watchdog_jitter,
)
from machine import Machine

CM_OK, CM_ERR_RANDOM, CM_ERR_COUNTER, CM_ERR_SINK = 0, 7, 8, 9
CM_ERR_ARGUMENT = 1
FRAME_BYTES, SEED_START, SEED_BYTES = 80, 44, 32
CYCLES = 2 * GATHERED * SHORT_PERIOD
WDE, WDTO_60MS = 0x08, 2
KEY_AT, KEY_BYTES = 7, 24
"""Where the generator lies in class Ciphermote: behind the arena's address and size, and the counter."""


@dataclass(frozen=True)
class Started:
    """A board's output: begin's status, its WDTCSR before and after; for each encryption the status, and the
    public seed if it sent one."""

    status: int
    watchdog: tuple[int, int]
    statuses: tuple[int, ...]
    seeds: tuple[bytes, ...]


@cache
def image(*flags: str) -> Path:
    sketch = Path(__file__).parent / "sketches/started.ino"
    return build_sketch(sketch, UNO, fixed_keys(PARAMETERS), flags)


def heard(machine: Machine) -> Started:
    text = machine.text
    assert text[:1] == b"B", text
    statuses, seeds = [], []
    rest = text[4:]
    while rest:
        assert rest[:1] == b"E"
        sent = FRAME_BYTES if rest[2 : 2 + 1] == b"C" else 0
        assert rest[2 + sent] == sent
        statuses.append(rest[1])
        if sent:
            seeds.append(rest[2 + SEED_START :][:SEED_BYTES])
        rest = rest[3 + sent :]
    return Started(text[1], (text[2], text[3]), tuple(statuses), tuple(seeds))


def start(
    jitter: Sequence[int] | None, eeprom: bytes | None = None, *flags: str, cycles: int = CYCLES
) -> Started:
    """A board from power to the end of its second encryption. eeprom: that of a new board unless given."""
    with open_board(image(*flags), UNO, eeprom or counter_log(0), jitter) as machine:
        machine.leave_out_digests()
        machine.run(cycles)
        assert not machine.watchdog_bit
        return heard(machine)


def refused(started: Started) -> bool:
    """Whether the board neither starts nor encrypts, and says that randomness is what is missing."""
    assert not started.seeds
    return started.status == CM_ERR_RANDOM and started.statuses == (CM_ERR_RANDOM, CM_ERR_RANDOM)


def test_the_same_noise_gives_the_same_seeds_and_other_noise_others() -> None:
    one, again, other = (start(watchdog_jitter(label)) for label in ("one", "one", "other"))
    assert one.status == other.status == CM_OK
    assert one.statuses == (CM_ERR_SINK, CM_ERR_SINK)  # as the sketch wants it
    assert one == again
    assert len({*one.seeds, *other.seeds}) == 4


def test_a_restored_eeprom_repeats_no_seed() -> None:
    eeprom = counter_log(160) + salt_record()
    seeds = [seed for boot in range(4) for seed in start(watchdog_jitter(f"boot {boot}"), eeprom).seeds]
    assert len(set(seeds)) == len(seeds) == 8


def test_two_boards_with_one_header_repeat_no_seed() -> None:
    """Each with a salt of its own; with one jitter, the salt alone is what tells them apart."""
    boards = [counter_log(0) + salt_record(bytes([salt]) * SALT_BYTES) for salt in (1, 2)]
    seeds = [seed for board in boards for seed in start(watchdog_jitter("one"), board).seeds]
    assert len(set(seeds)) == len(seeds) == 4


def test_one_time_out_that_comes_a_count_later_changes_the_seeds() -> None:
    periods = watchdog_jitter("one")
    later = list(periods)
    later[GATHERED - 1] += 2 * LOOP_CYCLES
    assert not set(start(periods).seeds) & set(start(later).seeds)


def test_what_a_sketch_stirs_in_changes_the_seeds() -> None:
    periods = watchdog_jitter("one")
    assert not set(start(periods).seeds) & set(start(periods, None, "-DSTIR").seeds)


def key_of(machine: Machine) -> bytes:
    """The generator's key."""
    (board,) = (name for name in machine.symbols if name.startswith("_ZL10ciphermote"))
    return machine.read(machine.address(board) + KEY_AT, KEY_BYTES)


def ramp(step: int) -> list[int]:
    return [SHORT_PERIOD + step * i for i in range(2 * GATHERED)]


@pytest.mark.parametrize(
    "periods",
    [
        [SHORT_PERIOD] * 2 * GATHERED,
        [SHORT_PERIOD + 3] * 2 * GATHERED,
        ramp(1),
        ramp(LOOP_CYCLES),
        list(islice(cycle([SHORT_PERIOD, SHORT_PERIOD + 5 * LOOP_CYCLES]), 2 * GATHERED)),
        list(islice(cycle(LOOP_CYCLES * x for x in watchdog_jitter("short", 2000, 3, 16)), 2 * GATHERED)),
        [SHORT_PERIOD + (x > 1.5) for x in np.random.default_rng(1).normal(size=2 * GATHERED)],
        (),
        watchdog_jitter("one")[:100],
        watchdog_jitter("one")[: GATHERED - 1],
    ],
    ids=[
        "none",
        "none, between counts",
        "slow drift",
        "drift",
        "two values in turns",
        "a cycle of 16",
        "a cycle now and then",
        "stuck",
        "stuck after 100 periods",
        "stuck at the last period",
    ],
)
def test_a_board_without_noise_refuses_to_encrypt(periods: Sequence[int]) -> None:
    assert refused(start(periods))


def test_by_the_data_sheet_alone_there_is_no_noise() -> None:
    """At the true 16 ms: 4 seconds of a board with an ideal oscillator."""
    with open_board(image(), UNO, counter_log(0), [REAL_PERIOD] * 2 * GATHERED) as machine:
        machine.leave_out_digests()
        machine.run(2 * GATHERED * REAL_PERIOD)
        assert refused(heard(machine))


def test_a_fuse_that_forces_resets_is_noticed_in_time() -> None:
    """WDTON: the shortest time must not begin to run."""
    before = WDE | WDTO_60MS
    with open_board(image("-DOWN_WATCHDOG"), UNO, counter_log(0)) as machine:
        machine.force_watchdog()
        machine.run(3 * SHORT_PERIOD)
        assert not machine.watchdog_bit
        assert heard(machine) == Started(CM_ERR_RANDOM, (before, before), (), ())


def test_a_sketchs_own_watchdog_rests_and_comes_back() -> None:
    """It would have reset the board after 4 of 258 periods."""
    started = start(None, None, "-DOWN_WATCHDOG")
    before, after = started.watchdog
    assert started.status == CM_OK and before & WDE and after == before


@pytest.mark.parametrize("own", [True, False])
def test_no_vector_is_called_and_a_sketch_may_have_its_own(*, own: bool, tmp_path: Path) -> None:
    sketch = tmp_path / "vector.ino"
    text = (Path(__file__).parent / "sketches/started.ino").read_text()
    sketch.write_text(text + ("ISR(WDT_vect)\n{\n}\n" if own else ""))
    built = build_sketch(sketch, UNO, fixed_keys(PARAMETERS), name=f"vector-{own}")
    with open_board(built, UNO, counter_log(0)) as machine:
        machine.leave_out_digests()
        machine.run(CYCLES)
        assert not machine.watchdog_bit
        assert heard(machine).status == CM_OK


@pytest.mark.parametrize(
    "salt", [b"", b"\xff" * 20, salt_record()[:-1] + b"\0"], ids=["zero", "erased", "torn"]
)
def test_a_board_without_a_sound_salt_is_refused(salt: bytes) -> None:
    started = start(None, counter_log(0) + salt.ljust(20, b"\0"))
    assert started.status == CM_ERR_COUNTER
    assert started.statuses == (CM_ERR_RANDOM, CM_ERR_RANDOM)


def test_a_board_without_a_counter_is_refused() -> None:
    started = start(None, b"\xff" * LOG_BYTES + salt_record())
    assert started.status == CM_ERR_COUNTER
    assert started.statuses == (CM_ERR_ARGUMENT, CM_ERR_ARGUMENT)


def new_device(jitter: Sequence[int]) -> tuple[bytes, bytes, bytes]:
    """Run NewDevice, and return its output, log and salt."""
    with open_board(example("NewDevice", UNO, PARAMETERS), UNO, None, jitter) as machine:
        machine.leave_out_digests()
        machine.run(4 * CYCLES)
        return machine.text, read_log(machine), machine.read_eeprom(LOG_START + LOG_BYTES, SALT_BYTES + 4)


def test_a_new_device_draws_a_salt_that_its_noise_decides() -> None:
    (said, log, salt), (_, _, other) = new_device(watchdog_jitter("one")), new_device(watchdog_jitter("two"))
    assert said == b"The counter begins at 0.\r\n" and log == counter_log(0)
    assert salt == salt_record(salt[:SALT_BYTES])
    assert salt != other and len(set(salt)) > 4


def test_a_new_device_without_noise_stays_as_it_is() -> None:
    said, log, salt = new_device([SHORT_PERIOD] * 2 * GATHERED)
    assert said.startswith(b"Nothing was changed: the watchdog gives no noise")
    assert {*log, *salt} == {0xFF}


def test_nothing_of_what_a_seed_was_drawn_from_is_left() -> None:
    """No piece of 8 bytes of the keys that were drawn is anywhere in RAM or registers."""
    drawn = []
    with open_board(image(), UNO, counter_log(0)) as machine:
        machine.leave_out_digests()
        for said in (1, 4 + 1):  # begin's answer and the first encryption's
            while len(machine.text) < said:
                assert machine.run_to_change(CYCLES)
            drawn.append(key_of(machine))
        machine.run(CYCLES)
        assert heard(machine).statuses == (CM_ERR_SINK, CM_ERR_SINK)
        ram = machine.read(0, machine.ram_end + 1)
        assert any(key_of(machine)) and len({*drawn, key_of(machine)}) == 3
    for key in drawn:
        assert not [at for at in range(KEY_BYTES - 7) if key[at : at + 8] in ram]
