# SPDX-License-Identifier: Apache-2.0
"""Support for the packaging tests: the tree's path, and a function that runs commands in it."""

from __future__ import annotations

import subprocess
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]


def run(*command: object, cwd: Path = REPOSITORY, env: dict[str, str] | None = None) -> str:
    """The command's standard output. If the command fails, so does the test, with all that was printed."""
    arguments = [str(word) for word in command]
    done = subprocess.run(
        arguments, cwd=cwd, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, f"{' '.join(arguments)}\n{done.stdout}{done.stderr}"
    return done.stdout
