# SPDX-License-Identifier: Apache-2.0
"""tools/check_tests.py: which checks it knows cannot fail; and pytest tells of others itself."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
USELESS = {
    "def test_a(xs):\n    assert (x > 0 for x in xs)\n": "always true",
    "def test_a(x):\n    assert (x == 1, 'message')\n": "always true",
    "def test_a(x):\n    assert x == 1 or 'two'\n": "always true",
    "def test_a(xs):\n    assert map(bool, xs)\n": "always true",
    "def test_a(f):\n    with pytest.raises(ValueError, match=''):\n        f()\n": "matches every message",
    "def test_a(f):\n    with pytest.raises(OSError, match='bad|'):\n        f()\n": "matches every message",
    "def test_a(f):\n    with pytest.raises(ValueError, match='.*'):\n        f()\n": "matches every message",
    "def test_a(f):\n    f.g()\n": "checks nothing",
}
USEFUL = (
    "def test_a(xs):\n    assert all(x > 0 for x in xs)\n"
    "def helper(x):\n    assert x\n"
    "def through(x):\n    helper(x)\n"
    "def test_b(x):\n    through(x)\n"
    "def test_c(f):\n    with pytest.raises(ValueError, match='^$'):\n        f()\n"
)


def checked(path: Path, text: str) -> tuple[int, str]:
    path.write_text(text)
    command = [sys.executable, ROOT / "tools/check_tests.py", path]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stderr


@pytest.mark.parametrize("text", USELESS)
def test_a_check_that_cannot_fail_is_found(text: str, tmp_path: Path) -> None:
    status, said = checked(tmp_path / "test_x.py", text)
    assert status == 1
    assert USELESS[text] in said


def test_checks_that_can_fail_are_let_pass(tmp_path: Path) -> None:
    assert checked(tmp_path / "test_x.py", USEFUL) == (0, "")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "import pytest\n@pytest.mark.parametrize('words', [''])\ndef test_a(words):\n"
            "    with pytest.raises(ValueError, match=words):\n        raise ValueError('x')\n",
            "always* pass",
        ),
        (
            "import pytest\n@pytest.mark.parametrize('x', [])\ndef test_a(x):\n    assert x\n",
            "mpty parameter set",
        ),
        ("def test_a():\n    return 1 == 2\n", "returned"),
    ],
    ids=["empty pattern", "no cases", "returned"],
)
def test_what_only_running_shows_fails_under_the_projects_options(
    text: str, words: str, tmp_path: Path
) -> None:
    (tmp_path / "test_x.py").write_text(text)
    command = [sys.executable, "-m", "pytest", "-c", ROOT / "pyproject.toml", "--rootdir", tmp_path]
    done = subprocess.run(
        [*command, "-p", "no:xdist", "-o", "cache_dir=cache", "test_x.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    assert words in done.stdout + done.stderr
