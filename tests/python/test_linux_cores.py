# SPDX-License-Identifier: Apache-2.0
"""Encryption on ARMv7-A and AArch64 under QEMU's user mode: ARMv7E-M's assembly there sends what C sends."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench/m4"))

from linux_cores import TARGETS, build_counter, build_program, count, run_program  # noqa: E402

NEEDED = ("arm-linux-gnueabihf-gcc", "aarch64-linux-gnu-gcc", "qemu-arm", "qemu-aarch64")


needs_tools = pytest.mark.skipif(
    any(shutil.which(tool) is None for tool in NEEDED), reason="needs cross compilers and QEMU"
)

LOOP = """
#include <sched.h>
#include <stdlib.h>

int main(int count, char **words)
{
    unsigned n = 4000, between = (unsigned)strtoul(words[count - 1], 0, 10);
    while (n--) __asm__ volatile("" : "+r"(n));
    sched_yield();
    while (between--) __asm__ volatile("" : "+r"(between));
    sched_yield();
    return 0;
}
"""


@needs_tools
@pytest.mark.parametrize(
    ("name", "sysroot", "sched_yield"),
    [("a7", "/usr/arm-linux-gnueabihf", 158), ("aarch64", "/usr/aarch64-linux-gnu", 124)],
)
def test_a_count_between_two_marks_is_what_was_executed_there(
    name: str, sysroot: str, sched_yield: int, tmp_path: Path
) -> None:
    plugin, program = build_counter(tmp_path), tmp_path / "loop"
    target = TARGETS[name]
    source = tmp_path / "loop.c"
    source.write_text(LOOP)
    run_program([target.compiler, "-O2", *target.flags, source, "-o", program])

    def between(turns: int) -> int:
        command = [
            *target.qemu,
            "-L",
            sysroot,
            "-plugin",
            f"{plugin},mark={sched_yield}",
            program,
            str(turns),
        ]
        said = run_program(command).stderr.decode()
        first, second = (int(mark) for mark in re.findall(r"^mark (\d+)$", said, re.MULTILINE))
        return second - first

    assert between(2000) - between(1000) == between(3000) - between(2000)
    assert 2 <= (between(2000) - between(1000)) / 1000 <= 4
    assert between(0) < 100


@needs_tools
def test_every_core_sends_the_same_bytes_and_the_assembly_halves_the_instructions(tmp_path: Path) -> None:
    plugin = build_counter(tmp_path)
    sent = {}
    counted = {}
    for name in ("a7", "a7.portable", "aarch64"):
        target = TARGETS[name]
        program = build_program(tmp_path, name, "balanced", "symmetric")
        sent[name] = run_program([*target.qemu, program, "send"]).stdout
        counted[name] = count(program, target, plugin, 2) - count(program, target, plugin, 1)
    assert len(sent["a7"]) > 30_000
    assert len(set(sent.values())) == 1
    assert counted["a7"] < 0.6 * counted["a7.portable"]
