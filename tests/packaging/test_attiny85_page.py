# SPDX-License-Identifier: Apache-2.0
"""The figures of ports/attiny85/README.md are those that the bench has measured."""

from __future__ import annotations

import json
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "ports/attiny85/README.md").read_text()


def measured(name: str) -> int:
    rows = json.loads((ROOT / "bench/results/compact.json").read_text())
    rows = rows if isinstance(rows, list) else rows.get("rows") or rows["results"]
    (value,) = [row["value"] for row in rows if row["name"] == f"attiny85.k16.{name}"]
    return int(value)


def first_column(row: str) -> str:
    """The first figure of a row of the table, which begins with these words."""
    (found,) = re.findall(rf"^\| {row}[^|]*\| ([^|]+) \|", PAGE, re.MULTILINE)
    return found


def test_the_first_column_is_what_was_measured() -> None:
    assert first_column("flash") == f"{measured('flash_bytes'):,}"
    variables, stack = map(int, first_column("RAM").split(" + "))
    assert variables + stack == measured("ram_bytes")
    assert first_column("a window").startswith(f"{measured('cycles') / 1e6:.2f},")
    assert first_column("one window in 16") == f"{measured('counter_write.cycles') / 1e6:.2f}"


def test_what_is_left_is_what_the_flash_holds_more() -> None:
    assert f"{(8192 - measured('flash_bytes')) // 10 * 10} bytes of flash" in PAGE
