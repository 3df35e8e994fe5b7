# SPDX-License-Identifier: Apache-2.0
"""Running the steps of a check one by one."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
STEP_SECONDS = 600


class StepFailed(Exception):
    """A step ended with an error; the message is what it printed."""

    @property
    def brief(self) -> str:
        """The first complaint with the line after it, and how it ended."""
        lines = str(self).splitlines()
        first = next((i for i, line in enumerate(lines) if re.search(r"FAILED|error", line)), len(lines) - 1)
        return "\n".join(f"    {line}" for line in [*lines[:-2][first : first + 2], *lines[-2:]])


def run(command: Sequence[str | Path], **environment: str) -> str:
    """Run a command, and return its output. Raises StepFailed with the output if the command fails or lasts
    too long."""
    words = [str(part) for part in command]
    try:
        done = subprocess.run(
            words,
            cwd=REPOSITORY,
            env={**os.environ, **environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=STEP_SECONDS,
        )
    except subprocess.TimeoutExpired:
        raise StepFailed(f"{words[0]}: no end after {STEP_SECONDS} s") from None
    if done.returncode != 0:
        raise StepFailed(f"{done.stdout}{words[0]}: exit status {done.returncode}")
    return done.stdout
