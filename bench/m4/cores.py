#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Instructions, flash and RAM of the fast preset on RISC-V and on Cortex-M0 and M55, in QEMU;
instructions of all presets on Cortex-A7 and AArch64 (linux_cores.py).

`make bench-cores` writes bench/results/cores.json. Instructions are exact; the cycles of a named core are
modelled from them (models.py). It fails unless encryptions and decryptions that differ only in secrets take
the same instructions.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from configurations import CONFIGURATIONS, KINDS, Configuration
from keys import ciphertexts
from linux_cores import TARGETS, linux_rows
from measure import COUNTED, constant_time_rows, flash_rows, one_of_many
from models import MODELS
from simulate import ROOT, BenchError, Run, build_firmware, build_plugin, profile, simulate

from bench.rows import Row, compiler_version, write_results

CORES = ("rv32imc", "rv32imc_zbb", "m0", "m55")
"""Names in simulate.CORES."""
SCHEMES = ("ckks", "bfv")
PRESET = "fast"
CIPHERTEXT = "frames.o"
"""What a device decrypts comes over its link."""
CONSTANT_TIME = "client_constant_time"
COUNTED_REGIONS = {"bfv_decrypt": (2, 6), "ckks_decrypt": (3, 7)}
"""Regions of firmware/client_constant_time.c, with frames and without."""


def measure_core(core: str, build: Path, plugin: Path) -> Iterator[Row]:
    """All rows of one core."""
    yield from _encryptions(core, build, plugin)
    yield from _decryptions(core, build, plugin)


def _encryptions(core: str, build: Path, plugin: Path) -> Iterator[Row]:
    configuration = CONFIGURATIONS[PRESET]
    images = build_firmware(build / core, configuration, [*KINDS, "constant_time"], core)
    for kind in KINDS:
        run = simulate(images[kind], plugin, core)
        if run.reported["status"] != 0:
            raise BenchError(f"The {kind} encryption on {core} fails with status {run.reported['status']}.")
        params = {**configuration.workload.described(kind), **_params(configuration)}
        yield from _operation(core, kind, run, images[kind], params)
    for row in constant_time_rows(PRESET, configuration, images["constant_time"], plugin, core):
        yield replace(row, name=f"{core}.{row.name}")


def _decryptions(core: str, build: Path, plugin: Path) -> Iterator[Row]:
    workload = replace(CONFIGURATIONS[PRESET].workload, batching=True)
    configuration = replace(CONFIGURATIONS[PRESET], workload=workload)
    names = {scheme: f"{scheme}_decrypt" for scheme in SCHEMES}
    folder = build / f"{core}.decrypt"
    images = build_firmware(folder, configuration, [*names.values(), CONSTANT_TIME], core)
    for scheme, name in names.items():
        run = simulate(images[name], plugin, core)
        expected = ciphertexts(workload.parameters, workload.log2_frame_tiles)[scheme]
        if run.reported["values_crc"] != expected.values_crc:
            raise BenchError(f"{images[name]} decrypts to other values than the library on this machine.")
        primes = len(workload.parameters.data_primes) if scheme == "bfv" else 1
        params = {**workload.described_message(scheme, primes), **_params(configuration)}
        yield from _operation(core, name, run, images[name], params)
    yield from _constant_time(core, configuration, images[CONSTANT_TIME], plugin)


def _operation(core: str, name: str, run: Run, image: Path, params: dict[str, Any]) -> Iterator[Row]:
    """Instructions, modelled cycles, RAM and flash of one operation: all regions of its run."""
    counted = sum(region.instructions for region in run.regions)
    yield Row(f"{core}.{name}", counted, "instructions", params)
    if core in MODELS:
        model = MODELS[core]
        cycles = sum(model.cycles(region.classes) for region in run.regions)
        described = {**params, "kind": "modelled", "core": model.core, "manual": model.manual}
        yield Row(f"{core}.{name}.modelled_cycles", cycles, "cycles", described)
    memory = run.reported["static"] + run.reported["stack"]
    yield Row(f"{core}.{name}.ram_bytes", memory, "bytes", {**params, "stack": run.reported["stack"]})
    yield from flash_rows(f"{core}.{name}", image, params, without=[CIPHERTEXT])


def _constant_time(core: str, configuration: Configuration, image: Path, plugin: Path) -> Iterator[Row]:
    """Return the number of decryptions with different secrets that took the same path; raises BenchError
    unless all did."""
    run = simulate(image, plugin, core)
    for scheme in SCHEMES:
        framed, bare = COUNTED_REGIONS[f"{scheme}_decrypt"]
        what = f"{scheme} decryption on {core}"
        one = one_of_many(run, framed, what, ("instructions", "path"))
        without = one_of_many(run, bare, f"{what}, without frames", ("instructions", "path", "addresses"))
        spent = {"instructions": one.instructions, "addresses_without_frames": without.addresses}
        params = {**_params(configuration), "kind": "counted", **spent}
        yield Row(f"{core}.constant_time.{scheme}_decrypt.runs", run.reported["runs"], "runs", params)


def _params(configuration: Configuration) -> dict[str, Any]:
    return {"configuration": PRESET, "flags": configuration.flags, **COUNTED}


def show_profile(core: str, image: str, build: Path, plugin: Path) -> None:
    built = build_firmware(build / core, CONFIGURATIONS[PRESET], [image], core)[image]
    for spent in profile(built, plugin, 0, core)[:30]:
        print(f"{spent.instructions:>12,}  {spent.symbol}")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument(
        "cores", nargs="*", metavar="CORE", help=f"show only {', '.join(CORES)}; write nothing"
    )
    parser.add_argument(
        "--profile", action="store_true", help="show where the instructions go; write nothing"
    )
    parser.add_argument("--build", type=Path, default=ROOT / "build/bench-cores")
    parser.add_argument("--results", type=Path, default=ROOT / "bench/results/cores.json")
    options = parser.parse_args(arguments)
    if unknown := set(options.cores) - set(CORES):
        parser.error(f"{', '.join(sorted(unknown))}: choose from {', '.join(CORES)}")
    build = options.build.resolve()
    found: list[Row] = []
    try:
        plugin = build_plugin(build)
        if not options.cores and not options.profile:
            for row in linux_rows(build / "linux"):
                print(f"{row.name:<48} {row.value:>12,} {row.unit}", flush=True)
                found.append(row)
        for core in options.cores or CORES:
            if options.profile:
                for kind in KINDS:
                    print(f"{core}, {kind}")
                    show_profile(core, kind, build, plugin)
                continue
            for row in measure_core(core, build, plugin):
                print(f"{row.name:<48} {row.value:>12,} {row.unit}", flush=True)
                found.append(row)
    except BenchError as error:
        print(error, file=sys.stderr)
        return 1
    if found and not options.cores:
        names = ("arm-none-eabi-gcc", "riscv64-unknown-elf-gcc")
        on_linux = sorted({target.compiler for target in TARGETS.values()})
        compilers = [compiler_version(name) for name in (*names, *on_linux)]
        write_results(options.results, "make bench-cores", "; ".join(compilers), found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
