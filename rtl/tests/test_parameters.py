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
    EVALUATOR_INCLUDES,
    EVALUATOR_SOURCES,
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
    (ENGINE, {"DEEP": 3}, "DEEP must be 0, 1 or 2."),
    (ENGINE, {"MULTIPLIER_WIDTH": 18}, "MULTIPLIER_WIDTH must be 17 or 24."),
    (ENGINE, {"BLOCK": 2}, "BLOCK must be 0 or 1."),
    (ENGINE, {"FORWARD": 1, "DEEP": 0}, "FORWARD must be 0, or 1 with DEEP 1 or 2 and GENERATE 0."),
    (ENGINE, {"COPIES": 1}, "COPIES must be 0, or 1 with two sets."),
    (ENGINE, {"LOG2_TABLES": 1}, "LOG2_TABLES must be 0, or up to 4 with OPERANDS 0 and GENERATE 0."),
    (
        ENGINE,
        {"LOG2_TABLES": 5, "OPERANDS": 0},
        "LOG2_TABLES must be 0, or up to 4 with OPERANDS 0 and GENERATE 0.",
    ),
    (ENGINE, {"LOG2_TABLE_LANES": 1}, "LOG2_TABLE_LANES must be from 0 to LOG2_LANES."),
    (ACCELERATOR, {"EARLY": 2}, "EARLY must be 0 or 1."),
    ("cm_ntt_accelerator_two_clocks", {"LOG2_STREAM": 3}, "LOG2_STREAM must be from 0 to LOG2_BEAT."),
    (ACCELERATOR, {"LOG2_N": 16}, "LOG2_N must be from 5 to 14."),
    (ACCELERATOR, {"WIDTH": 63}, "WIDTH must be from 16 to 40."),
    (ACCELERATOR, {"WIDTH": 64}, "WIDTH must be from 16 to 40."),
    (ACCELERATOR, {"LOG2_UNITS": 7, "LOG2_N": 12}, "LOG2_UNITS must be from 0 to 6."),
    (ACCELERATOR, {"LOG2_BEAT": 6}, "LOG2_BEAT must be from 0 to 5."),
    (ACCELERATOR, {"LOG2_BEAT": -1}, "LOG2_BEAT must be from 0 to 5."),
    (ACCELERATOR, {"LOG2_BEAT": 5, "LOG2_N": 5}, "LOG2_BEAT must be below LOG2_N."),
    (ACCELERATOR, {"SLOT": 64}, "SLOT follows from WIDTH and must not be set."),
]
CLIENT = "cm_client_engine"
CLIENT_ILLEGAL = [
    (CLIENT, {"LOG2_N": 9}, "LOG2_N must be from 10 to 13."),
    (CLIENT, {"LOG2_N": 14}, "LOG2_N must be from 10 to 13."),
    (CLIENT, {"WIDTH": 21}, "WIDTH must be from 22 to 27."),
    (CLIENT, {"WIDTH": 28}, "WIDTH must be from 22 to 27."),
    (CLIENT, {"LOG2_UNITS": 0}, "LOG2_UNITS must be from 1 to 4."),
    (CLIENT, {"LOG2_UNITS": 5}, "LOG2_UNITS must be from 1 to 4."),
    (CLIENT, {"PRIMES": 1}, "PRIMES must be from 2 to 7."),
    (CLIENT, {"PRIMES": 8}, "PRIMES must be from 2 to 7."),
    (CLIENT, {"DEEP": 2}, "DEEP must be 0 or 1."),
    (CLIENT, {"MULTIPLIER_WIDTH": 18}, "MULTIPLIER_WIDTH must be 17, 24 or 64."),
    (CLIENT, {"TAG_DIGIT": 12}, "TAG_DIGIT must be 4, 8, 16 or 32."),
    ("cm_client_axi", {"LOG2_N": 14}, "LOG2_N must be from 10 to 13."),
    ("cm_client_axi", {"TAG_DIGIT": 12}, "TAG_DIGIT must be 4, 8, 16 or 32."),
    ("cm_client_fifo", {"WIDTH": 1025}, "WIDTH must be from 1 to 1024."),
    ("cm_client_fifo", {"LOG2_DEPTH": 17}, "LOG2_DEPTH must be from 2 to 16."),
    ("cm_client_frames", {"COUNT_BITS": 30}, "COUNT_BITS must be from 2 to 29."),
    ("cm_client_lanes", {"LOG2_N": 15}, "LOG2_N must be from 5 to 14."),
    ("cm_client_lanes", {"WIDTH": 41}, "WIDTH must be from 16 to 40."),
    ("cm_client_lanes", {"LOG2_UNITS": 7}, "LOG2_UNITS must be from 1 to 6."),
    ("cm_client_lanes", {"LOG2_N": 7, "LOG2_UNITS": 6}, "LOG2_UNITS must be at most LOG2_N - 2."),
    ("cm_client_lanes", {"PRIMES": 5}, "PRIMES must be from 1 to 2 to the power of LOG2_PRIMES."),
    ("cm_client_lanes", {"LOG2_PRIMES": 4}, "LOG2_PRIMES must be from 1 to 3."),
    ("cm_client_lanes", {"SETS": 5}, "SETS must be from 2 to 4."),
    ("cm_client_loader", {"LOG2_N": 15}, "LOG2_N must be from 5 to 14."),
    ("cm_client_loader", {"WIDTH": 32}, "WIDTH must be from 16 to 31."),
    ("cm_client_loader", {"MESSAGE_WIDTH": 41}, "MESSAGE_WIDTH must be more than WIDTH, and at most 40."),
    ("cm_client_modulo", {"WIDTH": 63}, "WIDTH must be from 22 to 62."),
    ("cm_client_packer", {"WIDTH": 32}, "WIDTH must be from 17 to 31."),
    ("cm_client_poly1305", {"DIGIT": 12}, "DIGIT must be 4, 8, 16 or 32."),
    ("cm_client_reader", {"LOG2_N": 29}, "LOG2_N must be from 5 to 28."),
    ("cm_client_reader", {"LOG2_PRIMES": 8}, "LOG2_PRIMES must be from 1 to 7."),
    ("cm_client_scale", {"WIDTH": 28}, "WIDTH must be from 17 to 27."),
    ("cm_client_products", {"WIDTH": 28}, "WIDTH must be from 17 to 27."),
    (
        "cm_client_product",
        {"B_WIDTH": 17},
        "B_WIDTH must be even, and at most A_WIDTH, which must be at most WIDTH.",
    ),
    ("cm_client_shake", {"LOG2_N": 17}, "LOG2_N must be from 9 to 16."),
    ("cm_client_shake", {"ONE_BITS": 27}, "ONE_BITS must be from 0 to WIDTH - 1."),
    ("cm_client_shake", {"LOG2_PRIMES": 8}, "LOG2_PRIMES must be from 1 to 7."),
    ("cm_client_stream", {"TAG": 33}, "TAG must be from 1 to 32."),
    ("cm_client_sum", {"WIDTH": 28}, "WIDTH must be from 17 to 27."),
    ("cm_client_uniform", {"WIDTH": 32}, "WIDTH must be from 22 to 31."),
    ("cm_client_uniform", {"LOG2_N": 17}, "LOG2_N must be from 2 to 16."),
    ("cm_client_unpacker", {"WIDTH": 32}, "WIDTH must be from 17 to 31."),
    ("cm_soc", {"ENGINE": 2}, "ENGINE must be 0 or 1."),
    ("cm_soc_dma", {"LOG2_WORDS": 27}, "LOG2_WORDS must be from 10 to 26."),
    ("cm_soc_ram", {"LOG2_WORDS": 27}, "LOG2_WORDS must be from 10 to 26."),
    ("cm_soc_uart", {"DIVISOR": 1}, "DIVISOR must be from 2 to 65536."),
]
EVALUATOR = "cm_evaluator"
EVALUATOR_ILLEGAL = [
    (EVALUATOR, {"LOG2_N": 14}, "LOG2_N must be from 5 to 13."),
    (EVALUATOR, {"WIDTH": 28}, "WIDTH must be from 20 to 27."),
    (EVALUATOR, {"WIDTH": 19, "LOG2_UNITS": 2}, "WIDTH must be from 20 to 27."),
    (
        EVALUATOR,
        {"LOG2_N": 8, "MULTIPLIER_WIDTH": 17},
        "WIDTH must be from LOG2_N + 5 to LOG2_N + 1 + MULTIPLIER_WIDTH.",
    ),
    (EVALUATOR, {"LOG2_BEAT": 3, "LOG2_UNITS": 2}, "LOG2_BEAT must be from 0 to 5, and at most LOG2_UNITS."),
    (EVALUATOR, {"LOG2_SLOTS_A": 0}, "LOG2_SLOTS_A must be from 1 to 10."),
    (EVALUATOR, {"LOG2_SLOTS_B": 11}, "LOG2_SLOTS_B must be from 1 to 10."),
    (EVALUATOR, {"LOG2_WEIGHTS": 13}, "LOG2_WEIGHTS must be from 1 to 12."),
    (EVALUATOR, {"LOG2_PROGRAM": 3}, "LOG2_PROGRAM must be from 4 to 15."),
    ("cm_evaluator_two_clocks", {"LOG2_STREAM": 4}, "LOG2_STREAM must be from 0 to LOG2_BEAT."),
]
IN_MAKE_TEST = ("cm_client_poly1305", "cm_client_packer", "cm_soc_uart")
SOME = [of if {63, 64, 16, 7} & {*of[1].values()} else slow(of) for of in ILLEGAL]
SOME += [of if of[0] in IN_MAKE_TEST else slow(of) for of in (*CLIENT_ILLEGAL, *EVALUATOR_ILLEGAL)]
LEGAL = [
    (ENGINE, {"LOG2_N": 14, "WIDTH": 40}),
    (ENGINE, {"LOG2_N": 5, "WIDTH": 16, "LOG2_UNITS": 3, "LOG2_LANES": 3, "OPERANDS": 0}),
    (ACCELERATOR, {"LOG2_N": 14, "WIDTH": 40, "LOG2_UNITS": 6, "LOG2_BEAT": 5}),
    (ACCELERATOR, {"LOG2_N": 5, "WIDTH": 16, "LOG2_BEAT": 0}),
    slow((CLIENT, {"LOG2_N": 10, "WIDTH": 22, "LOG2_UNITS": 1, "PRIMES": 2, "DEEP": 0, "TAG_DIGIT": 4})),
    slow((CLIENT, {"LOG2_N": 13, "WIDTH": 27, "LOG2_UNITS": 4, "PRIMES": 7, "TAG_DIGIT": 32})),
]


def name_of(of):
    return "-".join([str(of[0]), *(f"{key}{value}" for key, value in of[1].items())])


def sources(top):
    """Return a module's include folders and files."""
    if top in (ENGINE, ACCELERATOR):
        return INCLUDES, SOURCES
    if top.startswith(EVALUATOR):
        return EVALUATOR_INCLUDES, EVALUATOR_SOURCES
    system = [*SOC_SOURCES, picorv32()] if top.startswith("cm_soc") else []
    return [*INCLUDES, *CLIENT_INCLUDES], [*SOURCES, *CLIENT_SOURCES, *system]


def yosys(top, parameters):
    includes, files = sources(top)
    values = " ".join(f"-set {key} {value}" for key, value in parameters.items())
    read = f"read_verilog -sv -defer {' '.join(includes)} {' '.join(map(str, files))}"
    steps = [read, f"chparam {values} {top}", f"hierarchy -check -top {top}"]
    return [sys.executable, RTL / "tools/yosys.py", *steps]


def verilator(top, parameters):
    includes, files = sources(top)
    values = [f"-G{key}={value}" for key, value in parameters.items()]
    return ["verilator", "--lint-only", "-Wno-lint", "--top", top, *includes, *values, *files]


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
    includes, files = sources(top)
    build = ["iverilog", "-g2012", *includes, "-s", top, *values, "-o", program, *files]
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
