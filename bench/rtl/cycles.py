#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The hardware bench: cycles of transforms and products from simulation.

`make bench-rtl` runs the named configurations (rtl/configurations.json) under Verilator, compares them with
an independent transform at random primes, and writes bench/results/rtl.json. The engine's cycles count from
the first read of the banks to the last write; the accelerator's from the last beat of a packet in to the
first beat out, and its pace is for consecutive jobs. A row states its pipeline and, where nextpnr has placed
the configuration in an ECP5 (`make rtl-synth`), that clock, the cycles there and the time; an ECP5's narrow
multipliers add a few cycles to the deep pipeline. Rates are at an assumed clock of 200 MHz, that of Mert,
Ozturk and Savas.

Rows of accelerators with two clocks repeat their experiment: streams of 128 bits at 250 MHz, the engine at
200, both assumed and simulated edge by edge. seal.double_multiply.us is NTT_DOUBLE_MULTIPLY, a forward and
two inverse transforms, from the beginning of the first beat in to the end of the last beat out;
product.....paper.per_second is the pace of products that follow each other. Names without a pipeline are of
the deep one.

Rows of the evaluator, with the same clocks, count cycles of its own: those that another sum or transform adds
to a program; and of programs from the write of their command to the end of the last beat out, or, in a row,
from one to the next.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from hardware import ROOT, BenchError, named_configurations, run_python
from rich.console import Console
from rich.table import Table

from bench.rows import Row, write_results

PARAMETRIC_NTT = {
    "n1024_u1_deep": {"forward": 5_285, "inverse": 6_325},
    "n1024_u8_deep": {"forward": 805, "inverse": 949},
    "n1024_u32_deep": {"forward": 325, "inverse": 373},
    "n1024_u64_deep": {"forward": 245, "inverse": 277},
    "n4096_u2_w40_deep": {"forward": 12_485, "inverse": 14_551},
}
"""The open Verilog of Mert, Ozturk and Savas, simulated: quoted. It has a deep pipeline, and its transform is
cyclic: products modulo x^n + 1 need n multiplications before it and after the inverse one."""

SYNTHESIS = ROOT / "bench/results/rtl-synth.json"


def clock_mhz(name: str) -> float | None:
    """Return nextpnr's clock for the configuration in an ECP5, if it has placed it."""
    rows = json.loads(SYNTHESIS.read_text(encoding="utf-8"))["rows"]
    return next((row["value"] for row in rows if row["name"] == f"engine.{name}.ecp5.fmax_mhz"), None)


def pipeline_of(parameters: dict[str, int]) -> str:
    return ("shallow", "deep", "middle")[parameters["DEEP"]]


def suffix_of(parameters: dict[str, int]) -> str:
    """The end of a row's name."""
    return ("", ".deep", ".middle")[parameters["DEEP"]]


def row_name(parameters: dict[str, int], job: str) -> str:
    """For example ntt.n1024.u8.deep.cycles; widths other than 32 bits are included."""
    kind = {"forward": "ntt", "inverse": "ntt_inverse"}.get(job, f"engine_{job}")
    width = "" if parameters["WIDTH"] == 32 else f".w{parameters['WIDTH']}"
    shape = f"n{1 << parameters['LOG2_N']}.u{1 << parameters['LOG2_UNITS']}{width}"
    return f"{kind}.{shape}{suffix_of(parameters)}.cycles"


def engine_rows(name: str, parameters: dict[str, int]) -> list[Row]:
    """Cycles of each kind of job that the configuration supports."""
    taken = json.loads(run_python("verilated.py", "engine", name))
    clock = clock_mhz(name)
    there = json.loads(run_python("verilated.py", "engine", f"{name}_narrow")) if clock else {}
    params = {
        "n": 1 << parameters["LOG2_N"],
        "bits": parameters["WIDTH"],
        "units": 1 << parameters["LOG2_UNITS"],
        "configuration": name,
        "pipeline": pipeline_of(parameters),
        "kind": "simulated",
        "from": "first read of the banks",
        "to": "last write of the banks",
    }
    rows = []
    for job, cycles in taken.items():
        if cycles:
            quoted = PARAMETRIC_NTT.get(name, {}).get(job)
            extra: dict[str, float] = {"parametric_ntt": quoted} if quoted else {}
            if clock:
                extra |= {
                    "ecp5_clock_mhz": clock,
                    "ecp5_cycles": there[job],
                    "ecp5_time_us": round(there[job] / clock, 2),
                }
            rows.append(Row(row_name(parameters, job), cycles, "cycles", {**params, **extra}))
    return rows


CLOCK_HZ = 200_000_000
PUBLISHED = {"product": {"paper_cycles": 250, "paper_rate": 800_000, "paper_us": 1.25}}
"""Mert, Ozturk and Savas, n = 1024, 64 units, 200 MHz: quoted, beside the deep pipeline."""


def accelerator_rows(name: str, parameters: dict[str, int]) -> list[Row]:
    """Latency, pace and rate of each command over the streams."""
    taken = json.loads(run_python("verilated.py", "accelerator", name))
    n, units, beat = (1 << parameters[key] for key in ("LOG2_N", "LOG2_UNITS", "LOG2_BEAT"))
    stem = f"n{n}.u{units}{suffix_of(parameters)}"
    stream = 32 * beat
    params = {
        "n": n,
        "bits": parameters["WIDTH"],
        "units": units,
        "stream_bits": stream,
        "configuration": name,
        "pipeline": pipeline_of(parameters),
        "kind": "simulated",
    }
    loads = taken.pop("tables")
    rows = [
        Row(
            f"load_{table}.{stem}.s{stream}.cycles",
            cycles,
            "cycles",
            {**params, "transfer_cycles": n // beat},
        )
        for table, cycles in loads.items()
    ]
    for job, times in taken.items():
        quoted = PUBLISHED.get(job, {}) if (n, units) == (1024, 64) and parameters["DEEP"] else {}
        ends = {"from": "last beat in", "to": "first beat out"}
        if stream == 128:
            rows.append(Row(f"{job}.{stem}.cycles", times["latency"], "cycles", {**params, **ends, **quoted}))
        paced = {**params, "transfer_cycles": n // beat * (2 if job.startswith("double") else 1)}
        rows.append(Row(f"{job}.{stem}.s{stream}.pace", times["pace"], "cycles", paced))
        if stream == 512:
            rows.append(Row(f"{job}.{stem}.pace.cycles", times["pace"], "cycles", paced))
        rate = round(CLOCK_HZ / times["pace"])
        rows.append(
            Row(
                f"{job}.{stem}.s{stream}.rate",
                rate,
                "jobs/s",
                {**paced, "assumed_clock_hz": CLOCK_HZ, **quoted},
            )
        )
    return rows


PAPER_US = 4.3
"""Mert, Ozturk and Savas's NTT_DOUBLE_MULTIPLY, transfers included: quoted."""


def paper_rows(name: str, parameters: dict[str, int]) -> list[Row]:
    """Time of a double product, and rate of products, with streams on a clock of their own."""
    taken = json.loads(run_python("verilated.py", "paper", name))
    stream = 32 << parameters["LOG2_STREAM"]
    params = {
        "n": 1 << parameters["LOG2_N"],
        "bits": parameters["WIDTH"],
        "units": 1 << parameters["LOG2_UNITS"],
        "stream_bits": stream,
        "configuration": name,
        "pipeline": pipeline_of(parameters),
        "kind": "simulated",
        "assumed_stream_mhz": 250,
        "assumed_engine_mhz": 200,
    }
    quoted = stream == 128
    time = round(taken["double_multiply_ps"] / 1e6, 3)
    rate = round(1e12 / taken["product_pace_ps"])
    of_time = {**params, **({"paper_us": PAPER_US} if quoted else {})}
    of_rate = {**params, **({"paper_rate": PUBLISHED["product"]["paper_rate"]} if quoted else {})}
    suffix = {"deep": "", "middle": ".middle"}[pipeline_of(parameters)] + ("" if quoted else f".s{stream}")
    rows = [Row(f"seal.double_multiply{suffix}.us", time, "us", of_time)]
    if quoted:
        stem = f"product.n{params['n']}.u{params['units']}.paper"
        rows.append(Row(f"{stem}{suffix}.per_second", rate, "jobs/s", of_rate))
    return rows


def evaluator_rows(name: str, parameters: dict[str, int]) -> list[Row]:
    """Cycles of instructions, transforms and programs of the harness, transfers included."""
    taken = json.loads(run_python("verilated.py", "evaluator", name))
    params = {
        "n": 1 << parameters["LOG2_N"],
        "bits": parameters["WIDTH"],
        "units": 1 << parameters["LOG2_UNITS"],
        "stream_bits": 32 << parameters["LOG2_STREAM"],
        "configuration": name,
        "pipeline": pipeline_of(parameters),
        "kind": "simulated",
        "assumed_stream_mhz": 250,
        "assumed_engine_mhz": 200,
    }
    stem = f"n{params['n']}.u{params['units']}{suffix_of(parameters)}"
    return [
        Row(f"evaluator.{what}.{stem}.cycles", of["cycles"], "cycles", params) for what, of in taken.items()
    ]


def show(rows: list[Row], console: Console) -> None:
    table = Table(title="The hardware's cycles, simulated", title_justify="left")
    for column in ("figure", "simulated", "published, quoted"):
        table.add_column(column, justify="left" if column == "figure" else "right")
    for row in rows:
        published = ("parametric_ntt", "paper_cycles", "paper_us", "paper_rate")
        quoted = next((row.params[key] for key in published if key in row.params), "")
        table.add_row(row.name, f"{row.value:,} {row.unit}", f"{quoted}")
    console.print(table)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--results", type=Path, default=ROOT / "bench/results/rtl.json")
    parser.add_argument("--configuration", action="append", help="only this one (repeatable); writes nothing")
    options = parser.parse_args()
    named = named_configurations()
    kinds = (
        ("cm_ntt_engine", engine_rows),
        ("cm_ntt_accelerator", accelerator_rows),
        ("cm_ntt_accelerator_two_clocks", paper_rows),
        ("cm_evaluator_two_clocks", evaluator_rows),
    )
    console = Console()
    rows: list[Row] = []
    try:
        for top, rows_of in kinds:
            for name, parameters in named[top].items():
                if not options.configuration or name in options.configuration:
                    console.print(f"{top} {name} ...", highlight=False)
                    rows += rows_of(name, parameters)
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
