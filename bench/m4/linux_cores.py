# SPDX-License-Identifier: Apache-2.0
"""Encryptions on cores that run Linux, counted under QEMU's user mode: Cortex-A7 and Cortex-A53.

a7 has ARMv7E-M's assembly, which ARMv7-A runs too; a7.portable is the library's C without vectors; a7.neon
is that C as gcc vectorizes it.

The second of two encryptions in one process is counted, as what it adds to a run with one. Time is modelled
from the count alone (A7_MODEL): it is an estimate.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from configurations import CONFIGURATIONS, KINDS
from keys import write_keys
from simulate import HERE, ROOT, BenchError, run_tool

from bench.rows import Row

PRESETS = ("tiny", "balanced", "fast")
"""Counterparts of SEAL-Embedded's three configurations, each with two kinds of key."""
FIRMWARE = ("linux_encrypt.c", "workload.c", "secret_key.c", "public_key.c")
COUNTER = ROOT / "bench/evaluator/count_instructions.c"

A7_HZ = 494_000_000
"""The clock of the MT3620 that the paper measured on."""
A7_IPC = (0.7, 1.0)
A7_MODEL = (
    "an estimate: 0.7 to 1.0 instructions a cycle, assumed for an in-order core that issues some pairs "
    "together; 494 MHz; caches that hold code and data"
)

QUOTED_US = {
    ("symmetric", "tiny"): 131_691,
    ("symmetric", "balanced"): 68_959,
    ("symmetric", "fast"): 60_016,
    ("asymmetric", "tiny"): 188_681,
    ("asymmetric", "balanced"): 91_267,
    ("asymmetric", "fast"): 76_778,
}
"""SEAL-Embedded's counterparts on the MT3620, measured: Table 5 of the paper that baselines.py names."""


@dataclass(frozen=True)
class Target:
    """A compiler, its flags for a core, the emulator; options of the library besides a configuration's."""

    compiler: str
    flags: tuple[str, ...]
    qemu: tuple[str, ...]
    options: tuple[str, ...] = ()


_A7 = ("-mcpu=cortex-a7", "-mfloat-abi=hard", "-mthumb", "-fno-pie", "-no-pie")
_QEMU_A7 = ("qemu-arm", "-cpu", "cortex-a7")
_NO_ASSEMBLY = ("-DCM_CONFIG_ASM=0",)
TARGETS = {
    "a7": Target("arm-linux-gnueabihf-gcc", (*_A7, "-mfpu=neon-vfpv4"), _QEMU_A7),
    "a7.portable": Target("arm-linux-gnueabihf-gcc", (*_A7, "-mfpu=vfpv4"), _QEMU_A7, _NO_ASSEMBLY),
    "a7.neon": Target(
        "arm-linux-gnueabihf-gcc",
        (*_A7, "-mfpu=neon-vfpv4", "-ftree-vectorize", "-fvect-cost-model=dynamic"),
        _QEMU_A7,
        _NO_ASSEMBLY,
    ),
    "aarch64": Target("aarch64-linux-gnu-gcc", ("-mcpu=cortex-a53",), ("qemu-aarch64",)),
}


def build_counter(build: Path) -> Path:
    """Compile the plugin that counts instructions."""
    plugin = build / "count_instructions.so"
    build.mkdir(parents=True, exist_ok=True)
    run_tool(["gcc", "-O2", "-shared", "-fPIC", "-o", plugin, COUNTER], "Building the counter")
    return plugin


def build_program(build: Path, name: str, preset: str, kind: str) -> Path:
    """Compile the encryption for a target."""
    target = TARGETS[name]
    configuration = CONFIGURATIONS[preset]
    keys = build / f"{configuration.workload.parameters.name}-keys.c"
    write_keys(keys, configuration.workload.parameters)
    program = build / f"{name}-{preset}-{kind}"
    firmware = [HERE / "firmware" / source for source in FIRMWARE]
    run_tool(
        [
            *(target.compiler, "-std=c11", "-static", *target.flags, *configuration.flags.split()),
            *target.options,
            f"-DBENCH_ASYMMETRIC={int(kind == 'asymmetric')}",
            *(f"-I{path}" for path in (ROOT / "core/include", ROOT / "core/src", HERE / "firmware")),
            *("-ffunction-sections", "-fdata-sections", "-Wl,--gc-sections"),
            *(*firmware, keys, *sorted((ROOT / "core/src").glob("*/*.[cS]"))),
            *("-o", program),
        ],
        f"Building {program.name}",
    )
    return program


def run_program(command: Sequence[str | Path]) -> subprocess.CompletedProcess[bytes]:
    """Run it; BenchError unless it succeeds."""
    try:
        done = subprocess.run([str(word) for word in command], capture_output=True, timeout=120, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BenchError(f"{command[0]}: {error}") from error
    if done.returncode != 0:
        raise BenchError(f"{' '.join(map(str, command))} failed: {done.stderr.decode(errors='replace')}")
    return done


def count(program: Path, target: Target, plugin: Path, runs: int) -> int:
    """Count the instructions of a process with so many encryptions."""
    said = run_program([*target.qemu, "-plugin", plugin, program, str(runs)]).stderr.decode()
    found = re.search(r"^instructions (\d+)$", said, re.MULTILINE)
    if not found:
        raise BenchError(f"{program.name}: the plugin has counted nothing.")
    return int(found[1])


def linux_rows(build: Path) -> Iterator[Row]:
    """All rows. Raises BenchError unless every target sends the same bytes for a configuration."""
    plugin = build_counter(build)
    for preset in PRESETS:
        configuration = CONFIGURATIONS[preset]
        for kind in KINDS:
            sent: dict[bytes, str] = {}
            for name, target in TARGETS.items():
                program = build_program(build, name, preset, kind)
                sent[run_program([*target.qemu, program, "send"]).stdout] = name
                if len(sent) > 1:
                    raise BenchError(f"{' and '.join(sent.values())} send different bytes: {preset}, {kind}.")
                instructions = count(program, target, plugin, 2) - count(program, target, plugin, 1)
                yield from _rows(
                    f"{name}.{kind}.{preset}",
                    name,
                    instructions,
                    {
                        **configuration.workload.described(kind),
                        "configuration": preset,
                        "paper_us": QUOTED_US[kind, preset],
                        "flags": " ".join((*target.flags, configuration.flags, *target.options)),
                    },
                )


def _rows(prefix: str, name: str, instructions: int, params: dict[str, object]) -> Iterator[Row]:
    yield Row(f"{prefix}.instructions", instructions, "instructions", {**params, "kind": "counted"})
    if name.startswith("a7"):
        for end, per_cycle in zip(("slowest", "quickest"), A7_IPC, strict=True):
            milliseconds = round(1000 * instructions / per_cycle / A7_HZ, 2)
            modelled = {**params, "kind": "modelled", "model": A7_MODEL, "instructions_per_cycle": per_cycle}
            yield Row(f"{prefix}.{end}_ms", milliseconds, "ms", modelled)
