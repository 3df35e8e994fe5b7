#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Refuse docstrings and comments that only complete the name above them, such as "Of one database.".

Editors and search results show a docstring without its name, so its first sentence stands by itself. The
openings of docstrings and comments in Python, C, C++, assembly and SystemVerilog are checked.

tools/check_english.py [FILE ...]      (default: all files that git knows)
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_PYTHON = re.compile(r'^[ \t]*(?:[rf]?"""|# )Of ')
_OTHER = re.compile(r"(?:/\*+|(?<!/)//) Of ")
_HARDWARE = re.compile(r"(?<!/)// [Oo]f ")  # also beside ports and registers
OPENINGS = {
    ".py": _PYTHON,
    **dict.fromkeys((".c", ".h", ".cpp", ".S", ".ino"), _OTHER),
    **dict.fromkeys((".sv", ".svh"), _HARDWARE),
}
"""How a fragment begins, by the end of a file's name."""


def faults(path: Path) -> Iterator[str]:
    """A sentence for each fragment."""
    mark = "#" if path.suffix == ".py" else "//"
    before = ""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        goes_on = line.lstrip().startswith(mark) and before.lstrip().startswith(mark)
        if OPENINGS[path.suffix].search(line) and not goes_on:
            yield f"{path}:{number}: a fragment: begin with what it is, as a sentence that stands by itself."
        before = line


def main() -> int:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
    names = sys.argv[1:] or listed.stdout.split()
    paths = [ROOT / name for name in names if Path(name).suffix in OPENINGS]
    found = [fault for path in paths if path.exists() for fault in faults(path)]
    print("".join(f"{fault}\n" for fault in found), end="")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
