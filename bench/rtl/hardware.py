# SPDX-License-Identifier: Apache-2.0
"""Call the scripts in rtl/tools, which run in the hardware tools' own environment."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PYTHON = ROOT / "build/rtl-venv/bin/python"


class BenchError(Exception):
    """A tool failed; the sentence says what to look at."""


def run_python(script: str, *arguments: str) -> str:
    """The output of a script in rtl/tools. Raises BenchError if it fails, or if there are no hardware
    tools."""
    if not PYTHON.exists():
        raise BenchError("The hardware tools are missing: run tools/setup.sh rtl.")
    done = subprocess.run(
        [PYTHON, ROOT / "rtl/tools" / script, *arguments], capture_output=True, text=True, timeout=10_000
    )
    if done.returncode:
        raise BenchError(f"{script} {' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout


def named_configurations() -> dict[str, dict[str, dict[str, int]]]:
    """Parameters by name, for each top module."""
    return json.loads((ROOT / "rtl/configurations.json").read_text(encoding="utf-8"))
