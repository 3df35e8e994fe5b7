# SPDX-License-Identifier: Apache-2.0
"""The compact lane on simulated chips, with keys in flash, and its rows: windows of set A10.

Packets are compared with those of portable C on the machine that runs this.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

import numpy as np
from ciphermote import _core
from ciphermote.compact.sets import CompactSet, compact_set
from images import FIRMWARE, OPTIMIZE, SECTIONS, compact_sources, library, wrapped
from machine import (
    FREQUENCY,
    ROOT,
    Counts,
    Machine,
    MachineError,
    build_image,
    build_simulator,
    section_bytes,
)

from bench.rows import Row

MATERIAL_BYTES, LANE_BYTES = 144, 32
OVERHEAD_BYTES, TAG_BYTES = 35, 8
DEVICE, EPOCH, COUNTER = 0x01020304, 7, 1000
NEW_WINDOW = 2**64 - 1
WINDOW_CYCLES, STEP_CYCLES = 40_000_000, 10_000
LONG_MESSAGE = 256
PORT = ROOT / "ports/arduino/src"
OPTIONS = (
    "-DCM_CONFIG_PRECISION_63=0",
    "-DCM_CONFIG_COMPLEX=0",
)
WITHOUT = "the tag and the counter's write"


@dataclass(frozen=True)
class Chip:
    """prefix: of its rows. ram: where calls may put a long message."""

    prefix: str
    mcu: str
    ram: int = 0x100


UNO = Chip("uno", "atmega328p")


@dataclass(frozen=True)
class Lane:
    """A set as a device uses it. prime_bits: the build's option."""

    compact: CompactSet
    prime_bits: int = 0

    @property
    def flags(self) -> tuple[str, ...]:
        compact = self.compact
        return (
            f"-DCM_CONFIG_MAX_LOG2_N={compact.n.bit_length() - 1}",
            f"-DCM_CONFIG_PRIME_BITS={self.prime_bits}",
            f"-DBENCH_SET=cm_compact_{compact.name}",
            f"-DBENCH_PRIMES={len(compact.primes)}",
            f"-DBENCH_WIRE_BITS={compact.wire_bits}",
            f"-DBENCH_LARGEST={compact.largest_value}",
        )

    def packet_bytes(self, values: int) -> int:
        return OVERHEAD_BYTES - (-values * self.compact.wire_bits // 8)


A10 = Lane(compact_set("a10"), 20)


@dataclass(frozen=True)
class Secrets:
    """Secrets on which no time may depend, and the public numbers of a window, which all share."""

    ternary: bytes
    material: bytes
    values: tuple[int, ...]

    @classmethod
    def drawn(cls, seed: int, values: int, lane_of: Lane = A10) -> Secrets:
        compact, random = lane_of.compact, Random(f"compact {seed}")
        codes = [random.randrange(3) for _ in range(compact.n)]
        packed = bytes(sum(codes[at + i] << 2 * i for i in range(4)) for at in range(0, compact.n, 4))
        lane = Random("compact lane").randbytes(LANE_BYTES)
        material = lane + random.randbytes(MATERIAL_BYTES - LANE_BYTES)
        return cls(
            packed, material, tuple(random.randrange(compact.largest_value + 1) for _ in range(values))
        )


RANDOM_BYTES = Random("compact random").randbytes(8)
"""What the board draws, or its salt."""


def compact_image(
    build: Path,
    chip: Chip,
    values: int,
    lane: Lane = A10,
    flags: Sequence[str] = (),
    sources: Sequence[Path] = (),
) -> Path:
    """A device that encrypts windows of so many values."""
    flags = (*OPTIONS, *lane.flags, f"-DBENCH_VALUES={values}", *flags)
    name = "_".join(("compact", chip.mcu, lane.compact.name, str(values), *(path.stem for path in sources)))
    wrap = wrapped("avr-gcc", ("cmi_tagger_init", "cmi_stream_derive"), f"-mmcu={chip.mcu}", *flags)
    return build_image(
        build / f"{name}.elf",
        [FIRMWARE / "compact.c", *library(assembly=True), *sources],
        chip.mcu,
        [OPTIMIZE, *SECTIONS, *wrap, *flags],
    )


def start(build: Path, chip: Chip, image: Path, secrets: Secrets, first: int, *, salted: bool) -> Machine:
    """A device whose inputs are in place."""
    machine = Machine(build_simulator(build), image, chip.mcu)
    machine.run_to("main")
    head = struct.pack("<IHHQ8sB", DEVICE, EPOCH, first, COUNTER, RANDOM_BYTES, salted)
    machine.write(machine.address("bench"), head + struct.pack(f"<{len(secrets.values)}H", *secrets.values))
    machine.write_flash(machine.symbols["bench_ternary"], secrets.ternary)
    machine.write_flash(machine.symbols["bench_material"], secrets.material)
    return machine


def packet_on_host(secrets: Secrets, first: int, random: bytes, lane: Lane) -> bytes:
    """Return the packet that portable C sends."""
    counter = [COUNTER]
    device = _core.CompactDevice(
        *(lane.compact.id, secrets.ternary, secrets.material, DEVICE, EPOCH, lane.compact.largest_value),
        lane.packet_bytes(len(secrets.values)),
        lambda _: random,
        lambda: counter[0],
        lambda value: counter.__setitem__(0, value),
    )
    packets, _ = device.encrypt(np.array(secrets.values, dtype=np.uint16), first, NEW_WINDOW)
    return bytes(packets[0])


def window_counts(
    build: Path,
    chip: Chip,
    image: Path,
    secrets: Secrets,
    first: int = 0,
    *,
    salted: bool = False,
    lane: Lane = A10,
) -> tuple[Counts, int]:
    """A window's counts, without the tag's cycles, and RAM's end. Raises MachineError unless its packet is
    right."""
    with start(build, chip, image, secrets, first, salted=salted) as machine:
        machine.run_to("board_take_packet", WINDOW_CYCLES)
        at, length = (int.from_bytes(machine.read(register, 2), "little") for register in (22, 20))
        packet = machine.read(at, length)
        while not machine.regions:
            machine.run(STEP_CYCLES)
        counts, end = machine.regions[0], machine.ram_end
    if packet != packet_on_host(secrets, first, packet[16:24], lane) or (
        not salted and packet[16:24] != RANDOM_BYTES
    ):
        raise MachineError(f"A simulated {chip.mcu} and portable C on this machine send different packets.")
    return counts, end


def _window_rows(build: Path, chip: Chip, params: dict[str, object]) -> Iterator[Row]:
    for values in (16, 1):
        prefix = f"{chip.prefix}.k{values}"
        image = compact_image(build, chip, values)
        own = {**params, "values": values, "without": WITHOUT}
        secrets = Secrets.drawn(0, values)
        for first in (1, 5, A10.compact.n - values):
            window_counts(build, chip, image, secrets, first)
        counts, end = window_counts(build, chip, image, secrets)
        salted, _ = window_counts(build, chip, image, secrets, salted=True)
        yield Row(f"{prefix}.cycles", counts.cycles, "cycles", own)
        yield Row(f"{prefix}.salted.cycles", salted.cycles, "cycles", {**own, "what": "no random source"})
        yield Row(
            f"{prefix}.tag.cycles",
            counts.paused,
            "cycles",
            {
                **params,
                "bytes": A10.packet_bytes(values) - TAG_BYTES + 4,
                "what": "a packet's tag, with its second key",
            },
        )
        sections = section_bytes(image)
        static, stack = sections[".data"] + sections[".bss"], end - salted.stack_low
        yield Row(
            f"{prefix}.ram_bytes", static + stack, "bytes", {**params, "static": static, "stack": stack}
        )
        yield Row(f"{prefix}.flash_bytes", sections[".text"] + sections[".data"], "bytes", params)


def _tag_row(build: Path, chip: Chip, params: dict[str, object]) -> Row:
    """Poly1305's blocks; ChaCha20 follows once a message."""
    name = f"compact_kernels_{chip.mcu}.elf"
    image = build_image(build / name, compact_sources(), chip.mcu, [OPTIMIZE, *OPTIONS, *A10.flags])
    with Machine(build_simulator(build), image, chip.mcu) as machine:
        machine.run_to("main")
        at = chip.ram
        machine.write(at, bytes(36))
        # What the message is does not matter: it is whatever follows.
        counts = machine.call("cmi_avr_poly1305_blocks", at, at + 20, at + 36, LONG_MESSAGE // 16, 1)
    cycles = round(counts.cycles / LONG_MESSAGE, 1)
    return Row(f"{chip.prefix}.tag.cycles_per_byte", cycles, "cycles/byte", {**params, "bytes": LONG_MESSAGE})


def _counter_row(build: Path, chip: Chip, params: dict[str, object]) -> Row:
    """The first write of a board's counter, waits for the EEPROM included."""
    image = compact_image(
        build, chip, 1, flags=("-DBENCH_COUNTER_LOG", f"-I{PORT}"), sources=(PORT / "counter_log.c",)
    )
    with start(build, chip, image, Secrets.drawn(0, 1), 0, salted=False) as machine:
        machine.leave_out_digests()
        machine.run_to("board_take_packet", WINDOW_CYCLES)
        write = next(counts for counts in machine.regions if counts.region == 1)
    what = "one window in 16 writes the counter; waits for the EEPROM included"
    return Row(f"{chip.prefix}.counter_write.cycles", write.cycles, "cycles", {**params, "what": what})


def _constant_time_rows(build: Path, chip: Chip, runs: int, params: dict[str, object]) -> Iterator[Row]:
    """Return the number of windows with different keys, values and noise that took the same instructions and
    time."""
    for values in (16, 1):
        image = compact_image(build, chip, values)
        seen = set()
        for run in range(runs):
            counts, _ = window_counts(build, chip, image, Secrets.drawn(run, values))
            seen.add((counts.cycles, counts.paused, counts.path))
        if len(seen) != 1:
            raise MachineError(
                f"Windows that differ only in secrets took {len(seen)} paths or times on {chip.mcu}."
            )
        ((cycles, _, path),) = seen
        own = {**params, "cycles": cycles, "path": f"{path:016x}"}
        yield Row(f"constant_time.{chip.prefix}.k{values}.runs", runs, "runs", own)


def compact_rows(build: Path, chips: Sequence[Chip], runs: int) -> Iterator[Row]:
    """All rows of these chips; runs: windows that must take the same time. Raises MachineError if a check
    fails."""
    for chip in chips:
        params = {
            "kind": "measured",
            "mcu": chip.mcu,
            "hz": FREQUENCY,
            "set": "a10",
            "n": A10.compact.n,
            "flags": OPTIMIZE,
        }
        yield from _window_rows(build, chip, params)
        yield _tag_row(build, chip, params)
        yield _counter_row(build, chip, params)
        yield from _constant_time_rows(build, chip, runs, params)
