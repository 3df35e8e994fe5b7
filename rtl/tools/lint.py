# SPDX-License-Identifier: Apache-2.0
"""Static checks of the hardware: Verible's style rules, Verilator's warnings, and that Yosys' own parser
reads all of it."""

from __future__ import annotations

import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tools import (
    BUILD,
    CLIENT_INCLUDES,
    CLIENT_SOURCES,
    ENGINE_SOURCES,
    EVALUATOR_INCLUDES,
    EVALUATOR_SOURCES,
    INCLUDES,
    RTL,
    SOC_SOURCES,
    SOURCES,
    ZERO_SOURCES,
    ToolError,
    accelerators,
    configurations,
    evaluators,
    picorv32,
    run,
)

# The core is not ours and has a timescale; what the system does not use of it and of the engine is left open.
ALLOWED_IN_SOC = ("TIMESCALEMOD", "PINCONNECTEMPTY")
STYLE = ",".join(
    (
        "line-length=length:110",
        "-no-tabs",
        "no-trailing-spaces",
        "-explicit-parameter-storage-type",
        "-parameter-name-style",
        "-always-comb",
        "-generate-label",
        "-unpacked-dimensions-range-ordering",
        "-explicit-function-task-parameter-type",
    )
)
CLIENTS: dict[str, dict[str, int]] = {
    "client n4096": {},
    "client n1024": {"LOG2_N": 10, "LOG2_UNITS": 1, "PRIMES": 2, "DEEP": 0},
    "client n8192": {"LOG2_N": 13, "PRIMES": 7},
    "client silicon": {"DEEP": 0, "MULTIPLIER_WIDTH": 64},
}
"""Shapes of the client engine."""
EVALUATORS: dict[str, dict[str, int]] = {
    **evaluators(),
    "n64": {"LOG2_N": 6, "LOG2_UNITS": 0, "LOG2_BEAT": 0, "LOG2_STREAM": 0, "LOG2_MODULI": 0, "DEEP": 0},
    "n8192": {"LOG2_N": 13, "LOG2_UNITS": 3, "LOG2_BEAT": 3, "DEEP": 2, "FORWARD": 1},
}
"""Shapes of the evaluator."""
CODEC_RINGS = (10, 13)
"""log2 of the degrees at which the CKKS encoder and decoder is checked by itself."""


def shapes() -> dict[str, tuple[str, dict[str, int]]]:
    """Tops and parameters: the named configurations, an engine with every option, and an accelerator whose
    streams are wider than the engine's lanes."""
    every = {**configurations()["n1024_u8"], "LOG2_PAGES": 1, "LOG2_SETS": 1, "OPERANDS": 2}
    return {
        **{name: ("cm_ntt_engine", of) for name, of in configurations().items()},
        **{name: ("cm_ntt_accelerator", of) for name, of in accelerators().items()},
        "all options": ("cm_ntt_engine", every),
        "twiddles made": ("cm_ntt_engine", {**every, "GENERATE": 1}),
        "two clocks": ("cm_ntt_accelerator_two_clocks", {"LOG2_UNITS": 3, "LOG2_BEAT": 2, "DEEP": 1}),
        "accelerator u1 w40": (
            "cm_ntt_accelerator",
            {"LOG2_UNITS": 0, "LOG2_BEAT": 1, "WIDTH": 40, "DEEP": 0},
        ),
    }


def main() -> int:
    sources = [str(source) for source in SOURCES]
    client = [str(source) for source in (*SOURCES, *CLIENT_SOURCES)]
    headers = sorted(RTL.glob("*/*.svh"))
    checks: dict[str, list[str | Path]] = {
        "verible": [
            "verible-verilog-lint",
            f"--rules={STYLE}",
            *client,
            *map(str, (*EVALUATOR_SOURCES[len(SOURCES) :], *ZERO_SOURCES, *SOC_SOURCES)),
            RTL / "integration/client_bench.sv",
            *headers,
        ],
    }
    for top in ("cm_ntt_engine", "cm_ntt_accelerator"):
        checks[f"yosys {top}"] = [
            *(sys.executable, RTL / "tools/yosys.py"),
            f"read_verilog -sv -defer {' '.join(INCLUDES)} {' '.join(sources)}",
            f"hierarchy -check -top {top}",
        ]
    checks["yosys cm_client_axi"] = [
        *(sys.executable, RTL / "tools/yosys.py"),
        f"read_verilog -sv -defer {' '.join(CLIENT_INCLUDES)} {' '.join(client)}",
        "hierarchy -check -top cm_client_axi",
    ]
    checks["yosys cm_evaluator"] = [
        *(sys.executable, RTL / "tools/yosys.py"),
        f"read_verilog -sv -defer {' '.join(EVALUATOR_INCLUDES)} {' '.join(map(str, EVALUATOR_SOURCES))}",
        "hierarchy -check -top cm_evaluator_two_clocks",
    ]
    zero = [str(source) for source in (*ENGINE_SOURCES, *ZERO_SOURCES)]
    checks["yosys cm_zero_encrypt"] = [
        *(sys.executable, RTL / "tools/yosys.py"),
        f"read_verilog -sv -defer {' '.join(INCLUDES)} {' '.join(zero)}",
        "hierarchy -check -top cm_zero_encrypt",
    ]
    checks["yosys cm_client_codec"] = [
        *checks["yosys cm_client_axi"][:-1],
        "hierarchy -check -top cm_client_codec",
    ]
    verilator = ("verilator", "--lint-only", "-Wall")
    lists = {path.parent.name: ("-F", path) for path in RTL.glob("*/*.f")}
    for name, (top, parameters) in shapes().items():
        checks[f"verilator {name}"] = [*verilator, *lists["accelerator"], "--top", top, *_given(parameters)]
    for name, parameters in CLIENTS.items():
        checks[f"verilator {name}"] = [
            *(*verilator, *lists["client"], "--top", "cm_client_axi", *_given(parameters))
        ]
    for name, parameters in EVALUATORS.items():
        checks[f"verilator evaluator {name}"] = [
            *(*verilator, *lists["evaluator"], "--top", "cm_evaluator_two_clocks", *_given(parameters))
        ]
    for deep in (0, 1):
        checks[f"verilator zero {deep}"] = [
            *(*verilator, *lists["zero"], "--top", "cm_zero_encrypt", f"-GDEEP={deep}")
        ]
    for log2_n in CODEC_RINGS:
        checks[f"verilator codec {log2_n}"] = [
            *(*verilator, *lists["client"], "--top", "cm_client_codec", f"-GLOG2_N={log2_n}")
        ]
    for engine in (0, 1):
        checks[f"verilator soc {engine}"] = [
            *(*verilator, *(f"-Wno-{warning}" for warning in ALLOWED_IN_SOC), *lists["client"]),
            *("--top", "cm_soc", f"-GENGINE={engine}"),
            *(RTL / "soc/picorv32.vlt", *map(str, SOC_SOURCES), picorv32()),
        ]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        found = list(pool.map(check, checks, checks.values()))
    return 0 if all(found) else 1


def _given(parameters: dict[str, int]) -> list[str]:
    return [f"-G{key}={value}" for key, value in parameters.items()]


def check(name: str, command: list[str | Path]) -> bool:
    print(f"[lint] {name}", flush=True)
    try:
        run(command, BUILD / f"lint/{name.replace(' ', '-')}.log", cwd=RTL)
    except ToolError as error:
        print(error, file=sys.stderr)
        return False
    return True


if __name__ == "__main__":
    sys.exit(main())
