#!/usr/bin/env python3
"""The hardware bench: cycles of transforms and products from simulation.

`make bench-rtl` runs the engine's named configurations (rtl/configurations.json) under Verilator, held to
an independent transform at random primes, and writes bench/results/rtl.json. Cycles of a transform count from
the first read of the banks to the last write.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

from ciphermote.results import Row, write_results
from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).resolve().parents[2]
PYTHON = ROOT / "build/rtl-venv/bin/python"
PARAMETRIC_NTT = {
    "n1024_u1": {"forward": 5_285, "inverse": 6_325},
    "n1024_u8": {"forward": 805, "inverse": 949},
    "n1024_u32": {"forward": 325, "inverse": 373},
    "n1024_u64": {"forward": 245, "inverse": 277},
    "n4096_u2_w40": {"forward": 12_485, "inverse": 14_551},
}
"""The open Verilog of papers/003's authors, by simulation: quoted."""


class BenchError(Exception):
    """A simulation failed; the sentence says what to look at."""


def run_python(script: str, *arguments: str) -> str:
    """What a script of rtl/tools prints; it runs in the hardware tools' own environment."""
    done = subprocess.run(
        [PYTHON, ROOT / "rtl/tools" / script, *arguments], capture_output=True, text=True, timeout=3600
    )
    if done.returncode:
        raise BenchError(f"{script} {' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout


def row_name(parameters: dict[str, int], job: str) -> str:
    """Such as ntt.n1024.u8.cycles; widths other than 32 bits are named."""
    kind = {"forward": "ntt", "inverse": "ntt_inverse"}.get(job, f"engine_{job}")
    width = "" if parameters["WIDTH"] == 32 else f".w{parameters['WIDTH']}"
    return f"{kind}.n{1 << parameters['LOG2_N']}.u{1 << parameters['LOG2_UNITS']}{width}.cycles"


def engine_rows(name: str, parameters: dict[str, int]) -> list[Row]:
    """Cycles of each kind of job that the configuration offers."""
    taken = json.loads(run_python("verilated.py", name))
    params = {
        "n": 1 << parameters["LOG2_N"],
        "bits": parameters["WIDTH"],
        "units": 1 << parameters["LOG2_UNITS"],
        "configuration": name,
        "kind": "simulated",
        "from": "first read of the banks",
        "to": "last write of the banks",
    }
    rows = []
    for job, cycles in taken.items():
        if cycles:
            quoted = PARAMETRIC_NTT.get(name, {}).get(job)
            extra = {"parametric_ntt": quoted} if quoted else {}
            rows.append(Row(row_name(parameters, job), cycles, "cycles", {**params, **extra}))
    return rows


def show(rows: list[Row], console: Console) -> None:
    table = Table(title="The hardware's cycles, simulated", title_justify="left")
    for column in ("figure", "cycles", "parametric-ntt, quoted"):
        table.add_column(column, justify="left" if column == "figure" else "right")
    for row in rows:
        table.add_row(row.name, f"{row.value:,}", f"{row.params.get('parametric_ntt', '')}")
    console.print(table)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--results", type=Path, default=ROOT / "bench/results/rtl.json")
    parser.add_argument("--configuration", action="append", help="only this one (repeatable); writes nothing")
    options = parser.parse_args()
    configurations = json.loads((ROOT / "rtl/configurations.json").read_text(encoding="utf-8"))
    chosen = options.configuration or list(configurations)
    console = Console()
    try:
        rows: list[Row] = []
        for name in chosen:
            console.print(f"{name} ...", highlight=False)
            rows += engine_rows(name, configurations[name])
    except BenchError as error:
        print(error, file=sys.stderr)
        return 1
    show(rows, console)
    if not options.configuration:
        verilator = run_python("versions.py", "verilator").strip()
        write_results(options.results, "make bench-rtl", verilator, rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
