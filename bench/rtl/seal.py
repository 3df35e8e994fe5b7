#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An unchanged SEAL whose transforms and dyadic products go to a simulated accelerator.

    CMAKE_PREFIX_PATH=... make bench-seal-offload     the static SEAL of that prefix

Mert, Ozturk and Savas's experiment: encryption and decryption at n = 1024 with one prime of 27 bits. The
linker wraps SEAL's own functions (bench/rtl/seal/wrapped.txt), so that calls within its library go to the
driver in rtl/harness/offload.h, and from there to cm_ntt_accelerator_two_clocks under Verilator: the engine
at 200 MHz, streams of 128 bits, as published, or 512 at 250 MHz, both assumed. Results must be SEAL's own,
bit for bit. Larger primes, such as those of 60 bits, SEAL computes itself: the engine's residues have at most
40 bits, and the driver's 32. Rows are written to bench/results/seal-offload.json:

seal.offloaded.<stream>.speed_up       SEAL's time for the calls that are offloaded, over the accelerator's
                                       with all transfers; keys and twiddles are loaded beforehand. Without
                                       <stream>: 512 bits.
seal.<what>.<stream>.speed_up          the same for the whole encryption or decryption: what the driver and
                                       the rest of SEAL take, measured, is in it.
SEAL's times are the least of 1,000 on this machine.
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

NAMES = {
    "s512": "n1024_u64_s512_middle",
    "s128": "n1024_u64_s128_middle",
    "s128.deep": "n1024_u64_s128_deep",
}
"""By stream and, unless it is the middle one, pipeline."""
BUILD = ROOT / "build/bench-seal-offload"


def program_of(name: str) -> Path:
    """SEAL with a named accelerator. Raises BenchError if there is no SEAL."""
    of = json.loads(run_python("verilated.py", "model", name))
    folder = BUILD / name
    folder.mkdir(parents=True, exist_ok=True)
    configure = [
        *("cmake", "-S", ROOT / "bench/rtl/seal", "-B", folder, "-DCMAKE_BUILD_TYPE=Release"),
        *(f"-DMODEL={of['model']}", f"-DVERILATOR={of['verilator']}", f"-DSHAPE={';'.join(of['shape'])}"),
        *(f"-DHARNESS={ROOT / 'rtl/harness'}", f"-DCORE={ROOT / 'core/src'}"),
    ]
    log = folder / "cmake.log"
    with log.open("w", encoding="utf-8") as output:
        for command in (configure, ["cmake", "--build", folder]):
            if subprocess.run(command, stdout=output, stderr=subprocess.STDOUT).returncode:
                raise BenchError(
                    f"The bench cannot be built: see {log.relative_to(ROOT)}. It needs Microsoft SEAL 4 as a "
                    "static library, installed where CMake looks, or under CMAKE_PREFIX_PATH."
                )
    return folder / "seal_offload"


def measured(program: Path) -> dict[str, Any]:
    done = subprocess.run([program], capture_output=True, text=True, timeout=3600)
    if done.returncode:
        raise BenchError(f"{program.relative_to(ROOT)}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def rows_of(stream: str, taken: dict[str, Any]) -> list[Row]:
    params = {
        "n": 1024,
        "q": taken["q"],
        "units": 64,
        "configuration": NAMES[stream],
        "stream_bits": int(stream[1:4]),
        "pipeline": "deep" if stream.endswith(".deep") else "middle",
        "assumed_stream_mhz": 250,
        "assumed_engine_mhz": 200,
        "seal": taken["seal"],
        "tables_once_us": taken["tables_us"],
    }
    rows = []
    for what, offloaded in (("encryption", "offloaded"), ("decryption", "offloaded_decryption")):
        of = taken[what]
        calls = {**params, "seal_us": of["calls_us"], "accelerator_us": of["hardware_us"]}
        with_it = round(of["software_us"] + of["hardware_us"], 2)
        whole = {**params, "seal_us": of["whole_us"], "software_us": of["software_us"], "with_us": with_it}
        speed_up = round(of["calls_us"] / of["hardware_us"], 2)
        rows.append(Row(f"seal.{offloaded}.{stream}.speed_up", speed_up, "times", calls, better="more"))
        if stream == "s512" and offloaded == "offloaded":
            rows.append(Row("seal.offloaded.speed_up", speed_up, "times", calls, better="more"))
        rows.append(
            Row(
                f"seal.{what}.{stream}.speed_up",
                round(of["whole_us"] / with_it, 2),
                "times",
                whole,
                better="more",
            )
        )
    return timed(rows)


def show(rows: list[Row], console: Console) -> None:
    table = Table(title="SEAL with a simulated accelerator: the same bits", title_justify="left")
    for column in ("figure", "times", "SEAL, us", "with it, us"):
        table.add_column(column, justify="left" if column == "figure" else "right")
    for row in rows:
        with_it = row.params.get("accelerator_us", row.params.get("with_us"))
        table.add_row(row.name, f"{row.value}", f"{row.params['seal_us']}", f"{with_it}")
    console.print(table)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--results", type=Path, default=ROOT / "bench/results/seal-offload.json")
    options = parser.parse_args()
    try:
        programs = {stream: program_of(name) for stream, name in NAMES.items()}
        rows = [row for stream in programs for row in rows_of(stream, measured(programs[stream]))]
    except BenchError as error:
        print(error, file=sys.stderr)
        return 1
    show(rows, Console())
    compiler = compiler_version(os.environ.get("CXX", "c++"))
    write_results(options.results, "make bench-seal-offload", compiler, rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
