# SPDX-License-Identifier: Apache-2.0
"""The SRAM macros of the open library IHP SG13G2, for synthesis and simulation.

Their names say all that is needed: RM_IHPSG13_2P_1024x32_... has two ports, 1024 words of 32 bits. A port has
a clock, an enable (MEN), WEN and REN, an address, data in and out, and a mask of bits to write (BM); its pins
for self test are tied to 0.

Which memory of a design goes where is Yosys' memory_libmap's choice, one memory after the other: whatever has
the least area, of as many copies of one macro as it takes in width and depth, or of flops. A macro with one
port serves memories that read and write at one address.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import liberty

PARTS = {"DLY": 1, "BIST_EN": 0, "BIST_CLK": 0, "BIST_MEN": 0, "BIST_WEN": 0, "BIST_REN": 0}
"""Pins that stay at a value."""


@dataclass(frozen=True)
class Macro:
    """area in um^2."""

    name: str
    ports: int
    words: int
    bits: int
    area: float

    @property
    def address_bits(self) -> int:
        return (self.words - 1).bit_length()

    @property
    def block(self) -> str:
        return f"$__{self.name}_"


def macro(path: Path) -> Macro:
    """The macro of a Liberty file. Raises LibertyError if its name does not say its shape."""
    (cell,) = liberty.read(path).cells.values()
    found = re.search(r"_([12])P_(\d+)x(\d+)_", cell.name)
    if not found:
        raise liberty.LibertyError(f"{cell.name}: no macro with a shape in its name.")
    return Macro(cell.name, *(int(part) for part in found.groups()), cell.area)


def block_library(macros: list[Macro]) -> str:
    """For memory_libmap; costs are um^2."""
    ports = {
        1: 'port srsw "A" { clock posedge; clken; rdwr no_change; }',
        2: 'port sw "A" { clock posedge; }\n  port sr "B" { clock posedge; rden; }',
    }
    return "".join(
        f"ram block {m.block} {{\n  abits {m.address_bits};\n  width {m.bits};\n  byte 1;\n"
        f"  cost {round(m.area)};\n  {ports[m.ports]}\n}}\n"
        for m in macros
    )


def _port(name: str, wires: dict[str, str], m: Macro) -> Iterator[str]:
    """Connections of one port of a macro."""
    unused = {"CLK": "1'b0", "MEN": "1'b0", "WEN": "1'b0", "REN": "1'b0"}
    unused |= {"ADDR": f"{m.address_bits}'b0", "DIN": f"{m.bits}'b0", "BM": f"{m.bits}'b0"}
    constant = {part: f"1'b{value}" for part, value in PARTS.items()}
    constant |= {f"BIST_{bus}": unused[bus] for bus in ("ADDR", "DIN", "BM")}
    return (f".{name}_{part}({wire})" for part, wire in {**unused, **constant, **wires}.items())


def techmap(macros: list[Macro]) -> str:
    """From what memory_libmap makes to the macros."""
    return "\n".join(_techmap(m) for m in macros)


def _techmap(m: Macro) -> str:
    address, data, mask = f"[{m.address_bits - 1}:0]", f"[{m.bits - 1}:0]", f"[{m.bits - 1}:0]"
    inputs = [f"input PORT_A_CLK, input {address} PORT_A_ADDR, input {data} PORT_A_WR_DATA"]
    inputs += [f"input {mask} PORT_A_WR_EN"]
    write = {"CLK": "PORT_A_CLK", "ADDR": "PORT_A_ADDR", "DIN": "PORT_A_WR_DATA", "BM": "PORT_A_WR_EN"}
    if m.ports == 1:
        inputs += [f"input PORT_A_CLK_EN, output {data} PORT_A_RD_DATA"]
        both = {"MEN": "PORT_A_CLK_EN", "WEN": "|PORT_A_WR_EN", "REN": "~|PORT_A_WR_EN"}
        pins = list(_port("A", {**write, **both, "DOUT": "PORT_A_RD_DATA"}, m))
    else:
        inputs += [f"input PORT_B_CLK, input {address} PORT_B_ADDR, input PORT_B_RD_EN"]
        inputs += [f"output {data} PORT_B_RD_DATA"]
        read = {"CLK": "PORT_B_CLK", "ADDR": "PORT_B_ADDR", "MEN": "1'b1", "REN": "PORT_B_RD_EN"}
        pins = list(_port("A", {**write, "MEN": "1'b1", "WEN": "|PORT_A_WR_EN"}, m))
        pins += _port("B", {**read, "DOUT": "PORT_B_RD_DATA"}, m)
    return (
        f"module \\{m.block} ({', '.join(inputs)});\n"
        "  parameter WIDTH = 1; parameter PORT_A_WR_EN_WIDTH = 1;\n"
        "  parameter PORT_A_CLK_POL = 1; parameter PORT_B_CLK_POL = 1;\n"
        f"  {m.name} u_macro ({', '.join(pins)});\nendmodule\n"
    )


def models(macros: list[Macro]) -> str:
    """Behaviour of the macros; also the black boxes for synthesis. DOUT keeps its value without REN."""
    return "\n".join(_model(m) for m in macros)


def _model(m: Macro) -> str:
    names = ["A", "B"][: m.ports]
    widths = {"ADDR": m.address_bits, "DIN": m.bits, "BM": m.bits}
    pins = [f"input wire {port}_{part}" for port in names for part in ("CLK", "MEN", "WEN", "REN", *PARTS)]
    pins += [
        f"input wire [{width - 1}:0] {port}_{prefix}{part}"
        for port in names
        for prefix in ("", "BIST_")
        for part, width in widths.items()
    ]
    pins += [f"output reg [{m.bits - 1}:0] {port}_DOUT" for port in names]
    body = [
        f"  always @(posedge {p}_CLK) if ({p}_MEN) begin\n"
        f"    if ({p}_WEN) words[{p}_ADDR] <= ({p}_DIN & {p}_BM) | (words[{p}_ADDR] & ~{p}_BM);\n"
        f"    if ({p}_REN) {p}_DOUT <= {DELAY} words[{p}_ADDR];\n  end"
        for p in names
    ]
    fill = (
        f"  integer i;\n  initial begin\n    for (i = 0; i < {m.words}; i = i + 1) words[i] = 0;\n"
        + "".join(f"    {p}_DOUT = 0;\n" for p in names)
        + "  end"
    )
    head = f"`timescale 1ps/1ps\nmodule {m.name} ({', '.join(pins)});"
    words = f"  reg [{m.bits - 1}:0] words [0:{m.words - 1}];"
    return "\n".join([head, words, *body, fill, "endmodule", ""])


DELAY = "#4500"
"""ps from the clock to the data of the macros above at 1.2 V (their tables say 4.3 to 5.5 ns)."""
