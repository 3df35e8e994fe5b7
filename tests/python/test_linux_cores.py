# SPDX-License-Identifier: Apache-2.0
"""Encryption on ARMv7-A and AArch64 under QEMU's user mode: ARMv7E-M's assembly there sends what C sends."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench/m4"))

from linux_cores import TARGETS, build_counter, build_program, count, run_program  # noqa: E402

NEEDED = ("arm-linux-gnueabihf-gcc", "aarch64-linux-gnu-gcc", "qemu-arm", "qemu-aarch64")


@pytest.mark.skipif(
    any(shutil.which(tool) is None for tool in NEEDED), reason="needs cross compilers and QEMU"
)
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
