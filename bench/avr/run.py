#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The AVR bench: exact cycles, RAM and flash of the library on a simulated Arduino Uno and Mega.

`make bench-avr` writes bench/results/avr.json. It fails unless encryptions under one public seed, with
different keys, values and noise, take the same instructions and cycles.
"""

from __future__ import annotations

import argparse
import hashlib
import struct
import sys
from collections.abc import Iterator
from pathlib import Path

from arduino import MEGA, UNO, Board
from boards import (
    GATHERED,
    MEGA_CYCLES,
    MEGA_LOG2_SCALE,
    MEGA_PARAMETERS,
    MEGA_PLAIN_MODULUS,
    PLAIN_MODULUS,
    REAL_PERIOD,
    SERIAL_WRITE,
    UNO_CYCLES,
    counter_log,
    encryptions,
    first_frames,
    mega_both,
    open_board,
    open_mega,
    run_regions,
    run_start,
    uno_integers,
    watchdog_jitter,
)
from ciphermote.parameters import ParameterSet
from images import (
    MCU,
    PARAMETERS,
    RAM_START,
    arithmetic_sources,
    encryption_on_host,
    open_encryption,
    open_kernels,
    transformed_secret,
)
from machine import FREQUENCY, ROOT, Counts, Machine, MachineError, section_bytes
from rich.console import Console
from rich.table import Table

from bench.rows import Row, compiler_version, write_results

MEASURED = {"kind": "measured", "mcu": MCU, "hz": FREQUENCY}
TRANSFORMS = ((12289, (64, 128, 256, 512)), (7681, (64, 128, 256)))
TABLE_SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
SHETTY_MS = {1: 1, 2: 1, 4: 4, 8: 9, 16: 20, 32: 49, 64: 122}
"""What Shetty's report of 2022 measured on an Arduino Uno, by n; docs/performance.md cites it."""
MEGA_START = 0x400
"""After the variables of the kernels' image on an ATmega2560."""
ENCRYPTION_CYCLES = 30_000_000
CONSTANT_TIME_RUNS = 100
PUBLIC_SEED = 7
BIT_RATE = 115_200
RESERVE = 16
"""Ciphertexts per write of the counter."""
CHACHA20_BLOCKS = 4
BLOCK_BYTES = 64
PRODUCTS = 16
PACKED_BYTES = 1792
PACKED_START = 0x100


def kernel_rows() -> Iterator[Row]:
    """The transforms, products and ChaCha20, each as a call: its instructions and its ret."""
    with open_kernels("arithmetic", *arithmetic_sources()) as machine:
        for q, sizes in TRANSFORMS:
            for n in sizes:
                table = machine.symbols[f"cm_avr_ntt14_q{q}_n{n}"]
                for name, direction in (("ntt", "forward"), ("intt", "inverse")):
                    machine.write(RAM_START, bytes(2 * n))
                    counts = machine.call(f"cm_avr_ntt14_{direction}", RAM_START, table)
                    params = {"n": n, "q": q, **MEASURED}
                    yield Row(f"{name}.n{n}.q{q}.cycles", counts.cycles, "cycles", params)
                if n <= 256:
                    yield _product_row(machine, q, n, table)
        yield from _ring26_rows(machine)
        counts = machine.call("cmi_avr_chacha20_blocks", RAM_START, RAM_START + 0x180, CHACHA20_BLOCKS)
        length = CHACHA20_BLOCKS * BLOCK_BYTES
        yield Row(
            "chacha20.cycles_per_byte",
            round(counts.cycles / length, 2),
            "cycles/byte",
            {"bytes": length, **MEASURED},
        )
        yield from _packed_rows(machine)


def _product_row(machine: Machine, q: int, n: int, table: int) -> Row:
    """A negacyclic product of two polynomials: two transforms, products, a transform back."""
    left, right = RAM_START, RAM_START + 2 * n
    machine.write(left, bytes(4 * n))
    calls = [
        ("forward", (left, table)),
        ("forward", (right, table)),
        ("multiply", (left, right, table)),
        ("inverse", (left, table)),
    ]
    cycles = sum(machine.call(f"cm_avr_ntt14_{name}", *arguments).cycles for name, arguments in calls)
    return Row(f"product.n{n}.q{q}.cycles", cycles, "cycles", {"n": n, "q": q, **MEASURED})


def ntt14_table_rows() -> Iterator[Row]:
    """A report's table of 2022, and beyond: both transforms, and a product, as a sketch calls them."""
    for mcu, transforms, products in (
        (MCU, TABLE_SIZES[:-1], TABLE_SIZES[:-2]),
        (MEGA.mcu, TABLE_SIZES[-1:], TABLE_SIZES[-2:]),
    ):
        with open_kernels("arithmetic", *arithmetic_sources(), mcu=mcu) as machine:
            for n in transforms:
                yield _table_row(machine, mcu, n, "transforms", ("forward", "inverse"))
            for n in products:
                yield _table_row(machine, mcu, n, "product", ("product",))


def _table_row(machine: Machine, mcu: str, n: int, what: str, calls: tuple[str, ...]) -> Row:
    table = machine.symbols[f"cm_avr_ntt14_q12289_n{n}"]
    a = RAM_START if mcu == MCU else MEGA_START
    b = a + 2 * n
    machine.write(a, bytes(4 * n if what == "product" else 2 * n))
    arguments = (a, b, table) if what == "product" else (a, table)
    cycles = sum(machine.call(f"cm_ntt14_{name}", *arguments).cycles for name in calls)
    params = {"n": n, "q": 12289, **MEASURED, "mcu": mcu, "included": "the check that inputs are residues"}
    if what == "transforms" and n in SHETTY_MS:
        params |= {"paper_ms": SHETTY_MS[n]}
    return Row(f"ntt14.table.n{n}.{what}.cycles", cycles, "cycles", params)


def _packed_rows(machine: Machine) -> Iterator[Row]:
    """n = 1024 in 1,792 bytes. They overwrite the image's variables, so these kernels are called last."""
    table = machine.symbols["cm_avr_ntt14_q12289_n1024"]
    for name, direction in (("ntt", "forward"), ("intt", "inverse")):
        machine.write(PACKED_START, bytes(PACKED_BYTES))
        counts = machine.call(f"cm_avr_ntt14_{direction}_packed", PACKED_START, table)
        stack = machine.ram_end - counts.stack_low
        params = {"n": 1024, "q": 12289, **MEASURED}
        yield Row(f"{name}.n1024.q12289.cycles", counts.cycles, "cycles", params)
        yield Row(
            f"{name}.n1024.q12289.ram_bytes",
            PACKED_BYTES + stack,
            "bytes",
            {**params, "residues": PACKED_BYTES, "stack": stack},
        )


def _ring26_rows(machine: Machine) -> Iterator[Row]:
    q = PARAMETERS.data_primes[0]
    for log2_tiles in (2, 3):
        machine.call("kernel_select_tile", 10, log2_tiles, 1)
        points = PARAMETERS.n >> log2_tiles
        counts = machine.call("kernel_ntt_forward", RAM_START)
        yield Row(
            f"ntt_tile.n1024.q{q}.points{points}.cycles",
            counts.cycles,
            "cycles",
            {"n": PARAMETERS.n, "q": q, "points": points, **MEASURED},
        )
    counts = machine.call("cmi_avr_multiply_add26", RAM_START, RAM_START + 64, RAM_START + 128, PRODUCTS)
    yield Row(
        f"multiply_add.q{q}.cycles_per_product",
        round(counts.cycles / PRODUCTS, 1),
        "cycles",
        {"q": q, "products": PRODUCTS, **MEASURED},
    )


def _encrypt(machine: Machine) -> Counts:
    """The only encryption of an image."""
    machine.run(ENCRYPTION_CYCLES)
    regions = machine.regions
    if len(regions) != 1:
        raise MachineError(
            f"{len(regions)} encryptions ended in {ENCRYPTION_CYCLES:,} cycles instead of one."
        )
    return regions[0]


def check_bytes() -> None:
    """Raises MachineError unless a simulated ATmega328P emits the same as portable C on this machine."""
    for tagged in (False, True):
        with open_encryption(tagged=tagged) as machine:
            _encrypt(machine)
            if machine.text != encryption_on_host(tagged=tagged):
                raise MachineError(
                    "The simulated device and portable C on this machine emit different bytes."
                )


def static_bytes(image: Path) -> int:
    """RAM that is permanently in use."""
    sections = section_bytes(image)
    return sections[".data"] + sections[".bss"]


def board_rows(
    prefix: str, machine: Machine, image: Path, found: list[Counts], params: dict[str, object]
) -> Iterator[Row]:
    """Encryptions on a board with the Arduino core: the slowest, the deepest stack, the image."""
    slowest = max(found, key=lambda counts: counts.cycles)
    stack = machine.ram_end - min(counts.stack_low for counts in found)
    sections = section_bytes(image)
    static = static_bytes(image)
    n = params["n"]
    yield Row(
        f"{prefix}.cycles",
        slowest.cycles,
        "cycles",
        {**params, "encryptions": len(found), "value": "the slowest; interrupts included"},
    )
    yield Row(f"{prefix}.uart_wait_cycles", slowest.paused, "cycles", {**params, "bit_rate": BIT_RATE})
    yield Row(
        f"{prefix}.ram_bytes",
        static + stack,
        "bytes",
        {**params, "static": static, "stack": stack, "included": "the Arduino core and its serial buffers"},
    )
    yield Row(
        f"{prefix}.flash_bytes",
        sections[".text"] + sections[".data"],
        "bytes",
        {**params, "of_which_transformed_secret": 4 * n, "included": "the sketch and the Arduino core"},
    )


def uno_rows(*, tagged: bool) -> Iterator[Row]:
    """An Uno: as many encryptions as there are per write of the counter. tagged: into frames with tags."""
    params = {
        **board_params(UNO, PARAMETERS),
        "values": PARAMETERS.n,
        "t": PLAIN_MODULUS,
        "sketch": "bench/avr/sketches/uno_integers.ino",
    }
    prefix = "bfv_encrypt_symmetric.n1024" + ".tagged" * tagged
    image = uno_integers(BIT_RATE, tagged=tagged)
    with open_board(image, UNO, counter_log(0)) as machine:
        machine.leave_out_waits(SERIAL_WRITE)
        run_regions(machine, RESERVE, RESERVE * UNO_CYCLES)
        first, *others = encryptions(machine)[:RESERVE]
        yield from board_rows(prefix, machine, image, others, params)
        yield Row(
            f"{prefix}.with_counter_write.cycles",
            first.cycles,
            "cycles",
            {
                **params,
                "what": f"one in {RESERVE}, which writes the counter to EEPROM, waits included",
            },
        )
        frames = first_frames(machine.text)
        yield Row(f"{prefix}.emitted_bytes", sum(map(len, frames)), "bytes", params)


def start_rows() -> Iterator[Row]:
    """An Uno's start, with the watchdog's period from the data sheet."""
    params = {
        **board_params(UNO, PARAMETERS),
        "sketch": "bench/avr/sketches/uno_integers.ino",
        "periods": GATHERED,
        "period_ms": 1000 * REAL_PERIOD // FREQUENCY,
        "jitter": "simulated",
    }
    image = uno_integers(BIT_RATE)
    with open_board(image, UNO, counter_log(0), watchdog_jitter("bench", REAL_PERIOD)) as machine:
        machine.leave_out_digests()
        counts = run_start(machine, 2 * GATHERED * REAL_PERIOD)
        stack = machine.ram_end - counts.stack_low
    static = static_bytes(image)
    yield Row("start.n1024.cycles", counts.cycles, "cycles", params)
    yield Row("start.n1024.ram_bytes", static + stack, "bytes", {**params, "static": static, "stack": stack})


def mega_rows() -> Iterator[Row]:
    """A Mega: slots and real numbers, in one sketch."""
    params = {**board_params(MEGA, MEGA_PARAMETERS), "sketch": "bench/avr/sketches/mega_both.ino"}
    image = mega_both()
    integers = {"values": MEGA_PARAMETERS.n, "t": MEGA_PLAIN_MODULUS, "encoding": "batch"}
    reals = {"values": MEGA_PARAMETERS.slots, "log2_scale": MEGA_LOG2_SCALE, "number": "float32"}
    with open_mega(0x0A55) as machine:
        run_regions(machine, 4, 2 * MEGA_CYCLES)
        for region, scheme, own in ((0, "bfv", integers), (1, "ckks", reals)):
            found = [counts for counts in encryptions(machine)[2:4] if counts.region == region]
            prefix = f"{scheme}_encrypt_symmetric.n2048"
            yield from board_rows(prefix, machine, image, found, {**params, **own})


def board_params(board: Board, parameters: ParameterSet) -> dict[str, object]:
    return {
        "board": board.name,
        **MEASURED,
        "mcu": board.mcu,
        "parameters": parameters.name,
        "n": parameters.n,
        "xof": "chacha20",
        "options": "ports/arduino/src/arduino_config.h",
        "flags": "-Os -flto",
    }


def constant_time_rows(*, tagged: bool) -> Iterator[Row]:
    """Return the number of encryptions with different keys, values and noise that took the same instructions
    and time."""
    seen: set[tuple[int, int]] = set()
    for run in range(CONSTANT_TIME_RUNS):
        with open_encryption(tagged=tagged) as machine:
            inputs = struct.pack("<HBBB", 327 * run, 1, PUBLIC_SEED, run)
            machine.write(machine.address("bench"), inputs)
            machine.write_flash(machine.symbols["workload_transformed"], transformed_secret(run + 1))
            if tagged:
                machine.write_flash(machine.symbols["workload_tag_key"], hashlib.sha384(inputs).digest())
            counts = _encrypt(machine)
        seen.add((counts.cycles, counts.path))
    if len(seen) != 1:
        raise MachineError(f"Encryptions that differ only in secrets took {len(seen)} paths or times.")
    ((cycles, path),) = seen
    yield Row(
        "constant_time.bfv_encrypt_symmetric.n1024" + ".tagged" * tagged + ".runs",
        CONSTANT_TIME_RUNS,
        "runs",
        {"cycles": cycles, "path": f"{path:016x}", **MEASURED},
    )


def show(rows: list[Row], console: Console) -> None:
    """One table of all rows."""
    table = Table(title="Simulated cycle by cycle", title_justify="left")
    table.add_column("figure")
    table.add_column("value", justify="right")
    table.add_column("ms at 16 MHz", justify="right")
    for row in rows:
        milliseconds = f"{1000 * row.value / FREQUENCY:,.2f}" if row.name.endswith(".cycles") else ""
        table.add_row(row.name, f"{row.value:,}", milliseconds)
    console.print(table)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--results", type=Path, default=ROOT / "bench/results/avr.json")
    options = parser.parse_args()
    try:
        check_bytes()
        rows = [*kernel_rows(), *ntt14_table_rows(), *uno_rows(tagged=False), *uno_rows(tagged=True)]
        rows += [*start_rows(), *mega_rows()]
        rows += [*constant_time_rows(tagged=False), *constant_time_rows(tagged=True)]
    except MachineError as error:
        print(error, file=sys.stderr)
        return 1
    show(rows, Console())
    write_results(options.results, "make bench-avr", compiler_version("avr-gcc"), rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
