"""The engine at sizes too large for Icarus Verilog, under Verilator; its cycles must not grow."""

import pytest
from verilated import cycles

from tools import configurations

MOST_CYCLES = {"n4096_u2_w40": {"forward": 12_298, "inverse": 12_298, "product": 26_641}}


@pytest.mark.parametrize("name", MOST_CYCLES)
def test_named_configuration(name):
    taken = cycles(name, configurations()[name], seed=1)
    for job, most in MOST_CYCLES[name].items():
        assert taken[job] <= most, f"{job}: {taken[job]} cycles"


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
    taken = cycles("short_passes", shape, seed=2)
    assert taken["double_product"] < 2 * taken["product"]
