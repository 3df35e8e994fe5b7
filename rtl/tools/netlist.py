# SPDX-License-Identifier: Apache-2.0
"""A mapped netlist: its cells, what loads each net, the delays and slews before layout, and a model of it for
simulation.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict, deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from liberty import Arc, Cell, WireLoad

Net = int | str
"""A net's number, or "0" or "1"."""
SLEW_NS = 0.1
"""Slew of inputs and of the clock, which no cell of the netlist drives."""
UNITS = "timescale 1ps/1ps"


@dataclass(frozen=True)
class Instance:
    name: str
    cell: Cell
    nets: Mapping[str, Net]

    @property
    def path(self) -> str:
        """The instance that it is in, as a.b; empty in the top module."""
        found = re.match(r"(?:\$flatten)?\\?((?:[A-Za-z_][\w\[\]]*\.)*)", self.name)
        return found[1].rstrip(".") if found else ""

    def outputs(self) -> Iterator[str]:
        return (pin for pin, known in self.cell.pins.items() if known.output and pin in self.nets)

    def inputs(self) -> Iterator[str]:
        return (pin for pin, known in self.cell.pins.items() if not known.output and pin in self.nets)


@dataclass
class Netlist:
    """inputs and outputs: ports by name, lowest bit first."""

    top: str
    inputs: dict[str, list[Net]]
    outputs: dict[str, list[Net]]
    instances: list[Instance]
    wire_load: WireLoad

    @cached_property
    def sinks(self) -> dict[Net, list[tuple[Instance, str]]]:
        found: dict[Net, list[tuple[Instance, str]]] = defaultdict(list)
        for instance in self.instances:
            for pin in instance.inputs():
                found[instance.nets[pin]].append((instance, pin))
        return found

    @cached_property
    def loads(self) -> dict[Net, float]:
        """pF on each net: pins of cells and the wire load, which counts a port as a sink."""
        ports: dict[Net, int] = defaultdict(int)
        for bits in self.outputs.values():
            for net in bits:
                ports[net] += 1
        loads = {}
        for net in self.sinks.keys() | ports.keys() | set(self.drivers):
            pins = self.sinks.get(net, [])
            wire = self.wire_load.of(len(pins) + ports[net])
            loads[net] = sum(instance.cell.pins[pin].capacitance for instance, pin in pins) + wire
        return loads

    @cached_property
    def drivers(self) -> dict[Net, tuple[Instance, str]]:
        return {
            instance.nets[pin]: (instance, pin) for instance in self.instances for pin in instance.outputs()
        }

    @cached_property
    def order(self) -> list[Instance]:
        """Cells, each after those that drive its combinational arcs. Raises ValueError if they form a
        loop."""
        waits: dict[int, int] = {}
        users: dict[Net, list[Instance]] = defaultdict(list)
        for instance in self.instances:
            sources = {instance.nets.get(pin) for pin in _combinational(instance.cell)} & self.drivers.keys()
            waits[id(instance)] = len(sources)
            for net in sources:
                users[net].append(instance)
        ready = deque(instance for instance in self.instances if waits[id(instance)] == 0)
        found = []
        while ready:
            instance = ready.popleft()
            found.append(instance)
            for pin in instance.outputs():
                for user in users.pop(instance.nets[pin], []):
                    waits[id(user)] -= 1
                    if waits[id(user)] == 0:
                        ready.append(user)
        if len(found) != len(self.instances):
            raise ValueError(f"{self.top}: its combinational cells form a loop.")
        return found


def _combinational(cell: Cell) -> set[str]:
    return {arc.related for pin in cell.pins.values() for arc in pin.arcs if not arc.edge}


def read(path: Path, top: str, cells: Mapping[str, Cell], wire_load: WireLoad) -> Netlist:
    """Read the output of Yosys's write_json. Raises KeyError for a cell that the library lacks."""
    module = json.loads(path.read_text(encoding="utf-8"))["modules"][top]
    ports = {way: {} for way in ("input", "output")}
    for name, port in module["ports"].items():
        ports[port["direction"]][name] = port["bits"]
    instances = []
    for name, found in module["cells"].items():
        cell = cells[found["type"]]
        nets: dict[str, Net] = {}
        for pin, bits in found["connections"].items():
            if pin in cell.pins:
                nets[pin] = bits[0]
            else:
                nets |= {f"{pin}[{bit}]": net for bit, net in enumerate(bits)}
        instances.append(Instance(name, cell, nets))
    return Netlist(top, ports["input"], ports["output"], instances, wire_load)


# --- timing before layout ---------------------------------------------------------------------------------

Slew = tuple[float, float]
"""Slew of a rising and of a falling transition, ns."""


def _from(arc: Arc, slew: Slew) -> tuple[list[float], list[float]]:
    """The slews at the arc's input that give a rising and a falling output."""
    if arc.edge or arc.sense == "positive_unate":
        return ([slew[0]], [slew[0] if arc.edge else slew[1]])
    if arc.sense == "negative_unate":
        return ([slew[1]], [slew[0]])
    return (list(slew), list(slew))


def propagate(netlist: Netlist) -> tuple[dict[Net, Slew], dict[Net, float]]:
    """The slews of each driven net and the delay of the cell that drives it, ns: the worst of its arcs."""
    slews: dict[Net, Slew] = {}
    delays: dict[Net, float] = {}
    for instance in netlist.order:
        for pin in instance.outputs():
            net = instance.nets[pin]
            load = netlist.loads[net]
            worst, delay = [0.0, 0.0], 0.0
            for arc in instance.cell.pins[pin].arcs:
                entering = _from(arc, slews.get(instance.nets.get(arc.related, "0"), (SLEW_NS, SLEW_NS)))
                for edge in (0, 1):
                    slew_table, delay_table = arc.slew[edge], arc.delay[edge]
                    for slew in entering[edge]:
                        if slew_table:
                            worst[edge] = max(worst[edge], slew_table.at(slew, load))
                        if delay_table:
                            delay = max(delay, delay_table.at(slew, load))
            slews[net] = (worst[0], worst[1])
            delays[net] = delay
    return slews, delays


# --- the model for simulation -----------------------------------------------------------------------------


def _name(net: Net) -> str:
    return f"n{net}" if isinstance(net, int) else f"1'b{0 if net == 'x' else net}"


def _delay(ns: float) -> str:
    return f"#{max(round(1000 * ns), 1)} "


def _expression(verilog: str, instance: Instance, internal: Mapping[str, str]) -> str:
    def named(found: re.Match[str]) -> str:
        return internal.get(found[0]) or _name(instance.nets[found[0]])

    return re.sub(r"[A-Za-z_]\w*(?:\[\d+\])?", named, verilog)


def _flop(instance: Instance, number: int, delays: Mapping[Net, float]) -> Iterator[str]:
    from liberty import function

    cell, flop = instance.cell, instance.cell.flop
    assert flop is not None
    state = f"s{number}"
    clock, following = (
        _expression(function(flop.text(key)).verilog, instance, {flop.arguments[0]: state})
        for key in ("clocked_on", "next_state")
    )
    yield f"  reg {state} = 1'b0; wire c{number} = {clock};"
    clear = flop.text("clear")
    if clear:
        level = _expression(function(clear).verilog, instance, {})
        constant = not any(isinstance(instance.nets[pin], int) for pin in function(clear).pins)
        clear = "" if constant else level
    if clear:
        yield f"  wire r{number} = {clear};"
        yield f"  always @(posedge c{number} or posedge r{number}) {state} <= r{number} ? 1'b0 : {following};"
    else:
        yield f"  always @(posedge c{number}) {state} <= {following};"
    names = {flop.arguments[0]: state, flop.arguments[1]: f"~{state}"}
    for pin in instance.outputs():
        known = cell.pins[pin].function
        assert known is not None
        net = instance.nets[pin]
        delay = _delay(delays[net])
        yield f"  assign {delay}{_name(net)} = {_expression(known.verilog, instance, names)};"


def _latch(instance: Instance, number: int, delays: Mapping[Net, float]) -> Iterator[str]:
    """Open while its enable is high."""
    from liberty import function

    latch = instance.cell.latch
    assert latch is not None
    enable, data = (
        _expression(function(latch.text(key)).verilog, instance, {}) for key in ("enable", "data_in")
    )
    (net,) = (instance.nets[pin] for pin in instance.outputs())
    yield f"  reg s{number} = 1'b0; always @* if ({enable}) s{number} = {data};"
    yield f"  assign {_delay(delays[net])}{_name(net)} = s{number};"


def _clock_gate(instance: Instance, number: int) -> Iterator[str]:
    """A latch, open while the clock is low, and an AND; without delay: the clock has none before layout."""
    clock, enable = (_name(instance.nets[pin]) for pin in ("CLK", "GATE"))
    yield f"  reg s{number} = 1'b0; always @* if (!{clock}) s{number} = {enable};"
    for pin in instance.outputs():
        yield f"  assign {_name(instance.nets[pin])} = {clock} & s{number};"


def _macro(instance: Instance, number: int) -> str:
    buses: dict[str, dict[int, Net]] = defaultdict(dict)
    for pin, net in instance.nets.items():
        bus, _, bit = pin.partition("[")
        buses[bus][int(bit.rstrip("]") or 0)] = net
    ports = ", ".join(
        f".{bus}({{{', '.join(_name(bits[bit]) for bit in sorted(bits, reverse=True))}}})"
        for bus, bits in buses.items()
    )
    return f"  {instance.cell.name} m{number} ({ports});"


def simulation_model(netlist: Netlist, delays: Mapping[Net, float]) -> str:
    """Verilog with the ports of the design and a wire n<number> for each net, each cell by its function.

    delays: of each net's driver, ns, rounded to picoseconds; so glitches are simulated. Flops start at 0,
    where silicon would start at random.
    """
    ports = [f"input wire [{len(bits) - 1}:0] {name}" for name, bits in netlist.inputs.items()]
    ports += [f"output wire [{len(bits) - 1}:0] {name}" for name, bits in netlist.outputs.items()]
    lines = [f"`{UNITS}", f"module {netlist.top} ({', '.join(ports)});"]
    driven = {net for instance in netlist.instances for net in instance.nets.values() if isinstance(net, int)}
    driven |= {
        net for bits in (netlist.inputs | netlist.outputs).values() for net in bits if isinstance(net, int)
    }
    lines += [f"  wire n{net};" for net in sorted(driven)]
    for name, bits in netlist.inputs.items():
        lines += [f"  assign {_name(net)} = {name}[{bit}];" for bit, net in enumerate(bits)]
    for number, instance in enumerate(netlist.instances):
        if instance.cell.macro:
            lines.append(_macro(instance, number))
        elif instance.cell.gate:
            lines += _clock_gate(instance, number)
        elif instance.cell.flop:
            lines += _flop(instance, number, delays)
        elif instance.cell.latch:
            lines += _latch(instance, number, delays)
        else:
            for pin in instance.outputs():
                known, net = instance.cell.pins[pin].function, instance.nets[pin]
                assert known is not None
                expression = _expression(known.verilog, instance, {})
                if not known.pins:
                    expression = f"1'b{known.verilog}"
                delay = _delay(delays[net]) if known.pins else ""
                lines.append(f"  assign {delay}{_name(net)} = {expression};")
    for name, bits in netlist.outputs.items():
        lines.append(f"  assign {name} = {{{', '.join(_name(net) for net in reversed(bits))}}};")
    return "\n".join([*lines, "endmodule", ""])
