#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A whole client engine, placed and routed.

`make rtl-route` maps cm_client_axi for n = 4096 with two butterflies, three primes, either key, BFV and CKKS,
SHAKE256 and tags, places and routes it on an ECP5-85 of the slowest grade, and packs a bitstream
(rtl/tools/route.py). It writes the rows `ecp5.engine.*` of bench/results/rtl-synth.json and leaves the others
as they are. It takes an hour or so of one core.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from hardware import ROOT, BenchError, run_python
from rich.console import Console
from synthesis import ROUTED, show

from bench.rows import Row

CONFIGURATION = "n4096_u2_p3_deep"
UNITS = {
    "lut": "LUT",
    "ff": "FF",
    "dsp": "DSP",
    "bram": "blocks",
    "pins": "pins",
    "fmax_mhz": "MHz",
    "mapped_lut": "LUT",
    "seconds": "s",
    "bitstream": "bytes",
}


def rows_of(figures: dict[str, float]) -> list[Row]:
    """lut: cells as the router counts them, with carries and distributed memories; mapped_lut: before it."""
    params = {
        "command": "make rtl-route",
        "configuration": CONFIGURATION,
        "device": "LFE5U-85F-6, CABGA756, every port on a pin that the tool chose",
        "kind": "place and route",
        "goal_mhz": 50,
    }
    return [
        Row(f"{ROUTED}{kind}", value, UNITS[kind], params, timed=kind == "seconds")
        for kind, value in figures.items()
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--results", type=Path, default=ROOT / "bench/results/rtl-synth.json")
    options = parser.parse_args()
    try:
        rows = rows_of(json.loads(run_python("route.py", CONFIGURATION, "--nice")))
    except BenchError as error:
        print(error, file=sys.stderr)
        return 1
    show(rows, Console())
    merge(options.results, rows)
    return 0


def merge(results: Path, rows: list[Row]) -> None:
    """Replace the routed rows of a file."""
    content = json.loads(results.read_text(encoding="utf-8"))
    others = [row for row in content["rows"] if not row["name"].startswith(ROUTED)]
    content["rows"] = [*others, *(vars(row) for row in rows)]
    results.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
