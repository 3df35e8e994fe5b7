# SPDX-License-Identifier: Apache-2.0
"""Bits that cross between clocks are synchronized, and counts change one bit at a time."""

import random
import re
from dataclasses import replace

import cocotb
import crossings
import pytest
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge
from crossings import DESIGNS, NOT_SYNCHRONIZED
from simulation import settings, simulate

from tools import RTL, ToolError

LOG2_DEPTH = 4
CONSTRAINTS = RTL / "accelerator/crossings.xdc"
COUNTS = {f"u_clocks.u_{queue}.{way}_gray_near" for queue in ("in", "out") for way in ("read", "written")}


@pytest.mark.parametrize("name", DESIGNS)
def test_every_bit_that_crosses_goes_through_two_registers(name):
    found = crossings.check(name)
    bits = {f"{count}[{i}]" for count in COUNTS for i in range(LOG2_DEPTH + 1)}
    assert {of.register for of in found} == bits | {"u_clocks.answer_seen[0]", "u_clocks.request_seen[0]"}


def test_the_constraints_bound_every_bit_that_crosses():
    """The file of constraints, as Vivado's Tcl would read it, and no other register."""
    text = re.sub(r"^#.*$", "", CONSTRAINTS.read_text(encoding="utf-8"), flags=re.MULTILINE)
    queues, counts = (
        re.search(rf"foreach {name} {{(.*?)}} {{", text)[1].split() for name in ("queue", "count")
    )
    bounded = {
        (f"{queue}/{count}_reg[*]", f"{queue}/{count}_near_reg[*]") for queue in queues for count in counts
    }
    bounded |= set(re.findall(r"-from \[get_cells (\w+)\] -to \[get_cells {(.*?)}\]", text))

    def cells(name, is_bus):
        path = name.removeprefix("u_clocks.").replace(".", "/")
        return re.sub(r"(\[\d+\])?$", lambda bit: "_reg[*]" if is_bus else f"_reg{bit[0]}", path, count=1)

    found = crossings.check("accelerator")
    assert bounded == {
        (cells(of.source, "gray" in of.source), cells(of.register, "gray" in of.register)) for of in found
    }


@pytest.mark.parametrize(
    ("text", "instead"),
    [
        ("read_gray_seen <= read_gray_near;", "read_gray_seen <= read_gray;"),
        ("out_valid_o = !out_rst_i && ", "out_valid_o = !out_rst_i && written[0] && "),
        (
            '(* async_reg = "true" *) reg [LOG2_DEPTH:0] written_gray_near;',
            "reg [LOG2_DEPTH:0] written_gray_near;",
        ),
    ],
    ids=["one register", "logic", "not marked"],
)
def test_a_crossing_that_is_not_synchronized_is_named(text, instead, monkeypatch, tmp_path):
    design, sources = DESIGNS["evaluator"], []
    for source in design.sources:
        changed = tmp_path / source.name
        content = source.read_text(encoding="utf-8")
        changed.write_text(
            content.replace(text, instead) if source.name == "cm_stream_crossing.sv" else content
        )
        sources.append(changed)
    monkeypatch.setitem(crossings.DESIGNS, "changed", replace(design, sources=tuple(sources)))
    with pytest.raises(ToolError, match=NOT_SYNCHRONIZED):
        crossings.check("changed")


@cocotb.test()
async def counts_are_gray(dut):
    """One bit of a count changes at a time, so what the other side sees is the count or the one before."""
    rng = random.Random(settings()["seed"])
    Clock(dut.in_clk_i, 10_000, unit="ps").start()
    Clock(dut.out_clk_i, settings()["period"], unit="ps").start()
    for name in ("in_wipe_i", "in_data_i", "in_valid_i", "out_ready_i"):
        getattr(dut, name).value = 0
    dut.in_rst_i.value = dut.out_rst_i.value = 1
    for _ in range(4):
        await RisingEdge(dut.in_clk_i)
        await RisingEdge(dut.out_clk_i)
    dut.in_rst_i.value = dut.out_rst_i.value = 0

    async def watched(clock, gray, turns):
        before, changes = int(gray.value), 0
        for _ in range(turns):
            await FallingEdge(clock)
            now = int(gray.value)
            assert (before ^ now).bit_count() <= 1
            changes += before != now
            before = now
        return changes

    async def moves(clock, signal, chance):
        while True:
            await FallingEdge(clock)
            signal.value = int(rng.random() < chance)

    moving = [
        cocotb.start_soon(moves(dut.in_clk_i, dut.in_valid_i, 0.9)),
        cocotb.start_soon(moves(dut.out_clk_i, dut.out_ready_i, 0.4)),
    ]
    watch = [
        cocotb.start_soon(watched(dut.in_clk_i, dut.written_gray, 600)),
        cocotb.start_soon(watched(dut.out_clk_i, dut.read_gray, 600)),
    ]
    for task in watch:
        assert await task > 2 << LOG2_DEPTH, "counts wrap"
    for task in moving:
        task.cancel()


def test_queue():
    for period in (8_002, 27_018):
        simulate(
            "cm_stream_crossing",
            {"WIDTH": 8, "LOG2_DEPTH": LOG2_DEPTH},
            ["counts_are_gray"],
            seed=1,
            period=period,
        )
