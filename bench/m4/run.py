#!/usr/bin/env python3
"""The Cortex-M4 bench: cycles (modelled), RAM, code and tables of encryptions and of their parts.

`make bench-m4` runs it all, writes bench/results/m4.json and prints every figure beside SEAL-Embedded's.
First the model is held to sequences whose cycles are known; in each configuration encryptions that differ in
nothing but their secrets are held to the same instructions and cycles.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from baselines import ENCRYPTIONS, MODULES, Encryption
from ciphermote.results import Row, compiler_version, write_results
from keys import PARAMETERS
from rich.console import Console
from rich.table import Table
from simulate import (
    ROOT,
    BenchError,
    Region,
    Run,
    build_firmware,
    build_plugin,
    flash,
    profile,
    run_qemu,
    simulate,
)

KINDS = ("symmetric", "asymmetric")
IMAGES = (*KINDS, "modules", "constant_time")
MODULE_REGIONS = ("encode", "ntt.n4096", "sample_uniform", "sample_ternary", "sample_cbd")
XOF_REGIONS = ("chacha20", "shake256", "blake2xb")
SINK_BYTES = 64
CONSTANT_TIME_RUNS = 100
AGREEMENT = 0.01
"""How far the model may be from another one."""


@dataclass(frozen=True)
class Configuration:
    """A way to build the library. counterpart: SEAL-Embedded's configuration that it is set beside."""

    flags: str
    counterpart: str = "high performance"
    xofs: bool = False
    """Whether to measure the XOFs in this configuration: their rows carry no configuration's name."""


Configurations = Mapping[str, Configuration]

DEVICE = "-DCM_MAX_LOG2_N=12 -DCM_PRECISION_63=0 -DCM_COMPLEX=0 -DCM_XOF_SHAKE256=0 -DCM_XOF_BLAKE2XB=0"
"""What a device that encrypts real vectors at n = 4096 leaves out."""

ROOTS = '-DCM_NTT_ROOTS_HEADER=\\"roots.h\\"'
"""The transform's roots in flash, with their quotients; build_firmware writes the header."""

CONFIGURATIONS: Configurations = {
    "default": Configuration("-O3 -DCM_ASM=1", xofs=True),
    "portable": Configuration(f"-O3 {DEVICE} -DCM_PRESET=CM_PRESET_FAST"),
    "tiny": Configuration(f"-O2 -DCM_ASM=1 {DEVICE} -DCM_PRESET=CM_PRESET_TINY", "memory efficient"),
    "balanced": Configuration(f"-O3 -DCM_ASM=1 {DEVICE} -DCM_PRESET=CM_PRESET_BALANCED", "balanced"),
    "fast": Configuration(f"-O3 -DCM_ASM=1 {DEVICE} -DCM_PRESET=CM_PRESET_FAST {ROOTS}"),
}
CUSTOM = "custom"
"""The name of a configuration given by --flags."""

MODEL_ERROR_PERCENT = {"assembly": 2, "C": 5}
MODELLED = {"kind": "modelled", "model_error_percent": MODEL_ERROR_PERCENT}
COUNTED = {"kind": "measured"}
LOAD = {
    "parameters": PARAMETERS.name,
    "n": PARAMETERS.n,
    "data_primes": len(PARAMETERS.data_primes),
    "values": PARAMETERS.n // 2,
    "precision": 31,
}


# --- what is measured -----------------------------------------------------------------------------


def check_model(build: Path, plugin: Path) -> int:
    """The model against sequences of known cycles; returns how many there are."""
    image = build_firmware(build / "selftest", "-O1", ["selftest"])["selftest"]
    run = simulate(image, plugin)
    for region in run.regions:
        expected = {what: run.reported[f"{what}.{region.number}"] for what in ("instructions", "cycles")}
        counted = {what: getattr(region, what) for what in expected}
        if counted != expected:
            raise BenchError(
                f"The cycle model counts {counted} in sequence {region.number} of firmware/selftest.c, "
                f"where {expected} is right."
            )
    return len(run.regions)


def encryption_rows(
    name: str, configuration: Configuration, kind: str, image: Path, plugin: Path
) -> Iterator[Row]:
    """Cycles, RAM, code and tables of one encryption."""
    run = simulate(image, plugin)
    lower = simulate(image, plugin, stores=0)
    region = run.region(0)
    reported = run.reported
    params = {**LOAD, "xof": "chacha20", "configuration": name, "flags": configuration.flags}
    prefix = f"ckks_encrypt_{kind}.{name}"
    yield Row(
        f"{prefix}.cycles",
        region.cycles,
        "cycles",
        {
            **params,
            **MODELLED,
            "instructions": region.instructions,
            "without_store_stalls": lower.region(0).cycles,
            "emitted_bytes": reported["emitted"],
        },
    )
    yield Row(
        f"{prefix}.ram_bytes",
        reported["static"] + reported["stack"],
        "bytes",
        {
            **params,
            **COUNTED,
            "arena_with_values": reported["arena"],
            "sink": SINK_BYTES,
            "other_static": reported["static"] - reported["arena"] - SINK_BYTES,
            "stack": reported["stack"],
        },
    )
    sizes = flash(image)
    yield Row(f"{prefix}.code_bytes", sizes.code, "bytes", {**params, **COUNTED})
    yield Row(
        f"{prefix}.table_bytes", sizes.tables + sizes.keys, "bytes", {**params, **COUNTED, "keys": sizes.keys}
    )


def module_rows(name: str, configuration: Configuration, image: Path, plugin: Path) -> Iterator[Row]:
    """Cycles of the parts, and cycles a byte of the XOFs."""
    run = simulate(image, plugin)
    params = {"n": PARAMETERS.n, "configuration": name, "flags": configuration.flags, **MODELLED}
    for number, module in enumerate(MODULE_REGIONS):
        region = run.region(number)
        yield Row(
            f"{module}.{name}.cycles",
            region.cycles,
            "cycles",
            {**params, "instructions": region.instructions},
        )
    if configuration.xofs:
        length = run.reported["stream_bytes"]
        for number, xof in enumerate(XOF_REGIONS, len(MODULE_REGIONS)):
            yield Row(
                f"xof.{xof}.cycles_per_byte",
                round(run.region(number).cycles / length, 2),
                "cycles/byte",
                {"bytes": length, "configuration": name, **MODELLED},
            )


def constant_time_rows(name: str, image: Path, plugin: Path) -> Iterator[Row]:
    """How many encryptions with other secrets took the same path; BenchError unless all of them did."""
    run = simulate(image, plugin)
    for number, kind in enumerate(KINDS):
        what = f"{kind} encryption, configuration {name}"
        framed = _one_of_many(run, number, what, ("instructions", "cycles", "path"))
        bare = _one_of_many(
            run,
            number + len(KINDS),
            f"{what}, without frames",
            ("instructions", "cycles", "path", "addresses"),
        )
        yield Row(
            f"constant_time.{kind}.{name}.runs",
            run.reported["runs"],
            "runs",
            {
                **LOAD,
                "configuration": name,
                "kind": "counted",
                "instructions": framed.instructions,
                "modelled_cycles": framed.cycles,
                "divisions": framed.divisions,
                "path": framed.path,
                "addresses_without_frames": bare.addresses,
            },
        )


def _one_of_many(run: Run, number: int, what: str, quantities: Sequence[str]) -> Region:
    """A passage that stands for all through this region: BenchError if one of the quantities differs between
    them, or if there are divisions, whose time depends on their operands."""
    passages = [region for region in run.regions if region.number == number]
    if len(passages) != run.reported["runs"] or len(passages) < CONSTANT_TIME_RUNS:
        raise BenchError(f"{what}: {len(passages)} runs were counted, {CONSTANT_TIME_RUNS} are needed.")
    for quantity in quantities:
        seen = {getattr(region, quantity) for region in passages}
        if len(seen) != 1:
            some = ", ".join(str(value) for value in sorted(seen)[:4])
            raise BenchError(
                f"{what}: {quantity} depend on secrets; {len(seen)} different ones in {len(passages)} runs "
                f"({some} ...). Find the branch, index or operand, and remove it."
            )
    if passages[0].divisions:
        raise BenchError(
            f"{what}: {passages[0].divisions} divisions, whose time depends on their operands. "
            "Compute these quotients in another way."
        )
    return passages[0]


def measure(name: str, configuration: Configuration, build: Path, plugin: Path) -> list[Row]:
    """All rows of one configuration."""
    images = build_firmware(build / name, configuration.flags, IMAGES)
    rows = [row for kind in KINDS for row in encryption_rows(name, configuration, kind, images[kind], plugin)]
    rows += module_rows(name, configuration, images["modules"], plugin)
    rows += constant_time_rows(name, images["constant_time"], plugin)
    return rows


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
            table.add_row(f"{xof}, cycles a byte", _number(row.value))
    return table


def show(rows: Sequence[Row], configurations: Configurations, console: Console) -> None:
    """Tables of every configuration, and what the figures are."""
    by_name = {row.name: row for row in rows}
    for name, configuration in configurations.items():
        counterpart = configuration.counterpart
        console.print(encryption_table(by_name, name, counterpart))
        console.print(module_table(by_name, name, counterpart))
        for kind in KINDS:
            row = by_name[f"constant_time.{kind}.{name}.runs"]
            console.print(
                f"{name}, {kind}: {row.value} runs with other keys, messages and noise took the same "
                f"{row.params['instructions']:,} instructions in the same order, and "
                f"{row.params['modelled_cycles']:,} modelled cycles, without a division; the same addresses "
                "too, up to the frames.",
                highlight=False,
                soft_wrap=True,
            )
    console.print(
        "Cycles are modelled (Cortex-M4, no wait states; the model errs by "
        f"{MODEL_ERROR_PERCENT['assembly']} % on assembly and {MODEL_ERROR_PERCENT['C']} % on C); "
        "instructions are exact; RAM, code and tables are measured. The paper's figures are quoted: "
        "microseconds at 64 MHz, here as cycles.",
        highlight=False,
        soft_wrap=True,
    )


def show_profile(
    name: str, configuration: Configuration, build: Path, plugin: Path, console: Console
) -> None:
    """Where the cycles of both encryptions go, by function."""
    images = build_firmware(build / name, configuration.flags, KINDS)
    for kind in KINDS:
        lines = profile(images[kind], plugin, 0)
        total = sum(cycles for _, _, cycles in lines)
        console.print(f"{name}, {kind}: {total:,} cycles (modelled)", highlight=False, soft_wrap=True)
        for symbol, instructions, cycles in lines[:24]:
            console.print(
                f"{cycles:>12,} {100 * cycles / total:5.1f} % {instructions:>12,} instructions  {symbol}",
                highlight=False,
                soft_wrap=True,
            )


# --- another model beside this one ----------------------------------------------------------------

_OTHER_REGION = re.compile(r"^region (\d+) .*?insns=(\d+) cycles=(\d+)", re.MULTILINE)


def compare(
    source: Path, configurations: Configurations, build: Path, plugin: Path, console: Console
) -> None:
    """Run the firmware under another plugin too, region by region; BenchError if cycles differ by over 1 %.

    The other plugin takes out=FILE and sees the same marks; it writes a line `region N ... insns=I cycles=C`
    for each region, summed over its passages.
    """
    other = build_plugin(build / "other", source)
    images: list[Path] = []
    for name, configuration in configurations.items():
        images += build_firmware(build / name, configuration.flags, IMAGES).values()
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
            console.print(
                f"{image.parent.name}/{image.stem} region {number}: {instructions:,} instructions "
                f"({instructions - theirs[number][0]:+d}), {cycles:,} cycles ({difference:+.3%})",
                highlight=False,
                soft_wrap=True,
            )
            if instructions != theirs[number][0]:
                raise BenchError(f"{image.name}, region {number}: the instructions counted differ.")
    if worst > AGREEMENT:
        raise BenchError(f"The models differ by {worst:.2%}; at most {AGREEMENT:.0%} is allowed.")
    console.print(f"The models agree: {worst:.3%} at most.", highlight=False, soft_wrap=True)


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
        console.print(
            f"The model is right on {sequences} sequences of known cycles.", highlight=False, soft_wrap=True
        )
        if options.compare:
            compare(options.compare, configurations, build, plugin, console)
        elif options.profile:
            for name, configuration in configurations.items():
                show_profile(name, configuration, build, plugin, console)
        else:
            rows = [row for name, of in configurations.items() for row in measure(name, of, build, plugin)]
            show(rows, configurations, console)
            if configurations is CONFIGURATIONS:
                write_results(options.results, "make bench-m4", compiler_version("arm-none-eabi-gcc"), rows)
            else:
                console.print(
                    f"A part of the bench: {options.results} is left as it is.",
                    highlight=False,
                    soft_wrap=True,
                )
    except BenchError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
