# SPDX-License-Identifier: Apache-2.0
"""The README tells its readers to build as the bench builds its user.* rows."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
README = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
sys.path.insert(0, str(ROOT / "bench/m4"))
configurations = pytest.importorskip("configurations")
user = pytest.importorskip("user")


@pytest.mark.parametrize("preset", ["fast", "tiny"])
def test_the_readme_names_the_flags_of_its_rows(preset: str) -> None:
    optimize, options = configurations.PRESETS[preset]
    assert f"`{configurations.compiler_flags(optimize, options)}`" in README
    assert f"Cortex-M4, 2048 real numbers, `{preset.upper()}`" in README


def test_the_readme_names_what_leaves_unused_code_out() -> None:
    assert f"`{' '.join((*user.SECTIONS, user.COLLECT))}`" in README


def test_the_bench_provisions_what_the_readme_uses() -> None:
    used = set(re.findall(r"\bCM_PROVISIONED_\w+", user.sensor("symmetric")))
    defined = re.findall(r"^#define (\w+)", user.provisioned_header(user.PARAMETERS), re.MULTILINE)
    assert used and used <= set(defined)
