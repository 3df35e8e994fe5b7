#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""For which n, butterflies, streams and clock the evaluator in hardware is as fast as one core with AVX2.

The library schedules an operation for machines of many sizes, and its model of their time
(host/src/coprocessor/timing.h) says how long each takes. `make bench-rtl-evaluator` compares the model with
the simulated hardware for one of them. Beside it stands the least time of 1,000 in which one core of this
machine does the same (bench/rtl/evaluator/break_even.cpp). Rows go to bench/results/break-even.json:

break_even.<scheme>.<operation>.n<n>.u<butterflies>.s<bits of a stream>.ratio_to_avx2
                    the machine's time at 200 MHz over AVX2's, operands in and results out included, streams
                    at 250 MHz, keys resident. Parameters have the least clock at which it is no slower
                    (null: above 400 MHz), and AVX-512's time where there is one.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from ciphermote.parameters.sets import by_name
from hardware import ROOT, BenchError
from rich.console import Console

from bench.rows import Row, compiler_version, timed, write_results

BUILD = ROOT / "build/bench-break-even"
SETS = ("n1024_q26", "n2048_q26_p27", "n4096_q26x3_p27", "n8192_q24x5_23x2_p24x2")


def program() -> Path:
    """Raises BenchError if it does not compile."""
    BUILD.mkdir(parents=True, exist_ok=True)
    log = BUILD / "cmake.log"
    configure = ["cmake", "-S", ROOT / "bench/rtl/evaluator", "-B", BUILD, "-DCMAKE_BUILD_TYPE=Release"]
    with log.open("w", encoding="utf-8") as output:
        for command in (configure, ["cmake", "--build", BUILD, "--target", "break_even"]):
            if subprocess.run(command, stdout=output, stderr=subprocess.STDOUT).returncode:
                raise BenchError(f"The bench cannot be built: see {log.relative_to(ROOT)}.")
    return BUILD / "break_even"


def measured(executable: Path, name: str) -> dict[str, dict[str, Any]]:
    of = by_name(name)
    primes = [",".join(map(str, found)) for found in (of.data_primes, of.special_primes)]
    command = [executable, str(of.n.bit_length() - 1), *primes, str(of.digit_primes)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=3600)
    if done.returncode:
        raise BenchError(f"{executable.relative_to(ROOT)}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def rows_of(name: str, taken: dict[str, dict[str, Any]]) -> list[Row]:
    n = by_name(name).n
    rows = []
    for operation, of in taken.items():
        processor = {key: of[key] for key in of if key.endswith("_us") and key != "portable_us"}
        rows += [
            Row(
                f"break_even.{operation}.n{n}.u{machine['units']}.s{machine['stream_bits']}.ratio_to_avx2",
                round(machine["us"] / of["avx2_us"], 3),
                "times",
                {"set": name, "assumed_mhz": 200, "assumed_stream_mhz": 250, **machine, **processor},
                better="less",
            )
            for machine in of["machines"]
        ]
    return timed(rows)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--results", type=Path, default=ROOT / "bench/results/break-even.json")
    options = parser.parse_args()
    try:
        executable = program()
        taken = {name: measured(executable, name) for name in SETS}
    except BenchError as error:
        print(error, file=sys.stderr)
        return 1
    if any("avx2_us" not in of for operations in taken.values() for of in operations.values()):
        print("This machine has no AVX2, which the figures are compared with.", file=sys.stderr)
        return 1
    rows = [row for name, operations in taken.items() for row in rows_of(name, operations)]
    for row in rows:
        Console().print(f"{row.name:70} {row.value:>8}", highlight=False)
    write_results(
        options.results, "make bench-break-even", compiler_version(os.environ.get("CXX", "c++")), rows
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
