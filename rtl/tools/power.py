# SPDX-License-Identifier: Apache-2.0
"""Energy of a mapped netlist from the toggles of a simulation, before layout.

Three parts, as the Liberty User Guide (2017.06, chapter 8) defines them: switching, C V^2 / 2 for a
transition of a net; internal, from the cells' tables by slew and load; leakage over the time. Units: pJ, pF,
ns, nW.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

from liberty import Power
from netlist import SLEW_NS, Instance, Net, Netlist, Slew


@dataclass
class Toggles:
    """Toggles of a net: transitions up and down, and the share of the time that it is 1."""

    rises: float = 0.0
    falls: float = 0.0
    high: float = 0.0


@dataclass
class Activity:
    """Activity of a netlist for some ns. states: how often a macro's control pins had these values at a rise
    of its clock, by the nets (clock, pin, pin, ...)."""

    ns: float
    nets: dict[Net, Toggles]
    states: dict[tuple[Net, ...], Counter[tuple[bool, ...]]] = field(default_factory=dict)

    def of(self, net: Net) -> Toggles:
        if isinstance(net, str):
            return Toggles(high=1.0 if net == "1" else 0.0)
        return self.nets.get(net) or Toggles()


# --- from a simulation ------------------------------------------------------------------------------------


class _Wire:
    __slots__ = ("changed", "falls", "high", "rises", "value")

    def __init__(self) -> None:
        self.rises, self.falls, self.high, self.changed, self.value = 0, 0, 0, -1, "x"

    def before(self, now: int) -> bool:
        """Its value before the time now."""
        return (self.value == "1") != (self.changed == now)


def _header(lines: TextIO) -> tuple[float, dict[Net, str]]:
    """ns of a unit of time, and the code of each net: several nets may share one."""
    codes: dict[Net, str] = {}
    words: list[str] = []
    for line in lines:
        words += line.split()
        while "$end" in words:
            end = words.index("$end")
            command, words = words[:end], words[end + 1 :]
            if command[0] == "$timescale":
                scale = re.fullmatch(r"(\d+)([fpnu])s", "".join(command[1:]))
            elif command[0] == "$var" and command[2] == "1" and re.fullmatch(r"n\d+", command[4]):
                codes[int(command[4][1:])] = command[3]
            elif command[0] == "$enddefinitions":
                if not scale:
                    raise ValueError("a dump without a time scale.")
                return float(scale[1]) * {"f": 1e-6, "p": 1e-3, "n": 1.0, "u": 1e3}[scale[2]], codes
    raise ValueError("a dump without definitions.")


def read_vcd(path: Path, watched: Iterable[tuple[Net, ...]] = (), ns: float | None = None) -> Activity:
    """Toggles of the wires n<number> from the first time in a dump to the last: those of simulation_model().

    ns: only so long. watched: see Activity.states. Raises ValueError if the dump has none of these wires.
    """
    with path.open(encoding="ascii") as lines:
        unit, codes = _header(lines)
        if not codes:
            raise ValueError(f"{path}: no wire of a mapped netlist; simulate what simulation_model() gives.")
        wires = {code: _Wire() for code in codes.values()}
        by_net = {net: wires[code] for net, code in codes.items()}
        clocks: Watched = defaultdict(list)
        states = {}
        for nets in watched:
            states[nets] = Counter[tuple[bool, ...]]()
            clocks[by_net[nets[0]]].append(([by_net[net] for net in nets[1:]], states[nets]))
        first, last = _count(lines, wires, clocks, None if ns is None else round(ns / unit))
    toggles = {}
    for net, wire in by_net.items():
        high = wire.high + (last if wire.value == "1" else 0)
        toggles[net] = Toggles(wire.rises, wire.falls, high / (last - first) if last > first else 0.0)
    return Activity((last - first) * unit, toggles, states)


Watched = dict[_Wire, list[tuple[list[_Wire], Counter[tuple[bool, ...]]]]]


def _count(lines: TextIO, wires: Mapping[str, _Wire], clocks: Watched, most: int | None) -> tuple[int, int]:
    """Counts in the wires; the first time and the last, most units later at most."""
    first, now = -1, 0
    for line in lines:
        value = line[0]
        if value == "#":
            following = int(line[1:])
            if first < 0:
                first = following
            if most is not None and following > first + most:
                return first, first + most
            now = following
        elif value in "01":
            wire = wires.get(line[1:-1])
            if wire is None or wire.value == value:
                continue
            if value == "1":
                wire.high -= now
                if wire.value == "0":
                    wire.rises += 1
                    for others, states in clocks.get(wire, ()):
                        states[tuple(other.before(now) for other in others)] += 1
            elif wire.value == "1":
                wire.high += now
                wire.falls += 1
            wire.value = value
            wire.changed = now
        elif value in "xz" and (wire := wires.get(line[1:-1])) is not None:
            wire.high += now if wire.value == "1" else 0
            wire.value = "x"
    return max(first, 0), now


def uniform(
    netlist: Netlist, clock: Net, cycles: int, period_ns: float, toggles: float, high: float
) -> Activity:
    """Assume the same activity on every net except the clock and constants: transitions per cycle, and the
    share of time at 1."""
    nets: dict[Net, Toggles] = {}
    for net in netlist.loads:
        driver = netlist.drivers.get(net)
        function = driver[0].cell.pins[driver[1]].function if driver else None
        if function is not None and not function.pins:
            nets[net] = Toggles(high=float(function.verilog))
        else:
            nets[net] = Toggles(cycles * toggles / 2, cycles * toggles / 2, high)
    return Activity(cycles * period_ns, {**nets, clock: Toggles(cycles, cycles, 0.5)})


# --- energy -----------------------------------------------------------------------------------------------


@dataclass
class Energy:
    """pJ. outside: to charge the nets that enter from outside, the clock's pins among them."""

    internal: float = 0.0
    switching: float = 0.0
    leakage: float = 0.0
    macros: float = 0.0
    outside: float = 0.0

    @property
    def total(self) -> float:
        return self.internal + self.switching + self.leakage + self.macros + self.outside

    def add(self, other: Energy) -> None:
        for part in ("internal", "switching", "leakage", "macros", "outside"):
            setattr(self, part, getattr(self, part) + getattr(other, part))


Chance = Callable[[Power], float]
"""Chance of the state in which a table holds."""


def _weights(groups: list[Power], chance: Chance, *, sensitizing: bool) -> list[float]:
    """The share of each table: by its condition's chance; without a condition, what the others leave.

    sensitizing: the conditions are those in which the output follows the input, so one of them held.
    """
    conditional = [chance(group) if group.when else 0.0 for group in groups]
    total = sum(conditional)
    plain = sum(1 for group in groups if not group.when)
    if (sensitizing and total > 0) or total > 1:
        return [share / total for share in conditional]
    rest = max(1.0 - total, 0.0) / plain if plain else 0.0
    return [share if group.when else rest for group, share in zip(groups, conditional, strict=True)]


class Calculator:
    """Energy of a netlist's cells for an activity, with the slews of netlist.propagate()."""

    def __init__(
        self, netlist: Netlist, slews: Mapping[Net, Slew], voltage: float, activity: Activity
    ) -> None:
        self.netlist = netlist
        self.slews = slews
        self.voltage = voltage
        self.activity = activity

    def slew(self, instance: Instance, pin: str) -> Slew:
        return self.slews.get(instance.nets.get(pin, "0"), (SLEW_NS, SLEW_NS))

    def instance(self, instance: Instance) -> Energy:
        energy = Energy(leakage=instance.cell.leakage * self.activity.ns * 1e-6)
        internal = sum(self.output(instance, pin) for pin in instance.outputs())
        internal += sum(self.input(instance, pin) for pin in instance.inputs())
        if instance.cell.macro:
            energy.macros = internal
        else:
            energy.internal = internal
        energy.switching = sum(self.switching(instance.nets[pin]) for pin in instance.outputs())
        return energy

    def switching(self, net: Net) -> float:
        toggles = self.activity.of(net)
        return (toggles.rises + toggles.falls) * self.netlist.loads.get(net, 0.0) * self.voltage**2 / 2

    def outside(self) -> float:
        """The nets that no cell drives."""
        ports = {net for bits in self.netlist.inputs.values() for net in bits if isinstance(net, int)}
        return sum(self.switching(net) for net in ports)

    def ones(self, instance: Instance) -> Mapping[str, float]:
        return _Ones(self, instance)

    def output(self, instance: Instance, pin: str) -> float:
        """Tables of an output's transitions, which its inputs share as often as they toggle."""
        net = instance.nets[pin]
        toggles = self.activity.of(net)
        if not toggles.rises + toggles.falls:
            return 0.0
        by_related: dict[str, list[Power]] = defaultdict(list)
        for group in instance.cell.pins[pin].power:
            by_related[group.related].append(group)
        shares = self.shares(instance, list(by_related))
        load = self.netlist.loads[net]
        energy = 0.0
        for related, groups in by_related.items():
            slew = self.slew(instance, related)
            weights = _weights(groups, self.independent(instance), sensitizing=True)
            for group, weight in zip(groups, weights, strict=True):
                pair = self.transitions(group, slew, load, toggles.rises, toggles.falls)
                energy += shares[related] * weight * pair
        return energy

    def shares(self, instance: Instance, related: list[str]) -> dict[str, float]:
        counts = {}
        for pin in related:
            toggles = self.activity.of(instance.nets.get(pin, "0"))
            counts[pin] = toggles.rises + toggles.falls
        total = sum(counts.values())
        return {pin: count / total if total else 1 / len(counts) for pin, count in counts.items()}

    @staticmethod
    def transitions(group: Power, slew: Slew, load: float, rises: float, falls: float) -> float:
        return rises * group.rise.at(slew[0], load) + falls * group.fall.at(slew[1], load)

    def independent(self, instance: Instance) -> Chance:
        ones = self.ones(instance)
        return lambda group: group.when.probability(ones) if group.when else 1.0

    def input(self, instance: Instance, pin: str) -> float:
        """Tables of an input's own transitions."""
        groups = instance.cell.pins[pin].power
        toggles = self.activity.of(instance.nets[pin])
        if not groups or not toggles.rises + toggles.falls:
            return 0.0
        weights = _weights(groups, self.chance(instance, pin), sensitizing=False)
        slew = self.slew(instance, pin)
        return sum(
            weight * self.transitions(group, slew, 0.0, toggles.rises, toggles.falls)
            for group, weight in zip(groups, weights, strict=True)
        )

    def chance(self, instance: Instance, pin: str) -> Chance:
        """Pins are independent, except at a clock: there a macro's state was seen, and a flop's shows in how
        often its output changed."""
        if not instance.cell.pins[pin].clock or instance.cell.gate:
            return self.independent(instance)
        if instance.cell.macro:
            return self.seen(instance, pin)
        return self.at_clock(instance, pin)

    def seen(self, instance: Instance, pin: str) -> Chance:
        watched = watched_pins(instance, pin)
        states = self.activity.states.get(tuple(instance.nets[name] for name in (pin, *watched)))
        if states is None:
            return self.independent(instance)
        total = sum(states.values())

        def chance(group: Power) -> float:
            values = group.when
            if values is None or not total:
                return 1.0
            fixed = _constants(instance)
            return (
                sum(
                    count
                    for state, count in states.items()
                    if values.value(fixed | dict(zip(watched, state, strict=True)))
                )
                / total
            )

        return chance

    def at_clock(self, instance: Instance, pin: str) -> Chance:
        """D = 1, Q = 0 at an edge is a rise of Q, and D = 0, Q = 1 a fall."""
        flop = instance.cell.flop
        q = next((name for name in instance.outputs() if instance.cell.pins[name].function is not None), "")
        edges = self.activity.of(instance.nets[pin]).rises
        if flop is None or flop.text("next_state") != "D" or not edges or not q:
            return self.independent(instance)
        toggles = self.activity.of(instance.nets[q])
        ups, downs = min(toggles.rises / edges, 1.0), min(toggles.falls / edges, 1.0)
        ones = max(toggles.high - downs, 0.0)
        joint = {(1, 0): ups, (0, 1): downs, (1, 1): ones, (0, 0): max(1.0 - ups - downs - ones, 0.0)}
        others = self.ones(instance)

        def chance(group: Power) -> float:
            if group.when is None:
                return 1.0
            return sum(
                share * group.when.probability(_With(others, {"D": d, q: value}))
                for (d, value), share in joint.items()
            )

        return chance


class _Ones(dict[str, float]):
    def __init__(self, calculator: Calculator, instance: Instance) -> None:
        self._of = lambda pin: calculator.activity.of(instance.nets.get(pin, "0")).high

    def __missing__(self, pin: str) -> float:
        return self._of(pin)


class _With(dict[str, float]):
    def __init__(self, others: Mapping[str, float], known: Mapping[str, float]) -> None:
        super().__init__(known)
        self._others = others

    def __missing__(self, pin: str) -> float:
        return self._others[pin]


def watched_pins(instance: Instance, clock: str) -> list[str]:
    """The pins that decide what a rise of a macro's clock costs, without the constant ones."""
    found = {name for group in instance.cell.pins[clock].power if group.when for name in group.when.pins}
    return sorted(name for name in found if isinstance(instance.nets.get(name), int))


def watched_nets(netlist: Netlist) -> Iterator[tuple[Net, ...]]:
    """Return the nets that read_vcd() must watch."""
    for instance in netlist.instances:
        for pin in instance.inputs() if instance.cell.macro else ():
            if instance.cell.pins[pin].clock and isinstance(instance.nets[pin], int):
                yield tuple(instance.nets[name] for name in (pin, *watched_pins(instance, pin)))


def _constants(instance: Instance) -> dict[str, bool]:
    return {pin: net == "1" for pin, net in instance.nets.items() if isinstance(net, str)}


def energy(calculator: Calculator) -> dict[str, Energy]:
    """pJ by instance path; the nets from outside are in the top module, ""."""
    found: dict[str, Energy] = defaultdict(Energy)
    for instance in calculator.netlist.instances:
        found[instance.path].add(calculator.instance(instance))
    found[""].outside += calculator.outside()
    return dict(found)
