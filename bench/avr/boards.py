# SPDX-License-Identifier: Apache-2.0
"""Boards with a sketch in flash and a counter in EEPROM, as an owner provisions them."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
from arduino import BUILD, MEGA, PORT_EXAMPLES, UNO, Board, build_sketch
from ciphermote import _core
from ciphermote.base.files import write_atomically
from ciphermote.formats.frames import FrameReader, FrameSet
from ciphermote.owner.keys import SecretKey
from ciphermote.owner.provisioning import Provision, to_c_header
from ciphermote.parameters import BFV, ParameterSet, by_name
from ciphermote.parameters.native import core_params
from images import FIRMWARE, PARAMETERS
from machine import Counts, Machine, MachineError, build_simulator
from numpy.typing import NDArray

LOG_START, LOG_SLOTS, SLOT_BYTES, SALT_BYTES = 8, 32, 8, 16
"""Where ports/arduino keeps the counter, and after it the salt with its checksum."""
LOG_BYTES = LOG_SLOTS * SLOT_BYTES

GATHERED = 256 + 2
"""Watchdog time-outs that a start waits for: samples are differences, and the first time-out is early."""
LOOP_CYCLES = 8
"""Cycles per count of the firmware."""
REAL_PERIOD, SHORT_PERIOD = 256_000, 16_000
"""Cycles between time-outs: by the data sheet, and with an oscillator 16 times as fast, which saves time."""

RUN_CYCLES = 1_000_000

KEY_ID = 0x756E6F2D6B6579


def fixed_secret_key(parameters: ParameterSet, seed: int = 1) -> SecretKey:
    """A secret key for tests and benches, always the same."""
    return SecretKey(parameters, _core.secret_key_generate(core_params(parameters), bytes([seed]) * 32))


def provision_folder(
    folder: Path, secret: SecretKey, device_secret: bytes = bytes(range(1, 33)), key_id: int = KEY_ID
) -> Path:
    """A folder with one device's provisioned_keys.h."""
    folder.mkdir(parents=True, exist_ok=True)
    header = to_c_header(Provision(secret.parameters, key_id, device_secret, secret))
    write_atomically(folder / "provisioned_keys.h", header.encode("ascii"), 0o600)
    return folder


@cache
def fixed_keys(parameters: ParameterSet) -> Path:
    """The folder with the key that tests and benches share."""
    return provision_folder(BUILD / "keys" / parameters.name, fixed_secret_key(parameters))


def slot(value: int) -> bytes:
    """A slot of counter_log.c that holds a value."""
    held = struct.pack("<I", value)
    return held + struct.pack("<I", _core.crc32c(b"CMCL" + held))


def counter_log(newest: int, pair: int = 0, step: int = 16) -> bytes:
    """The log's bytes after many writes: the newest value in a pair, older ones in the others."""
    pairs = LOG_SLOTS // 2
    values = [max(0, newest - step * ((pair - i) % pairs)) for i in range(pairs)]
    return b"".join(2 * slot(value) for value in values)


def salt_record(salt: bytes = bytes(range(SALT_BYTES))) -> bytes:
    """Return the record that salt.c writes after the log."""
    return salt + struct.pack("<I", _core.crc32c(b"CMSA" + salt))


def watchdog_jitter(
    label: str, period: int = SHORT_PERIOD, deviation: float = 3 * LOOP_CYCLES, count: int = 3 * GATHERED
) -> list[int]:
    """Periods of a simulated watchdog, in cycles: the same for the same label. They measure nothing real.

    period: their mean. deviation: of each; they are normally distributed and independent.
    """
    rng = np.random.default_rng(list(label.encode()))
    periods: list[int] = np.rint(rng.normal(period, deviation, count)).astype(int).tolist()
    return periods


def open_board(image: Path, board: Board, log: bytes | None, jitter: Sequence[int] | None = None) -> Machine:
    """A board as it is at power-on, and what its watchdog will do.

    log: the EEPROM's counter log, followed by salt_record() unless it has a salt; None for an erased
    EEPROM. jitter: the watchdog's periods, by default watchdog_jitter's; () for a stuck one.
    """
    machine = Machine(build_simulator(BUILD.parent), image, board.mcu)
    machine.set_watchdog_periods(watchdog_jitter("board") if jitter is None else jitter)
    if log is not None:
        machine.write_eeprom(LOG_START, log if len(log) > LOG_BYTES else log + salt_record())
    return machine


def read_log(machine: Machine) -> bytes:
    """The EEPROM's counter log."""
    return machine.read_eeprom(LOG_START, LOG_BYTES)


def example(name: str, board: Board, parameters: ParameterSet) -> Path:
    """An example of the library, built with the shared key."""
    return build_sketch(PORT_EXAMPLES / name / f"{name}.ino", board, fixed_keys(parameters))


SERIAL_WRITE = "_ZN14HardwareSerial5writeEh"
"""HardwareSerial::write, which waits for room in its buffer."""


START_REGION = 2
"""The region of begin, which gathers entropy, in sketches that mark it."""


def encryptions(machine: Machine) -> list[Counts]:
    """The regions that have ended, except the start."""
    return [counts for counts in machine.regions if counts.region != START_REGION]


def run_start(machine: Machine, cycles: int = 2 * GATHERED * SHORT_PERIOD) -> Counts:
    """Run until the start has ended; MachineError if it takes more cycles than this."""
    for _ in range(0, cycles, RUN_CYCLES):
        machine.run(RUN_CYCLES)
        if found := [counts for counts in machine.regions if counts.region == START_REGION]:
            return found[0]
    raise MachineError(f"The board has not started within {cycles:,} cycles.")


def run_regions(machine: Machine, count: int, cycles: int) -> None:
    """Run until this many encryptions have ended; MachineError if they take more cycles than this."""
    for _ in range(0, cycles, RUN_CYCLES):
        if len(encryptions(machine)) >= count:
            return
        machine.run(RUN_CYCLES)
    raise MachineError(f"{count} encryptions have not ended within {cycles:,} cycles.")


PLAIN_MODULUS = 40961
"""For the sketch that encrypts integers on an Uno."""


def uno_integers(bit_rate: int = 115_200, *, tagged: bool = False) -> Path:
    """The image for an Uno that encrypts n integers over and over. tagged: into frames with tags, by
    images.SENDER."""
    sketch = FIRMWARE.parent / "sketches/uno_integers.ino"
    flags = (f"-DBIT_RATE={bit_rate}", *(("-DTAGGED=1",) if tagged else ()))
    return build_sketch(sketch, UNO, fixed_keys(PARAMETERS), flags)


FRAME_HEADER = {1: 44, 2: 64}
FRAME_END = {1: 4, 2: 12}
"""Bytes around a frame's payload, by version: the header; the CRC, and a tag before it."""


def first_frames(sent: bytes) -> list[bytes]:
    """The frames of the first ciphertext; the next may have begun."""
    frames: list[bytes] = []
    counter = slice(20, 28)
    while not frames or sent[counter] == frames[0][counter]:
        version, (length,) = sent[2], struct.unpack_from("<I", sent, 40)
        frames.append(sent[: FRAME_HEADER[version] + length + FRAME_END[version]])
        sent = sent[len(frames[-1]) :]
    return frames


def uno_values(first_mask: int, count: int) -> list[NDArray[np.int64]]:
    """Return the values that the Uno encrypts, one vector per encryption."""
    values = []
    mask = first_mask
    for _ in range(count):
        values.append(np.arange(PARAMETERS.n) ^ mask)
        mask = (mask * 25173 + 13849) & 0x7FFF
    return values


def uno_ciphertexts(image: Path, first_mask: int, counter: int, count: int) -> list[FrameSet]:
    """Return the ciphertexts that the Uno sends: `count` of them, from a counter on."""
    with open_board(image, UNO, counter_log(counter)) as machine:
        machine.leave_out_digests()
        machine.run_to("main")
        machine.write(machine.address("mask"), first_mask.to_bytes(2, "little"))
        run_regions(machine, count + 1, (count + 1) * UNO_CYCLES)
        sets = FrameReader(PARAMETERS, KEY_ID, scheme=BFV(PLAIN_MODULUS)).feed(machine.text).sets
        return sets[:count]


UNO_CYCLES = 30_000_000
"""More than a start and an encryption take on an Uno, sending included."""


MEGA_PARAMETERS = by_name("n2048_q26_p27")
MEGA_PLAIN_MODULUS = 12289
MEGA_LOG2_SCALE = 18
MEGA_CYCLES = 150_000_000
"""More than a start and both encryptions of a Mega take, sending included."""


def mega_both() -> Path:
    """The image for a Mega that encrypts integers in slots and real numbers by turns."""
    return build_sketch(FIRMWARE.parent / "sketches/mega_both.ino", MEGA, fixed_keys(MEGA_PARAMETERS))


SERIAL_BUFFER_CYCLES = 100_000
"""Cycles in which the core's 64 buffered bytes are sent at 115,200 bit/s."""


def open_mega(mask: int) -> Machine:
    """A Mega that has encrypted both kinds once: values i ^ mask."""
    machine = open_board(mega_both(), MEGA, counter_log(0))
    machine.leave_out_waits(SERIAL_WRITE)
    machine.run_to("main")
    machine.write(machine.address("mask"), mask.to_bytes(2, "little"))
    run_regions(machine, 2, MEGA_CYCLES)
    machine.run(SERIAL_BUFFER_CYCLES)
    return machine


def mega_reals(mask: int) -> NDArray[np.float32]:
    """The real numbers that it encrypts."""
    x = (np.arange(MEGA_PARAMETERS.slots) ^ mask).astype(np.uint32)
    return ((121 + (x & 7)) << 23 | x << 11).astype(np.uint32).view(np.float32)
