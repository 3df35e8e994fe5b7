# SPDX-License-Identifier: Apache-2.0
"""docs/papers.md: every row has a command that works, or a reason."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from ciphermote.cli import app
from typer.testing import CliRunner

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/papers.md").read_text()
GOALS = set(re.findall(r"^([a-z][a-z0-9-]*):", (ROOT / "Makefile").read_text(), re.MULTILINE))


def rows_of(page: str) -> list[list[str]]:
    """Return the cells of each numbered row."""
    rows = ([cell.strip() for cell in line.strip("|").split(" | ")] for line in page.splitlines())
    return [row for row in rows if row[0].isdigit()]


def fault_of(row: list[str]) -> str | None:
    """Return what a row lacks: all four cells, and in the last a reason, what is open, or commands."""
    if len(row) != 4 or not all(row):
        return "four cells"
    shown = row[3]
    if re.match(r"Reason: .{20,}|Open: .{8,}", shown):
        return None
    commands = re.findall(r"`([^`]+)`", shown)
    for command in commands:
        words = shlex.split(command)
        if words[0] == "make" and not set(words[1:]) <= GOALS:
            return f"{command} as a goal"
        if words[0] not in ("make", "ciphermote"):
            return f"{command} as a command"
    return None if commands else "a command or a reason"


ROWS = rows_of(PAGE)
CHEAP = sorted({c for row in ROWS for c in re.findall(r"`(ciphermote [^`]+)`", row[3])})


def test_every_row_has_a_command_or_a_reason() -> None:
    assert len(ROWS) == 67
    assert [row for row in ROWS if fault_of(row)] == []


@pytest.mark.parametrize(
    "shown",
    ["", "`make what-is-not`", "`rm -r`", "Reason: none", "it works"],
    ids=lambda shown: shown or "none",
)
def test_a_row_without_either_is_found(shown: str) -> None:
    assert fault_of(["1", "The paper", "Ciphermote", shown])


def test_rows_of_each_paper_are_numbered() -> None:
    papers = PAGE.split("\n## ")[1:]
    assert len(papers) == 5
    for paper in papers:
        rows = rows_of(paper)
        assert [int(row[0]) for row in rows] == list(range(1, len(rows) + 1))


@pytest.mark.parametrize("command", CHEAP)
def test_a_command_that_takes_no_time_works(command: str) -> None:
    result = CliRunner().invoke(app, shlex.split(command)[1:])
    assert result.exit_code == 0, result.output
