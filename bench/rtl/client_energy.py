#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The client engine's area, slack and energy on an open library of standard cells, before layout.

`make bench-asic` maps the engine (n = 4096, three primes, 8 butterflies, the pipeline for standard cells) to
IHP SG13G2 (130 nm, typical, 1.2 V, 25 C) for 100 MHz, simulates a symmetric encryption of BFV on the mapped
netlist with its cells' delays, and compares its frames with the C library's. It does the same with the core
of rtl/soc while it encrypts in software: that gives its energy a cycle and, with the cycles of
bench/results/engine.json, an encryption's on the chip, with the engine and without. It writes
bench/results/engine-asic.json. CIPHERMOTE_PDK names the folder with the library's Liberty files
(rtl/README.md). It takes about a quarter of an hour.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from area_energy import OPERATING_POINT, rounded
from hardware import ROOT, BenchError, run_python
from rich.console import Console

from bench.rows import Row, write_results

GOAL_KGE = 280
"""With Keccak."""


VALUE_WORDS, FRAME_WORDS = 2_048, 10_040
"""Words that the chip's transfers move for a symmetric encryption."""


def engine_rows(*, energy: bool) -> list[Row]:
    found: dict[str, Any] = json.loads(run_python("client_asic.py", *(["energy"] if energy else [])))
    params = {
        "set": "n4096_q26x3_p27",
        "units": 8,
        "pipeline": "silicon",
        **OPERATING_POINT,
        "clock_ns": found["clock_ns"],
        "wire_load": found["wire_load"],
    }
    area = {
        "kind": "synthesis",
        "goal": GOAL_KGE,
        "has": "BFV, CKKS, Keccak, tags",
        "flops": found["flops"],
        "latches": found["latches"],
    }
    figures: list[tuple[str, float, str, dict[str, Any]]] = [
        ("kge", round(found["kge"], 1), "kGE", {**area, "by_module": found["by_module"]}),
        ("slack", found["slack_ns"], "ns", {"kind": "timing"}),
        ("sram_bits.used", found["sram_bits_used"], "bits", {"kind": "synthesis"}),
        (
            "sram_bits.macro",
            found["sram_bits_macro"],
            "bits",
            {"kind": "synthesis", "macros": found["macros"]},
        ),
        ("sram_mm2", round(found["sram_um2"] / 1e6, 1), "mm^2", {"kind": "synthesis"}),
    ]
    if energy:
        total = sum(found["energy_pj"].values()) / 1000
        measured = {
            "kind": "simulated, with glitches",
            "operation": "BFV, symmetric, NTT form, ChaCha20 seed",
            "cycles": found["cycles"],
            "clock_ns": found["energy_clock_ns"],
            "parts_pj": rounded(found["energy_pj"]),
            "blocks_pj": found["energy_by_path_pj"],
        }
        figures.append(("nj_per_encryption", round(total), "nJ", measured))
    return [
        Row(f"engine.{figure}", value, unit, {**params, **extra}) for figure, value, unit, extra in figures
    ]


def soc_rows(engine_nj: float) -> list[Row]:
    """The core's energy a cycle, and that of an encryption on the chip, with the engine and without."""
    core: dict[str, Any] = json.loads(run_python("soc_asic.py"))
    published = json.loads((ROOT / "bench/results/engine.json").read_text(encoding="utf-8"))["rows"]
    cycles = {row["name"]: row["value"] for row in published}
    params = {**OPERATING_POINT, "clock_ns": core["clock_ns"], "wire_load": core["wire_load"]}
    pj_a_cycle = sum(core["core_pj"].values())
    with_memory = pj_a_cycle + core["accesses"] * core["access_pj"]
    left = FRAME_WORDS * core["access_pj"] / 1000
    software = cycles["soc.software.cycles"] * with_memory / 1000 + left
    entered = (VALUE_WORDS + FRAME_WORDS) * core["access_pj"] / 1000
    engine = engine_nj + cycles["soc.engine.cycles"] * with_memory / 1000 + entered + left
    measured = {
        "kind": "simulated, with glitches",
        "operation": "BFV, symmetric, in software, n = 1024",
        "core": "PicoRV32",
        "kge": round(core["kge"], 1),
        "slack_ns": core["slack_ns"],
        "cycles": core["cycles"],
        "parts_pj": core["core_pj"],
    }
    modelled = {"kind": "modelled", "operation": "BFV, symmetric, NTT form, n = 4096, three primes"}
    return [
        Row("soc.core.pj_per_cycle", round(pj_a_cycle, 1), "pJ", {**params, **measured}),
        Row(
            "soc.memory.pj_per_cycle",
            round(with_memory - pj_a_cycle, 1),
            "pJ",
            {**params, "kind": "modelled", "accesses": core["accesses"], "access_pj": core["access_pj"]},
        ),
        Row("soc.software.nj_per_encryption", round(software), "nJ", {**params, **modelled}),
        Row("soc.engine.nj_per_encryption", round(engine), "nJ", {**params, **modelled}),
    ]


def rows(*, energy: bool) -> list[Row]:
    of_engine = engine_rows(energy=energy)
    return [*of_engine, *soc_rows(of_engine[-1].value)] if energy else of_engine


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--results", type=Path, default=ROOT / "bench/results/engine-asic.json")
    parser.add_argument("--no-energy", action="store_true", help="area and timing alone")
    options = parser.parse_args()
    try:
        found = rows(energy=not options.no_energy)
    except BenchError as error:
        print(error, file=sys.stderr)
        return 1
    for row in found:
        Console().print(f"{row.name:45} {row.value:>12,} {row.unit}", highlight=False)
    write_results(options.results, "make bench-asic", run_python("versions.py", "pyosys").strip(), found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
