#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The compact lane's bench: bytes on the wire; cycles and memory of set A10 on an ATtiny85, an Uno and a
Cortex-M4, and of set L on an ATtiny85; the time and the accuracy of scores.

`make bench-compact` writes bench/results/compact.json. It fails unless encryptions under one public seed,
with different keys, values and noise, take the same instructions on each of the three.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from ciphermote.compact.device import CompactDevice
from ciphermote.compact.keys import CompactKeys
from ciphermote.compact.sets import compact_set
from rich.console import Console
from rich.table import Table

from bench.compact_scores import accuracy_rows, score_rows
from bench.rows import Row, compiler_version, write_results

ROOT = Path(__file__).resolve().parent.parent
sys.path += [str(ROOT / "bench" / folder) for folder in ("avr", "m4")]

import compact_avr  # noqa: E402
import compact_m4  # noqa: E402
from attiny85 import Build  # noqa: E402
from attiny85_rows import attiny85_rows  # noqa: E402
from machine import MachineError  # noqa: E402
from simulate import BenchError  # noqa: E402

SIZES = (("a10", 1024), ("a10", 16), ("a10", 8), ("b", 5), ("c", 16), ("d", 16), ("l", 16))
"""(set, values of a packet)."""
RUNS = 100
"""Encryptions with secrets of their own, on each chip."""
WHOLE_WINDOW = 2**16 - 1
"""Bytes of a packet that takes any window."""


def byte_rows() -> Iterator[Row]:
    """Return the bytes of a real packet, with header and tag."""
    for name, count in SIZES:
        compact = compact_set(name)
        keys, enrolment = CompactKeys.generate(compact).enroll(1)
        counter = [0]
        device = CompactDevice(
            keys,
            enrolment,
            packet_bytes=WHOLE_WINDOW,
            counter_read=lambda counter=counter: counter[0],
            counter_write=lambda value, counter=counter: counter.__setitem__(0, value),
        )
        values = np.arange(count) % (enrolment.largest_value + 1)
        (packet,), _ = device.encrypt(values)
        params = {"set": name, "values": count, "bits": compact.wire_bits, "kind": "measured"}
        yield Row(f"bytes.k{count}.{name}", len(packet), "bytes", params)


def show(rows: list[Row], console: Console) -> None:
    table = Table(title="The compact lane")
    for title in ("row", "value", "unit"):
        table.add_column(title, justify="right" if title == "value" else "left")
    for row in rows:
        table.add_row(row.name, f"{row.value:,}", row.unit)
    console.print(table)


def main() -> int:
    parser = argparse.ArgumentParser(description="The compact lane's bytes, cycles and memory.")
    parser.add_argument("--results", type=Path, default=ROOT / "bench/results/compact.json")
    results = parser.parse_args().results
    build = ROOT / "build" / "bench-compact"
    try:
        rows = [*byte_rows(), *attiny85_rows(Build(), "attiny85", RUNS)]
        rows += attiny85_rows(Build(set_name="l", packet_bytes=83), "attiny85.l", RUNS)
        rows += compact_avr.compact_rows(build / "avr", (compact_avr.UNO,), RUNS)
        rows += compact_m4.compact_rows(build / "m4")
        rows += [*score_rows(), *accuracy_rows()]
    except (BenchError, MachineError) as error:
        print(error, file=sys.stderr)
        return 1
    compilers = "; ".join(compiler_version(tool) for tool in ("avr-gcc", "arm-none-eabi-gcc"))
    write_results(results, "make bench-compact", compilers, rows)
    show(rows, Console())
    return 0


if __name__ == "__main__":
    sys.exit(main())
