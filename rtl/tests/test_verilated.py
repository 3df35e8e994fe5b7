# SPDX-License-Identifier: Apache-2.0
"""What is too large for Icarus Verilog, under Verilator; cycles must not grow."""

import pytest
from verilated import cycles

from tools import configurations

MOST_CYCLES = {"n4096_u2_w40": {"forward": 12_298, "inverse": 12_298, "product": 26_641}}


@pytest.mark.parametrize("name", MOST_CYCLES)
def test_named_configuration(name):
    taken = cycles("engine", name, configurations()[name], seed=1)
    for job, most in MOST_CYCLES[name].items():
        assert taken[job] <= most, f"{job}: {taken[job]} cycles"


def test_narrow_multipliers_take_three_cycles_more():
    """Those of Spartan-6 and ECP5: once a transform, twice a product."""
    shape = {**configurations()["n1024_u1"], "MULTIPLIER_WIDTH": 17}
    taken = cycles("engine", "n1024_u1_narrow", shape, seed=1)
    assert taken["forward"] == taken["inverse"] == 5_137 + 3
    assert taken["product"] == 11_293 + 6


def test_short_passes_with_gaps():
    shape = {
        "LOG2_N": 8,
        "WIDTH": 30,
        "LOG2_UNITS": 4,
        "LOG2_LANES": 2,
        "LOG2_PAGES": 1,
        "OPERANDS": 2,
        "DEEP": 0,
    }
    taken = cycles("engine", "short_passes", shape, seed=2)
    assert taken["double_product"] < 2 * taken["product"]


@pytest.mark.slow
def test_an_accelerator_faster_than_its_streams_keeps_them_busy():
    shape = {"LOG2_N": 10, "WIDTH": 30, "LOG2_UNITS": 5, "LOG2_BEAT": 2, "DEEP": 0}
    taken = cycles("accelerator", "fast", shape, seed=3)
    beats = 1 << (shape["LOG2_N"] - shape["LOG2_BEAT"])
    for job, packets in (("forward", 1), ("inverse", 1), ("double_product_transformed", 2)):
        assert taken[job]["latency"] < beats, job
        assert taken[job]["pace"] <= packets * beats + 4, job
