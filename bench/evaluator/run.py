#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Time the evaluator's operations beside Microsoft SEAL's in one run: bench/results/evaluator.json.

    make bench-evaluator                                SEAL as CMake finds it
    CMAKE_PREFIX_PATH=... make bench-evaluator          SEAL of that prefix, or the faster of several (a:b)
    bench/evaluator/run.py --quick                      one short round, and nothing in bench/results

Rows <scheme>.n<n>.<operation>.<isa>.ratio_to_seal are SEAL's median time over the evaluator's, with one
thread, while both take turns. Each round runs all builds of SEAL one after the other; a build's ratio is the
median of its rounds, and the row shows the build of the lowest: SEAL's best. A SEAL with HEXL in it gives
rows .ratio_to_hexl of its own. Without an installed SEAL there is no bench: TenSEAL's can only be called
through Python. Times are this machine's; ratios carry over to others, but only roughly.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build/bench-evaluator"
RESULTS = ROOT / "bench/results/evaluator.json"
ROTATION_KEYS = 15

Row = dict[str, Any]


@dataclass(frozen=True)
class Program:
    """The bench beside one build of SEAL, as `seal` describes it."""

    path: Path
    seal: str

    def run(self, *arguments: str) -> Iterable[str]:
        """Its output, line by line."""
        with subprocess.Popen([self.path, *arguments], stdout=subprocess.PIPE, text=True) as bench:
            assert bench.stdout is not None
            yield from bench.stdout
        if bench.returncode != 0:
            sys.exit(f"The bench ended with status {bench.returncode}.")


def built(folder: Path, prefix: str, *options: str) -> Program:
    """The bench, compiled with CMake's options. prefix: of a SEAL; empty: where CMake looks."""
    configure = [
        *("cmake", "-S", ROOT, "-B", folder, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release"),
        *("-DCIPHERMOTE_BENCH_EVALUATOR=ON", "-DCIPHERMOTE_BUILD_TESTS=OFF", *options),
        "-USEAL_DIR",  # the last build's may have been another
    ]
    environment = {**os.environ, "CMAKE_PREFIX_PATH": prefix}
    log = folder / "cmake.log"
    folder.mkdir(parents=True, exist_ok=True)
    with log.open("w", encoding="utf-8") as output:
        for command in (configure, ["cmake", "--build", folder, "--target", "bench_evaluator"]):
            done = subprocess.run(
                command, stdout=output, stderr=subprocess.STDOUT, env=environment, check=False
            )
            if done.returncode != 0:
                sys.exit(
                    f"The bench cannot be built: see {log.relative_to(ROOT)}. It needs Microsoft SEAL, "
                    "built for the same machine, and installed where CMake looks or under CMAKE_PREFIX_PATH."
                )
    return Program(folder / "bench/evaluator/bench_evaluator", seal_of(folder))


def cached(folder: Path, variable: str) -> str:
    """A variable from CMake's cache."""
    cache = (folder / "CMakeCache.txt").read_text(encoding="utf-8")
    return next(line.partition("=")[2] for line in cache.splitlines() if line.startswith(f"{variable}:"))


def output_of(*command: str | Path) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def seal_of(folder: Path) -> str:
    """Version and compiler of the SEAL that a build found, as its library's objects say, and whether it is
    C++14: SEAL's default is C++17."""
    config = Path(cached(folder, "SEAL_DIR"))
    version = re.search(
        r'PACKAGE_VERSION "([\d.]+)"', (config / "SEALConfigVersion.cmake").read_text(encoding="utf-8")
    )
    library = next(config.parents[1].glob("libseal*"))
    comment = re.search(r"(GCC: .*|.*clang version .*)", output_of("readelf", "-p", ".comment", library))
    compiler = "an unknown compiler"
    if comment:
        number = re.findall(r"\d+\.\d+\.\d+", comment[1])[-1 if "GCC" in comment[1] else 0]
        compiler = f"{'gcc' if 'GCC' in comment[1] else 'clang'} {number}"
    is_older = "SEAL_USE_CXX17 OFF" in (config / "SEALConfig.cmake").read_text(encoding="utf-8")
    return f"{version[1] if version else ''}, {compiler}{', C++14' if is_older else ''}"


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


def median(rows: Sequence[Row]) -> Row:
    """The row of the median value; of an even number of rows, the lower of the two."""
    return sorted(rows, key=lambda row: row["value"])[(len(rows) - 1) // 2]


def combined(measured: Sequence[tuple[str, Row]]) -> list[Row]:
    """One row for each name, in the order of their first appearance, of rows with the SEAL of their run."""
    runs: dict[str, dict[str, list[Row]]] = defaultdict(lambda: defaultdict(list))
    for seal, row in measured:
        runs[row["name"]][seal].append(row)
    rows = []
    for name, builds in runs.items():
        found = {seal: median(of) for seal, of in builds.items()}
        if ".ratio_to_" not in name:
            rows.append(next(iter(found.values())))
            continue
        seal, best = min(found.items(), key=lambda item: item[1]["value"])
        values = [row["value"] for row in builds[seal]]
        spread = round((max(values) - min(values)) / best["value"], 3)
        rows.append({**best, "params": {**best["params"], "seal": seal, "spread": spread}})
    return rows


def peaks(program: Program) -> list[Row]:
    """The largest resident memory of processes that load keys and do each operation once."""

    def bytes_of(whose: str, scheme: str, log2_n: int) -> int:
        return int("".join(program.run("peak", whose, scheme, str(log2_n), str(ROTATION_KEYS))))

    rows = []
    for scheme in ("ckks", "bfv"):
        for log2_n in range(10, 16):
            ours, seal = (bytes_of(whose, scheme, log2_n) for whose in ("ours", "seal"))
            params = {"seal_bytes": seal, "rotation_keys": ROTATION_KEYS if log2_n > 10 else 0}
            rows.append(
                {
                    "name": f"{scheme}.n{1 << log2_n}.peak_bytes",
                    "value": ours,
                    "unit": "bytes",
                    "params": params,
                }
            )
    largest = next(row for row in rows if row["name"] == "ckks.n32768.peak_bytes")
    return [
        *rows,
        {**largest, "name": "n32768.peak_bytes", "params": {**largest["params"], "scheme": "ckks"}},
    ]


def show(row: Row) -> None:
    print(f"{row['name']:55} {row['value']:12.4g} {row['unit']}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description="Time the evaluator beside Microsoft SEAL.")
    parser.add_argument("--seconds", type=float, default=0.4, help="for each operation, in each round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="one short round, to build/bench-evaluator")
    parser.add_argument("--results", type=Path)
    arguments = parser.parse_args()
    results = arguments.results or (BUILD / "quick.json" if arguments.quick else RESULTS)
    seconds, rounds = (0.01, 1) if arguments.quick else (arguments.seconds, arguments.rounds)
    prefixes = os.environ.get("CMAKE_PREFIX_PATH", "").split(os.pathsep)
    programs = [built(BUILD / (Path(prefix).name or "seal"), prefix) for prefix in prefixes]
    measured = []
    for number in range(rounds):
        for program in programs:
            print(f"round {number + 1} of {rounds}, SEAL {program.seal}", flush=True)
            measured += [(program.seal, json.loads(line)) for line in program.run(str(seconds))]
    rows = [*combined(measured), *peaks(programs[0])]
    for row in rows:
        show(row)
        row |= {"timed": True, "better": "more" if row["unit"] == "" else "less"}
    compiler = cached(programs[0].path.parents[2], "CMAKE_CXX_COMPILER")
    content = {
        "command": "make bench-evaluator",
        "date": datetime.date.today().isoformat(),
        "compiler": output_of(compiler, "--version").splitlines()[0],
        "machine": machine(),
        "seal": [program.seal for program in programs],
        "rows": rows,
    }
    results.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    print(f"wrote {results}")


if __name__ == "__main__":
    main()
