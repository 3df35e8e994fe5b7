#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Time the evaluator's operations beside Microsoft SEAL's in one run: bench/results/evaluator.json.

    make bench-evaluator                                SEAL as CMake finds it
    CMAKE_PREFIX_PATH=... make bench-evaluator          SEAL of that prefix

Rows <scheme>.n<n>.<operation>.<isa>.ratio_to_seal are SEAL's median time over the evaluator's, with one
thread, while both take turns. Times are this machine's; ratios carry over to others, but only roughly.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build/bench-evaluator"
RESULTS = ROOT / "bench/results/evaluator.json"


def build() -> Path:
    configure = [
        *("cmake", "-S", ROOT, "-B", BUILD, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release"),
        *("-DCIPHERMOTE_BENCH_EVALUATOR=ON", "-DCIPHERMOTE_BUILD_TESTS=OFF"),
    ]
    log = BUILD / "cmake.log"
    BUILD.mkdir(parents=True, exist_ok=True)
    with log.open("w", encoding="utf-8") as output:
        for command in (configure, ["cmake", "--build", BUILD, "--target", "bench_evaluator"]):
            done = subprocess.run(command, stdout=output, stderr=subprocess.STDOUT, check=False)
            if done.returncode != 0:
                sys.exit(
                    f"The bench cannot be built: see {log.relative_to(ROOT)}. It needs Microsoft SEAL, "
                    "installed where CMake looks, or under CMAKE_PREFIX_PATH."
                )
    return BUILD / "bench/evaluator/bench_evaluator"


def compiler() -> str:
    cache = (BUILD / "CMakeCache.txt").read_text(encoding="utf-8")
    name = next(
        line.partition("=")[2] for line in cache.splitlines() if line.startswith("CMAKE_CXX_COMPILER:")
    )
    version = subprocess.run([name, "--version"], capture_output=True, text=True, check=True).stdout
    return version.splitlines()[0]


def machine() -> str:
    model = next(
        (
            line.partition(":")[2].strip()
            for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
            if line.startswith("model name")
        ),
        platform.machine(),
    )
    return f"{model}, {os.cpu_count()} cores"


def main() -> None:
    parser = argparse.ArgumentParser(description="Time the evaluator beside Microsoft SEAL.")
    parser.add_argument("--seconds", type=float, default=2.0, help="for each operation")
    parser.add_argument("--results", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    program = build()
    rows = []
    with subprocess.Popen([program, str(arguments.seconds)], stdout=subprocess.PIPE, text=True) as bench:
        assert bench.stdout is not None
        for line in bench.stdout:
            row = json.loads(line)
            rows.append(row)
            print(f"{row['name']:50} {row['value']:10.4g} {row['unit']}", flush=True)
    if bench.returncode != 0:
        sys.exit(f"The bench ended with status {bench.returncode}.")
    content = {
        "command": "make bench-evaluator",
        "date": datetime.date.today().isoformat(),
        "compiler": compiler(),
        "machine": machine(),
        "rows": rows,
    }
    arguments.results.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    print(f"wrote {arguments.results}")


if __name__ == "__main__":
    main()
