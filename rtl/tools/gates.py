# SPDX-License-Identifier: Apache-2.0
"""Simulates a mapped netlist with the delays of its cells and counts its toggles (rtl/harness/gates.c).

Thousands of cycles of 200,000 cells take minutes, where Icarus Verilog takes as long to read the netlist. In
return it is no Verilog: one clock, flops without reset pins in use, and inputs as values for each cycle.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path

import netlist
import power
from liberty import Cell
from netlist import Instance, Net, Netlist

from tools import RTL, run

SLOTS = 65536
"""Slots of gates.c: ps that a delay must stay below."""
MACRO_DELAY_PS = 4500
"""memories.DELAY."""


def _net(net: Net) -> int:
    """Nets 0 and 1 are the constants."""
    return net if isinstance(net, int) else int(net == "1")


def _delay(ns: float) -> int:
    ps = max(round(1000 * ns), 1)
    if ps >= SLOTS:
        raise ValueError(f"a cell with a delay of {ns:.0f} ns: too long.")
    return ps


def _kind(cell: Cell) -> str:
    if cell.macro:
        return "macro"
    return "clock gate" if cell.gate else "flop" if cell.flop else "latch" if cell.latch else "gate"


class _Writer:
    def __init__(self, cells: Netlist, clock: str) -> None:
        self.cells = cells
        self.delays = netlist.propagate(cells)[1]
        (self.root,) = cells.inputs[clock]
        self.clock = clock
        kinds: dict[str, list[Instance]] = {
            kind: [] for kind in ("gate", "latch", "flop", "clock gate", "macro")
        }
        for instance in cells.instances:
            kinds[_kind(instance.cell)].append(instance)
        self.kinds = kinds
        self.gated = {instance.nets["GCLK"]: i for i, instance in enumerate(kinds["clock gate"])}

    def clock_of(self, net: Net) -> int:
        """-1: the root. Raises ValueError if it is neither that nor gated from it."""
        if net == self.root:
            return -1
        if net not in self.gated:
            raise ValueError(f"{self.cells.top}: a clock is neither {self.clock} nor gated from it.")
        return self.gated[net]

    def lines(self) -> Iterator[str]:
        ports = [bits for name, bits in self.cells.inputs.items() if name != self.clock]
        inputs = [_net(bit) for bits in ports for bit in bits]
        outputs = [_net(bit) for bits in self.cells.outputs.values() for bit in bits]
        gates = [line for instance in self.kinds["gate"] for line in self.gate(instance)]
        gates += [self.latch(instance) for instance in self.kinds["latch"]]
        counts = [len(self.kinds[kind]) for kind in ("flop", "clock gate", "macro")]
        used = (_net(net) for instance in self.cells.instances for net in instance.nets.values())
        nets = 1 + max([1, *inputs, *outputs, *used])
        yield " ".join(map(str, [nets, len(gates), *counts, len(inputs), len(outputs)]))
        yield from gates
        yield from (self.flop(instance) for instance in self.kinds["flop"])
        for instance in self.kinds["clock gate"]:
            yield f"{_net(instance.nets['GCLK'])} {_net(instance.nets['GATE'])}"
        for instance in self.kinds["macro"]:
            yield from self.macro(instance)
        yield " ".join(map(str, inputs))
        yield " ".join(map(str, outputs))

    def gate(self, instance: Instance) -> Iterator[str]:
        for pin in instance.outputs():
            function = instance.cell.pins[pin].function
            assert function is not None
            if function.pins:
                rows = product((False, True), repeat=len(function.pins))
                values = [function.value(dict(zip(function.pins, row[::-1], strict=True))) for row in rows]
            else:
                values = [function.verilog == "1"]
            truth = sum(1 << row for row, one in enumerate(values) if one)
            ins = " ".join(str(_net(instance.nets[name])) for name in function.pins)
            net = instance.nets[pin]
            yield f"{_net(net)} {_delay(self.delays[net])} {len(function.pins)} {ins} {truth:x}"

    def resets(self, instance: Instance) -> bool:
        """Whether a flip-flop is reset by a pin that is not tied."""
        reset = instance.nets.get("RESET_B", "1")
        driver = self.cells.drivers.get(reset)
        high = driver[0].cell.pins[driver[1]].function if driver else None
        return not (reset == "1" or (high and high.verilog == "1"))

    def latch(self, instance: Instance) -> str:
        """Model a latch as a gate with its own output as an input: it passes data while its clock is high."""
        latch = instance.cell.latch
        assert latch is not None
        (q,) = instance.outputs()
        enable, data = (instance.nets.get(latch.text(key), "0") for key in ("enable", "data_in"))
        if enable not in self.gated or self.resets(instance):
            raise ValueError(f"{instance.name}: a latch with more than a gated clock and data.")
        net = instance.nets[q]
        return f"{_net(net)} {_delay(self.delays[net])} 3 {_net(data)} {_net(enable)} {_net(net)} b8"

    def flop(self, instance: Instance) -> str:
        flop = instance.cell.flop
        assert flop is not None
        (q,) = instance.outputs()
        if flop.text("next_state") != "D" or self.resets(instance):
            raise ValueError(f"{instance.name}: a flop with more than a clock and data.")
        net, nets = instance.nets[q], instance.nets
        return f"{_net(net)} {_delay(self.delays[net])} {_net(nets['D'])} {self.clock_of(nets['CLK'])}"

    def macro(self, instance: Instance) -> Iterator[str]:
        names = sorted({pin[0] for pin in instance.cell.pins if pin[1:] == "_CLK"})
        address = sum(1 for pin in instance.cell.pins if pin.startswith("A_ADDR["))
        bits = sum(1 for pin in instance.cell.pins if pin.startswith("A_DIN["))
        yield f"{1 << address} {bits} {address} {len(names)}"
        for name in names:
            nets = [instance.nets.get(f"{name}_{pin}", "0") for pin in ("MEN", "WEN", "REN")]
            clock = instance.nets.get(f"{name}_CLK", "0")
            used = clock in (self.root, *self.gated)
            line = [self.clock_of(clock) if used else -1, *(_net(net) if used else 0 for net in nets)]
            line.append(MACRO_DELAY_PS)
            for bus, width in (("ADDR", address), ("DIN", bits), ("BM", bits)):
                line += [_net(instance.nets.get(f"{name}_{bus}[{bit}]", "0")) for bit in range(width)]
            outs = [instance.nets.get(f"{name}_DOUT[{bit}]", "x") for bit in range(bits)]
            line += [net if isinstance(net, int) else -1 for net in outs]
            yield " ".join(map(str, line))


def _bits(value: int, width: int) -> str:
    return f"{value:0{width}b}"[::-1]


def simulate(
    cells: Netlist,
    directory: Path,
    stimulus: Iterable[Mapping[str, int]],
    windows: Sequence[tuple[int, int]],
    clock_ns: float,
    clock: str = "clk_i",
) -> tuple[Iterator[dict[str, int]], list[power.Activity]]:
    """The outputs at the end of each cycle, as an iterator, and the activity in each window: in the cycles
    from its first up to its second number. Windows are in order, and do not overlap.

    stimulus: the inputs' values, cycle by cycle; an input that is not named is 0.
    """
    writer = _Writer(cells, clock)
    files = {name: directory / f"gates.{name}" for name in ("netlist", "stimulus", "outputs", "counts")}
    files["netlist"].write_text("\n".join(writer.lines()) + "\n", encoding="ascii")
    widths = {name: len(bits) for name, bits in cells.inputs.items() if name != clock}
    lines = ("".join(_bits(now.get(name, 0), width) for name, width in widths.items()) for now in stimulus)
    with files["stimulus"].open("w", encoding="ascii") as file:
        file.writelines(f"{line}\n" for line in lines)
    program = directory / "gates"
    run(["gcc", "-std=c11", "-O2", RTL / "harness/gates.c", "-o", program], directory / "gcc.log")
    period = round(1000 * clock_ns)
    names = (files["netlist"], files["stimulus"], str(period), files["outputs"], files["counts"])
    borders = (str(border) for window in windows for border in window)
    run([program, *names, *borders], directory / "gates.log", timeout=14400)
    counts = files["counts"].read_text(encoding="ascii").splitlines()
    lines = len(counts) // len(windows)
    return _outputs(cells, files["outputs"]), [
        _activity(writer, counts[lines * i : lines * (i + 1)], end - start, clock_ns)
        for i, (start, end) in enumerate(windows)
    ]


def _outputs(cells: Netlist, path: Path) -> Iterator[dict[str, int]]:
    with path.open(encoding="ascii") as lines:
        for line in lines:
            at, values = 0, {}
            for name, bits in cells.outputs.items():
                values[name] = int(line[at : at + len(bits)][::-1], 2)
                at += len(bits)
            yield values


def _activity(writer: _Writer, counts: Sequence[str], cycles: int, clock_ns: float) -> power.Activity:
    macros = writer.kinds["macro"]
    ports = sum(1 for instance in macros for pin in instance.cell.pins if pin[1:] == "_CLK")
    nets: dict[Net, power.Toggles] = {}
    for net, line in enumerate(counts[: len(counts) - ports]):
        rises, falls, high = (int(part) for part in line.split())
        if rises or falls or high:
            nets[net] = power.Toggles(rises, falls, high / (1000 * clock_ns * cycles))
    nets[writer.root] = power.Toggles(cycles, cycles, 0.5)
    states: dict[tuple[Net, ...], Counter[tuple[bool, ...]]] = {}
    lines = iter(counts[len(counts) - ports :])
    for instance in macros:
        for port in sorted({pin[0] for pin in instance.cell.pins if pin[1:] == "_CLK"}):
            seen = [int(part) for part in next(lines).split()]
            pin = f"{port}_CLK"
            watched = power.watched_pins(instance, pin)
            place = {f"{port}_{name}": bit for bit, name in enumerate(("MEN", "WEN", "REN"))}
            counter: Counter[tuple[bool, ...]] = Counter()
            for state, count in enumerate(seen):
                if count:
                    counter[tuple(bool(state >> place[name] & 1) for name in watched)] += count
            states[tuple(instance.nets[name] for name in (pin, *watched))] = counter
    return power.Activity(cycles * clock_ns, nets, states)
