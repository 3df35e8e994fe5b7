#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measure the cost and gain of each option: every preset with one option changed at a time.

`make bench-m4-options` measures cycles (modelled), RAM, code and tables of an encryption at n = 4096 with
three primes. bench/results/m4-options.json has a line for each choice and key; the full sweep in
build/bench-m4/options.json also has flags, instructions and parts of RAM. What config.h refuses is left out.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from configurations import (
    KINDS,
    PRESETS,
    Configuration,
    Options,
    Workload,
    compiler_flags,
    device,
)
from measure import check_model, encryption_rows
from simulate import ROOT, BenchError, build_firmware, build_plugin

from bench.rows import Row, compiler_version, write_results


@dataclass(frozen=True)
class Choice:
    """One value of an option. label: as a user writes it. symmetric_only: public keys do not use it."""

    label: str
    options: Options = field(default_factory=dict)
    optimize: str | None = None
    workload: Workload = field(default_factory=Workload)
    symmetric_only: bool = False


def _named(option: str, *values: str) -> list[Choice]:
    """The choices of an option whose values are macros that start with its name."""
    return [Choice(f"{option}_{value}", {option: f"{option}_{value}"}) for value in values]


def _numbered(option: str, *values: int, symmetric_only: bool = False) -> list[Choice]:
    return [Choice(f"{option}={value}", {option: value}, symmetric_only=symmetric_only) for value in values]


LOG2_TILES = "WORKLOAD_LOG2_TILES"
"""The firmware's macro for the encryptor's tiles; the preset's, if undefined."""

CHOICES: Sequence[Choice] = (
    *(Choice(f"log2_tiles={log2_tiles}", {LOG2_TILES: log2_tiles}) for log2_tiles in range(5)),
    *_numbered("CM_CONFIG_STORE_NOISE", 0, 1),
    *_numbered("CM_CONFIG_TRANSFORMED_SECRET", 0, 1, symmetric_only=True),
    *_named("CM_CONFIG_CRC_TABLE", "NIBBLE", "WORD"),
    *_numbered("CM_CONFIG_NTT_ROOTS", 0, 1),
    *_numbered("CM_CONFIG_ASM", 1, 0),
    Choice("CM_XOF_CHACHA20", symmetric_only=True),
    *(
        Choice(
            f"CM_XOF_{xof.upper()}",
            {"CM_CONFIG_SEAL_XOFS": 1, "CM_CONFIG_SMALL": 0},
            workload=Workload(xof=xof),
            symmetric_only=True,
        )
        for xof in ("shake256", "blake2xb")
    ),
    Choice("CM_FIXED_31"),
    Choice(
        "CM_FIXED_63",
        {"CM_CONFIG_PRECISION_31": 0, "CM_CONFIG_PRECISION_63": 1},
        workload=Workload(precision=63),
    ),
    *(Choice(f"-{level}", optimize=level) for level in ("O2", "O3", "Os")),
)


DEFAULT_TILES = f"#ifndef {LOG2_TILES}\n#define {LOG2_TILES} CM_LOG2_TILES\n#endif\n"


def configuration_of(preset: str, choice: Choice | None = None) -> Configuration | None:
    """The preset with this choice; None if config.h refuses the combination."""
    optimize, options = PRESETS[preset]
    if choice is None:
        return Configuration(compiler_flags(optimize, {**device(), **options}))
    changed = {**device(), **options, **choice.options, **choice.workload.options}
    configuration = Configuration(
        compiler_flags(choice.optimize or optimize, changed), workload=choice.workload
    )
    return configuration if resolved(configuration) is not None else None


def resolved(configuration: Configuration) -> str | None:
    """Return config.h's result for the flags, which is equal for equal configurations; None if it refuses
    them."""
    macros = sorted({name for choice in CHOICES for name in choice.options})
    done = subprocess.run(
        [
            *("arm-none-eabi-gcc", "-mcpu=cortex-m4", "-mthumb", "-E", "-P", "-xc", "-"),
            *(f"-I{ROOT / 'core/include'}", *configuration.flags.split()),
        ],
        input=f"#include <ciphermote/config.h>\n{DEFAULT_TILES}" + "\n".join(macros),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    if done.returncode != 0:
        if "#error" not in done.stderr:
            raise BenchError(f"The flags {configuration.flags} cannot be read:\n{done.stderr}")
        return None
    level = configuration.flags.partition(" ")[0]
    return f"{level} {configuration.workload} {done.stdout}"


def preset_rows(preset: str, build: Path, plugin: Path) -> Iterator[Row]:
    """The preset with each choice in turn; its own values are included, as `own`."""
    base = configuration_of(preset)
    if base is None:
        raise BenchError(f"config.h refuses the preset {preset}.")
    own = resolved(base)
    base_rows = {kind: list(_rows(preset, base, (kind,), build, plugin)) for kind in KINDS}
    for number, choice in enumerate(CHOICES):
        if (configuration := configuration_of(preset, choice)) is None:
            continue
        kinds = KINDS[:1] if choice.symmetric_only else KINDS
        name = f"{preset}.{choice.label}"
        is_own = resolved(configuration) == own
        print(f"[options] {name}{' (preset)' if is_own else ''}", flush=True)
        if is_own:
            rows = [
                replace(row, name=row.name.replace(f".{preset}.", f".{name}."))
                for kind in kinds
                for row in base_rows[kind]
            ]
        else:
            folder = build / "options" / f"{preset}-{number}"
            rows = list(_rows(name, configuration, kinds, folder, plugin))
        of_choice = {"preset": preset, "choice": choice.label, "own": is_own}
        yield from (replace(row, params={**row.params, **of_choice}) for row in rows)


def _rows(
    name: str, configuration: Configuration, kinds: Sequence[str], folder: Path, plugin: Path
) -> Iterator[Row]:
    images = build_firmware(folder, configuration, kinds)
    for kind in kinds:
        yield from encryption_rows(name, configuration, kind, images[kind], plugin)


def summarize(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """One row for each preset, choice and key, from the rows of the sweep."""
    summary: dict[tuple[str, str, str], dict[str, Any]] = {}
    for row in rows:
        preset, choice, own = (row["params"][name] for name in ("preset", "choice", "own"))
        key = row["name"].partition(".")[0].removeprefix("ckks_encrypt_")
        of_choice = {"preset": preset, "choice": choice, "key": key, "own": own}
        figure = row["name"].rpartition(".")[2]
        summary.setdefault((preset, choice, key), of_choice)[figure] = row["value"]
    return list(summary.values())


def write_summary(path: Path, sweep: Path) -> None:
    """Replace the file at path by the sweep's summary, one line per row."""
    content = json.loads(sweep.read_text(encoding="utf-8"))
    lines = [json.dumps(row) for row in summarize(content.pop("rows"))]
    head = json.dumps(content, indent=2).removesuffix("\n}")
    rows = ",\n    ".join(lines)
    path.write_text(f'{head},\n  "rows": [\n    {rows}\n  ]\n}}\n', encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--build", type=Path, default=ROOT / "build/bench-m4", help="where to build")
    parser.add_argument("--results", type=Path, default=ROOT / "bench/results/m4-options.json")
    options = parser.parse_args(arguments)
    build = options.build.resolve()
    try:
        plugin = build_plugin(build)
        check_model(build, plugin)
        rows = [row for preset in PRESETS for row in preset_rows(preset, build, plugin)]
    except BenchError as error:
        print(error, file=sys.stderr)
        return 1
    sweep = build / "options.json"
    write_results(sweep, "make bench-m4-options", compiler_version("arm-none-eabi-gcc"), rows)
    write_summary(options.results, sweep)
    return 0


if __name__ == "__main__":
    sys.exit(main())
