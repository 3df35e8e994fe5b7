# SPDX-License-Identifier: Apache-2.0
"""Area, timing and the energy of one transform of a named cm_ntt_engine on the open library.

    CIPHERMOTE_PDK=<folder> python3 rtl/tools/transform_energy.py n1024_u8

prints asic.Report as JSON. The transform is of random residues modulo a random prime of full width, and its
result is compared with an independent one.
"""

from __future__ import annotations

import json
import random
import re
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

import asic

from tools import ENGINE_SOURCES, RTL, ToolError, configurations

sys.path.insert(0, str(RTL / "tests"))
from golden import Montgomery, Ring, random_prime

TOP = "cm_ntt_engine"
APART = ("cm_butterfly", "cm_ram", "cm_ntt_control")


def _write(path: Path, words: list[int]) -> Path:
    path.write_text("".join(f"{word:x}\n" for word in words), encoding="ascii")
    return path


def simulate(
    mapped: asic.Mapped, parameters: Mapping[str, int], seed: int, delays: bool = True
) -> tuple[Path, int]:
    """The dump of a transform, and its cycles from the start of the job to its end."""
    rng = random.Random(seed)
    log2_n, width = parameters["LOG2_N"], parameters["WIDTH"]
    ring = Ring(random_prime(rng, log2_n, width), log2_n)
    words = [rng.randrange(ring.q) for _ in range(ring.n)]
    dump = mapped.directory / "transform.vcd"
    files = {
        "twiddles": ring.twiddles(Montgomery(width, log2_n).r),
        "words": words,
        "expected": ring.forward(words),
    }
    said = asic.simulate(
        mapped,
        [RTL / "harness/energy.sv"],
        "energy",
        [
            *(f"+{name}={_write(mapped.directory / name, content)}" for name, content in files.items()),
            *(f"+q={ring.q}", f"+dump={dump}"),
        ],
        {
            **{name: parameters[name] for name in ("LOG2_N", "WIDTH", "LOG2_LANES")},
            "PERIOD_PS": round(1000 * mapped.clock_ns),
        },
        delays,
    )
    found = re.search(r"^cycles (\d+)", said, re.MULTILINE)
    if not found:
        raise ToolError(f"energy.sv ended without a result: {said.strip()[-200:]}")
    return dump, int(found[1])


def measure(parameters: Mapping[str, int], seed: int = 1) -> tuple[asic.Report, int]:
    """The report with the energy of a transform, and its cycles."""
    mapped = asic.synthesise(TOP, ENGINE_SOURCES, parameters, apart=APART)
    dump, cycles = simulate(mapped, parameters, seed)
    report = asic.report(mapped, dump, cycles * mapped.clock_ns)
    dump.unlink()
    return report, cycles


def main() -> int:
    if len(sys.argv) != 2 or sys.argv[1] not in configurations():
        print(f"usage: transform_energy.py {'|'.join(configurations())}", file=sys.stderr)
        return 2
    try:
        report, cycles = measure(configurations()[sys.argv[1]])
    except ToolError as error:
        print(error, file=sys.stderr)
        return 1
    print(json.dumps({**asdict(report), "cycles": cycles}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
