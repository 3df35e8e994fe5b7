# SPDX-License-Identifier: Apache-2.0
"""Zero encryptions by the measure of Das, van der Hagen et al. (docs/client-engine.md): rows of
bench/rtl/client.py and bench/rtl/area_energy.py."""

from __future__ import annotations

import json

from hardware import ROOT, run_python

from bench.rows import Row

GOAL = 40_960
PAPER = {"zero_encryption": 49_243, "delta_m_decryption": 30_773}
BOUNDS = {"zero_encryption": 39_936, "delta_m_decryption": 26_624}
"""Butterflies and products over six, at n = 4096 and three primes, without the first stage of u."""


ASIC = ROOT / "bench/results/rtl-asic.json"
MAPPED = "engine.zero_encryption.u6.sg13g2"


def sg13g2_rows() -> list[Row]:
    """Area and slack on standard cells, for bench/rtl/area_energy.py."""
    found = json.loads(run_python("zero_energy.py"))
    params = {
        "library": "IHP SG13G2",
        "corner": "typical, 1.2 V, 25 C",
        "layout": "before",
        "clock_ns": found["clock_ns"],
        "wire_load": found["wire_load"],
        "pipeline": "deep",
        "kind": "synthesis",
    }
    return [
        Row(f"{MAPPED}.kge", round(found["kge"], 1), "kGE", {**params, "by_module": found["by_module"]}),
        Row(
            f"{MAPPED}.sram_bits.macro",
            found["sram_bits_macro"],
            "bits",
            {**params, "macros": found["macros"]},
        ),
        Row(f"{MAPPED}.slack", found["slack_ns"], "ns", {**params, "kind": "timing"}),
    ]


def clock_mhz() -> float | None:
    """Return OpenSTA's clock for the deep pipeline, if it has been mapped."""
    mapped = {row["name"]: row for row in json.loads(ASIC.read_text(encoding="utf-8"))["rows"]}
    slack = mapped.get(f"{MAPPED}.slack")
    return round(1000 / (slack["params"]["clock_ns"] - slack["value"]), 1) if slack else None


def rows() -> list[Row]:
    """The default pipeline's cycles under the plain names, those of the short one with its name."""
    taken = json.loads(run_python("zero.py"))
    found, clock = [], clock_mhz()
    for pipeline, jobs in taken["cycles"].items():
        for job, cycles in jobs.items():
            params = {
                "n": taken["n"],
                "primes": taken["primes"],
                "width": taken["width"],
                **taken["counts"][pipeline],
                "pipeline": pipeline,
                "kind": "simulated",
                "from": "start, with keys, errors and u in memory",
                "to": "end, with the result in memory",
                "bound": BOUNDS[job],
                "paper": PAPER[job],
                **({"sg13g2_clock_mhz": clock} if clock and pipeline == "deep" else {}),
                **({"goal": GOAL} if job == "zero_encryption" else {}),
            }
            name = f"engine.{job}.u6{'' if pipeline == 'deep' else f'.{pipeline}'}.cycles"
            found.append(Row(name, cycles, "cycles", params))
    return found
