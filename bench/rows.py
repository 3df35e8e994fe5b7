# SPDX-License-Identifier: Apache-2.0
"""Files of measured figures: bench/results/<name>.json, in one form for every bench.

A file says how it came about (command, date, compiler, machine) and holds rows {"name", "value", "unit",
"params", "timed", "better"}. tools/check_benches.py compares rows by the last two.
"""

from __future__ import annotations

import datetime
import json
import platform
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Literal

from ciphermote.base.files import write_atomically

Better = Literal["less", "more"]
_MORE_IS_BETTER = frozenset({"1/s", "jobs/s", "MHz", "ns", "runs", "builds", "share"})
"""ns: of slack, for times are in us and up. share: of right answers."""


@dataclass(frozen=True)
class Row:
    """One figure.

    params: what it was measured at, such as {"n": 4096}. timed: measured by the clock or drawn at random, so
    that it differs from run to run; other figures are exact: counted, modelled by instruction, or simulated.
    better: whether a change for the better makes it less or more; empty: as its unit says.
    """

    name: str
    value: float | int
    unit: str
    params: Mapping[str, object] = field(default_factory=dict)
    timed: bool = False
    better: Better | Literal[""] = ""

    def __post_init__(self) -> None:
        if not self.better:
            object.__setattr__(self, "better", "more" if self.unit in _MORE_IS_BETTER else "less")


def timed(rows: Iterable[Row]) -> list[Row]:
    """Mark rows as timed: measured by the clock or drawn at random."""
    return [replace(row, timed=True) for row in rows]


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
