#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The client engine's bench: cycles of whole encryptions and decryptions, from simulation, and its memory.

`make bench-rtl` runs rtl/client at n = 4096 with three 26-bit primes and 8 butterflies under Verilator,
compares its bytes with the C library's, and writes bench/results/engine.json. Latency is from the command to
the last word out, with keys and tables resident and a value a cycle; pace is the longest time from last word
to last word, back to back.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import zero
from hardware import ROOT, BenchError, run_python
from rich.console import Console
from rich.table import Table

from bench.rows import Row, write_results

GOALS = {
    "symmetric": {"pace": 12_300, "latency": 17_500},
    "public": {"pace": 33_500, "latency": 36_500},
    "decrypt": {"pace": 22_000, "latency": 25_500},
}
COLD_START = 60_000
"""From reset to the last word of a symmetric BFV ciphertext."""
SPEEDUP = 300
"""At least so many times as fast with the engine."""
LIMITS = {
    "symmetric": 10_040,
    "public": 27_648,
    "decrypt": 20_040,
    "shake_symmetric": 40_944,
    "tagged_symmetric": 93_018,
    "tagged_public": 185_592,
    "coefficients_symmetric": 18_432,
    "coefficients_public": 27_648,
}
"""What bounds the pace: words out, butterflies, words in, Keccak's rounds and words, 37 cycles for 16 hashed
bytes."""
CKKS = {"slots": "real", "numbers": "binary32"}
"""Those of CKKS, which have no goal."""


def rows() -> list[Row]:
    """The default pipeline's cycles under the plain names, those of the others with theirs."""
    taken = json.loads(run_python("client_bench.py"))
    ckks = CKKS | {"log2_scale": taken["log2_scale"]}
    found = []
    for pipeline, jobs in taken["cycles"].items():
        for job, times in jobs.items():
            for what, cycles in times.items():
                bound = {"ciphertexts": taken["ciphertexts"], "bound": LIMITS[job.removeprefix("ckks_")]}
                params = {
                    "set": taken["set"],
                    **(ckks if job.startswith("ckks_") else {"t": taken["t"]}),
                    "units": 8,
                    "other_multipliers": 4,
                    "pipeline": pipeline,
                    "kind": "simulated",
                    **({"goal": GOALS[job][what]} if job in GOALS else {}),
                    **(bound if what == "pace" else {}),
                }
                name = (
                    f"engine.{job}.{what}.cycles"
                    if pipeline == "deep"
                    else f"engine.{job}.{what}.{pipeline}.cycles"
                )
                found.append(Row(name, cycles, "cycles", params))
    return [*found, *cold_rows(taken), *soc_rows(taken), *session_rows(taken)]


def cold_rows(taken: dict[str, Any]) -> list[Row]:
    """From the reset of the chip to the last word of its first ciphertext that leaves it: wipe, tables, keys,
    random words that are tested, readings and all of the driver; no table is in memory."""
    found = []
    for name, times in taken["cold"].items():
        params = {
            "set": taken["set"],
            **({"t": taken["t"]} if "ckks" not in name else {"log2_scale": taken["soc_log2_scale"]}),
            "units": 8,
            "pipeline": "deep",
            "kind": "simulated",
            "commands_at": times["taken"],
            "firmware_bytes": times["firmware_bytes"],
            "software": times["software"],
            **({"goal": COLD_START} if name == "" else {}),
            **({"key": "in the engine's form"} if "public" in name else {}),
        }
        found.append(Row(f"engine.cold_start.{name}cycles", times["cycles"], "cycles", params))
    return found


def soc_rows(taken: dict[str, Any]) -> list[Row]:
    """Firmware on a PicoRV32: one encryption through the engine, and in software on the same core."""
    cycles = taken["soc"]
    chip = {
        "set": taken["set"],
        "core": "PicoRV32 (RV32IMC, fast multiplier, barrel shifter, no wait states)",
        "firmware": f"{riscv_compiler()} -O2, CM_CONFIG_PRESET_FAST, whole polynomials",
        "kind": "simulated",
    }
    core = {**chip, "t": taken["t"]}
    ckks = {**chip, "slots": "real", "log2_scale": taken["soc_log2_scale"]}
    one = {**ckks, "primes_of_the_ciphertext": 1}
    return [
        Row(
            "soc.speedup",
            round(cycles["software"] / cycles["engine"], 1),
            "ratio",
            {**core, "goal": SPEEDUP},
            better="more",
        ),
        Row("soc.engine.cycles", cycles["engine"], "cycles", {**core, "units": 8, "pipeline": "deep"}),
        Row("soc.engine.first.cycles", cycles["first"], "cycles", {**core, "loads": "tables and key"}),
        Row("soc.software.cycles", cycles["software"], "cycles", core),
        *(
            Row(f"soc.decryption.{how}.cycles", cycles[f"decryption.{how}"], "cycles", core)
            for how in ("engine", "software")
        ),
        *(
            Row(f"soc.ckks.{what}{how}.cycles", cycles[f"ckks.{what}{how}"], "cycles", params)
            for what, params in (("", ckks), ("decryption.", one))
            for how in ("engine", "software")
        ),
    ]


def session_rows(taken: dict[str, Any]) -> list[Row]:
    """A client-aided round on the chip: the mean of a session's, whose first message and last result make one
    round more, as in demo_client_aided's rows of the Cortex-M4."""
    session = taken["session"]
    found = []
    for chip in ("engine", "software"):
        phases = {phase: round(cycles / session["rounds"]) for phase, cycles in session[chip].items()}
        params = {
            "set": taken["set"],
            "t": taken["t"],
            "scheme": "BFV",
            "layers": session["layers"],
            "rounds": session["rounds"],
            "utterances_a_ciphertext": session["vectors"],
            "kind": "simulated",
            "slots_are_encoded_by": "the core",
            "phases": phases,
            "result_bytes": session["result_bytes"],
            **({"firmware_bytes": session["firmware_bytes"]} if chip == "engine" else {}),
            "compiler": f"{riscv_compiler()} -O2, CM_CONFIG_PRESET_FAST",
        }
        found.append(Row(f"round.{chip}.cycles", sum(phases.values()), "cycles", params))
    return found


def riscv_compiler() -> str:
    said = subprocess.run(
        ["riscv64-unknown-elf-gcc", "-dumpfullversion"], capture_output=True, text=True, check=True
    )
    return f"gcc {said.stdout.strip()}"


def memory_rows() -> list[Row]:
    """Bits of memory, from the elaborated design."""
    bits = json.loads(run_python("client_memory.py"))
    params = {"set": "n4096_q26x3_p27", "units": 8, "kind": "elaborated"}
    return [Row("engine.sram_bits.used", bits["used"], "bits", params)]


def show(found: list[Row], console: Console) -> None:
    table = Table(title="The client engine", title_justify="left")
    for column in ("figure", "value", "goal"):
        table.add_column(column, justify="left" if column == "figure" else "right")
    for row in found:
        goal = row.params.get("goal")
        table.add_row(row.name, f"{row.value:,}", f"{goal:,}" if goal else "")
    console.print(table)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--results", type=Path, default=ROOT / "bench/results/engine.json")
    options = parser.parse_args()
    try:
        found = [*rows(), *memory_rows(), *zero.rows()]
    except BenchError as error:
        print(error, file=sys.stderr)
        return 1
    show(found, Console())
    write_results(options.results, "make bench-rtl", run_python("versions.py", "verilator").strip(), found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
