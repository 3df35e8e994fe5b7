# SPDX-License-Identifier: Apache-2.0
"""A parameter that is not supported stops Yosys, Verilator and Icarus Verilog with a sentence about it."""

import subprocess
import sys

import pytest
from simulation import slow

from tools import (
    BUILD,
    CLIENT_INCLUDES,
    CLIENT_SOURCES,
    INCLUDES,
    RTL,
    SOC_SOURCES,
    SOURCES,
    ToolError,
    picorv32,
    run,
)

ENGINE, ACCELERATOR = "cm_ntt_engine", "cm_ntt_accelerator"
ILLEGAL = [
    (ENGINE, {"LOG2_N": 16}, "LOG2_N must be from 5 to 14."),
    (ENGINE, {"LOG2_N": 15}, "LOG2_N must be from 5 to 14."),
    (ENGINE, {"LOG2_N": 4}, "LOG2_N must be from 5 to 14."),
    (ENGINE, {"WIDTH": 64}, "WIDTH must be from 16 to 40."),
    (ENGINE, {"WIDTH": 63}, "WIDTH must be from 16 to 40."),
    (ENGINE, {"WIDTH": 41}, "WIDTH must be from 16 to 40."),
    (ENGINE, {"WIDTH": 15}, "WIDTH must be from 16 to 40."),
    (ENGINE, {"LOG2_UNITS": 7, "LOG2_N": 12}, "LOG2_UNITS must be from 0 to 6."),
    (ENGINE, {"LOG2_UNITS": -1}, "LOG2_UNITS must be from 0 to 6."),
    (ENGINE, {"LOG2_UNITS": 6, "LOG2_N": 7}, "LOG2_UNITS must be at most LOG2_N - 2."),
    (ENGINE, {"LOG2_LANES": 3, "LOG2_UNITS": 2}, "LOG2_LANES must be from 0 to LOG2_UNITS."),
    (ENGINE, {"LOG2_LANES": -1}, "LOG2_LANES must be from 0 to LOG2_UNITS."),
    (ENGINE, {"LOG2_PAGES": 2}, "LOG2_PAGES must be 0 or 1."),
    (ENGINE, {"LOG2_SETS": 2}, "LOG2_SETS must be 0 or 1."),
    (ENGINE, {"OPERANDS": 3}, "OPERANDS must be 0, 1 or 2."),
    (ENGINE, {"OPERANDS": -1}, "OPERANDS must be 0, 1 or 2."),
    (ENGINE, {"GENERATE": 2}, "GENERATE must be 0 or 1."),
    (ENGINE, {"DEEP": 2}, "DEEP must be 0 or 1."),
    (ENGINE, {"MULTIPLIER_WIDTH": 18}, "MULTIPLIER_WIDTH must be 17 or 24."),
    (ENGINE, {"BLOCK": 2}, "BLOCK must be 0 or 1."),
    (ACCELERATOR, {"LOG2_N": 16}, "LOG2_N must be from 5 to 14."),
    (ACCELERATOR, {"WIDTH": 63}, "WIDTH must be from 16 to 40."),
    (ACCELERATOR, {"WIDTH": 64}, "WIDTH must be from 16 to 40."),
    (ACCELERATOR, {"LOG2_UNITS": 7, "LOG2_N": 12}, "LOG2_UNITS must be from 0 to 6."),
    (ACCELERATOR, {"LOG2_BEAT": 6}, "LOG2_BEAT must be from 0 to 5."),
    (ACCELERATOR, {"LOG2_BEAT": -1}, "LOG2_BEAT must be from 0 to 5."),
    (ACCELERATOR, {"LOG2_BEAT": 5, "LOG2_N": 5}, "LOG2_BEAT must be below LOG2_N."),
    (ACCELERATOR, {"SLOT": 64}, "SLOT follows from WIDTH and must not be set."),
]
SOME = [of if {63, 64, 16, 7} & {*of[1].values()} else slow(of) for of in ILLEGAL]
LEGAL = [
    (ENGINE, {"LOG2_N": 14, "WIDTH": 40}),
    (ENGINE, {"LOG2_N": 5, "WIDTH": 16, "LOG2_UNITS": 3, "LOG2_LANES": 3, "OPERANDS": 0}),
    (ACCELERATOR, {"LOG2_N": 14, "WIDTH": 40, "LOG2_UNITS": 6, "LOG2_BEAT": 5}),
    (ACCELERATOR, {"LOG2_N": 5, "WIDTH": 16, "LOG2_BEAT": 0}),
]


def name_of(of):
    return "-".join([str(of[0]), *(f"{key}{value}" for key, value in of[1].items())])


def yosys(top, parameters):
    values = " ".join(f"-set {key} {value}" for key, value in parameters.items())
    read = f"read_verilog -sv -defer {' '.join(INCLUDES)} {' '.join(map(str, SOURCES))}"
    steps = [read, f"chparam {values} {top}", f"hierarchy -check -top {top}"]
    return [sys.executable, RTL / "tools/yosys.py", *steps]


def verilator(top, parameters):
    values = [f"-G{key}={value}" for key, value in parameters.items()]
    return ["verilator", "--lint-only", "-Wno-lint", "--top", top, *INCLUDES, *values, *SOURCES]


COMMANDS = {"yosys": yosys, "verilator": verilator}


@pytest.mark.parametrize("tool", COMMANDS)
@pytest.mark.parametrize("of", SOME, ids=name_of)
def test_an_illegal_parameter_stops_elaboration(tool, of):
    top, parameters, sentence = of
    log = BUILD / f"parameters/{tool}-{name_of(of)}.log"
    with pytest.raises(ToolError):
        run(COMMANDS[tool](top, parameters), log)
    refused = tool == "yosys" and -1 in parameters.values()  # chparam takes no negative number
    assert ("Can't decode value" if refused else f": {sentence}") in log.read_text(encoding="utf-8")


@pytest.mark.parametrize("of", SOME, ids=name_of)
def test_icarus_stops_at_the_start(tmp_path, of):
    """It says the sentence unless it cannot even build what the parameter asks for."""
    top, parameters, sentence = of
    values = [f"-P{top}.{key}={value}" for key, value in parameters.items()]
    program = tmp_path / "program"
    build = ["iverilog", "-g2012", *INCLUDES, "-s", top, *values, "-o", program, *SOURCES]
    built = subprocess.run(build, capture_output=True, text=True)
    if built.returncode:
        assert -1 in parameters.values() or parameters == {"LOG2_UNITS": 6, "LOG2_N": 7}
        return
    ran = subprocess.run(["vvp", "-n", program], capture_output=True, text=True)
    assert ran.returncode != 0 and f": {sentence}" in ran.stdout


@pytest.mark.parametrize("tool", COMMANDS)
@pytest.mark.parametrize("of", LEGAL, ids=name_of)
def test_the_ends_of_what_is_legal_elaborate(tool, of):
    top, parameters = of
    run(COMMANDS[tool](top, parameters), BUILD / f"parameters/{tool}-{name_of(of)}.log")
