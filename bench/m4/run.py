#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The Cortex-M4 bench: cycles (modelled), RAM, code and tables of encryptions and of their parts.

`make bench-m4` runs everything, writes bench/results/m4.json and prints each figure next to SEAL-Embedded's.
It first checks the model on sequences whose cycles are known. In each configuration it fails unless
encryptions that differ only in secrets take the same instructions and cycles.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from baselines import ENCRYPTIONS, MODULES, Encryption
from configurations import CONFIGURATIONS, KINDS, Configuration, Configurations
from measure import (
    MODEL_ERROR_PERCENT,
    MODULE_REGIONS,
    OTHER_IMAGES,
    XOF_REGIONS,
    builds_row,
    check_model,
    m33_rows,
    measure,
    part_of,
)
from precision import rows as precision_rows
from rich.console import Console
from rich.table import Table
from simulate import (
    ROOT,
    BenchError,
    build_firmware,
    build_plugin,
    profile,
    run_qemu,
    simulate,
)
from user import rows as user_rows

from bench.rows import Row, compiler_version, write_results

AGREEMENT = 0.01
"""By how much the model may differ from another one."""

CUSTOM = "custom"
"""The name of a configuration given by --flags."""


# --- what is shown --------------------------------------------------------------------------------


def _ratio(theirs: float | None, ours: float) -> str:
    return f"{theirs / ours:.1f}x" if theirs else ""


def _number(value: float | None) -> str:
    return f"{value:,}" if value is not None else ""


def encryption_table(rows: dict[str, Row], name: str, counterpart: str) -> Table:
    table = Table(
        title=f"{name}: encrypt 2048 real values, n = 4096, three primes; SEAL-Embedded, {counterpart}",
        title_justify="left",
    )
    for column in (
        "figure",
        "Ciphermote",
        "SEAL-Embedded, modelled",
        "ratio",
        "SEAL-Embedded, quoted",
        "ratio",
    ):
        table.add_column(column, justify="left" if column == "figure" else "right")
    for kind in KINDS:
        theirs: Encryption = ENCRYPTIONS[kind, counterpart]
        prefix = f"ckks_encrypt_{kind}.{name}"
        cycles = rows[f"{prefix}.cycles"].value
        table.add_row(
            f"{kind} cycles (modelled; quoted)",
            _number(cycles),
            _number(theirs.modelled_cycles),
            _ratio(theirs.modelled_cycles, cycles),
            _number(theirs.quoted_cycles),
            _ratio(theirs.quoted_cycles, cycles),
        )
        ram = rows[f"{prefix}.ram_bytes"].value
        table.add_row(
            f"{kind} RAM, bytes (all; arena alone; quoted)",
            _number(ram),
            _number(theirs.arena_bytes),
            _ratio(theirs.arena_bytes, ram),
            f"{theirs.quoted_ram_kb} KB",
            _ratio(theirs.quoted_ram_kb * 1000, ram),
        )
        code = rows[f"{prefix}.code_bytes"].value
        table.add_row(
            f"{kind} code, bytes", _number(code), _number(theirs.code_bytes), _ratio(theirs.code_bytes, code)
        )
        tables = rows[f"{prefix}.table_bytes"].value
        table.add_row(
            f"{kind} tables and keys, bytes (measured; quoted)",
            _number(tables),
            _number(theirs.table_bytes),
            _ratio(theirs.table_bytes, tables),
            f"{theirs.quoted_flash_kb} KB",
            _ratio(theirs.quoted_flash_kb * 1000, tables),
        )
    return table


def module_table(rows: dict[str, Row], name: str, counterpart: str) -> Table:
    table = Table(title=f"{name}: modules, cycles (modelled; quoted)", title_justify="left")
    for column in (
        "module",
        "Ciphermote",
        "SEAL-Embedded, modelled",
        "ratio",
        "SEAL-Embedded, quoted",
        "ratio",
    ):
        table.add_column(column, justify="left" if column == "module" else "right")
    for module in MODULE_REGIONS:
        theirs = MODULES[module, counterpart]
        cycles = rows[f"{module}.{name}.cycles"].value
        table.add_row(
            f"{module} ({theirs.configuration})" if theirs.configuration else module,
            _number(cycles),
            _number(theirs.modelled_cycles),
            _ratio(theirs.modelled_cycles, cycles),
            _number(theirs.quoted_cycles),
            _ratio(theirs.quoted_cycles, cycles),
        )
    for xof in XOF_REGIONS:
        if (row := rows.get(f"xof.{xof}.cycles_per_byte")) and row.params["configuration"] == name:
            table.add_row(f"{xof}, cycles per byte", _number(row.value))
    return table


def degree_table(rows: dict[str, Row], name: str, configuration: Configuration) -> Table:
    """An encryption of another degree, which has no counterpart."""
    parameters = configuration.workload.parameters
    table = Table(
        title=f"{name}: encrypt {parameters.n // 2} real values, n = {parameters.n}, "
        f"{len(parameters.data_primes)} primes",
        title_justify="left",
    )
    table.add_column("figure")
    figures = ("cycles", "ram_bytes", "code_bytes", "table_bytes")
    for kind in configuration.kinds:
        table.add_column(kind, justify="right")
    for figure in figures:
        values = (rows[f"ckks_encrypt_{kind}.{name}.{figure}"].value for kind in configuration.kinds)
        table.add_row(f"{figure} (modelled)" if figure == "cycles" else figure, *map(_number, values))
    return table


def say(console: Console, text: str) -> None:
    console.print(text, highlight=False, soft_wrap=True)


def _same_path(what: str, row: Row) -> str:
    return (
        f"{what}: {row.value} runs with different keys, messages and noise took the same "
        f"{row.params['instructions']:,} instructions in the same order, and "
        f"{row.params['modelled_cycles']:,} modelled cycles, without a division"
    )


def show(rows: Sequence[Row], configurations: Configurations, console: Console) -> None:
    """Tables of every configuration, and what the figures mean."""
    by_name = {row.name: row for row in rows}
    for name, configuration in configurations.items():
        counterpart = configuration.counterpart
        if counterpart is None:
            console.print(degree_table(by_name, name, configuration))
        else:
            console.print(encryption_table(by_name, name, counterpart))
            console.print(module_table(by_name, name, counterpart))
        if configuration.tagged:
            cycles = by_name[f"ckks_encrypt_symmetric.{name}.tagged.cycles"].value
            say(console, f"{name}, symmetric, into frames with tags: {cycles:,} cycles (modelled)")
        for kind in configuration.kinds if configuration.modules else ():
            row = by_name[f"constant_time.{kind}.{name}.runs"]
            say(console, f"{_same_path(f'{name}, {kind}', row)}; without frames, the same addresses too.")
        if configuration.modules:
            row = by_name[f"constant_time.symmetric.{name}.tagged.runs"]
            say(console, f"{_same_path(f'{name}, symmetric, into frames with tags', row)}.")
    say(
        console,
        "Cycles are modelled (Cortex-M4, no wait states; the model errs by "
        f"{MODEL_ERROR_PERCENT['assembly']} % on assembly and {MODEL_ERROR_PERCENT['C']} % on C); "
        "instructions are exact; RAM, code and tables are measured. The paper's figures are quoted: "
        "microseconds at 64 MHz, here as cycles.",
    )


def show_profile(
    name: str, configuration: Configuration, build: Path, plugin: Path, console: Console
) -> None:
    """Show the cycles of encryptions by function."""
    images = build_firmware(build / name, configuration, configuration.kinds)
    for kind, image in images.items():
        lines = profile(image, plugin, 0)
        total = sum(spent.cycles for spent in lines)
        say(console, f"{name}, {kind}: {total:,} cycles (modelled)")
        for spent in lines[:24]:
            say(
                console,
                f"{spent.cycles:>12,} {100 * spent.cycles / total:5.1f} % {spent.instructions:>12,} "
                f"instructions  {part_of(spent):<9}  {spent.symbol}",
            )


# --- another model beside this one ----------------------------------------------------------------

_OTHER_REGION = re.compile(r"^region (\d+) .*?insns=(\d+) cycles=(\d+)", re.MULTILINE)


def compare(
    source: Path, configurations: Configurations, build: Path, plugin: Path, console: Console
) -> None:
    """Run the firmware under another plugin too; raises BenchError if a region's cycles differ by more than 1
    %.

    The other plugin takes out=FILE and sees the same marks; it writes a line `region N ... insns=I cycles=C`
    for each region, summed over its passes.
    """
    other = build_plugin(build / "other", source)
    images: list[Path] = []
    for name, configuration in configurations.items():
        names = (*configuration.kinds, *(OTHER_IMAGES if configuration.modules else ()))
        images += build_firmware(build / name, configuration, names).values()
    worst = 0.0
    for image in images:
        out = image.with_suffix(".other.txt")
        run_qemu(image, other, {"out": out})
        theirs = {int(n): (int(i), int(c)) for n, i, c in _OTHER_REGION.findall(out.read_text())}
        run = simulate(image, plugin)
        for number in sorted({region.number for region in run.regions}):
            passages = [region for region in run.regions if region.number == number]
            instructions = sum(region.instructions for region in passages)
            cycles = sum(region.cycles for region in passages)
            difference = cycles / theirs[number][1] - 1
            worst = max(worst, abs(difference))
            say(
                console,
                f"{image.parent.name}/{image.stem} region {number}: {instructions:,} instructions "
                f"({instructions - theirs[number][0]:+d}), {cycles:,} cycles ({difference:+.3%})",
            )
            if instructions != theirs[number][0]:
                raise BenchError(f"{image.name}, region {number}: the instructions counted differ.")
    if worst > AGREEMENT:
        raise BenchError(f"The models differ by {worst:.2%}; at most {AGREEMENT:.0%} is allowed.")
    say(console, f"The models agree: {worst:.3%} at most.")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--build", type=Path, default=ROOT / "build/bench-m4", help="where to build")
    parser.add_argument("--results", type=Path, default=ROOT / "bench/results/m4.json")
    chosen = parser.add_mutually_exclusive_group()
    chosen.add_argument(
        "--configuration", action="append", choices=CONFIGURATIONS, help="only this one (repeatable)"
    )
    chosen.add_argument("--flags", help="only one built with these compiler flags; --flags='-O3 ...'")
    task = parser.add_mutually_exclusive_group()
    task.add_argument("--profile", action="store_true", help="only show where the cycles go")
    task.add_argument(
        "--compare", type=Path, metavar="PLUGIN.c", help="only compare the model with another plugin"
    )
    options = parser.parse_args(arguments)
    console = Console()
    configurations = CONFIGURATIONS
    if options.configuration:
        configurations = {name: CONFIGURATIONS[name] for name in options.configuration}
    elif options.flags is not None:
        configurations = {CUSTOM: Configuration(options.flags)}
    build = options.build.resolve()
    try:
        plugin = build_plugin(build)
        sequences = check_model(build, plugin)
        say(console, f"The model is correct on {sequences} sequences of known cycles.")
        if options.compare:
            compare(options.compare, configurations, build, plugin, console)
        elif options.profile:
            for name, configuration in configurations.items():
                show_profile(name, configuration, build, plugin, console)
        else:
            rows = [row for name, of in configurations.items() for row in measure(name, of, build, plugin)]
            for name in configurations.keys() & {"fast", "portable"}:
                rows += m33_rows(name, configurations[name], build, plugin)
            if configurations is CONFIGURATIONS:
                rows += user_rows(build, plugin)
                rows += precision_rows()
            rows.append(builds_row())
            show(rows, configurations, console)
            if configurations is CONFIGURATIONS:
                write_results(options.results, "make bench-m4", compiler_version("arm-none-eabi-gcc"), rows)
            else:
                say(console, f"This was only part of the bench: {options.results} is unchanged.")
    except BenchError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
