#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Area, slack and energies of the client engine on an open library of standard cells, before layout.

`make bench-asic` maps the engine (n = 4096, three primes, 8 butterflies, the pipeline for standard cells) to
IHP SG13G2 (130 nm) for 100 MHz in the typical corner, simulates each operation on the mapped netlist with its
cells' delays, compares what comes out with the C library's, and computes energies in three corners. It does
the same with what a published chip is compared with, cm_zero_encrypt and a transform of n = 4096, and with
the core of rtl/soc while it encrypts in software: that gives its energy a cycle and, with the cycles of
bench/results/engine.json, an encryption's on the chip, with the engine and without. It writes
bench/results/engine-asic.json. CIPHERMOTE_PDK names the folder with the library's Liberty files
(rtl/README.md). It takes an hour and a half.
"""

from __future__ import annotations

import argparse
import json
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from area_energy import OPERATING_POINT, rounded
from hardware import ROOT, BenchError, run_python
from rich.console import Console

from bench.rows import Row, write_results

GOAL_KGE = 300
"""With Keccak."""


VALUE_WORDS, FRAME_WORDS = 2_048, 10_040
"""Words that the chip's transfers move for a symmetric encryption."""


OPERATIONS = {
    ("bfv_symmetric",): "BFV, symmetric, NTT form, ChaCha20 seed, from values to frames",
    ("bfv_public",): "BFV, public key, NTT form, from values to frames",
    ("bfv_decrypt",): "BFV, from both components' frames to values",
    ("ckks_symmetric",): "CKKS, symmetric, 2,048 real numbers, ChaCha20 seed, from numbers to frames",
    ("ckks_public",): "CKKS, public key, 2,048 real numbers, from numbers to frames",
    ("ckks_decrypt",): "CKKS, from both components' frames to 2,048 real numbers",
    ("generate", "publish"): "a secret key that is drawn, and its public key's frames",
}
"""The operations of rtl/tools/client_energy.py, by what one run gives."""
TRANSFORM = "n4096_u2_w40_deep"
"""As many butterflies, coefficients and bits as a layer of the published chip has."""


def area_rows() -> list[Row]:
    found: dict[str, Any] = json.loads(run_python("client_asic.py"))
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
        "has": "BFV, CKKS, Keccak, tags, key policy, slots",
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
    return [
        Row(f"engine.{figure}", value, unit, {**params, **extra}) for figure, value, unit, extra in figures
    ]


def energy_rows(
    name: str, found: dict[str, Any], operation: dict[str, Any], about: dict[str, Any]
) -> list[Row]:
    """One operation in three corners. found: what corners.about() says."""
    rows = []
    for corner, parts in operation["corners_pj"].items():
        typical = corner == "typical"
        params = {
            "library": "IHP SG13G2",
            "corner": found["corners"][corner],
            "layout": "before",
            "clock_ns": found["clocks_ns"][corner],
            "wire_load": found["wire_load"],
            **about,
            "cycles": operation["cycles"],
            "kind": "simulated, with glitches" if typical else "modelled: the typical corner's toggles",
            "parts_pj": rounded(parts),
        }
        if typical:
            params["blocks_pj"] = rounded(operation["by_path_pj"])
        rows.append(Row(f"energy.{name}.{corner}.uj", round(sum(parts.values()) / 1e6, 2), "uJ", params))
    return rows


def engine_energies() -> list[Row]:
    """Two runs at a time."""
    with ThreadPoolExecutor(2) as pool:
        runs = pool.map(lambda names: json.loads(run_python("client_energy.py", *names)), OPERATIONS)
        return [
            row
            for names, found in zip(OPERATIONS, runs, strict=True)
            for name in names
            for row in energy_rows(
                name,
                found,
                found["operations"][name],
                {
                    "set": "n4096_q26x3_p27",
                    "units": 8,
                    "pipeline": "silicon",
                    "netlist": "engine.kge",
                    "operation": OPERATIONS[names],
                },
            )
        ]


def published_work() -> list[Row]:
    """Measure what a published chip states: a zero encryption, and a transform."""
    zero: dict[str, Any] = json.loads(run_python("zero_energy.py", "energy"))
    transform: dict[str, Any] = json.loads(run_python("transform_energy.py", TRANSFORM))
    work = "u p0 + e0 and u p1 + e1 at three primes of 40 bits, given keys, errors and u"
    about = {"netlist": "engine.zero_encryption.u6.sg13g2.kge", "operation": work}
    return [
        *energy_rows("zero_encryption", zero, zero["operations"]["zero_encryption"], about),
        *energy_rows(
            "ntt4096",
            transform,
            {**transform, "by_path_pj": {}},
            {
                "configuration": TRANSFORM,
                "operation": "a forward transform",
                "kge": round(transform["kge"], 1),
            },
        ),
    ]


FULL_WORDS, RESULT_WORDS, NUMBER_WORDS = 20_040, 6_680, 2_048
"""Words of a two-part ciphertext of three primes, of a result of one, and of the numbers in it. A word enters
a cycle, and the rest of a decryption takes as long for one prime as for three."""
CORTEX_M4 = {
    "chip": "nRF52840",
    "ua_per_mhz": 52,
    "volts": 3.0,
    "source": "Nordic Semiconductor, nRF52840 Product Specification, Current consumption, CPU running: "
    "CoreMark from flash at 64 MHz, DC/DC, 3 V",
}
"""The maker's figure for a microcontroller with that core."""


def published(file: str) -> dict[str, float]:
    rows = json.loads((ROOT / "bench/results" / file).read_text(encoding="utf-8"))["rows"]
    return {row["name"]: row["value"] for row in rows}


def round_rows(energies: dict[str, Row], with_memory: float, access_pj: float) -> list[Row]:
    """A client-aided round of the demo's network, on the chip and on a Cortex-M4. energies: the
    engine's, by name; with_memory: pJ of core and memory a cycle."""
    cycles = published("engine.json")
    whole = energies["energy.bfv_decrypt.typical.uj"]
    uj_a_cycle = whole.value / whole.params["cycles"]
    decryption = cycles["engine.decrypt.latency.cycles"] - FULL_WORDS + RESULT_WORDS
    parts = {
        "core_and_memory": cycles["round.engine.cycles"] * with_memory / 1e6,
        "engine.encryption": energies["energy.bfv_symmetric.typical.uj"].value,
        "engine.decryption": decryption * uj_a_cycle,
        "transfers": (VALUE_WORDS + 2 * FRAME_WORDS + RESULT_WORDS + NUMBER_WORDS) * access_pj / 1e6,
    }
    on_chip = {
        **OPERATING_POINT,
        "kind": "modelled",
        "cycles": cycles["round.engine.cycles"],
        "decryption_cycles": decryption,
        "parts_uj": {name: round(uj, 1) for name, uj in parts.items()},
    }
    demo = published("demo-client-aided.json")
    phases = ("encrypt", "decrypt", "between")
    m4 = sum(demo[f"demo_client_aided.bfv.round.{phase}.cycles"] for phase in phases)
    on_m4 = {"kind": "quoted", **CORTEX_M4, "cycles": m4, "cycles_kind": "modelled"}
    return [
        Row("round.engine.uj", round(sum(parts.values())), "uJ", on_chip),
        Row("round.m4.uj", round(m4 * CORTEX_M4["ua_per_mhz"] * CORTEX_M4["volts"] / 1e6), "uJ", on_m4),
    ]


def soc_rows(energies: dict[str, Row]) -> list[Row]:
    """The core's energy a cycle, and that of an encryption on the chip, with the engine and without; and of a
    client-aided round. energies: the engine's, by name."""
    core: dict[str, Any] = json.loads(run_python("soc_asic.py"))
    cycles = published("engine.json")
    engine_nj = 1000 * energies["energy.bfv_symmetric.typical.uj"].value
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
        *round_rows(energies, with_memory, core["access_pj"]),
    ]


def rows(*, energy: bool) -> list[Row]:
    area = area_rows()
    if not energy:
        return area
    energies = [*engine_energies(), *published_work()]
    return [*area, *energies, *soc_rows({row.name: row for row in energies})]


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
