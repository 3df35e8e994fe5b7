# SPDX-License-Identifier: Apache-2.0
"""On targets with 16-bit int, such as AVR, no byte is shifted out of an int: a promoted byte of 128 or more,
shifted left by 8, is undefined. Clang leaves a trap behind each such shift that it cannot prove to fit.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = sorted(ROOT.glob("core/src/*/*.c"))
HEADERS = Path("/usr/lib/avr/include")
COMMAND = (
    *("clang", "--target=avr", "-mmcu=atmega328p", "-D__AVR_ATmega328P__", "-std=c11", "-O1", "-w"),
    *("-ffreestanding", "-gline-tables-only", "-fsanitize=shift-base", "-fsanitize-trap=shift-base"),
    *("-DCM_CONFIG_MAX_LOG2_N=11", "-S", "-emit-llvm", "-o", "-"),
    *(f"-I{ROOT}/core/include", f"-I{ROOT}/core/src", "-isystem", str(HEADERS)),
)
PLANTED = """
#include <stdint.h>
uint16_t word(const uint8_t *bytes) { return (uint16_t)(bytes[0] | bytes[1] << 8); }
"""

pytestmark = pytest.mark.skipif(
    shutil.which("clang") is None or not HEADERS.is_dir(), reason="clang and avr-libc are not installed"
)


def lines_that_trap(source: Path) -> list[int]:
    """The lines with a shift that may not fit."""
    code = subprocess.run((*COMMAND, str(source)), capture_output=True, text=True, check=True).stdout
    lines = {name: int(line) for name, line in re.findall(r"^(!\d+) = !DILocation\(line: (\d+)", code, re.M)}
    return [lines[name] for name in re.findall(r"call [^\n]*@llvm\.ubsantrap[^\n]*!dbg (!\d+)", code)]


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.name)
def test_no_shift_leaves_an_int_of_16_bits(source: Path) -> None:
    assert lines_that_trap(source) == []


def test_a_byte_that_is_shifted_by_8_is_found(tmp_path: Path) -> None:
    (tmp_path / "planted.c").write_text(PLANTED)
    assert lines_that_trap(tmp_path / "planted.c") == [3]
