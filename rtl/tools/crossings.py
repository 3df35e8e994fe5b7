# SPDX-License-Identifier: Apache-2.0
"""Checks that whatever crosses from one clock to another is synchronized.

    build/rtl-venv/bin/python rtl/tools/crossings.py

A bit that crosses enters a register with the attribute async_reg, with no logic between the two registers but
a reset of the receiving clock, and leaves it for exactly one other such register. The queues' words are
the exception: the counters that cross tell when they may be read. Exits with 1 and names what is not so.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools import BUILD, EVALUATOR_INCLUDES, EVALUATOR_SOURCES, INCLUDES, RTL, SOURCES, ToolError, run


@dataclass(frozen=True)
class Design:
    """A top with two clocks, its sources, and the parameters to check it with."""

    top: str
    shape: dict[str, int]
    sources: tuple[Path, ...] = tuple(SOURCES)
    includes: tuple[str, ...] = tuple(INCLUDES)


_SMALL = {"LOG2_N": 6, "LOG2_UNITS": 1, "WIDTH": 27, "DEEP": 0}
DESIGNS = {
    "accelerator": Design("cm_ntt_accelerator_two_clocks", {**_SMALL, "LOG2_BEAT": 1}),
    "narrower streams": Design("cm_ntt_accelerator_two_clocks", {**_SMALL, "LOG2_BEAT": 2, "LOG2_STREAM": 0}),
    "evaluator": Design(
        "cm_evaluator_two_clocks",
        {
            **_SMALL,
            "LOG2_BEAT": 1,
            "LOG2_STREAM": 0,
            "LOG2_SLOTS_A": 2,
            "LOG2_SLOTS_B": 2,
            "LOG2_MODULI": 1,
            "LOG2_WEIGHTS": 4,
            "LOG2_PROGRAM": 4,
        },
        tuple(EVALUATOR_SOURCES),
        tuple(EVALUATOR_INCLUDES),
    ),
}
NOT_SYNCHRONIZED = "a crossing of clocks is not synchronized"


@dataclass(frozen=True)
class Crossing:
    """A bit of a register that takes a bit of another clock's."""

    register: str
    source: str
    clock: str


class Netlist:
    """A flattened design: registers, and the logic between them."""

    def __init__(self, module: dict[str, Any]) -> None:
        self.names: dict[int, str] = {}
        self.marked: set[int] = set()
        self.driver: dict[int, dict[str, Any]] = {}
        self.registers: dict[int, dict[str, Any]] = {}
        for name, net in module["netnames"].items():
            for i, bit in enumerate(net["bits"]):
                if name[:1] != "$" or bit not in self.names:
                    self.names[bit] = f"{name}[{i}]" if len(net["bits"]) > 1 else name
                if "async_reg" in net.get("attributes", {}):
                    self.marked.add(bit)
        for cell in module["cells"].values():
            if "CLK" in cell["connections"] and "Q" in cell["connections"]:
                for bit in cell["connections"]["Q"]:
                    self.registers[bit] = cell
            elif cell["type"] not in ("$mem_v2", "$memrd", "$memrd_v2", "$memwr", "$memwr_v2", "$scopeinfo"):
                for port, way in cell["port_directions"].items():
                    if way == "output":
                        self.driver |= dict.fromkeys(cell["connections"][port], cell)
        self.clocks = {bit: self.names[cell["connections"]["CLK"][0]] for bit, cell in self.registers.items()}
        self._known: dict[int, frozenset[int]] = {}

    def inputs(self, register: int) -> set[int]:
        """The wires from which a bit of a register takes its next value."""
        cell = self.registers[register]
        at = cell["connections"]["Q"].index(register)
        wires = {cell["connections"]["D"][at]}
        for port in ("EN", "SRST", "ARST"):
            wires |= set(cell["connections"].get(port, ()))
        return {wire for wire in wires if isinstance(wire, int)}

    def sources(self, wire: int) -> frozenset[int]:
        """The bits of registers on which a wire depends, through logic."""
        stack, seen, found = [wire], {wire}, set()
        if wire in self._known:
            return self._known[wire]
        while stack:
            bit = stack.pop()
            if bit in self.registers:
                found.add(bit)
            elif bit in self.driver:
                cell = self.driver[bit]
                for port, way in cell["port_directions"].items():
                    if way == "input":
                        new = {b for b in self._of(cell, port, bit) if isinstance(b, int)} - seen
                        seen |= new
                        stack += new
        return self._known.setdefault(wire, frozenset(found))

    @staticmethod
    def _of(cell: dict[str, Any], port: str, bit: int) -> list[int]:
        """The bits of an input on which one bit of a cell's output depends."""
        bits = cell["connections"][port]
        bitwise = ("$mux", "$and", "$or", "$xor", "$xnor", "$not")
        output = cell["connections"].get("Y", [])
        if cell["type"] in bitwise and port in "AB" and len(bits) == len(output):
            return [bits[output.index(bit)]]
        return bits


def crossings(netlist: Netlist) -> tuple[list[Crossing], list[str]]:
    """Every bit that crosses, and what is wrong."""
    found, wrong = [], []
    readers: dict[int, set[int]] = defaultdict(set)
    of: dict[int, set[int]] = {}
    for register in netlist.registers:
        of[register] = set().union(*(netlist.sources(wire) for wire in netlist.inputs(register)))
        for source in of[register]:
            readers[source].add(register)
    for register, sources in of.items():
        clock, name = netlist.clocks[register], netlist.names[register]
        foreign = {source for source in sources if netlist.clocks[source] != clock}
        if not foreign:
            continue
        found += [Crossing(name, netlist.names[source], clock) for source in foreign]
        behind = readers[register] - {register}
        if register not in netlist.marked:
            wrong.append(f"{name} takes {', '.join(sorted(netlist.names[s] for s in foreign))}")
        elif len(foreign) > 1:
            wrong.append(f"{name} takes {len(foreign)} bits of another clock")
        elif any(b not in netlist.marked or netlist.clocks[b] != clock for b in behind):
            wrong.append(f"{name}, the first register, has logic behind it")
        elif len(behind) != 1:
            wrong.append(f"{name}, the first register, has {len(behind)} registers behind it")
    return found, wrong


def netlist_of(design: Design, stem: Path) -> Netlist:
    """Raises ToolError if Yosys refuses."""
    values = " ".join(f"-set {key} {value}" for key, value in design.shape.items())
    sources = " ".join(map(str, design.sources))
    run(
        [
            *(sys.executable, RTL / "tools/yosys.py"),
            f"read_verilog -sv -defer {' '.join(design.includes)} {sources}",
            f"chparam {values} {design.top}",
            *(f"hierarchy -check -top {design.top}", "proc", "flatten", "opt_clean"),
            f"write_json {stem.with_suffix('.json')}",
        ],
        stem.with_suffix(".log"),
    )
    return Netlist(json.loads(stem.with_suffix(".json").read_text(encoding="utf-8"))["modules"][design.top])


def check(name: str) -> list[Crossing]:
    """Every crossing of one of DESIGNS; ToolError if one is not synchronized."""
    netlist = netlist_of(DESIGNS[name], BUILD / f"crossings/{name.replace(' ', '-')}")
    found, wrong = crossings(netlist)
    if wrong:
        raise ToolError(f"{name}: {NOT_SYNCHRONIZED}: {'; '.join(sorted(wrong))}")
    return found


def main() -> int:
    try:
        for name in DESIGNS:
            print(f"{name}: {len(check(name))} bits cross, all synchronized")
    except ToolError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
