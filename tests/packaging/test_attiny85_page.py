# SPDX-License-Identifier: Apache-2.0
"""The figures of ports/attiny85/README.md are those that the bench has measured."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "ports/attiny85/README.md").read_text()


def measured(name: str, build: str = "attiny85") -> int:
    rows = json.loads((ROOT / "bench/results/compact.json").read_text())
    rows = rows if isinstance(rows, list) else rows.get("rows") or rows["results"]
    (value,) = [row["value"] for row in rows if row["name"] == f"{build}.k16.{name}"]
    return int(value)


def figures(row: str) -> list[str]:
    """The figures of a row of the table, which begins with these words."""
    (found,) = re.findall(rf"^\| {row}[^|]*\| (.+) \|$", PAGE, re.MULTILINE)
    return found.split(" | ")


@pytest.mark.parametrize(("column", "build"), [(0, "attiny85"), (2, "attiny85.l")])
def test_columns_are_what_was_measured(column: int, build: str) -> None:
    assert figures("flash")[column] == f"{measured('flash_bytes', build):,}"
    variables, stack = map(int, figures("RAM")[column].split(" + "))
    assert variables + stack == measured("ram_bytes", build)
    assert figures("a window")[column].startswith(f"{measured('cycles', build) / 1e6:.2f},")
    assert figures("one window in 16")[column] == f"{measured('counter_write.cycles', build) / 1e6:.2f}"


def test_what_is_left_is_what_the_flash_holds_more() -> None:
    assert f"{(8192 - measured('flash_bytes')) // 10 * 10} bytes of flash" in PAGE
