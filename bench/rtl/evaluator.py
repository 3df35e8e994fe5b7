#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The evaluator's operations on the simulated hardware beside this machine's processor.

The hosted library runs over cm_evaluator_two_clocks under Verilator (bench/rtl/evaluator/main.cpp), with the
evaluator assumed at 200 MHz and streams of 128 bits at 250 MHz. Residues must be portable C++'s, bit for bit.
Rows are written to bench/results/rtl-evaluator.json:

evaluator.<scheme>.<operation>.n4096.ratio_to_avx2
                    the hardware's time for one operation over that of the library's AVX2 back-end. The
                    hardware's is simulated, from the write of the command to the end of the last beat out:
                    operands in and results out are in it, and keys and programs are loaded beforehand. A
                    rotation's last step, a permutation on the processor, is not. AVX2's is the least of 1,000
                    on this machine. Parameters have both, AVX-512's where there is one, and pace_us, the time
                    from job to job when they follow each other.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from hardware import ROOT, BenchError, run_python
from rich.console import Console
from rich.table import Table

from bench.rows import Row, compiler_version, timed, write_results

NAME = "n4096_u64_s128_deep"
BUILD = ROOT / "build/bench-rtl-evaluator"


def program() -> Path:
    """The hosted library with the named evaluator. Raises BenchError if it does not compile."""
    of = json.loads(run_python("verilated.py", "evaluator_model", NAME))
    BUILD.mkdir(parents=True, exist_ok=True)
    configure = [
        *("cmake", "-S", ROOT / "bench/rtl/evaluator", "-B", BUILD, "-DCMAKE_BUILD_TYPE=Release"),
        *(f"-DMODEL={of['model']}", f"-DVERILATOR={of['verilator']}", f"-DSHAPE={';'.join(of['shape'])}"),
        f"-DHARNESS={ROOT / 'rtl/harness'}",
    ]
    log = BUILD / "cmake.log"
    with log.open("w", encoding="utf-8") as output:
        for command in (configure, ["cmake", "--build", BUILD, "--target", "rtl_evaluator"]):
            if subprocess.run(command, stdout=output, stderr=subprocess.STDOUT).returncode:
                raise BenchError(f"The bench cannot be built: see {log.relative_to(ROOT)}.")
    return BUILD / "rtl_evaluator"


def measured(executable: Path) -> dict[str, dict[str, Any]]:
    done = subprocess.run([executable], capture_output=True, text=True, timeout=3600)
    if done.returncode:
        raise BenchError(f"{executable.relative_to(ROOT)}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def rows_of(taken: dict[str, dict[str, Any]]) -> list[Row]:
    assumed = {"n": 4096, "configuration": NAME, "assumed_stream_mhz": 250, "assumed_mhz": 200}
    return timed(
        Row(
            f"evaluator.{name}.n4096.ratio_to_avx2",
            round(of["us"] / of["avx2_us"], 3),
            "times",
            {**assumed, **of},
            better="less",
        )
        for name, of in taken.items()
    )


def show(rows: list[Row], console: Console) -> None:
    table = Table(title="The simulated evaluator: the same bits", title_justify="left")
    columns = {"us": "us", "pace_us": "in a row", "avx2_us": "AVX2", "avx512_us": "AVX-512"}
    table.add_column("figure", no_wrap=True)
    for column in ("times AVX2's", *columns.values()):
        table.add_column(column, justify="right")
    for row in rows:
        table.add_row(row.name, f"{row.value}", *(f"{row.params.get(key, '')}" for key in columns))
    console.print(table)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--results", type=Path, default=ROOT / "bench/results/rtl-evaluator.json")
    options = parser.parse_args()
    try:
        taken = measured(program())
    except BenchError as error:
        print(error, file=sys.stderr)
        return 1
    if any("avx2_us" not in of for of in taken.values()):
        print("This machine has no AVX2, which the figures are compared with.", file=sys.stderr)
        return 1
    rows = rows_of(taken)
    show(rows, Console())
    compiler = compiler_version(os.environ.get("CXX", "c++"))
    write_results(options.results, "make bench-rtl-evaluator", compiler, rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
