# SPDX-License-Identifier: Apache-2.0
"""Figures of a routed engine are read from what the router says."""

import pytest
import route

from tools import ToolError, client_engines

SAID = """Info: Max frequency for clock '$glbnet$aclk': 41.20 MHz (FAIL at 50.00 MHz)
Info: Routing..
Info: Max frequency for clock '$glbnet$aclk': 52.75 MHz (PASS at 50.00 MHz)
"""
REPORT = {
    "utilization": {
        "TRELLIS_COMB": {"used": 41_000, "available": 83_640},
        "MULT18X18D": {"used": 79, "available": 156},
        "DCCA": {"used": 1, "available": 56},
    }
}


def test_the_clock_is_the_last_one_that_the_router_names():
    assert route.figures(REPORT, SAID) == {"lut": 41_000, "dsp": 79, "fmax_mhz": 52.75}


def test_a_router_that_names_no_clock_is_an_error():
    with pytest.raises(ToolError, match="names no clock"):
        route.figures(REPORT, "Info: Routing..\n")


def test_a_configuration_that_there_is_not(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["route.py", "n4096_u64"])
    assert route.main() == 2
    said = capsys.readouterr().err
    assert all(name in said for name in client_engines())
