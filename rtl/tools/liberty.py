# SPDX-License-Identifier: Apache-2.0
"""Reads what area, energy and simulation need from Liberty files: cells, pins, functions, tables.

Units are the file's own, brought to um^2, ns, pF, V, pJ and nW (Liberty User Guide, 2017.06: an internal
power table is in capacitive_load_unit times voltage_unit squared, here pJ a transition).
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from itertools import product
from pathlib import Path

TOKEN = re.compile(r'/\*.*?\*/|\\\n|\s+|("[^"]*")|([{}();:,])|([^\s{}();:,"\\]+)', re.DOTALL)
UNENDED = re.compile(r'(:\s*"[^"]*")[ \t]*\n')
"""An attribute without its semicolon, which tools accept at the end of a line."""
REPEATED = ("fanout_length",)
"""Attributes that a group may have several times: each is kept under a name of its own."""
SCALE = {"f": 1e-15, "p": 1e-12, "n": 1e-9, "u": 1e-6, "m": 1e-3, "k": 1e3, "": 1.0}


class LibertyError(Exception):
    """A library is not as expected; the sentence says where."""


@dataclass
class Group:
    """name (arguments) { attributes and groups }."""

    name: str
    arguments: list[str]
    attributes: dict[str, list[str]] = field(default_factory=dict)
    groups: list[Group] = field(default_factory=list)

    def text(self, attribute: str, default: str = "") -> str:
        return self.attributes.get(attribute, [default])[0]

    def number(self, attribute: str, default: float = 0.0) -> float:
        return float(self.text(attribute, str(default)))

    def named(self, *names: str) -> Iterator[Group]:
        return (group for group in self.groups if group.name in names)


def parse(text: str) -> Group:
    """The outermost group of a Liberty file."""
    text = UNENDED.sub(r"\1;\n", text)
    tokens = [found.group().strip('"') for found in TOKEN.finditer(text) if found.lastindex]
    outer = Group("", [])
    stack = [outer]
    at = 0
    while at < len(tokens):
        token = tokens[at]
        if token == "}":
            stack.pop()
            at += 1
        elif token == ";":
            at += 1
        elif tokens[at + 1] == ":":
            end = at + 2
            while tokens[end] not in (";", "}"):
                end += 1
            stack[-1].attributes[token] = [" ".join(tokens[at + 2 : end])]
            at = end
        elif tokens[at + 1] == "(":
            end = tokens.index(")", at)
            arguments = _arguments(tokens[at + 2 : end])
            at = end + 1
            if at < len(tokens) and tokens[at] == "{":
                stack[-1].groups.append(Group(token, arguments))
                stack.append(stack[-1].groups[-1])
                at += 1
            else:
                known = stack[-1].attributes
                known[f"{token}.{len(known)}" if token in REPEATED else token] = arguments
        else:
            raise LibertyError(f"{token} {tokens[at + 1]}: neither an attribute nor a group.")
    return outer.groups[0]


def _arguments(tokens: list[str]) -> list[str]:
    """Split arguments, without commas, and with a range such as A[9:0] in one piece."""
    joined: list[str] = []
    for token in tokens:
        if token == ":" or (joined and joined[-1].endswith(":")):
            joined[-1] += token
        elif token != ",":
            joined.append(token)
    return joined


def _numbers(texts: list[str]) -> tuple[float, ...]:
    return tuple(float(part) for text in texts for part in text.replace(",", " ").split())


# --- tables -----------------------------------------------------------------------------------------------


def _place(index: tuple[float, ...], value: float) -> tuple[int, float]:
    """The interval of the index in which a value is, or the nearest, and how far along it is."""
    if len(index) < 2:
        return 0, 0.0
    at = min(max(bisect_right(index, value) - 1, 0), len(index) - 2)
    return at, (value - index[at]) / (index[at + 1] - index[at])


@dataclass(frozen=True)
class Table:
    """Values over input slew (ns) and output load (pF), linear between points and beyond them."""

    slews: tuple[float, ...]
    loads: tuple[float, ...]
    values: tuple[float, ...]

    def at(self, slew: float, load: float) -> float:
        if len(self.values) == 1:
            return self.values[0]
        row, down = _place(self.slews, slew)
        column, right = _place(self.loads, load)
        width = max(len(self.loads), 1)
        here = row * width + column
        across = self.values[here]
        if right:
            across += right * (self.values[here + 1] - across)
        if not down:
            return across
        below = self.values[here + width]
        if right:
            below += right * (self.values[here + width + 1] - below)
        return across + down * (below - across)


def _table(group: Group, templates: Mapping[str, Group], scale: float) -> Table:
    template = templates.get(group.arguments[0]) if group.arguments else None
    axes: dict[str, tuple[float, ...]] = {"slew": (), "load": ()}
    if template:
        for number in ("1", "2"):
            variable = template.text(f"variable_{number}")
            if variable:
                axis = "load" if "capacitance" in variable else "slew"
                source = group if f"index_{number}" in group.attributes else template
                axes[axis] = _numbers(source.attributes[f"index_{number}"])
        if "capacitance" in template.text("variable_1") and template.text("variable_2"):
            raise LibertyError(f"{group.arguments[0]}: the load comes before the slew.")
    values = tuple(value * scale for value in _numbers(group.attributes["values"]))
    if len(values) != max(len(axes["slew"]), 1) * max(len(axes["load"]), 1) and len(values) != 1:
        raise LibertyError(f"{group.name} {group.arguments}: {len(values)} values do not fill its indices.")
    return Table(axes["slew"], axes["load"], values)


# --- functions --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Function:
    """A Boolean expression of pins, as Verilog."""

    verilog: str
    pins: tuple[str, ...]

    @property
    def _truth(self) -> tuple[tuple[bool, ...], ...]:
        return _truth_of(self)

    def value(self, pins: Mapping[str, bool]) -> bool:
        return tuple(pins[pin] for pin in self.pins) in self._truth

    def probability(self, ones: Mapping[str, float]) -> float:
        """Return the probability that a function is 1 if its independent pins are 1 with these
        probabilities."""
        total = 0.0
        for row in self._truth:
            chance = 1.0
            for pin, one in zip(self.pins, row, strict=True):
                chance *= ones[pin] if one else 1.0 - ones[pin]
            total += chance
        return total


@cache
def function(expression: str) -> Function:
    """From Liberty's notation: ! and ' negate, * and & and a blank mean and, + and | or, ^ exclusive or."""
    text = (
        re.sub(r"([\w\[\]]+)\s*'", r"!\1", expression).replace("*", "&").replace("+", "|").replace("!", "~")
    )
    text = re.sub(r"(?<=[\w\])])\s+(?=[\w(~])", "&", text)
    pins = tuple(sorted(set(re.findall(r"[A-Za-z_]\w*(?:\[\d+\])?", text))))
    return Function(text, pins)


@cache
def _truth_of(what: Function) -> tuple[tuple[bool, ...], ...]:
    """The values of the pins for which it is 1."""
    python = re.sub(
        r"[A-Za-z_]\w*(?:\[\d+\])?", lambda found: f"p[{what.pins.index(found[0])}]", what.verilog
    )
    python = python.replace("~", " not ").replace("&", " and ").replace("|", " or ").replace("^", " != ")
    evaluate: Callable[[tuple[bool, ...]], bool] = eval(f"lambda p: bool({python})")
    return tuple(row for row in product((False, True), repeat=len(what.pins)) if evaluate(row))


# --- cells ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Power:
    """Energy inside a cell for a transition of a pin, pJ: related pin or "", condition, rise and fall."""

    related: str
    when: Function | None
    rise: Table
    fall: Table


@dataclass(frozen=True)
class Arc:
    """Delay and slew of an output, ns, from a pin. sense: positive_unate, negative_unate or non_unate."""

    related: str
    sense: str
    edge: bool
    delay: tuple[Table | None, Table | None]
    slew: tuple[Table | None, Table | None]


@dataclass
class Pin:
    name: str
    output: bool
    capacitance: float
    function: Function | None = None
    clock: bool = False
    power: list[Power] = field(default_factory=list)
    arcs: list[Arc] = field(default_factory=list)


@dataclass
class Cell:
    """area in um^2; leakage in nW, by condition where the library gives it."""

    name: str
    area: float
    leakage: float
    leakages: list[tuple[Function, float]]
    pins: dict[str, Pin]
    flop: Group | None
    latch: Group | None
    gate: bool
    """Whether it gates a clock."""

    @property
    def macro(self) -> bool:
        return any("[" in pin for pin in self.pins)


@dataclass
class WireLoad:
    """pF of a net by its number of sinks: a length from the table, beyond it along the slope."""

    capacitance: float
    slope: float
    lengths: list[tuple[int, float]]

    def of(self, fanout: int) -> float:
        if fanout == 0 or not self.lengths:
            return 0.0
        first, last = self.lengths[0], self.lengths[-1]
        if fanout <= first[0]:
            length = first[1] - (first[0] - fanout) * self.slope
        elif fanout >= last[0]:
            length = last[1] + (fanout - last[0]) * self.slope
        else:
            at = next(i for i, (count, _) in enumerate(self.lengths) if count > fanout)
            (low, short), (high, long) = self.lengths[at - 1 : at + 1]
            length = short + (long - short) * (fanout - low) / (high - low)
        return max(length, 0.0) * self.capacitance


@dataclass
class Library:
    voltage: float
    cells: dict[str, Cell]
    wire_loads: dict[str, WireLoad]


def _unit(text: str) -> float:
    """The unit of "1ns", "1pW" and the like, in SI units."""
    found = re.fullmatch(r"([\d.]+)\s*([a-z]?)(?:s|W|V|A|ohm)", text)
    if not found:
        raise LibertyError(f"{text}: not a unit.")
    return float(found[1]) * SCALE[found[2]]


class _Reader:
    def __init__(self, top: Group) -> None:
        amount, unit = top.attributes["capacitive_load_unit"]
        self.pf = float(amount) * SCALE[unit[0].lower()] / 1e-12
        self.ns = _unit(top.text("time_unit")) / 1e-9
        self.nw = _unit(top.text("leakage_power_unit")) / 1e-9
        self.pj = self.pf * _unit(top.text("voltage_unit")) ** 2
        self.templates = {
            group.arguments[0]: group for group in top.named("lu_table_template", "power_lut_template")
        }
        self.buses = {group.arguments[0]: group for group in top.named("type")}
        self.default_capacitance = top.number("default_input_pin_cap") * self.pf

    def cell(self, group: Group) -> Cell:
        pins: dict[str, Pin] = {}
        for part in group.named("pin"):
            for name in part.arguments:
                pins[name] = self.pin(name, part, part)
        for bus in group.named("bus"):
            pins |= self.bus(bus)
        leakages = [
            (function(part.text("when")), part.number("value") * self.nw)
            for part in group.named("leakage_power")
            if part.text("when")
        ]
        return Cell(
            group.arguments[0],
            group.number("area"),
            group.number("cell_leakage_power") * self.nw,
            leakages,
            pins,
            next(group.named("ff"), None),
            next(group.named("latch"), None),
            "clock_gating_integrated_cell" in group.attributes,
        )

    def bus(self, bus: Group) -> dict[str, Pin]:
        """Its pins: each has what the bus has, and what groups for a part of it add."""
        name = bus.arguments[0]
        kind = self.buses[bus.text("bus_type")]
        pins = {}
        for bit in range(int(kind.number("bit_from")), int(kind.number("bit_to")) - 1, -1):
            merged = Group(
                "pin", [f"{name}[{bit}]"], dict(bus.attributes), list(bus.named("timing", "internal_power"))
            )
            for part in bus.named("pin"):
                if _covers(part.arguments[0], name, bit):
                    merged.attributes |= part.attributes
                    merged.groups += part.groups
            pins[f"{name}[{bit}]"] = self.pin(f"{name}[{bit}]", merged, bus)
        return pins

    def pin(self, name: str, group: Group, directed: Group) -> Pin:
        output = directed.text("direction") == "output"
        function_text = group.text("function") or group.text("state_function")
        return Pin(
            name,
            output,
            0.0 if output else group.number("capacitance", self.default_capacitance / self.pf) * self.pf,
            function(function_text) if function_text else None,
            group.text("clock") == "true",
            [self.power(part) for part in group.named("internal_power")],
            [arc for part in group.named("timing") if (arc := self.arc(part))],
        )

    def power(self, group: Group) -> Power:
        tables = {part.name: _table(part, self.templates, self.pj) for part in group.groups}
        both = tables.get("power")
        zero = Table((), (), (0.0,))
        when = group.text("when")
        return Power(
            group.text("related_pin"),
            function(when) if when else None,
            tables.get("rise_power", both or zero),
            tables.get("fall_power", both or zero),
        )

    def arc(self, group: Group) -> Arc | None:
        tables = {
            part.name: _table(part, self.templates, self.ns)
            for part in group.groups
            if "constraint" not in part.name
        }
        if not tables:
            return None
        return Arc(
            group.text("related_pin"),
            group.text("timing_sense", "non_unate"),
            "edge" in group.text("timing_type"),
            (tables.get("cell_rise"), tables.get("cell_fall")),
            (tables.get("rise_transition"), tables.get("fall_transition")),
        )


def _covers(pattern: str, bus: str, bit: int) -> bool:
    found = re.fullmatch(r"(\w+)\[(\d+)(?::(\d+))?\]", pattern)
    return bool(found) and found[1] == bus and int(found[3] or found[2]) <= bit <= int(found[2])


def _wire_loads(top: Group, pf: float) -> dict[str, WireLoad]:
    found = {}
    for group in top.named("wire_load"):
        lengths = [
            (int(values[0]), float(values[1]))
            for name, values in group.attributes.items()
            if name.startswith("fanout_length")
        ]
        found[group.arguments[0]] = WireLoad(
            group.number("capacitance") * pf, group.number("slope"), sorted(lengths)
        )
    return found


@cache
def read(path: Path) -> Library:
    """A library. Raises LibertyError if the file is not one."""
    top = parse(path.read_text(encoding="utf-8"))
    if top.name != "library":
        raise LibertyError(f"{path}: no Liberty library.")
    reader = _Reader(top)
    cells = {group.arguments[0]: reader.cell(group) for group in top.named("cell")}
    return Library(top.number("nom_voltage"), cells, _wire_loads(top, reader.pf))
