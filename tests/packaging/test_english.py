# SPDX-License-Identifier: Apache-2.0
"""tools/check_english.py refuses docstrings and comments that only complete the name above them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from packaging_support import REPOSITORY

TOOL = REPOSITORY / "tools/check_english.py"


def check(*files: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(TOOL), *map(str, files)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def test_the_repository_has_no_fragments() -> None:
    done = check()
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.py", 'class Jobs:\n    """Of one database."""\n'),
        ("a.py", 'MOST = 3\n"""Of one upload."""\n'),
        ("a.py", "# Of each kind.\nx = 1\n"),
        ("a.py", 'def sent():\n    """What it sends."""\n'),
        ("a.py", 'def add():\n    """As sum does."""\n'),
        ("a.py", 'def read():\n    """Read a frame. FrameError if it is damaged."""\n'),
        ("a.py", 'def check():\n    """Refusal unless it has room."""\n'),
        ("a.c", "/* Of public numbers. */\n"),
        ("a.h", "int x; /* Of a frame. */\n"),
        ("a.sv", "    // Of a prime.\n"),
    ],
)
def test_a_fragment_is_refused(name: str, content: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(content)
    done = check(tmp_path / name)
    assert done.returncode == 1 and "a fragment" in done.stdout


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.py", 'class Jobs:\n    """Jobs of one database. Of these, some run."""\n'),
        ("a.py", "# Two lines, the second\n# Of which begins so.\nx = 1\n"),
        ("a.py", 'def read():\n    """Read a frame. Raises FrameError if it is damaged."""\n'),
        ("a.py", 'class FrameError(Exception):\n    """A FrameError. FrameErrors are common."""\n'),
        ("a.c", "/* The greatest common divisor. */\n"),
    ],
)
def test_a_sentence_is_not(name: str, content: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(content)
    assert check(tmp_path / name).returncode == 0
