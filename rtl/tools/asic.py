# SPDX-License-Identifier: Apache-2.0
"""Area, timing and energy on the open library IHP SG13G2 (130 nm), before layout.

    CIPHERMOTE_PDK=<folder> build/rtl-venv/bin/python rtl/tools/asic.py cm_ntt_engine n1024_u8

prints the area and the slack of a named configuration as JSON. measure() does the same for any module, and
adds the energy of what a simulation of the mapped netlist did.

Yosys maps to standard cells (clocks gated where four flops share an enable, no clock tree, no scan) and to
SRAM macros (memories.py), OpenSTA times it, power.py makes energy of toggles. Wires are a wire-load model of
the library, by the number of sinks; gate equivalents (GE) are areas of its smallest two-input NAND.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import math
import os
import re
import sys
import tempfile
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from importlib.metadata import version
from pathlib import Path

import latches
import liberty
import memories
import netlist
import power
from netlist import Netlist

from tools import BUILD, ENGINE_SOURCES, INCLUDES, RTL, ToolError, configurations, run

PDK = "CIPHERMOTE_PDK"
CLOCK_NS = 10.0
LOGIC_SHARE = 0.8
"""Share of the clock's period that ABC aims at: the rest is for flops, wires and the clock."""
SMALLEST_GATED = 4
"""Flops with one enable that are worth a clock gate."""
SIZING = "buffer,-p,-N,32;topo;upsize,{D};dnsize,{D};stime,-p"
ABC = f"+strash;&get,-n;&fraig,-x;&put;scorr;dc2;&get,-n;&dch,-f;&nf,{{D}};&put;{SIZING}"


@dataclass(frozen=True)
class Recipe:
    """A recipe that turns logic into cells. booth: multipliers by Booth's recoding; share: of the clock's
    period.

    abc: the script of ABC; plain: modules in which it looks for no other structures of the same function;
    compact: those for which it takes the cells with the least area, for they have time. port_load_ff: what an
    output drives, as ABC sees it. A flop's data is an output, and each port of a module apart, which may lead
    to many macros: what is enough for those puts a buffer before each of the former.
    """

    booth: bool = False
    share: float = LOGIC_SHARE
    port_load_ff: int = 100
    abc: str = ABC
    plain: tuple[str, ...] = ()
    compact: tuple[str, ...] = ()


COMPACT = f"+strash;dch,-S,2000;amap,-F,30,-A,30;{SIZING}"
CHOICES = "&dch,-f;"
RELAXED = 10
"""Percent of the shortest delay by which ABC's mapping may exceed it: without, it is fast beyond need, and
larger; much more makes adders slow behind an SRAM macro, whose delay ABC does not see.
"""
FOR_PRODUCTS = Recipe(
    booth=True,
    share=0.65,
    port_load_ff=10,
    abc=f"+strash;&get,-n;{CHOICES}&nf,-p,-R,{RELAXED},{{D}};&put;{SIZING}",
    plain=("cm_client_product", "cm_montgomery_multiply"),
    compact=(
        *("cm_client_codec", "cm_client_frames", "cm_client_health", "cm_client_loader"),
        *("cm_client_noise", "cm_client_packer", "cm_client_poly1305"),
        *("cm_client_reader", "cm_client_result", "cm_client_rotate"),
        *("cm_client_seeds", "cm_client_tags", "cm_client_ternary"),
        *("cm_client_uniform", "cm_client_unpacker", "cm_client_value"),
    ),
)
"""For wide products in a cycle: ABC's rewriting would make their trees of adders deeper."""


@dataclass(frozen=True)
class Target:
    """A library: its files, and the cells with a part of their own. wire_load: "" for none.

    latch: as latches.cells() has it; "" for flops alone.

    bit_area: um^2 of a bit of memory that is made of flops, with its share of gates and multiplexers.
    """

    cells: Path
    macros: tuple[Path, ...]
    nand: str
    high: tuple[str, str]
    low: tuple[str, str]
    driver: str
    clock_gate: str
    wire_load: str
    bit_area: float
    latch: str = ""

    @cached_property
    def library(self) -> liberty.Library:
        return liberty.read(self.cells)

    @cached_property
    def every_cell(self) -> dict[str, liberty.Cell]:
        every = dict(self.library.cells)
        for path in self.macros:
            every |= liberty.read(path).cells
        return every

    @cached_property
    def shapes(self) -> list[memories.Macro]:
        return [memories.macro(path) for path in self.macros]

    @property
    def wires(self) -> liberty.WireLoad:
        return self.library.wire_loads.get(self.wire_load) or liberty.WireLoad(0.0, 0.0, [])


@dataclass(frozen=True)
class Corner:
    """A corner of the process, voltage and temperature: what it is called, and the files' endings. macros: ""
    where the library characterises none."""

    name: str
    cells: str
    macros: str


CORNERS = {
    "typical": Corner("typical, 1.2 V, 25 C", "typ_1p20V_25C", "typ_1p20V_25C"),
    "slow": Corner("slow, 1.08 V, 125 C", "slow_1p08V_125C", "slow_1p08V_125C"),
    "fast": Corner("fast, 1.32 V, cells at -40 C, macros at -55 C", "fast_1p32V_m40C", "fast_1p32V_m55C"),
    "high_voltage": Corner("typical, 1.5 V, 25 C", "typ_1p50V_25C", ""),
}


def open_library(wire_load: str = "1k", corner: Corner = CORNERS["typical"]) -> Target:
    """IHP SG13G2 in the folder that CIPHERMOTE_PDK names. Raises ToolError if it is not there.

    wire_load: the library's own default, or another one of it. bit_area: that of cm_ram with 64 words of 32
    bits, synthesised.
    """
    folder = Path(os.environ.get(PDK, ""))
    cells = folder / f"sg13g2_stdcell_{corner.cells}.lib"
    if not os.environ.get(PDK) or not cells.exists():
        raise ToolError(
            f"Set {PDK} to a folder with the Liberty files of IHP SG13G2 "
            f"({cells.name} and RM_IHPSG13_*.lib): rtl/README.md says where they are."
        )
    macros = tuple(sorted(folder.glob(f"RM_IHPSG13_*_{corner.macros}.lib"))) if corner.macros else ()
    if corner.macros and not macros:
        raise ToolError(
            f"{folder} has no SRAM macros (RM_IHPSG13_*_{corner.macros}.lib), without which memories become "
            "flops: copy them there from ihp-sg13g2/libs.ref/sg13g2_sram/lib."
        )
    return Target(
        cells,
        macros,
        nand="sg13g2_nand2_1",
        high=("sg13g2_tiehi", "L_HI"),
        low=("sg13g2_tielo", "L_LO"),
        driver="sg13g2_buf_4",
        clock_gate="sg13g2_lgcp_1 GATE:CLK:GCLK",
        wire_load=wire_load,
        bit_area=64.0,
        latch="sg13g2_dlhrq_1 GATE:D:Q:RESET_B",
    )


# --- what is measured -------------------------------------------------------------------------------------


@dataclass
class Report:
    """kge: of standard cells, in thousands of gate equivalents; by_module: the same by the modules apart, all
    instances together, and the rest under the top's name. latches: without those of clock gates.

    Bits of SRAM: used by the design's memories that are in macros, and in these macros. slack_ns: the worst.
    energy_pj: by part, for duration_ns of the simulation; energy_by_path_pj: the same by instance.
    """

    kge: float
    by_module: dict[str, dict[str, float]]
    sram_bits_used: int
    sram_bits_macro: int
    sram_um2: float
    macros: dict[str, int]
    flops: int
    latches: int
    clock_ns: float
    slack_ns: float | None
    wire_load: str
    duration_ns: float = 0.0
    energy_pj: dict[str, float] = field(default_factory=dict)
    energy_by_path_pj: dict[str, float] = field(default_factory=dict)

    @property
    def energy_nj(self) -> float:
        return sum(self.energy_pj.values()) / 1000

    @property
    def power_mw(self) -> float:
        return self.energy_nj / self.duration_ns * 1000 if self.duration_ns else 0.0


@dataclass
class Mapped:
    """A design in cells. netlist: for timing, flat Verilog."""

    top: str
    target: Target
    clock_ns: float
    directory: Path

    @property
    def netlist(self) -> Path:
        return self.directory / "netlist.v"

    @property
    def macros(self) -> Path:
        """Models of the macros, for simulation."""
        return self.directory / "macros.v"

    @cached_property
    def cells(self) -> Netlist:
        return netlist.read(
            self.directory / "netlist.json", self.top, self.target.every_cell, self.target.wires
        )

    @cached_property
    def slews(self) -> dict[netlist.Net, netlist.Slew]:
        return netlist.propagate(self.cells)[0]

    def at(self, corner: Corner, clock_ns: float | None = None) -> Mapped:
        """Return the same netlist at another corner, and clock."""
        return replace(
            self,
            target=open_library(self.target.wire_load, corner),
            clock_ns=self.clock_ns if clock_ns is None else clock_ns,
        )


SYNCHRONOUS = "-cell $_DFF_P_ x -cell $_DFFE_PP_ x -cell $_SDFF_PP?_ x -cell $_SDFFE_PP?P_ x"


def _clears() -> str:
    """A clear is data, and enables: for Yosys gates no clock of a flop that has an enable and a clear."""
    return "\n".join(
        f"module \\$_SDFFE_PP{value}P_ (input C, D, E, R, output Q);\n  wire e, d;\n"
        f"  \\$_OR_ u_e (.A(E), .B(R), .Y(e));\n  \\{merge} u_d (.A(D), .B(R), .Y(d));\n"
        "  \\$_DFFE_PP_ u_flop (.C(C), .E(e), .D(d), .Q(Q));\nendmodule\n"
        for value, merge in ((0, "$_ANDNOT_"), (1, "$_OR_"))
    )


AFTER_GATING = "# latches.share()"

# --- synthesis --------------------------------------------------------------------------------------------


def _selected(module: str) -> str:
    """Select a module in all its parameters, and none whose name only begins alike."""
    return rf"{module} $paramod\{module}\* $paramod$*\{module}"


def _commands(
    mapped: Mapped,
    sources: Sequence[Path],
    includes: Sequence[str],
    parameters: Mapping[str, int],
    apart: Sequence[str],
    recipe: Recipe,
) -> list[str]:
    """The passes of Yosys, one a string."""
    target, directory = mapped.target, mapped.directory
    values = " ".join(f"-set {name} {value}" for name, value in parameters.items())
    library = f"-liberty {target.cells}"
    timing = round(mapped.clock_ns * 1000 * recipe.share)
    abc = f"abc {library} -constr {directory}/constraints -D {timing} -script"
    latched = ["delete", f"read_json {directory}/latched.json", f"techmap -map {directory}/latches.v"]
    keep = [f"setattr -mod -set keep_hierarchy 1 {_selected(name)}" for name in apart]
    blocks = f"memory_libmap -lib {directory}/blocks.txt -logic-cost-ram {target.bit_area} -logic-cost-rom 5"
    return [
        f"read_verilog -sv -defer {' '.join(includes)} {' '.join(map(str, sources))}",
        f"read_verilog -sv -lib {mapped.macros}",
        f"read_liberty -lib -ignore_miss_func {target.cells}",
        *([f"chparam {values} {mapped.top}"] if values else []),
        f"hierarchy -check -top {mapped.top}",
        *keep,
        f"synth -run begin:fine -flatten{' -booth' if recipe.booth else ''}",
        "setattr -unset ram_style t:$mem_v2",  # an FPGA's choice
        f"write_json {directory}/memories.json",
        *([blocks] if target.macros else []),
        f"write_json {directory}/flops.json",
        f"techmap -map {directory}/map.v",
        *("opt -full", "memory_map", "opt -fast -full", "techmap", "opt -fast"),
        f"dfflegalize {SYNCHRONOUS} -mince 0 -minsrst 0",
        *(f"techmap -map {directory}/clears.v", "opt_expr", "opt_merge", "opt_clean"),
        f"clockgate -pos {target.clock_gate} -min_net_size {SMALLEST_GATED}",
        *([f"write_json {directory}/gated.json", AFTER_GATING, *latched] if target.latch else []),
        "dfflegalize -cell $_DFF_P_ x -cell $_DFF_PN0_ 01 -mince 0",
        f"dfflibmap {library}",
        *(f"{abc} {recipe.abc.replace(CHOICES, '')} {_selected(name)}" for name in recipe.plain),
        *(f"{abc} {COMPACT} {_selected(name)}" for name in recipe.compact),
        f"{abc} {recipe.abc}",
        "opt_clean -purge",
        f"hilomap -singleton -hicell {' '.join(target.high)} -locell {' '.join(target.low)}",
        f"tee -q -o {directory}/statistics.json stat {library} -json",
        "setattr -mod -unset keep_hierarchy *",
        *("flatten", "opt_clean -purge", "splitnets", "opt_clean -purge"),
        "check -assert",
        f"write_json {directory}/netlist.json",
        f"write_verilog -noattr -noexpr {mapped.netlist}",
    ]


def synthesise(
    top: str,
    sources: Sequence[Path],
    parameters: Mapping[str, int],
    clock_ns: float = CLOCK_NS,
    target: Target | None = None,
    apart: Sequence[str] = (),
    includes: Sequence[str] = INCLUDES,
    recipe: Recipe = Recipe(),
) -> Mapped:
    """Map a design, or find it mapped already. Raises ToolError if a tool refuses.

    apart: modules that keep their borders: each is mapped once, and counted. Everything else is flattened.
    """
    target = target or open_library()
    mapped = Mapped(top, target, clock_ns, BUILD / "asic")
    commands = _commands(mapped, sources, includes, parameters, apart, recipe)
    folders = [Path(folder.removeprefix("-I")) for folder in includes]
    headers = [path for folder in folders for path in sorted(folder.glob("*.svh"))]
    texts = [path.read_text(encoding="utf-8") for path in (*headers, *sources, target.cells, *target.macros)]
    texts.append(Path(latches.__file__).read_text(encoding="utf-8"))
    what = [version("pyosys"), commands, list(_inputs(mapped, recipe).items()), texts]
    key = hashlib.sha256(json.dumps(what).encode()).hexdigest()[:16]
    mapped.directory = BUILD / "asic" / f"{top}-{key}"
    done = mapped.directory / "done"
    mapped.directory.mkdir(parents=True, exist_ok=True)
    with (mapped.directory / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # tests that run at the same time share it
        if done.exists():
            return mapped
        for name, text in _inputs(mapped, recipe).items():
            (mapped.directory / name).write_text(text, encoding="utf-8")
        commands = _commands(mapped, sources, includes, parameters, apart, recipe)
        if AFTER_GATING in commands:
            at = commands.index(AFTER_GATING)
            _yosys(commands[:at], mapped.directory / "gating.log")
            design = json.loads((mapped.directory / "gated.json").read_text(encoding="utf-8"))
            latches.share(design, target.clock_gate)
            (mapped.directory / "latched.json").write_text(json.dumps(design), encoding="utf-8")
            commands = commands[at + 1 :]
        _yosys(commands, mapped.directory / "yosys.log")
        done.touch()
    return mapped


def _yosys(commands: Sequence[str], log: Path) -> None:
    run([sys.executable, RTL / "tools/yosys.py", *commands], log, timeout=14400)


def _inputs(mapped: Mapped, recipe: Recipe) -> dict[str, str]:
    """The files that the passes read."""
    shapes = mapped.target.shapes
    constraints = f"set_driving_cell {mapped.target.driver}\nset_load {recipe.port_load_ff} [all_outputs]\n"
    return {
        "macros.v": memories.models(shapes),
        "blocks.txt": memories.block_library(shapes),
        "map.v": memories.techmap(shapes),
        "clears.v": _clears(),
        "latches.v": latches.cells(mapped.target.latch) if mapped.target.latch else "",
        "constraints": constraints,
    }


# --- area -------------------------------------------------------------------------------------------------


def _plain(module: str) -> str:
    """A module's name without what Yosys adds for its parameters."""
    found = re.fullmatch(r"\$paramod(?:\$[0-9a-f]+)?\\(\w+).*", module)
    return found[1] if found else module


def _statistics(mapped: Mapped) -> dict[str, dict[str, int]]:
    """Cells by type in each module that keeps its borders."""
    modules = json.loads((mapped.directory / "statistics.json").read_text(encoding="utf-8"))["modules"]
    return {
        name.removeprefix("\\"): {
            kind.removeprefix("\\"): int(count) for kind, count in found["num_cells_by_type"].items()
        }
        for name, found in modules.items()
    }


def _occurrences(modules: Mapping[str, Mapping[str, int]], top: str) -> dict[str, int]:
    """Count how often each module occurs."""
    times: dict[str, int] = defaultdict(int)

    def visit(name: str, count: int) -> None:
        times[name] += count
        for kind, number in modules[name].items():
            if kind in modules:
                visit(kind, count * number)

    visit(next(name for name in modules if _plain(name) == top), 1)
    return times


def _by_module(mapped: Mapped) -> dict[str, dict[str, float]]:
    """For each module, kGE of all its instances without their submodules, and how often it occurs."""
    modules = _statistics(mapped)
    cells, nand = mapped.target.library.cells, mapped.target.library.cells[mapped.target.nand].area
    found: dict[str, dict[str, float]] = defaultdict(lambda: {"kge": 0.0, "instances": 0})
    for name, count in _occurrences(modules, mapped.top).items():
        total = sum(cells[kind].area * number for kind, number in modules[name].items() if kind in cells)
        found[_plain(name)]["kge"] += round(count * total / nand / 1000, 3)
        found[_plain(name)]["instances"] += count
    return dict(found)


def _memory_bits(path: Path) -> dict[str, int]:
    """Bits of the memories in each module of a design that Yosys wrote."""

    def bits(cell: Mapping[str, Mapping[str, str]]) -> int:
        return int(cell["parameters"]["WIDTH"], 2) * int(cell["parameters"]["SIZE"], 2)

    modules = json.loads(path.read_text(encoding="utf-8"))["modules"]
    return {
        name: sum(bits(cell) for cell in module["cells"].values() if cell["type"] == "$mem_v2")
        for name, module in modules.items()
    }


def _bits_in_macros(mapped: Mapped) -> int:
    """Return the bits of the design's memories for which a macro was chosen."""
    before, after = (_memory_bits(mapped.directory / f"{stage}.json") for stage in ("memories", "flops"))
    times = _occurrences(_statistics(mapped), mapped.top)
    return sum((before[name] - after[name]) * count for name, count in times.items())


def area(mapped: Mapped) -> Report:
    """The report without energy."""
    target, instances = mapped.target, mapped.cells.instances
    nand = target.library.cells[target.nand].area
    shapes = {shape.name: shape for shape in target.shapes}
    macros: dict[str, int] = defaultdict(int)
    for instance in instances:
        if instance.cell.name in shapes:
            macros[instance.cell.name] += 1
    return Report(
        kge=round(sum(i.cell.area for i in instances if i.cell.name not in shapes) / nand / 1000, 3),
        by_module=_by_module(mapped),
        sram_bits_used=_bits_in_macros(mapped),
        sram_bits_macro=sum(shapes[name].words * shapes[name].bits * count for name, count in macros.items()),
        sram_um2=round(sum(shapes[name].area * count for name, count in macros.items()), 1),
        macros=dict(macros),
        flops=sum(1 for i in instances if i.cell.flop),
        latches=sum(1 for i in instances if i.cell.latch and not i.cell.gate),
        clock_ns=mapped.clock_ns,
        slack_ns=slack(mapped),
        wire_load=target.wire_load or "none",
    )


# --- timing -----------------------------------------------------------------------------------------------


def sta(mapped: Mapped, clock: str, commands: Sequence[str], name: str) -> str:
    """Run commands in OpenSTA after the netlist and its constraints, and return the output."""
    target = mapped.target
    script = [
        *(f"read_liberty {path}" for path in (target.cells, *target.macros)),
        f"read_verilog {mapped.netlist}",
        f"link_design {mapped.top}",
        f"create_clock -name clock -period {mapped.clock_ns} [get_ports {clock}]",
        *([f"set_wire_load_model -name {target.wire_load}"] if target.wire_load else []),
        f"set_clock_transition {netlist.SLEW_NS} [all_clocks]",
        f"set_input_transition {netlist.SLEW_NS} [all_inputs]",
        *commands,
    ]
    path = mapped.directory / f"{name}.tcl"
    path.write_text("\n".join(script) + "\n", encoding="utf-8")
    said = run(["sta", "-no_splash", "-exit", path], path.with_suffix(".log"), timeout=1800)
    if "Error:" in said:
        raise ToolError(f"sta refused {path}: {said[said.index('Error:') :].splitlines()[0]}")
    return said


def slack(mapped: Mapped, clock: str = "clk_i") -> float | None:
    """ns: the worst of the paths to flops and macros, through latches too; None if there is none.

    A path that ends at a latch counts only if it comes after the latch has closed.
    """
    commands = [
        "set flops [all_registers -edge_triggered -data_pins]",
        "if {[llength $flops]} {report_checks -fields {slew capacitance} -digits 4 -to $flops}",
        "report_worst_slack -digits 4",
    ]
    said = sta(mapped, clock, commands, "timing")
    worst = re.search(r"^worst slack (\S+)", said, re.MULTILINE)
    if not worst:
        raise ToolError(f"sta says no slack of {mapped.top}: {said.strip()[-200:]}")
    of_flops = re.search(r"^\s*(\S+)\s+slack ", said, re.MULTILINE)
    if worst[1] == "INF" or not of_flops:
        return None
    return float(worst[1]) if float(worst[1]) < 0 else float(of_flops[1])


def clock_that_holds(mapped: Mapped, clock: str = "clk_i") -> float:
    """ns: a period that every path meets, in tenths of a ns: the mapped one less its slack, or more if paths
    of half a cycle need it."""
    found = slack(mapped, clock)
    tenths = math.ceil(10 * (mapped.clock_ns - (found or 0.0)))
    while (found := slack(replace(mapped, clock_ns=tenths / 10), clock)) is not None and found < 0:
        tenths += 1
    return tenths / 10


# --- energy -----------------------------------------------------------------------------------------------


def simulate(
    mapped: Mapped,
    sources: Sequence[Path],
    top: str,
    arguments: Sequence[str] = (),
    parameters: Mapping[str, int] | None = None,
) -> str:
    """Run a test bench of the design's ports on the mapped netlist, and return its output, with the delays of
    its cells, under Icarus Verilog. Raises ToolError if it fails. For small designs: gates.simulate() is much
    faster.

    It dumps what is to be measured: `$dumpvars(1, <the design's instance>)`, and `$dumpoff` at the end.
    parameters: the test bench's.
    """
    with tempfile.TemporaryDirectory(dir=mapped.directory) as folder:
        model, program = (Path(folder) / name for name in ("model.v", "simulation.vvp"))
        delays = netlist.propagate(mapped.cells)[1]
        model.write_text(netlist.simulation_model(mapped.cells, delays), encoding="utf-8")
        run(
            [
                *("iverilog", "-g2012", "-s", top, "-o", program),
                *(f"-P{top}.{name}={value}" for name, value in (parameters or {}).items()),
                *(model, mapped.macros, *sources),
            ],
            mapped.directory / "iverilog.log",
        )
        return run(["vvp", "-n", program, *arguments], mapped.directory / "simulation.log", timeout=14400)


def calculator(mapped: Mapped, activity: power.Activity) -> power.Calculator:
    return power.Calculator(mapped.cells, mapped.slews, mapped.target.library.voltage, activity)


def activity(mapped: Mapped, vcd: Path, ns: float | None = None) -> power.Activity:
    """Activity in a dump that simulate() made, or in its first ns."""
    return power.read_vcd(vcd, power.watched_nets(mapped.cells), ns)


def measure(
    top: str,
    sources: Sequence[Path],
    parameters: Mapping[str, int],
    clock_ns: float = CLOCK_NS,
    vcd: Path | None = None,
    vcd_ns: float | None = None,
    target: Target | None = None,
    apart: Sequence[str] = (),
    includes: Sequence[str] = INCLUDES,
) -> Report:
    """Area and slack of a design; with a dump of its simulation (simulate()), the energy too, of all of it or
    of the first vcd_ns.
    """
    mapped = synthesise(top, sources, parameters, clock_ns, target, apart, includes)
    return report(mapped, activity(mapped, vcd, vcd_ns) if vcd else None)


def report(mapped: Mapped, activity: power.Activity | None = None) -> Report:
    """measure(), of a design that is mapped already; activity: from activity() or gates.simulate()."""
    found = area(mapped)
    if activity:
        paths = power.energy(calculator(mapped, activity))
        total = power.Energy()
        for part in paths.values():
            total.add(part)
        found.duration_ns = activity.ns
        found.energy_pj = asdict(total)
        found.energy_by_path_pj = {path or mapped.top: part.total for path, part in sorted(paths.items())}
    return found


def main() -> int:
    if len(sys.argv) != 3 or sys.argv[1] != "cm_ntt_engine" or sys.argv[2] not in configurations():
        print(f"usage: asic.py cm_ntt_engine {'|'.join(configurations())}", file=sys.stderr)
        return 2
    try:
        apart = ("cm_butterfly", "cm_ram")
        found = measure("cm_ntt_engine", ENGINE_SOURCES, configurations()[sys.argv[2]], apart=apart)
        print(json.dumps(asdict(found)))
    except (ToolError, liberty.LibertyError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
