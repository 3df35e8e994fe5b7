"""Builds the harness of cm_ntt_engine for a configuration under Verilator, and runs it.

    python3 rtl/tools/verilated.py n1024_u8

prints the cycles of each kind of job as JSON, after checking what the jobs computed.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from tools import BUILD, ENGINE_SOURCES, RTL, ToolError, configurations, run

TOP = "cm_ntt_engine"
HARNESS = RTL / "harness"


def build(name: str, parameters: Mapping[str, int]) -> Path:
    """The harness's program for these parameters."""
    directory = BUILD / "verilated" / name
    macros = {
        "LOG2_N": parameters["LOG2_N"],
        "WIDTH": parameters["WIDTH"],
        "LOG2_LANES": parameters["LOG2_LANES"],
        "PAGES": 1 << parameters["LOG2_PAGES"],
    }
    flags = " ".join(["-O1", "-std=c++17", *(f"-D{key}={value}" for key, value in macros.items())])
    run(
        [
            *("verilator", "--cc", "--exe", "--build", "-j", "1", "-O3", "-Wno-fatal", "-Wno-lint"),
            *("--top", TOP, "--Mdir", directory, f"-I{RTL / 'engine'}"),
            *(f"-G{key}={value}" for key, value in parameters.items()),
            *("-CFLAGS", flags, "-MAKEFLAGS", "CFG_CXXFLAGS_PCH_I=-include OPT_FAST=-O1 OPT_SLOW=-O0"),
            *(HARNESS / "engine.vlt", *ENGINE_SOURCES, HARNESS / "engine.cpp"),
        ],
        log=directory.with_suffix(".log"),
    )
    return directory / f"V{TOP}"


def cycles(name: str, parameters: Mapping[str, int], seed: int = 1) -> dict[str, int]:
    """Cycles of a forward and an inverse transform, a product and a double product (0: not offered), from the
    first read of the banks to the last write. ToolError if a result is wrong."""
    program = build(name, parameters)
    done = subprocess.run([program, str(seed)], capture_output=True, text=True, timeout=600)
    if done.returncode:
        raise ToolError(f"{name}, seed {seed}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def main() -> int:
    if len(sys.argv) != 2 or sys.argv[1] not in configurations():
        print(f"usage: verilated.py {'|'.join(configurations())}", file=sys.stderr)
        return 2
    try:
        print(json.dumps(cycles(sys.argv[1], configurations()[sys.argv[1]])))
    except ToolError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
