# SPDX-License-Identifier: Apache-2.0
"""Build a module with parameters under Icarus Verilog and run the cocotb tests of a Python module on it."""

from __future__ import annotations

import inspect
import json
import os
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge
from cocotb_tools.check_results import get_results
from cocotb_tools.runner import get_runner

slow = partial(pytest.param, marks=pytest.mark.slow)
"""A parameter that make test leaves to make test-all."""

ROOT = Path(__file__).resolve().parents[2]
RTL = ROOT / "rtl"
SOURCES = [
    source
    for room in ("engine", "accelerator", "evaluator", "client", "zero")
    for source in sorted(RTL.glob(f"{room}/*.sv"))
]
SETTINGS = "CIPHERMOTE_RTL_SETTINGS"
ONLY = "CIPHERMOTE_RTL_ONLY"
"""A variable that names the one cocotb test to run where simulate() would run all."""


def simulate(top: str, parameters: dict[str, int], tests: Iterable[str] = (), **settings: Any) -> None:
    """Run cocotb tests (all, or those named) of the calling module on `top`; AssertionError if one fails.

    settings() gives the tests the module's parameters and whatever else is passed here.
    """
    caller = inspect.stack()[1]
    benches = [RTL / "tests/products_bench.sv"] if top.endswith("_bench") else []
    tests = [*tests] or [*filter(None, [os.environ.get(ONLY)])]
    name = "-".join([top, caller.function, *(f"{key}{value}" for key, value in parameters.items())])
    build = ROOT / "build/rtl-tests" / name
    runner = get_runner("icarus")
    runner.build(
        sources=[*SOURCES, *benches],
        hdl_toplevel=top,
        includes=[RTL / "engine", RTL / "accelerator", RTL / "evaluator", RTL / "client"],
        parameters=parameters,
        build_args=["-g2012"],
        build_dir=build,
        timescale=("1ns", "1ps"),
    )
    results = runner.test(
        test_module=Path(caller.filename).stem,
        hdl_toplevel=top,
        test_dir=Path(caller.filename).parent,
        build_dir=build,
        results_xml=str(build / "results.xml"),
        test_filter="|".join(f"{t}$" for t in tests) or None,
        extra_env={SETTINGS: json.dumps({**parameters, **settings})},
        log_file=str(build / "simulation.log"),
    )
    run, failed = get_results(results)
    assert run > 0 and failed == 0, f"{failed} of {run} failed: {build}/simulation.log"


def settings() -> dict[str, Any]:
    """Return simulate()'s arguments inside the simulation."""
    return json.loads(os.environ[SETTINGS])


def clock_of(dut: Any) -> Any:
    """The accelerator's ports are named as AXI4 has them."""
    return dut.aclk if hasattr(dut, "aclk") else dut.clk_i


def start_clock(dut: Any) -> None:
    """A clock of 10 ns."""
    Clock(clock_of(dut), 10, unit="ns").start()


async def cycles(dut: Any, count: int = 1) -> None:
    """Wait for that many rising edges; what is set afterwards counts from the next one on."""
    for _ in range(count):
        await RisingEdge(clock_of(dut))
