# SPDX-License-Identifier: Apache-2.0
"""Area, timing and energy: by hand on a made-up library, against OpenSTA, and on IHP's if it is there."""

import json
import os
import re
from collections import Counter, defaultdict
from dataclasses import replace
from pathlib import Path

import asic
import corners
import gates
import liberty
import netlist
import power
import pytest
import transform_energy
from netlist import Instance, Netlist

from tools import ENGINE_SOURCES, ROOT, RTL, ToolError

HERE = Path(__file__).resolve().parent
MACRO = "RM_TOY_2P_64x8_t"
TRANSFORM = {"LOG2_N": 8, "WIDTH": 22, "LOG2_UNITS": 1, "LOG2_LANES": 1, "OPERANDS": 0, "DEEP": 0}
BUTTERFLY = {"WIDTH": 8, "LOG2_N": 4, "DEEP": 1}
with_pdk = pytest.mark.skipif(not os.environ.get(asic.PDK), reason=f"{asic.PDK} names no folder")


def toy(wire_load: str = "") -> asic.Target:
    return asic.Target(
        HERE / "toy_cells.lib",
        (HERE / f"{MACRO}.lib",),
        nand="NAND2",
        high=("TIEHI", "H"),
        low=("TIELO", "L"),
        driver="BUF",
        clock_gate="CLOCKGATE GATE:CLK:GCLK",
        wire_load=wire_load,
        bit_area=11.0,
    )


CELLS = toy().every_cell


# --- Liberty ----------------------------------------------------------------------------------------------


def test_tables_are_linear_between_their_points_and_beyond():
    (arc,) = CELLS["INV"].pins["Y"].arcs
    delay = arc.delay[0]
    assert delay is not None
    assert delay.at(0.1, 0.0) == pytest.approx(0.1)
    assert delay.at(0.3, 0.05) == pytest.approx((0.1 + 0.4 + 0.2 + 0.5) / 4)
    assert delay.at(0.1, 0.2) == pytest.approx(0.7)
    assert delay.at(0.9, 0.0) == pytest.approx(0.3)


def test_units_are_brought_to_those_of_the_calculator():
    text = (HERE / "toy_cells.lib").read_text().replace('"1nW"', '"1uW"').replace("(1,pf)", "(10,ff)")
    top = liberty.parse(text)
    reader = liberty._Reader(top)
    cell = reader.cell(next(group for group in top.named("cell") if group.arguments == ["INV"]))
    assert cell.leakage == pytest.approx(1000)
    assert cell.pins["A"].capacitance == pytest.approx(0.002 * 0.01)
    assert cell.pins["Y"].power[0].rise.at(0.1, 0.0) == pytest.approx(0.001 * 0.01)


@pytest.mark.parametrize(
    ("expression", "ones"),
    [
        ("!(A*B)", [(0, 0), (0, 1), (1, 0)]),
        ("(A+B)", [(0, 1), (1, 0), (1, 1)]),
        ("A ^ B", [(0, 1), (1, 0)]),
        ("A' & B", [(0, 1)]),
        ("!A B", [(0, 1)]),
    ],
)
def test_functions(expression, ones):
    function = liberty.function(expression)
    for a in (0, 1):
        for b in (0, 1):
            assert function.value({"A": bool(a), "B": bool(b)}) == ((a, b) in ones)
    assert function.probability({"A": 0.25, "B": 0.5}) == pytest.approx(
        sum((0.25 if a else 0.75) * 0.5 for a, _ in ones)
    )


def test_the_wire_load_follows_its_table_and_then_its_slope():
    wire = toy().library.wire_loads["short"]
    assert [wire.of(fanout) for fanout in (0, 1, 2, 3, 5)] == pytest.approx([0, 0.002, 0.005, 0.008, 0.012])


# --- energy by hand ---------------------------------------------------------------------------------------


def hand_made() -> Netlist:
    """a, b -> NAND2 -> n4 -> INV -> y, and n4 -> DFF -> q, without wires."""
    instances = [
        Instance("nand", CELLS["NAND2"], {"A": 2, "B": 3, "Y": 4}),
        Instance("inv", CELLS["INV"], {"A": 4, "Y": 5}),
        Instance("flop", CELLS["DFF"], {"CLK": 6, "D": 4, "RESET_B": "1", "Q": 7}),
    ]
    return Netlist("top", {"a": [2], "b": [3], "clk_i": [6]}, {"y": [5], "q": [7]}, instances, toy().wires)


def of_hand_made(toggles: dict[int, tuple[int, int, float]]) -> dict[str, power.Energy]:
    cells = hand_made()
    activity = power.Activity(1000.0, {net: power.Toggles(*of) for net, of in toggles.items()})
    calculator = power.Calculator(cells, netlist.propagate(cells)[0], 1.0, activity)
    return {instance.name: calculator.instance(instance) for instance in cells.instances}


def test_slews_and_delays_by_hand():
    """n4 is loaded with 4 fF: delay 0.1 + 0.04 * 0.3, slew 0.1 + 0.04 * 0.2; y adds the slew's part."""
    slews, delays = netlist.propagate(hand_made())
    assert delays[4] == pytest.approx(0.112)
    assert slews[4] == pytest.approx((0.108, 0.108))
    assert delays[5] == pytest.approx(0.1 + 0.1 * 0.008 / 0.4)


def test_a_port_counts_as_a_sink_of_its_wire():
    cells = hand_made()
    cells.wire_load = toy("short").wires
    assert cells.loads[4] == pytest.approx(0.004 + 0.005)
    assert cells.loads[5] == pytest.approx(0.002)


def test_energy_of_gates_by_hand():
    """nand: 3 rises and 2 falls of 4 fF at 1 V. a toggles three times as often as b, so its tables count
    three times as much: rises 0.75 * 2 + 0.25 * 4 fJ, falls 0.75 * 4 + 0.25 * 6.
    """
    found = of_hand_made({2: (6, 6, 0.5), 3: (2, 2, 0.5), 4: (3, 2, 0.4)})
    assert found["nand"].switching == pytest.approx(5 * 0.004 / 2)
    assert found["nand"].internal == pytest.approx(3 * 0.0025 + 2 * 0.0045)
    assert found["nand"].leakage == pytest.approx(2 * 1000 * 1e-6)
    assert found["inv"].internal == 0


def test_energy_of_a_flop_by_hand():
    """10 cycles, q rises once and falls once: 2 of 10 edges change it, and 8 find D = Q."""
    found = of_hand_made({4: (1, 1, 0.5), 6: (10, 10, 0.5), 7: (1, 1, 0.5)})
    clock = 8 * (0.005 + 0.007) + 2 * (0.0 + 0.009)
    assert found["flop"].internal == pytest.approx(clock + 0.010 + 0.012)


def test_a_dump_is_counted_from_its_first_time_to_its_last(tmp_path):
    dump = tmp_path / "dump.vcd"
    dump.write_text(
        "$timescale 10 ps $end\n$scope module t $end\n $var wire 1 ! n4 $end\n$var wire 1 ! n9 $end\n"
        '$var wire 1 " n5 $end\n$var wire 8 # data $end\n$upscope $end\n$enddefinitions $end\n'
        '#100\n$dumpvars\n0!\nx"\nb1010 #\n$end\n#200\n1!\n1"\n#400\n0!\n#500\n1!\n0"\n#600\nx!\nx"\n'
    )
    activity = power.read_vcd(dump)
    assert activity.ns == pytest.approx(5.0)
    assert activity.nets[4] == activity.nets[9] == power.Toggles(2, 1, pytest.approx(0.6))
    assert activity.nets[5] == power.Toggles(0, 1, pytest.approx(0.6))
    assert power.read_vcd(dump, ns=3.0).nets[4] == power.Toggles(1, 1, pytest.approx(2 / 3))


def test_a_macro_is_charged_for_what_its_clock_found(tmp_path):
    """The write enable goes low with an edge, which still finds it high."""
    dump = tmp_path / "dump.vcd"
    dump.write_text(
        '$timescale 1ps $end\n$var wire 1 ! n2 $end\n$var wire 1 " n3 $end\n$enddefinitions $end\n'
        '#0\n0!\n1"\n#5\n0"\n1!\n#6\n0!\n#9\n1!\n#10\n0!\n#15\n1"\n#20\n1!\n'
    )
    nets = {
        "A_CLK": 2,
        "A_MEN": "1",
        "A_WEN": 3,
        "A_REN": "0",
        **{f"A_DOUT[{bit}]": 10 + bit for bit in range(8)},
    }
    cells = Netlist("top", {}, {}, [Instance("m", CELLS[MACRO], nets)], toy().wires)
    activity = power.read_vcd(dump, power.watched_nets(cells))
    found = power.Calculator(cells, {}, 1.0, activity).instance(cells.instances[0])
    assert found.macros == pytest.approx(2 * 3.0)


# --- the flow ---------------------------------------------------------------------------------------------


def mapped_memory(depth: int, address_width: int) -> asic.Mapped:
    shape = {"WIDTH": 8, "DEPTH": depth, "ADDRESS_WIDTH": address_width}
    return asic.synthesise("cm_ram", ENGINE_SOURCES, shape, target=toy())


def run_memory(mapped: asic.Mapped, dump: Path, depth: int, address_width: int) -> Path:
    shape = {"DEPTH": depth, "ADDRESS_WIDTH": address_width}
    said = asic.simulate(mapped, [HERE / "memory_bench.sv"], "memory_bench", [f"+dump={dump}"], shape)
    assert "words match" in said
    return dump


def memory_cycles(depth: int) -> list[dict[str, int]]:
    """Return memory_bench.sv's cycles, after two idle ones."""
    last = depth - 1
    idle = {"read_address_i": last}
    writes = [
        {"write_i": 1, "write_address_i": i, "write_data_i": (i * 37 + 5) & 255, "read_address_i": last - i}
        for i in range(depth)
    ]
    data = writes[-1]["write_data_i"]
    reads = [{"write_address_i": last - i, "write_data_i": data, "read_address_i": i} for i in range(depth)]
    return [{**cycle, "read_i": 1} for cycle in [idle, idle, *writes, *reads]]


@pytest.mark.parametrize("macro", [True, False])
def test_gates_counts_what_icarus_dumps(tmp_path, macro):
    """All transitions of all nets while 64 words are written, in a macro and in flops with gated clocks."""
    depth, width = (64, 6) if macro else (8, 3)
    target = toy() if macro else replace(toy(), macros=())
    mapped = asic.synthesise(
        "cm_ram", ENGINE_SOURCES, {"WIDTH": 8, "DEPTH": depth, "ADDRESS_WIDTH": width}, target=target
    )
    dumped = asic.activity(mapped, run_memory(mapped, tmp_path / "dump.vcd", depth, width), 10.0 * depth)
    outputs, (counted,) = gates.simulate(
        mapped.cells, tmp_path, memory_cycles(depth), [(2, 2 + depth)], mapped.clock_ns
    )
    words = [now["read_data_o"] for now in list(outputs)[3 + depth :]]
    assert words == [(i * 37 + 5) & 255 for i in range(depth - 1)]
    assert counted.ns == dumped.ns
    assert sum(toggles.rises for toggles in counted.nets.values()) > 4 * depth
    near = pytest.approx
    for net, toggles in dumped.nets.items():
        found = counted.of(net)
        if net != mapped.cells.inputs["clk_i"][0]:
            assert (found.rises, found.falls) == near((toggles.rises, toggles.falls), abs=1), net
            assert found.high == near(toggles.high, abs=0.2 / depth), net
    of_macros = [
        sum(calculator.instance(instance).macros for instance in mapped.cells.instances)
        for calculator in (asic.calculator(mapped, dumped), asic.calculator(mapped, counted))
    ]
    assert of_macros[0] == near(of_macros[1], rel=0.01)


def test_windows_count_what_happens_in_them(tmp_path):
    """Two halves and the reads behind them are as much as all."""
    mapped, depth = mapped_memory(64, 6), 64

    def counted(windows):
        cycles = memory_cycles(depth)
        return gates.simulate(mapped.cells, tmp_path, cycles, windows, mapped.clock_ns)[1]

    (whole,) = counted([(2, 2 + 2 * depth)])
    parts = counted([(2, 2 + depth // 2), (2 + depth // 2, 2 + depth), (2 + depth, 2 + 2 * depth)])
    assert [part.ns for part in parts] == [320.0, 320.0, 640.0]
    moved = [net for net, toggles in whole.nets.items() if toggles.rises]
    assert moved
    for net in moved:
        assert sum(part.of(net).rises for part in parts) == whole.of(net).rises
        high = sum(part.of(net).high * part.ns for part in parts)
        assert high == pytest.approx(whole.of(net).high * whole.ns)
    assert len(whole.states) == 2
    for port, states in whole.states.items():
        assert sum((part.states[port] for part in parts), Counter()) == states


def test_gates_refuses_what_it_cannot_simulate():
    for changed, sentence in {
        ("RESET_B", 3): "flop: a flop with more than a clock and data",
        ("CLK", 2): "a clock is neither clk_i nor gated from it",
    }.items():
        cells = hand_made()
        flop = cells.instances[2]
        cells.instances[2] = replace(flop, nets={**flop.nets, changed[0]: changed[1]})
        with pytest.raises(ValueError, match=sentence):
            list(gates._Writer(cells, "clk_i").lines())


def test_a_memory_goes_into_a_macro_and_pays_for_each_access(tmp_path):
    """100 um^2 against 64 words of 8 bits at 11: 64 writes at 3 pJ, and a read at 2 pJ in each cycle."""
    mapped = mapped_memory(64, 6)
    dump = run_memory(mapped, tmp_path / "dump.vcd", 64, 6)
    report = asic.measure(
        "cm_ram",
        ENGINE_SOURCES,
        {"WIDTH": 8, "DEPTH": 64, "ADDRESS_WIDTH": 6},
        vcd=dump,
        vcd_ns=640.0,
        target=toy(),
    )
    assert (report.sram_bits_used, report.sram_bits_macro, report.macros) == (512, 512, {MACRO: 1})
    assert report.energy_pj["macros"] == pytest.approx(64 * (3 + 2))


def test_a_small_memory_goes_into_flops_with_gated_clocks(tmp_path):
    """4 words of 8 bits at 3 um^2 a bit take less than a macro of 100 um^2; at 4 they do not. Each word has a
    gate, and so has the output, which stays while nothing is read."""
    shape = {"WIDTH": 8, "DEPTH": 4, "ADDRESS_WIDTH": 2}
    mapped = asic.synthesise("cm_ram", ENGINE_SOURCES, shape, target=replace(toy(), bit_area=3.0))
    run_memory(mapped, tmp_path / "dump.vcd", 4, 2)
    kinds = [instance.cell.name for instance in mapped.cells.instances]
    assert kinds.count("CLOCKGATE") == 4 + 1 and kinds.count("DFF") == 4 * 8 + 8
    assert asic.area(mapped).macros == {}
    dearer = asic.synthesise("cm_ram", ENGINE_SOURCES, shape, target=replace(toy(), bit_area=4.0))
    report = asic.area(dearer)
    assert (report.macros, report.sram_bits_used) == ({MACRO: 1}, 32)


def test_a_corner_pays_for_the_same_toggles_by_its_voltage_and_for_leakage_by_its_clock(tmp_path):
    shape = {"WIDTH": 8, "DEPTH": 8, "ADDRESS_WIDTH": 3}
    mapped = asic.synthesise("cm_ram", ENGINE_SOURCES, shape, target=replace(toy(), macros=()))
    _, (activity,) = gates.simulate(mapped.cells, tmp_path, memory_cycles(8), [(2, 10)], mapped.clock_ns)
    text = (HERE / "toy_cells.lib").read_text(encoding="utf-8")
    high = tmp_path / "high.lib"
    high.write_text(text.replace("nom_voltage : 1.0", "nom_voltage : 2.0"), encoding="utf-8")
    at = {
        "typical": mapped,
        "slow": replace(mapped, clock_ns=3 * mapped.clock_ns),
        "fast": replace(mapped, target=replace(toy(), cells=high, macros=())),
    }
    found = corners.energies(at, activity, 8)
    typical, slow, fast = (found["corners_pj"][name] for name in at)
    assert typical["leakage"] > 0 and typical["switching"] > 0
    assert slow == pytest.approx({**typical, "leakage": 3 * typical["leakage"]})
    by_voltage = {part: 4 * typical[part] for part in ("switching", "outside")}
    assert fast == pytest.approx({**typical, **by_voltage})
    assert sum(found["by_path_pj"].values()) == pytest.approx(sum(typical.values()))


@with_pdk
def test_corners_of_the_open_library():
    """A slow chip needs a longer clock, and a fast one takes more for each toggle."""
    mapped = asic.synthesise("cm_butterfly", ENGINE_SOURCES, BUTTERFLY, clock_ns=1.0)
    at = corners.at_corners(mapped)
    clocks = [at[name].clock_ns for name in ("fast", "typical", "slow")]
    assert clocks == sorted(clocks) and clocks[1] < clocks[2]
    assert all((asic.slack(corner) or 0) >= 0 for corner in at.values())
    (clock,) = mapped.cells.inputs["clk_i"]
    activity = power.uniform(mapped.cells, clock, 100, 1.0, 0.2, 0.5)
    found = corners.energies(at, activity, 100)["corners_pj"]
    assert found["slow"]["switching"] < found["typical"]["switching"] < found["fast"]["switching"]
    assert asic.open_library(corner=asic.CORNERS["high_voltage"]).macros == ()


LATCH = "LATCH GATE:D:Q:RESET_B"


@pytest.mark.parametrize("depth", [8, 2])
def test_words_that_share_their_data_are_latches_behind_one_flop(tmp_path, depth):
    """Two words are not worth the flop in front."""
    width = (depth - 1).bit_length()
    shape = {"WIDTH": 8, "DEPTH": depth, "ADDRESS_WIDTH": width}
    target = replace(toy(), macros=(), latch=LATCH)
    mapped = asic.synthesise("cm_ram", ENGINE_SOURCES, shape, target=target)
    dumped = asic.activity(mapped, run_memory(mapped, tmp_path / "dump.vcd", depth, width), 10.0 * depth)
    kinds = [instance.cell.name for instance in mapped.cells.instances]
    latches = 8 * depth if depth > 2 else 0
    assert (kinds.count("LATCH"), kinds.count("DFF")) == (latches, 8 + 8 if latches else 8 + 8 * depth)
    report = asic.area(mapped)
    assert (report.latches, report.flops) == (latches, kinds.count("DFF"))
    outputs, (counted,) = gates.simulate(
        mapped.cells, tmp_path, memory_cycles(depth), [(2, 2 + depth)], mapped.clock_ns
    )
    words = [now["read_data_o"] for now in list(outputs)[3 + depth :]]
    assert words == [(i * 37 + 5) & 255 for i in range(depth - 1)]
    for net, toggles in dumped.nets.items():
        if net != mapped.cells.inputs["clk_i"][0]:
            found = counted.of(net)
            near = pytest.approx((toggles.rises, toggles.falls), abs=1)
            assert (found.rises, found.falls) == near, net


def test_a_latch_is_refused_whose_clock_is_not_gated():
    cells = hand_made()
    nets = {"GATE": 2, "D": 4, "RESET_B": "1", "Q": 7}
    cells.instances[2] = Instance("latch", CELLS["LATCH"], nets)
    with pytest.raises(ValueError, match="latch: a latch with more than a gated clock and data"):
        list(gates._Writer(cells, "clk_i").lines())


def test_paths_that_go_through_a_latch_count_and_borrowed_time_does_not():
    """The flop in front changes as its latches open: what they borrow is no slack of 0."""
    shape = {"WIDTH": 8, "DEPTH": 8, "ADDRESS_WIDTH": 3}
    target = replace(toy(), macros=(), latch=LATCH)
    slow, fast = (
        asic.slack(asic.synthesise("cm_ram", ENGINE_SOURCES, shape, clock_ns=clock_ns, target=target))
        for clock_ns in (10.0, 0.9)
    )
    assert slow is not None and 5 < slow < 10
    assert fast is not None and fast < 0


CLEARED = """
module cleared(input clk_i, input enable_i, input rst_i, input [7:0] data_i, output reg [7:0] data_o);
  always @(posedge clk_i) begin
    if (enable_i) data_o <= data_i;
    if (rst_i) data_o <= 8'd0;
  end
endmodule
"""
CLEARED_BENCH = """`timescale 1ps/1ps
module bench;
  reg clk = 0, enable = 0, rst = 0;
  reg [7:0] data = 8'h5a;
  wire [7:0] q;
  cleared dut(clk, enable, rst, data, q);
  always #5000 clk = ~clk;
  task step(input e, input r, input [7:0] expected);
    begin
      enable = e; rst = r; @(posedge clk); #9000;
      if (q !== expected) $fatal(1, "%h instead of %h", q, expected);
      data = data + 1;
    end
  endtask
  initial begin
    #200;
    step(1, 0, 8'h5a); step(0, 0, 8'h5a); step(0, 1, 0); step(1, 0, 8'h5d); step(1, 1, 0); step(0, 0, 0);
    $display("cleared");
    $finish;
  end
endmodule
"""


def test_a_register_with_an_enable_and_a_clear_has_one_gated_clock(tmp_path):
    for name, text in {"cleared.sv": CLEARED, "bench.sv": CLEARED_BENCH}.items():
        (tmp_path / name).write_text(text)
    mapped = asic.synthesise("cleared", [tmp_path / "cleared.sv"], {}, target=toy())
    assert [i.cell.name for i in mapped.cells.instances].count("CLOCKGATE") == 1
    assert "cleared" in asic.simulate(mapped, [tmp_path / "bench.sv"], "bench")


SINGLE = """
module single(
  input clk_i, input enable_i, input write_i, input [5:0] address_i, input [7:0] data_i,
  output reg [7:0] data_o
);
  reg [7:0] words [0:63];
  always @(posedge clk_i) if (enable_i) begin
    if (write_i) words[address_i] <= data_i; else data_o <= words[address_i];
  end
endmodule
"""
SINGLE_BENCH = """`timescale 1ps/1ps
module bench;
  reg clk = 0, enable = 0, write = 0;
  reg [5:0] address = 0;
  reg [7:0] data = 0;
  wire [7:0] read;
  integer i;
  single dut(clk, enable, write, address, data, read);
  always #5000 clk = ~clk;
  task step(input e, input w, input [5:0] a, input [7:0] d);
    begin enable = e; write = w; address = a; data = d; @(posedge clk); #9000; end
  endtask
  initial begin
    #200;
    for (i = 0; i < 64; i = i + 1) step(1, 1, i, 3 * i);
    step(0, 1, 5, 99);
    for (i = 0; i < 64; i = i + 1) begin
      step(1, 0, i, 0);
      if (read !== ((3 * i) & 255)) $fatal(1, "word %0d is wrong", i);
      step(0, 0, ~i, 0);
      if (read !== ((3 * i) & 255)) $fatal(1, "read without enable");
    end
    $display("words match");
    $finish;
  end
endmodule
"""


def test_a_memory_with_one_address_goes_into_a_macro_with_one_port(tmp_path):
    for name, text in {"single.sv": SINGLE, "bench.sv": SINGLE_BENCH}.items():
        (tmp_path / name).write_text(text)
    library = tmp_path / "RM_TOY_1P_64x8_t.lib"
    text = (HERE / f"{MACRO}.lib").read_text().replace("2P", "1P").replace("area : 100", "area : 60")
    library.write_text(text)
    both = replace(toy(), macros=(*toy().macros, library))
    mapped = asic.synthesise("single", [tmp_path / "single.sv"], {}, target=both)
    assert asic.area(mapped).macros == {"RM_TOY_1P_64x8_t": 1}
    assert "words match" in asic.simulate(mapped, [tmp_path / "bench.sv"], "bench")


def mapped_transform(clock_ns: float) -> asic.Mapped:
    return asic.synthesise(
        transform_energy.TOP,
        ENGINE_SOURCES,
        TRANSFORM,
        clock_ns,
        target=toy(),
        apart=transform_energy.APART,
    )


def test_a_mapped_transform_is_right_and_its_energy_is_told_by_instance():
    mapped = mapped_transform(60.0)
    activity, cycles = transform_energy.simulate(mapped, TRANSFORM, 600, seed=1)
    assert 512 < cycles < 600
    report = asic.report(mapped, activity)
    assert report.slack_ns is not None and report.slack_ns > 0
    assert sum(report.energy_by_path_pj.values()) == pytest.approx(sum(report.energy_pj.values()))
    butterfly = report.energy_by_path_pj["u_units.g_unit[0].u_butterfly"]
    assert butterfly > 10 * report.energy_by_path_pj["u_control"] > 0


def test_a_transform_beyond_its_clock_is_wrong_and_says_so():
    mapped = mapped_transform(5.0)
    slack = asic.slack(mapped)
    assert slack is not None and slack < 0
    with pytest.raises(ToolError, match="the mapped netlist computed another transform"):
        transform_energy.simulate(mapped, TRANSFORM, 600, seed=1)


def opensta(mapped: asic.Mapped, toggles: float, high: float) -> dict[str, float]:
    """pJ a cycle, without activity from a simulation but with the same one everywhere.

    An input needs a delay to belong to the clock, or what it alone drives counts a second for a cycle.
    """
    inputs = [
        f"{name}[{bit}]" if len(bits) > 1 else name
        for name, bits in mapped.cells.inputs.items()
        for bit in range(len(bits))
        if name != "clk_i"
    ]
    said = asic.sta(
        mapped,
        "clk_i",
        [
            *(f"set_input_delay 0 -clock clock [get_ports {{{name}}}]" for name in inputs),
            f"set_power_activity -global -activity {toggles} -duty {high}",
            f"set_power_activity -input -activity {toggles} -duty {high}",
            "report_power -digits 6",
        ],
        "power",
    )
    (total,) = re.findall(r"^Total +(\S+) +(\S+) +(\S+)", said, re.MULTILINE)
    watts = zip(("internal", "switching", "leakage"), total, strict=True)
    return {part: float(value) * mapped.clock_ns * 1e3 for part, value in watts}


def ours(calculator: power.Calculator, cycles: int) -> dict[str, float]:
    total = power.Energy()
    for instance in calculator.netlist.instances:
        total.add(calculator.instance(instance))
    return {part: getattr(total, part) / cycles for part in ("internal", "switching", "leakage")}


def at_equal_activity(mapped: asic.Mapped, kind: type[power.Calculator]) -> power.Calculator:
    (clock,) = mapped.cells.inputs["clk_i"]
    activity = power.uniform(mapped.cells, clock, 100, mapped.clock_ns, 0.5, 0.5)
    return kind(mapped.cells, mapped.slews, mapped.target.library.voltage, activity)


@pytest.mark.parametrize("wire_load", ["", "short"])
def test_power_is_that_of_opensta_at_equal_activity(wire_load):
    """OpenSTA 2.0.17 takes the sum of the tables for rise and fall for each transition, twice their mean.

    In the made-up library a pin's conditions exclude each other, so the rest is comparable.
    """
    mapped = asic.synthesise("cm_butterfly", ENGINE_SOURCES, BUTTERFLY, target=toy(wire_load))
    theirs = opensta(mapped, 0.5, 0.5)
    found = ours(at_equal_activity(mapped, power.Calculator), 100)
    assert 2 * found["internal"] == pytest.approx(theirs["internal"], rel=0.01)
    assert found["switching"] == pytest.approx(theirs["switching"], rel=0.01)
    assert found["leakage"] == pytest.approx(theirs["leakage"], rel=0.001)


def test_delays_are_those_of_opensta():
    """The slowest path of the mapped multiplier, by the worst arc of each cell, is OpenSTA's or slower."""
    mapped = asic.synthesise("cm_butterfly", ENGINE_SOURCES, BUTTERFLY, target=toy())
    _, delays = netlist.propagate(mapped.cells)
    arrival: dict[netlist.Net, float] = defaultdict(float)
    for instance in mapped.cells.order:
        for pin in instance.outputs():
            entering = [0.0] if instance.cell.flop else [arrival[instance.nets[i]] for i in instance.inputs()]
            arrival[instance.nets[pin]] = max(entering, default=0.0) + delays[instance.nets[pin]]
    data = [i.nets["D"] for i in mapped.cells.instances if i.cell.flop]
    slowest = max(arrival[net] for net in data)
    setup = 0.1
    assert mapped.clock_ns - setup - slowest == pytest.approx(asic.slack(mapped), abs=0.05)


def test_a_clock_too_fast_gives_a_negative_slack():
    mapped = asic.synthesise("cm_butterfly", ENGINE_SOURCES, BUTTERFLY, clock_ns=0.5, target=toy())
    slack = asic.slack(mapped)
    assert slack is not None and slack < 0


def test_kge_is_the_sum_of_its_modules():
    report = asic.measure(
        "cm_butterfly", ENGINE_SOURCES, BUTTERFLY, target=toy(), apart=("cm_wide_multiply", "cm_delay")
    )
    assert sum(part["kge"] for part in report.by_module.values()) == pytest.approx(report.kge, abs=0.01)
    assert report.by_module["cm_wide_multiply"]["instances"] == 1
    assert report.kge > 1


def test_a_module_whose_name_only_begins_as_one_apart_is_mapped_with_the_top(tmp_path):
    source = tmp_path / "whole.sv"
    module = """
        module {name} #(parameter W = 2) (input clk_i, input [W-1:0] a_i, output logic [W-1:0] b_o);
          always_ff @(posedge clk_i) b_o <= ~a_i;
        endmodule"""
    names = ("cm_half", "cm_halfs", "cm_half_top")
    source.write_text("".join(module.format(name=name) for name in names) + """
        module cm_whole (input clk_i, input [4:0] a_i, output [16:0] b_o);
          cm_half u_plain (.clk_i, .a_i(a_i[1:0]), .b_o(b_o[1:0]));
          cm_half #(.W(3)) u_half (.clk_i, .a_i(a_i[2:0]), .b_o(b_o[4:2]));
          cm_halfs #(.W(4)) u_halfs (.clk_i, .a_i(a_i[3:0]), .b_o(b_o[8:5]));
          cm_half_top #(.W(3)) u_top (.clk_i, .a_i(a_i[2:0]), .b_o(b_o[11:9]));
          cm_half #(.W(5)) u_wide (.clk_i, .a_i, .b_o(b_o[16:12]));
        endmodule""")  # fmt: skip
    report = asic.measure("cm_whole", [source], {}, target=toy(), apart=("cm_half",))
    assert {name: part["instances"] for name, part in report.by_module.items()} == {
        "cm_whole": 1,
        "cm_half": 3,
    }


def test_the_page_has_the_figures_of_the_bench():
    rows = json.loads((ROOT / "bench/results/rtl-asic.json").read_text(encoding="utf-8"))["rows"]
    transform = {
        row["name"].removeprefix("engine.n1024_u8_deep.sg13g2."): (row["value"], row["params"])
        for row in rows
    }
    text = (RTL / "README.md").read_text(encoding="utf-8")
    kge, how = transform["kge"]
    assert f"| standard cells | {kge} kGE:" in text
    parts = re.findall(
        r"memories in cells ([\d.]+), eight butterflies ([\d.]+), control and the rest ([\d.]+)", text
    )
    found = {name: module["kge"] for name, module in how["by_module"].items()}
    memories, butterflies = found["cm_ram"], found["cm_butterfly"]
    shown = [f"{part:.1f}" for part in (memories, butterflies, kge - memories - butterflies)]
    assert parts == [tuple(shown)]
    used, macro = transform["sram_bits.used"], transform["sram_bits.macro"]
    (macros,) = used[1]["macros"].values()
    said = f"{used[0]:,} bits of twiddles and factors in macros of {macro[0]:,} ({macros} of 1024 x 32)"
    assert said in text
    assert f"| worst slack | {transform['slack'][0]:.1f} ns |" in text
    nj, how = transform["transform.energy"]
    pj = how["parts_pj"]
    said = f"{transform['transform.cycles'][0]} cycles from start to end, {nj:,.0f} nJ: "
    said += f"cells {(pj['internal'] + pj['leakage']) / 1000:.0f}, nets {pj['switching'] / 1000:.0f}, "
    said += f"macros {pj['macros'] / 1000:.0f}, nets from outside with the clock {pj['outside'] / 1000:.0f}"
    assert said in text


def test_without_the_library_a_sentence_says_what_to_set(monkeypatch, tmp_path):
    for folder in (None, tmp_path):
        if folder:
            monkeypatch.setenv(asic.PDK, str(folder))
        else:
            monkeypatch.delenv(asic.PDK, raising=False)
        with pytest.raises(ToolError, match=f"^Set {asic.PDK} to a folder"):
            asic.open_library()


# --- IHP SG13G2 -------------------------------------------------------------------------------------------


class AsOpenSta(power.Calculator):
    """OpenSTA 2.0.17's own reading of conditions: unconditional tables add to conditional ones, those of an
    output count whole, and rise and fall are added up instead of halved."""

    def independent(self, instance):
        """Constants have a duty of one half, too."""
        ones = defaultdict(lambda: 0.5)
        return lambda group: group.when.probability(ones) if group.when else 1.0

    def output(self, instance, pin):
        by_related = defaultdict(list)
        for group in instance.cell.pins[pin].power:
            by_related[group.related].append(group)
        if instance.cell.flop:
            by_related = {"CLK": by_related["CLK"]}
        toggles = self.activity.of(instance.nets[pin])
        load = self.netlist.loads[instance.nets[pin]]
        total = 0.0
        for related, groups in by_related.items():
            slew = self.slew(instance, related)
            pairs = sum(self.transitions(group, slew, load, 1, 1) for group in groups)
            total += pairs * (toggles.rises + toggles.falls) / len(by_related)
        return total

    def input(self, instance, pin):
        toggles = self.activity.of(
            instance.nets["CLK" if pin == "CLK" else "D"] if instance.cell.flop else "0"
        )
        chance, slew = self.independent(instance), self.slew(instance, pin)
        pairs = sum(
            chance(group) * self.transitions(group, slew, 0.0, 1, 1)
            for group in instance.cell.pins[pin].power
        )
        return pairs * (toggles.rises + toggles.falls)


def at_upper_capacitances(mapped):
    """OpenSTA loads a net with the upper end of each pin's range."""
    top = liberty.parse(mapped.target.cells.read_text())
    upper = {}
    for cell in top.named("cell"):
        for pin in cell.named("pin"):
            ranges = (
                pin.attributes.get(f"{edge}_capacitance_range", ["0", "0"]) for edge in ("rise", "fall")
            )
            upper[cell.arguments[0], pin.arguments[0]] = max(float(high) for _, high in ranges)
    cells = mapped.cells
    for net, load in cells.loads.items():
        for instance, pin in cells.sinks.get(net, []):
            load += upper[instance.cell.name, pin] - instance.cell.pins[pin].capacitance
        cells.loads[net] = load
    return mapped


@with_pdk
def test_power_on_ihp_is_that_of_opensta_read_its_way():
    mapped = at_upper_capacitances(asic.synthesise("cm_butterfly", ENGINE_SOURCES, BUTTERFLY))
    theirs = opensta(mapped, 0.5, 0.5)
    found = ours(at_equal_activity(mapped, AsOpenSta), 100)
    assert found["internal"] == pytest.approx(theirs["internal"], rel=0.05)
    assert found["switching"] == pytest.approx(theirs["switching"], rel=0.01)
    assert found["leakage"] == pytest.approx(theirs["leakage"], rel=0.001)


@with_pdk
def test_a_butterfly_meets_100_mhz_on_ihp():
    report = asic.measure("cm_butterfly", ENGINE_SOURCES, BUTTERFLY)
    assert report.slack_ns is not None and report.slack_ns > 0
    assert 1 < report.kge < 10
