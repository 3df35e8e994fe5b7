# SPDX-License-Identifier: Apache-2.0
"""The named configurations with both pipelines under Verilator, because they are too large for Icarus
Verilog. Each computes the results of an independent transform, in at most the stated cycles."""

import pytest
from simulation import slow
from verilated import cycles, evaluator

from tools import accelerators, configurations, evaluators

MOST_CYCLES = {
    "n1024_u8": {"forward": 649, "inverse": 649, "product": 1_423},
    "n1024_u8_deep": {"forward": 657, "inverse": 657, "product": 1_437},
    "n1024_u32": {"forward": 170, "inverse": 170, "product": 369, "double_product": 560, "product_pair": 719},
    "n1024_u32_deep": {
        "forward": 206,
        "inverse": 206,
        "product": 441,
        "double_product": 604,
        "product_pair": 733,
    },
    "n1024_u64": {"forward": 111, "inverse": 111, "product": 237, "double_product": 311, "product_pair": 367},
    "n1024_u64_deep": {
        "forward": 191,
        "inverse": 191,
        "product": 403,
        "double_product": 427,
        "product_pair": 427,
    },
    "n4096_u2_w40": {"forward": 12_298, "inverse": 12_298, "product": 26_641},
    "n4096_u2_w40_deep": {"forward": 12_316, "inverse": 12_316, "product": 26_675},
}
MOST_ACCELERATOR_CYCLES = {
    "n1024_u8_s128": {"product": {"latency": 1_432}},
    "n1024_u8_s128_deep": {"product": {"latency": 1_446}},
    "n1024_u64_s128": {"product": {"latency": 246, "pace": 259}, "double_product": {"latency": 320}},
    "n1024_u64_s512": {"product": {"latency": 246, "pace": 230}, "double_product": {"latency": 320}},
    "n1024_u64_s512_deep": {"product": {"latency": 412, "pace": 230}, "double_product": {"latency": 436}},
}
ONLY_IN_TEST_ALL = ("n1024_u64_deep", "n4096_u2_w40_deep")
IN_MAKE_TEST = ("n1024_u8_s128_deep",)


@pytest.mark.parametrize("name", [slow(n) if n in ONLY_IN_TEST_ALL else n for n in MOST_CYCLES])
def test_named_engine(name):
    taken = cycles("engine", name, configurations()[name], seed=1)
    for job, most in MOST_CYCLES[name].items():
        assert 0 < taken[job] <= most, f"{job}: {taken[job]} cycles"


@pytest.mark.parametrize("name", [n if n in IN_MAKE_TEST else slow(n) for n in MOST_ACCELERATOR_CYCLES])
def test_named_accelerator(name):
    shape = accelerators()[name]
    taken = cycles("accelerator", name, shape, seed=1)
    for job, most in MOST_ACCELERATOR_CYCLES[name].items():
        for measure, cycles_at_most in most.items():
            assert taken[job][measure] <= cycles_at_most, f"{job}, {measure}: {taken[job][measure]} cycles"
    # Tables load at the stream's width, but for the first twiddles: those that every unit stores take a
    # cycle each, and of the next ones 2, 4 and so on are taken at a time, as fewer units store each.
    log2_lanes = min(shape["LOG2_BEAT"], shape["LOG2_UNITS"])
    n = 1 << shape["LOG2_N"]
    rows = n >> (shape["LOG2_UNITS"] + 1)
    assert taken["tables"]["factor"] <= (n >> log2_lanes) + 16
    assert taken["tables"]["twiddles"] <= (n >> log2_lanes) + rows * log2_lanes + 16


def test_narrow_multipliers_take_three_cycles_more():
    """Those of Spartan-6 and ECP5: once a transform, twice a product."""
    shape = {**configurations()["n1024_u1_deep"], "MULTIPLIER_WIDTH": 17}
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


MOST_EVALUATOR_CYCLES = {
    "sum_of_1": 64 + 3,
    "sum_of_3": 3 * 64 + 3,
    "transform": 433,
    "products": 6_900,
    "products_in_a_row": 4_925,
    "conversion": 3_850,
}
"""n = 4096 with 64 units. Six packets arrive in 4,915 cycles."""


@pytest.mark.slow
@pytest.mark.parametrize("name", evaluators())
def test_named_evaluator(name):
    taken = evaluator(name, evaluators()[name])
    for what, most in MOST_EVALUATOR_CYCLES.items():
        assert 0 < taken[what]["cycles"] <= most, f"{what}: {taken[what]['cycles']} cycles"


SMALL_EVALUATOR = {"LOG2_N": 6, "WIDTH": 27, "LOG2_UNITS": 2, "LOG2_BEAT": 2, "LOG2_STREAM": 2, "DEEP": 1}
SMALL_EVALUATOR |= {"LOG2_SLOTS_A": 4, "LOG2_SLOTS_B": 4, "LOG2_MODULI": 2}
SMALL_EVALUATOR |= {"LOG2_WEIGHTS": 6, "LOG2_PROGRAM": 8}


def test_programs_from_c_plus_plus():
    """evaluator_host.h and its programs, at a shape that is built in seconds."""
    taken = evaluator("small", SMALL_EVALUATOR)
    assert taken["products"]["beats_in"] == 6 * 16 and taken["products"]["beats_out"] == 3 * 16
    assert taken["sum_of_3"]["cycles"] == taken["sum_of_1"]["cycles"] + 2 * 16
