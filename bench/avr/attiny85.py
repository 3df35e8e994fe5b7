# SPDX-License-Identifier: Apache-2.0
"""The node of ports/attiny85 on simulated ATtiny85s: one image, and as many nodes with keys of their own."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from ciphermote import _core
from ciphermote.base.files import write_atomically
from ciphermote.compact.keys import CompactKeys, Enrolment, to_c_header
from ciphermote.compact.sets import CompactSet, compact_set
from ciphermote.parameters.native import core_params
from images import BUILD
from machine import ROOT, Counts, Machine, MachineError, build_simulator, run_tool, section_bytes

MCU = "attiny85"
FREQUENCY = 8_000_000
FLASH_BYTES, RAM_BYTES = 8192, 512
RAM_START = 0x60
LOG_START, LOG_SLOTS, RESERVE = 8, 32, 16
ENCRYPTION = 1
"""The region of a window's encryption."""
CYCLES = 60_000_000
KEY_ID = 0x74696E79


@dataclass(frozen=True)
class Build:
    """A build of the image: macros of ports/attiny85/main.c."""

    set_name: str = "a10"
    values: int = 16
    packet_bytes: int = 67
    at_once: int = 0
    end: int = 0

    @property
    def compact(self) -> CompactSet:
        return compact_set(self.set_name)

    @property
    def options(self) -> str:
        words = [
            "-DNODE_SIMULATED=1",
            f"-DNODE_VALUES={self.values}",
            f"-DNODE_PACKET_BYTES={self.packet_bytes}",
        ]
        words += [f"-DNODE_AT_ONCE={self.at_once}"] if self.at_once else []
        words += [f"-DNODE_END={self.end}"] if self.end else []
        return " ".join(words)


@cache
def fleet(set_name: str, seed: int = 1) -> tuple[CompactKeys, Enrolment]:
    """Keys for tests and benches, always the same, and their first device."""
    compact = compact_set(set_name)
    packed = _core.secret_key_generate(core_params(compact.parameters), bytes([seed]) * 32)
    enrolment = Enrolment(7, 1, compact.largest_value, bytes(range(seed, seed + 32)))
    return CompactKeys(compact, KEY_ID, packed, (enrolment,)), enrolment


@cache
def node_image(build: Build) -> Path:
    """Compile the node; MachineError if it does not fit."""
    name = f"{build.set_name}_{build.values}_{build.packet_bytes}_{build.at_once}_{build.end}"
    folder = BUILD / "attiny85" / name
    folder.mkdir(parents=True, exist_ok=True)
    header = to_c_header(*fleet(build.set_name)).encode("ascii")
    if not (folder / "compact_keys.h").exists() or (folder / "compact_keys.h").read_bytes() != header:
        write_atomically(folder / "compact_keys.h", header, 0o600)
    words = (f"GENERATED={folder}", f"BUILD={folder}", f"NODE_SET={build.set_name.upper()}")
    run_tool(
        ["make", "-C", ROOT / "ports", "attiny85", *words, f"NODE={build.options}"], f"Building node {name}"
    )
    return folder / "attiny85/node.elf"


def flash_bytes(image: Path) -> int:
    """Code, constants, the key, and the variables' first values."""
    sections = section_bytes(image)
    return sections[".text"] + sections[".data"]


def static_bytes(image: Path) -> int:
    """RAM besides the stack."""
    sections = section_bytes(image)
    return sections[".data"] + sections[".bss"] + sections[".noinit"]


def log_slot(value: int) -> bytes:
    """A slot of the counter's log that holds a value."""
    held = struct.pack("<I", value)
    return held + struct.pack("<I", _core.crc32c(b"CMCL" + held))


def counter_log(newest: int, pair: int = 0) -> bytes:
    """The log's bytes after many writes."""
    pairs = LOG_SLOTS // 2
    values = [max(0, newest - RESERVE * ((pair - i) % pairs)) for i in range(pairs)]
    return b"".join(2 * log_slot(value) for value in values)


class Node:
    """A simulated node. keys, enrolment: of the device, in place of the image's.

    log: its EEPROM's counter; None: as the image has it. power_on: what RAM holds at first.
    """

    def __init__(
        self,
        build: Build = Build(),
        keys: CompactKeys | None = None,
        enrolment: Enrolment | None = None,
        log: bytes | None = None,
        power_on: bytes = bytes(RAM_BYTES),
    ) -> None:
        self.build, self.image = build, node_image(build)
        self.machine = Machine(build_simulator(BUILD), self.image, MCU, FREQUENCY)
        self._taken = 0
        self.machine.write(RAM_START, power_on)
        if log is not None:
            self.machine.write_eeprom(LOG_START, log)
        if keys is not None and enrolment is not None:
            self.provision(keys, enrolment)

    def __enter__(self) -> Node:
        return self

    def __exit__(self, *error: object) -> None:
        self.machine.__exit__(None, None, None)

    def _symbol(self, name: str) -> int:
        """Link-time optimisation appends to the names of variables."""
        found = [at for full, at in self.machine.symbols.items() if full.partition(".")[0] == name]
        if len(found) != 1:
            raise MachineError(f"{self.image.name} has {len(found)} symbols {name}, not one.")
        return found[0]

    def run_to(self, function: str) -> None:
        """Run until a function of the image is entered."""
        full = next(name for name in self.machine.symbols if name.partition(".")[0] == function)
        self.machine.run_to(full, CYCLES)

    def provision(self, keys: CompactKeys, enrolment: Enrolment) -> None:
        """Write a device's key to flash, as a programmer would; the set must be the image's."""
        self.machine.write_flash(self._symbol("cm_provisioned_compact_ternary"), keys.packed)
        self.write_material(keys.material(enrolment))
        loaded = self._symbol("cm_provisioned_compact_key") - self._symbol("__data_start")
        identity = struct.pack("<IHH", enrolment.device, enrolment.epoch, enrolment.largest_value)
        self.machine.write_flash(self._symbol("__data_load_start") + loaded + 6, identity)

    def write_material(self, material: bytes) -> None:
        """Write a key's material alone."""
        self.machine.write_flash(self._symbol("cm_provisioned_compact_material"), material)

    def windows(self, *windows: Sequence[int]) -> list[bytes]:
        """The packets of windows of readings."""
        readings = [reading for window in windows for reading in window]
        self.machine.feed(struct.pack(f"<{len(readings)}H", *readings))
        self.machine.run(CYCLES * len(windows))
        return self.packets()

    def packets(self) -> list[bytes]:
        """Return the packets sent since the last call; raises MachineError with its status if the node has
        stopped."""
        found = []
        for packet in split_packets(self.machine.text[self._taken :]):
            self._taken += 1 + len(packet)
            found.append(packet)
        return found

    @property
    def encryptions(self) -> list[Counts]:
        """Each window's counts."""
        return [counts for counts in self.machine.regions if counts.region == ENCRYPTION]


def split_packets(text: bytes) -> Iterator[bytes]:
    """The whole packets of what a node has sent; MachineError with the status of one that has stopped."""
    at = 0
    while at < len(text):
        length = text[at]
        if length == 0:
            raise MachineError(f"The node has stopped with status {text[at + 1 : at + 2].hex()}.")
        if at + 1 + length > len(text):
            return
        yield text[at + 1 : at + 1 + length]
        at += 1 + length


def packets_on_host(
    build: Build, keys: CompactKeys, enrolment: Enrolment, window: Sequence[int], packet: bytes
) -> list[bytes]:
    """The packets of the window that a packet is of, by portable C on this machine."""
    counter = [int.from_bytes(packet[8:12], "little")]
    device = _core.CompactDevice(
        keys.set.id,
        keys.packed,
        keys.material(enrolment),
        enrolment.device,
        enrolment.epoch,
        enrolment.largest_value,
        build.packet_bytes,
        lambda _: packet[16:24],
        lambda: counter[0],
        lambda value: counter.__setitem__(0, value),
    )

    packets, _ = device.encrypt(np.array(window, dtype=np.uint16), 0, 2**64 - 1)
    return [bytes(one) for one in packets]


def whole_ram(node: Node) -> int:
    """Static RAM, and the deepest stack since reset."""
    return static_bytes(node.image) + node.machine.deepest_stack
