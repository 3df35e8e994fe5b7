#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Count the evaluator's instructions on 32-bit ARM beside SEAL's: bench/results/evaluator_armhf.json.

    CMAKE_PREFIX_PATH=... make bench-evaluator-armhf    SEAL of that prefix, built with cmake/armhf.cmake

Rows armhf.n<n>.<operation>.instructions_ratio_to_seal are the evaluator's instructions over SEAL's, under
qemu-arm. What a program executes for 2N operations, less what it executes for N, is N operations: its set-up
cancels.
"""

from __future__ import annotations

import argparse
import datetime
import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build/bench-evaluator-armhf"
RESULTS = ROOT / "bench/results/evaluator_armhf.json"
PLUGIN = BUILD / "count_instructions.so"
COMPILER = "arm-linux-gnueabihf-g++"
SYSROOT = "/usr/arm-linux-gnueabihf"
LOG2_N = 12
OPERATIONS = ("encrypt", "add", "multiply", "relinearize", "rotate", "rescale")
TIMES = 4


def run(*command: str | Path) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done


def build() -> Path:
    """The bench, and QEMU's plugin that counts."""
    run(
        *("cmake", "-S", ROOT, "-B", BUILD, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release"),
        f"-DCMAKE_TOOLCHAIN_FILE={ROOT / 'cmake/armhf.cmake'}",
        *("-DCIPHERMOTE_BENCH_EVALUATOR=ON", "-DCIPHERMOTE_BUILD_TESTS=OFF"),
    )
    run("cmake", "--build", BUILD, "--target", "bench_evaluator")
    run("gcc", "-O2", "-shared", "-fPIC", "-o", PLUGIN, ROOT / "bench/evaluator/count_instructions.c")
    return BUILD / "bench/evaluator/bench_evaluator"


def executed(program: Path, whose: str, operation: str, times: int) -> int:
    arguments = ("repeat", whose, str(LOG2_N), operation, str(times))
    done = run("qemu-arm", "-L", SYSROOT, "-plugin", PLUGIN, program, *arguments)
    found = re.search(r"^instructions (\d+)$", done.stderr, re.MULTILINE)
    if not found:
        sys.exit(f"QEMU's plugin printed no count: {done.stderr}")
    return int(found[1])


def instructions(program: Path, whose: str, operation: str) -> float:
    """Instructions that one operation takes."""
    twice, once = (executed(program, whose, operation, times) for times in (2 * TIMES, TIMES))
    return (twice - once) / TIMES


def main() -> None:
    parser = argparse.ArgumentParser(description="Count the evaluator's instructions beside SEAL's.")
    parser.add_argument("--results", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    program = build()
    rows = []
    for operation in OPERATIONS:
        seal, neon, portable = (
            instructions(program, whose, operation) for whose in ("seal", "neon", "portable")
        )
        row = {
            "name": f"armhf.n{1 << LOG2_N}.{operation}.instructions_ratio_to_seal",
            "value": round(neon / seal, 4),
            "unit": "",
            "params": {"neon": round(neon), "portable": round(portable), "seal": round(seal)},
            "timed": False,
            "better": "less",
        }
        rows.append(row)
        print(f"{row['name']:55} {row['value']:8} {row['params']}", flush=True)
    content = {
        "command": "make bench-evaluator-armhf",
        "date": datetime.date.today().isoformat(),
        "compiler": run(COMPILER, "--version").stdout.splitlines()[0],
        "machine": run("qemu-arm", "--version").stdout.splitlines()[0],
        "rows": rows,
    }
    arguments.results.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    print(f"wrote {arguments.results}")


if __name__ == "__main__":
    main()
