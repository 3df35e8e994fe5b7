# SPDX-License-Identifier: Apache-2.0
"""Registers that take the same data by turns, a queue's words or settings of a bus, as latches behind a flop.

A latch has little more than half a flop's area. Of flops with gated clocks that share their data, each
becomes a latch, open while its gated clock is high, and one flop in front of them takes the data at every
rising edge. A gated clock is high in the first half of the cycle behind its enable, and all through that
cycle the flop in front holds what the enable was for: so a latch gives what its flop gave, a few gates later,
and nothing races. While it is open, its data changes with the clock's rising edge alone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

FLOP = "$_DFF_P_"
LATCH = "$_DLATCH_P_"
LEAST = 4
"""Latches that are worth a flop in front."""


def cells(latch: str) -> str:
    """From Yosys' latch to the library's: "cell ENABLE:DATA:OUT", and a pin at 1 if there is one, ":PIN"."""
    name, pins = latch.split()
    enable, data, out, *high = pins.split(":")
    tied = "".join(f", .{pin}(1'b1)" for pin in high)
    connected = f".{enable}(E), .{data}(D), .{out}(Q){tied}"
    return f"module \\{LATCH} (input E, D, output Q);\n  {name} u_latch ({connected});\nendmodule\n"


def share(design: dict[str, Any], clock_gate: str) -> int:
    """Puts latches into a design of write_json, whose clocks are gated; how many.

    clock_gate: "cell ENABLE:CLOCK:GATED".
    """
    return sum(_share(module, clock_gate) for module in design["modules"].values())


def _groups(module: dict[str, Any], gated: dict[int, int]) -> Iterator[tuple[int, int, list[dict[str, Any]]]]:
    """Data, clock, and the flops with gated clocks that they have in common."""
    found: dict[tuple[int, int], list[dict[str, Any]]] = defaultdict(list)
    for cell in module["cells"].values():
        pins = cell["connections"]
        if cell["type"] == FLOP and pins["C"][0] in gated and isinstance(pins["D"][0], int):
            found[pins["D"][0], gated[pins["C"][0]]].append(cell)
    for (data, clock), flops in found.items():
        if len(flops) >= LEAST:
            yield data, clock, flops


def _share(module: dict[str, Any], clock_gate: str) -> int:
    kind, pins = clock_gate.split()
    _, clock_pin, gated_pin = pins.split(":")
    gated = {
        cell["connections"][gated_pin][0]: cell["connections"][clock_pin][0]
        for cell in module["cells"].values()
        if cell["type"] == kind
    }
    groups = list(_groups(module, gated))
    buses = [part["connections"].values() for part in module["cells"].values()]
    nets = [bit for bus in buses for bits in bus for bit in bits if isinstance(bit, int)]
    nets += [bit for net in module["netnames"].values() for bit in net["bits"] if isinstance(bit, int)]
    front = max(nets, default=0)
    for data, clock, flops in groups:
        front += 1
        for cell in flops:
            cell["type"] = LATCH
            cell["connections"] = {"E": cell["connections"]["C"], "D": [front], "Q": cell["connections"]["Q"]}
            cell["port_directions"] = {"E": "input", "D": "input", "Q": "output"}
        module["netnames"][f"latched_{data}"] = {"hide_name": 0, "bits": [front], "attributes": {}}
        module["cells"][f"front_{data}"] = {
            "hide_name": 0,
            "type": FLOP,
            "parameters": {},
            "attributes": {},
            "port_directions": {"C": "input", "D": "input", "Q": "output"},
            "connections": {"C": [clock], "D": [data], "Q": [front]},
        }
    return sum(len(flops) for _, _, flops in groups)
