# SPDX-License-Identifier: Apache-2.0
"""Proves that a reset clears every register of a module, whatever it held: by SAT, with Yosys.

A cycle of rst_i, with any other inputs but without keys_stay_i, then cycles with all inputs at 0, as a
cleared neighbour gives them: each register of the design must be 0 then. The list of registers is the
elaborated design's, so that a new one that nothing clears is found. Without the reset, the same must be
refuted.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tools import CLIENT_INCLUDES, CLIENT_SOURCES, ENGINE_SOURCES, RTL, ToolError, run


def _prepared(top: str, parameters: Mapping[str, int]) -> list[str]:
    values = " ".join(f"-set {key} {value}" for key, value in parameters.items())
    sources = " ".join(map(str, [*ENGINE_SOURCES, *CLIENT_SOURCES]))
    return [
        f"read_verilog -sv -defer {' '.join(CLIENT_INCLUDES)} {sources}",
        *([f"chparam {values} {top}"] if values else []),
        f"hierarchy -check -top {top}",
        *("proc", "flatten", "opt_clean"),
    ]


def _registers(module: Mapping[str, Any]) -> dict[str, int]:
    """Bits of the registers, by name. Raises ToolError if one has no name."""
    outputs = {
        bit
        for cell in module["cells"].values()
        if re.fullmatch(r"\$_?(a|s|al)?dff.*", cell["type"])
        for bit in cell["connections"]["Q"]
    }
    found = {
        name: len(net["bits"])
        for name, net in module["netnames"].items()
        if not net["hide_name"] and outputs.issuperset(net["bits"])
    }
    named = {bit for name in found for bit in module["netnames"][name]["bits"]}
    if outputs - named:
        raise ToolError(f"{len(outputs - named)} bits of registers have no name.")
    return found


def prove(
    top: str, cycles: int, parameters: Mapping[str, int], kept: Mapping[str, int | None], directory: Path
) -> None:
    """cycles: behind the reset. kept: what registers hold then if not 0; None: anything, for it is no secret.
    Raises ToolError if a register is not cleared, or if it would be without a reset.
    """
    directory.mkdir(parents=True, exist_ok=True)
    prepared = [*_prepared(top, parameters), f"write_json {directory}/{top}.json"]
    run([sys.executable, RTL / "tools/yosys.py", *prepared], directory / "prepare.log")
    (module,) = json.loads((directory / f"{top}.json").read_text(encoding="utf-8"))["modules"].values()
    registers = _registers(module)
    if unknown := kept.keys() - registers.keys():
        raise ToolError(f"{top} has no register {', '.join(sorted(unknown))}.")
    inputs = {
        name: len(port["bits"]) for name, port in module["ports"].items() if port["direction"] == "input"
    }
    inputs = {name: bits for name, bits in inputs.items() if name not in ("clk_i", "rst_i")}
    nets = module["netnames"]
    free = {bit for name, value in kept.items() if value is None for bit in nets[name]["bits"]}
    values = {name: kept.get(name, 0) for name in registers if not free.issuperset(nets[name]["bits"])}
    quiet = [f"-set-at {step} {name} 0" for step in range(2, cycles + 2) for name in inputs]
    quiet += ["-set-at 1 keys_stay_i 0"] if "keys_stay_i" in inputs else []
    proven = [f"-prove {name} {registers[name]}'h{value:x}" for name, value in values.items()]
    for reset, way in ((1, "-verify"), (0, "-falsify")):
        resets = [f"-set-at {step} rst_i {reset if step == 1 else 0}" for step in range(1, cycles + 2)]
        options = " ".join([f"-seq {cycles + 1}", f"-prove-skip {cycles}", *resets, *quiet, *proven])
        try:
            run(
                [sys.executable, RTL / "tools/yosys.py", *prepared, f"sat {way} -show-regs {options}"],
                directory / f"sat{way}.log",
            )
        except ToolError as error:
            what = "a register keeps what it held" if reset else "nothing is held that a reset would clear"
            raise ToolError(f"Assert failed in {top}: {what}.\n{error}") from None
