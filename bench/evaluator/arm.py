#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Count the evaluator's instructions on ARM beside Microsoft SEAL's: bench/results/evaluator_arm.json.

    CMAKE_PREFIX_PATH=A:B make bench-evaluator-arm      SEAL built with cmake/armhf.cmake and installed to A,
                                                        with cmake/aarch64.cmake to B
    bench/evaluator/arm.py --machine armhf --results F  one machine; needs only its SEAL

Rows arm.<machine>.<scheme>.n<n>.<operation>.instructions_ratio_to_seal are instructions with NEON over
SEAL's, under qemu-user. Each operation is counted between two system calls of the program, after it was done
once: setting up and keys do not count.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from run import ROOT, Program, built

from bench.rows import Row, compiler_version, write_results

sys.path.append(str(ROOT / "bench/m4"))

from linux_cores import build_counter

BUILD = ROOT / "build/bench-evaluator-arm"
RESULTS = ROOT / "bench/results/evaluator_arm.json"
SCHEMES = ("ckks", "bfv")
LOG2_DEGREES = range(10, 15)
SIDES = {"neon": "instructions", "portable": "portable_instructions", "seal": "seal_instructions"}
"""What the bench calls whose operations are counted, and where a row says how many instructions they take."""

Counts = dict[str, float]
"""Instructions of each operation."""


@dataclass(frozen=True)
class Machine:
    """A machine by Debian's name, with its emulator and the number of the system call sched_yield."""

    triplet: str
    qemu: str
    sched_yield: int

    @property
    def compiler(self) -> str:
        return f"{self.triplet}-g++"


MACHINES = {
    "armhf": Machine("arm-linux-gnueabihf", "qemu-arm", 158),
    "aarch64": Machine("aarch64-linux-gnu", "qemu-aarch64", 124),
}


def build(name: str) -> Program:
    """Build the bench beside a machine's SEAL; CMake passes over those for another word size."""
    toolchain = f"-DCMAKE_TOOLCHAIN_FILE={ROOT / 'cmake' / name}.cmake"
    return built(BUILD / name, os.environ.get("CMAKE_PREFIX_PATH", ""), toolchain)


def counted(machine: Machine, program: Path, plugin: Path, whose: str, scheme: str, log2_n: int) -> Counts:
    """Count each operation's instructions, as the mean of more repetitions at smaller degrees."""
    times = (1 << max(LOG2_DEGREES)) >> log2_n
    command = [shutil.which(machine.qemu) or machine.qemu, "-L", f"/usr/{machine.triplet}"]
    command += ["-plugin", f"{plugin},mark={machine.sched_yield}"]
    command += [f"./{program.name}", "repeat", whose, scheme, str(log2_n), str(times)]
    # The environment and the program's path lie on the stack, and shift what copies there cost.
    done = subprocess.run(command, cwd=program.parent, env={}, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    names = done.stdout.split()
    marks = [int(mark) for mark in re.findall(r"^mark (\d+)$", done.stderr, re.MULTILINE)]
    if not names or len(marks) != 2 * len(names):
        sys.exit(f"QEMU's plugin marked {len(marks)} places around {len(names)} operations: {done.stderr}")
    spans = zip(marks[::2], marks[1::2], strict=True)
    return {name: (end - start) / times for name, (start, end) in zip(names, spans, strict=True)}


def rows_of(name: str, plugin: Path) -> Iterator[Row]:
    machine, program = MACHINES[name], build(name)
    for scheme in SCHEMES:
        for log2_n in LOG2_DEGREES:
            counts = {whose: counted(machine, program.path, plugin, whose, scheme, log2_n) for whose in SIDES}
            for operation in counts["seal"]:
                params = {param: round(counts[whose][operation]) for whose, param in SIDES.items()}
                yield Row(
                    f"arm.{name}.{scheme}.n{1 << log2_n}.{operation}.instructions_ratio_to_seal",
                    round(params["instructions"] / params["seal_instructions"], 4),
                    "",
                    {**params, "seal": program.seal},
                )


def main() -> None:
    parser = argparse.ArgumentParser(description="Count the evaluator's instructions on ARM beside SEAL's.")
    parser.add_argument("--machine", choices=MACHINES, action="append", help="all by default")
    parser.add_argument("--results", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    plugin = build_counter(BUILD)
    rows = []
    names = arguments.machine or list(MACHINES)
    for name in names:
        for row in rows_of(name, plugin):
            rows.append(row)
            print(f"{row.name:70} {row.value:8} {row.params}", flush=True)
    tools = [tool for name in names for tool in (MACHINES[name].compiler, MACHINES[name].qemu)]
    versions = "; ".join(compiler_version(tool) for tool in tools)
    write_results(arguments.results, "make bench-evaluator-arm", versions, rows)
    print(f"wrote {arguments.results}")


if __name__ == "__main__":
    main()
