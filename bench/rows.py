# SPDX-License-Identifier: Apache-2.0
"""Files of measured figures: bench/results/<name>.json, in one form for every bench.

A file says how it came about (command, date, compiler, machine) and holds rows {"name", "value", "unit",
"params"}.
"""

from __future__ import annotations

import datetime
import json
import platform
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from ciphermote.base.files import write_atomically


@dataclass(frozen=True)
class Row:
    """One figure. params: what it was measured at, such as {"n": 4096}."""

    name: str
    value: float | int
    unit: str
    params: Mapping[str, object] = field(default_factory=dict)


def write_results(path: str | Path, command: str, compiler: str, rows: Iterable[Row]) -> None:
    """Replace the file at path. command: what makes these figures again; compiler: of the code measured."""
    content = {
        "command": command,
        "date": datetime.date.today().isoformat(),
        "compiler": compiler,
        "machine": machine(),
        "rows": [asdict(row) for row in rows],
    }
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, (json.dumps(content, indent=2) + "\n").encode())


def machine() -> str:
    """The processor that computed, in the system's own words."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return f"{models[0]}, {len(models)} cores" if models else platform.processor() or platform.machine()


def compiler_version(compiler: str) -> str:
    """The first line of `compiler --version`, or its name if it cannot be asked."""
    try:
        said = subprocess.run(
            [compiler, "--version"], capture_output=True, text=True, check=True, timeout=20
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return compiler
    return said.partition("\n")[0].strip()
