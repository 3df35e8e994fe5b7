# SPDX-License-Identifier: Apache-2.0
"""Builds a harness for a configuration under Verilator, and runs it.

    build/rtl-venv/bin/python rtl/tools/verilated.py engine n1024_u8
    build/rtl-venv/bin/python rtl/tools/verilated.py accelerator n1024_u8_s128

prints the cycles of each kind of job as JSON, after checking what the jobs computed.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tools import (
    BUILD,
    EVALUATOR_INCLUDES,
    EVALUATOR_SOURCES,
    INCLUDES,
    ROOT,
    RTL,
    SOURCES,
    ToolError,
    accelerators,
    accelerators_of_two_clocks,
    configurations,
    environment,
    evaluators,
    run,
)

HARNESS = RTL / "harness"
TOP = "cm_ntt_accelerator"
TWO_CLOCKS = "cm_ntt_accelerator_two_clocks"
EVALUATOR = "cm_evaluator_two_clocks"
CORE_OPTIONS = ["-DCM_CONFIG_ACCELERATOR=1"]
CORE_INCLUDES = [f"-I{ROOT / folder}" for folder in ("core/include", "core/src", "tests", "tests/core")]
NARROW = "_narrow"
"""Ends the name of a configuration with multipliers of 17 bits, those of ECP5 and Spartan-6."""
NAMED = {"engine": configurations, "accelerator": accelerators}


def macros(parameters: Mapping[str, int]) -> list[str]:
    """Return the hardware's parameters as compiler flags for a harness."""
    shape = {key: value for key, value in parameters.items() if key not in ("LOG2_PAGES", "BLOCK")}
    return [
        f"-D{key}={value}" for key, value in {**shape, "PAGES": 1 << parameters.get("LOG2_PAGES", 0)}.items()
    ]


def verilate(
    top: str,
    name: str,
    parameters: Mapping[str, int],
    sources: list[Path],
    includes: Sequence[str] = (),
    design: Sequence[Path] = SOURCES,
) -> Path:
    """A program of `top` with these parameters, and more sources; without any, its folder with the model as
    a library."""
    directory = BUILD / "verilated" / f"{top}-{name}"
    flags = ["-O1", "-std=c++17", *CORE_OPTIONS, *CORE_INCLUDES, *macros(parameters)]
    if top == EVALUATOR:
        flags.append("-DEVALUATOR")
    # One file for all that Verilator writes: precompiled headers for several cost more than they save.
    make = "VM_PARALLEL_BUILDS=0 OPT_FAST=-O1"
    run(
        [
            *("verilator", "--cc", *(("--exe",) if sources else ()), "--build", "-j", "1", "-O3"),
            *("-Wno-fatal", "-Wno-lint"),
            "-Werror-USERFATAL",  # an illegal parameter
            *("--top", top, "--Mdir", directory, *INCLUDES, *includes),
            *(f"-G{key}={value}" for key, value in parameters.items()),
            *("-CFLAGS", " ".join(flags), "-MAKEFLAGS", make),
            *(HARNESS / "engine.vlt", *design, *sources),
        ],
        log=directory.with_suffix(".log"),
    )
    return directory / f"V{top}" if sources else directory


def cycles(kind: str, name: str, parameters: Mapping[str, int], seed: int = 1) -> dict[str, Any]:
    """Measure cycles with the harness of an engine or an accelerator. Raises ToolError if a result is wrong.

    engine: cycles of a forward and an inverse transform, a product, a double product and a pair of products
    (0: not offered), from the first read of the banks to the last write. accelerator: cycles that tables take
    to load; latency and pace of each job, in cycles.
    """
    program = verilate(f"cm_ntt_{kind}", name, parameters, [HARNESS / f"{kind}.cpp"])
    done = subprocess.run([program, str(seed)], capture_output=True, text=True, timeout=600)
    if done.returncode:
        raise ToolError(f"{name}, seed {seed}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def paper(name: str, seed: int = 1) -> dict[str, float]:
    """Time Mert, Ozturk and Savas's experiment on a named accelerator with streams on a clock of their
    own, in picoseconds. Raises ToolError if a result is wrong."""
    parameters = accelerators_of_two_clocks()[name]
    program = verilate(TWO_CLOCKS, f"paper-{name}", parameters, [HARNESS / "paper.cpp"])
    done = subprocess.run([program, str(seed)], capture_output=True, text=True, timeout=600)
    if done.returncode:
        raise ToolError(f"{name}, seed {seed}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def evaluator(name: str, parameters: Mapping[str, int], seed: int = 1) -> dict[str, Any]:
    """Run programs on an evaluator with streams on a clock of their own: what each took, in picoseconds and
    cycles of its clock, and its beats. Raises ToolError if a result is wrong."""
    program = verilate(
        EVALUATOR, name, parameters, [HARNESS / "evaluator.cpp"], EVALUATOR_INCLUDES, EVALUATOR_SOURCES
    )
    done = subprocess.run([program, str(seed)], capture_output=True, text=True, timeout=600)
    if done.returncode:
        raise ToolError(f"{name}, seed {seed}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def offload_tests(name: str, parameters: Mapping[str, int]) -> Path:
    """The tests of the driver that SEAL's calls go through."""
    return verilate(TWO_CLOCKS, f"offload-{name}", parameters, [HARNESS / "offload_tests.cpp"])


def core_archive(name: str, sources: list[Path], flags: list[str]) -> Path:
    """The C library with the accelerator as its back-end, and more C files, in a static library."""
    directory = BUILD / "core" / name
    directory.mkdir(parents=True, exist_ok=True)
    options = [*CORE_OPTIONS, *CORE_INCLUDES, *flags]
    every = [*sorted((ROOT / "core/src").glob("*/*.c")), *sources]
    compiled = [directory / f"{source.parent.name}-{source.stem}.o" for source in every]
    for source, output in zip(every, compiled, strict=True):
        compiler = [*environment().get("OBJCACHE", "").split(), "gcc"]
        run([*compiler, "-std=c11", "-O2", *options, "-c", source, "-o", output], output.with_suffix(".log"))
    archive = directory / "libcore.a"
    archive.unlink(missing_ok=True)
    run(["ar", "rcs", archive, *compiled], directory / "ar.log")
    return archive


def core_tests(name: str, parameters: Mapping[str, int], every: int) -> Path:
    """The C tests over an accelerator; of the pinned ciphertexts beyond n = 1024 every so many-th."""
    sources = sorted((ROOT / "tests/core").glob("*.c"))
    flags = [f"-DCM_TEST_EVERY={every}", "-Dmain=core_tests_main", "-DCM_TEST_NO_ARGUMENTS"]
    archive = core_archive(f"tests-{name}", sources, flags)
    return verilate(TOP, f"core_tests-{name}", parameters, [HARNESS / "core_tests.cpp", archive])


def demo(name: str) -> Path:
    """The program that encrypts with a named accelerator and without."""
    archive = core_archive(f"demo-{name}", [], [])
    return verilate(TOP, f"demo-{name}", accelerators()[name], [HARNESS / "demo.cpp", archive])


def model(name: str) -> dict[str, Any]:
    """Build a named accelerator with streams on a clock of their own as a library, and say how to use it."""
    parameters = accelerators_of_two_clocks()[name]
    return used(verilate(TWO_CLOCKS, f"model-{name}", parameters, []), parameters)


def evaluator_model(name: str) -> dict[str, Any]:
    """Build a named evaluator with streams on a clock of their own as a library, and say how to use it."""
    parameters = evaluators()[name]
    folder = verilate(EVALUATOR, f"model-{name}", parameters, [], EVALUATOR_INCLUDES, EVALUATOR_SOURCES)
    return used(folder, parameters)


def used(folder: Path, parameters: Mapping[str, int]) -> dict[str, Any]:
    """Say what a program needs that links a model."""
    return {
        "model": str(folder),
        "verilator": str(Path(environment()["VERILATOR_ROOT"]) / "include"),
        "shape": [flag.removeprefix("-D") for flag in macros(parameters)],
    }


OF_TWO_CLOCKS = {"paper": paper, "model": model}


def main() -> int:
    kind, name = sys.argv[1:] if len(sys.argv) == 3 else ("", "")
    if kind in OF_TWO_CLOCKS and name in accelerators_of_two_clocks():
        try:
            print(json.dumps(OF_TWO_CLOCKS[kind](name)))
        except ToolError as error:
            print(error, file=sys.stderr)
            return 1
        return 0
    if kind in ("evaluator", "evaluator_model") and name in evaluators():
        try:
            of = evaluator_model(name) if kind == "evaluator_model" else evaluator(name, evaluators()[name])
            print(json.dumps(of))
        except ToolError as error:
            print(error, file=sys.stderr)
            return 1
        return 0
    narrow = {"MULTIPLIER_WIDTH": 17} if name.endswith(NARROW) else {}
    shape = name.removesuffix(NARROW)
    if kind not in NAMED or shape not in NAMED[kind]():
        for known, named in NAMED.items():
            print(f"usage: verilated.py {known} {'|'.join(named())}", file=sys.stderr)
        return 2
    try:
        print(json.dumps(cycles(kind, name, {**NAMED[kind]()[shape], **narrow})))
    except ToolError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
