#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The hardware's area, slack and energy on an open library of standard cells, before layout.

`make bench-asic` maps the configurations below to IHP SG13G2 (130 nm, typical, 1.2 V, 25 C, 100 MHz),
simulates a transform of random residues on the mapped netlist with its cells' delays, compares the result
with an independent transform, and writes bench/results/rtl-asic.json. cm_zero_encrypt is mapped,
not simulated. CIPHERMOTE_PDK names the folder with the library's Liberty files (rtl/README.md). It takes
some minutes.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import zero
from hardware import ROOT, BenchError, run_python
from rich.console import Console

from bench.rows import Row, write_results

CONFIGURATIONS = ["n1024_u8_deep"]
OPERATING_POINT = {"library": "IHP SG13G2", "corner": "typical, 1.2 V, 25 C", "layout": "before"}


def rows_of(name: str) -> list[Row]:
    found: dict[str, Any] = json.loads(run_python("transform_energy.py", name))
    params = {
        "configuration": name,
        **OPERATING_POINT,
        "clock_ns": found["clock_ns"],
        "wire_load": found["wire_load"],
    }
    measured = {"kind": "simulated, with glitches", "parts_pj": rounded(found["energy_pj"])}
    figures: list[tuple[str, float, str, dict[str, Any]]] = [
        (
            "kge",
            round(found["kge"], 1),
            "kGE",
            {"by_module": found["by_module"], "flops": found["flops"], "latches": found["latches"]},
        ),
        ("sram_bits.used", found["sram_bits_used"], "bits", {"macros": found["macros"]}),
        ("sram_bits.macro", found["sram_bits_macro"], "bits", {"um2": found["sram_um2"]}),
        ("slack", found["slack_ns"], "ns", {"kind": "timing"}),
        ("transform.cycles", found["cycles"], "cycles", {"from": "start of the job", "to": "its end"}),
        ("transform.energy", round(sum(found["energy_pj"].values()) / 1000, 1), "nJ", measured),
    ]
    return [
        Row(f"engine.{name}.sg13g2.{figure}", value, unit, {**params, "kind": "synthesis", **extra})
        for figure, value, unit, extra in figures
    ]


def rounded(parts: dict[str, float]) -> dict[str, int]:
    return {part: round(value) for part, value in parts.items()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--results", type=Path, default=ROOT / "bench/results/rtl-asic.json")
    options = parser.parse_args()
    console = Console()
    rows: list[Row] = []
    try:
        for name in CONFIGURATIONS:
            console.print(f"cm_ntt_engine {name} ...", highlight=False)
            rows += rows_of(name)
        console.print("cm_zero_encrypt ...", highlight=False)
        rows += zero.sg13g2_rows()
    except BenchError as error:
        print(error, file=sys.stderr)
        return 1
    for row in rows:
        console.print(f"{row.name:45} {row.value:>12,} {row.unit}", highlight=False)
    write_results(options.results, "make bench-asic", run_python("versions.py", "pyosys").strip(), rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
