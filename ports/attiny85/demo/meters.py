# SPDX-License-Identifier: Apache-2.0
"""The demo's meters: ATtiny85s and Unos, simulated cycle by cycle, each with firmware and keys of its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import attiny85
from arduino import UNO, build_sketch
from boards import SERIAL_WRITE, UNO_CYCLES, counter_log, open_board, run_regions, watchdog_jitter
from ciphermote.base.files import write_exclusively
from ciphermote.compact.keys import CompactKeys, Enrolment, to_c_header
from machine import MachineError

FLUSH_CYCLES = 2_000_000
"""More than what Serial still holds takes to leave."""


@dataclass(frozen=True)
class Sent:
    """A meter's day: its packets, and the cycles of its longest encryption."""

    packets: tuple[bytes, ...]
    cycles: int


def write_keys(folder: Path, keys: CompactKeys, enrolment: Enrolment) -> None:
    """Write a meter's provisioned keys, compact_keys.h, to a new folder."""
    folder.mkdir(parents=True)
    write_exclusively(folder / "compact_keys.h", to_c_header(keys, enrolment).encode(), 0o600)


# --- an Uno: the day in one packet --------------------------------------------------------------------------


def build_uno(folder: Path, readings: Sequence[int], packet_bytes: int) -> Path:
    """The image of an Uno whose keys are in folder."""
    numbers = ", ".join(str(reading) for reading in readings)
    lines = (
        "/* A meter's day, hour by hour; written by `make demo-lorawan`. */",
        "#include <avr/pgmspace.h>",
        f"#define DAY_READINGS {len(readings)}",
        f"#define DAY_PACKET_BYTES {packet_bytes}",
        f"static const uint16_t day_readings[DAY_READINGS] PROGMEM = {{{numbers}}};",
    )
    write_exclusively(folder / "day.h", "\n".join((*lines, "")).encode(), 0o600)
    sketch = Path(__file__).with_name("meter_uno.ino")
    return build_sketch(sketch, UNO, folder, name=f"meter-{folder.name}")


def run_uno(image: Path, counter: int = 0) -> Sent:
    """Start an Uno, whose counter is at counter, and let it send its day."""
    with open_board(image, UNO, counter_log(counter), watchdog_jitter(image.parent.name)) as machine:
        machine.leave_out_digests()
        machine.leave_out_waits(SERIAL_WRITE)
        run_regions(machine, 1, UNO_CYCLES)
        machine.run(FLUSH_CYCLES)
        return Sent(tuple(_packets(machine.text)), machine.regions[0].cycles)


def _packets(sent: bytes) -> Iterator[bytes]:
    """Each has its length in front of it."""
    at = 0
    while at < len(sent):
        end = at + 1 + sent[at]
        if end > len(sent):
            raise MachineError(
                f"The meter's last packet ends after {len(sent) - at - 1} of {sent[at]} bytes."
            )
        yield sent[at + 1 : end]
        at = end


# --- an ATtiny85: a packet every few hours ------------------------------------------------------------------

TINY_FREQUENCY = attiny85.FREQUENCY
TINY_READINGS = 5
"""In a packet of 51 bytes, set B."""


def tiny_build(hours: int, packet_bytes: int) -> attiny85.Build:
    """One image for all ATtiny85s: what differs is the key."""
    return attiny85.Build("b", TINY_READINGS, packet_bytes, end=hours)


def run_tiny(
    build: attiny85.Build, keys: CompactKeys, enrolment: Enrolment, readings: Sequence[int], power_on: bytes
) -> Sent:
    """Start an ATtiny85 with a device's key in its flash, and let it send its readings. power_on: its RAM."""
    with attiny85.Node(build, keys, enrolment, power_on=power_on) as node:
        node.machine.leave_out_digests()
        packets = node.windows(readings)
        return Sent(tuple(packets), max(counts.cycles for counts in node.encryptions))
