#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Refuse docstrings and comments that only complete the name above them, such as "Of one database.".

Editors and search results show a docstring without its name, so its first sentence stands by itself. The
openings of docstrings and comments in Python, C, C++, assembly and SystemVerilog are checked. In Python's
docstrings of modules, classes and functions, more openings are refused, such as "What it sends.", and so are
sentences without a verb about errors, such as "FrameError if it is damaged.". In the package's functions,
"name: ..." describes a parameter, which has to exist.

tools/check_english.py [FILE ...]      (default: all files that git knows)
"""

from __future__ import annotations

import ast
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
_CLAUSE = re.compile(
    r"(As|That|Which|Whose|Where|What|How|Until|Unless|Through|Under|Over|By|With|Without|Also|Then|To|In|At|None"
    r"|All of it|The same|Those)\b"
)
_ERROR = re.compile(
    r"(?:^|[.!?]\s+)(?:(?:[A-Z][a-z]+)+Error|Refusal)(?=[.,;]|\s(?:if|unless|for|where|when|as)\b)"
)


_DESCRIBED = re.compile(r"(?:^|[.;] )([a-z_][a-z0-9_]*(?:, [a-z_][a-z0-9_]*)*): (?=\S)")
"""Parameters that a docstring describes, such as in "first, count: the run."."""
_PACKAGE = ROOT / "python" / "ciphermote"


def faults(path: Path) -> Iterator[str]:
    """Yield a sentence for each fragment."""
    mark = "#" if path.suffix == ".py" else "//"
    before, text = "", path.read_text(encoding="utf-8")
    for number, line in enumerate(text.splitlines(), 1):
        goes_on = line.lstrip().startswith(mark) and before.lstrip().startswith(mark)
        if OPENINGS[path.suffix].search(line) and not goes_on:
            yield f"{path}:{number}: a fragment: begin with what it is, as a sentence that stands by itself."
        before = line
    if path.suffix == ".py":
        module = ast.parse(text)
        found = [*_docstring_faults(module), *(_name_faults(module) if _PACKAGE in path.parents else ())]
        yield from (f"{path}:{number}: {fault}" for number, fault in found)


def _docstring_faults(module: ast.Module) -> Iterator[tuple[int, str]]:
    for node in ast.walk(module):
        if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        docstring = ast.get_docstring(node)
        if docstring is None:
            continue
        line = node.body[0].lineno
        if _CLAUSE.match(docstring) and not getattr(node, "name", "").startswith("test_"):
            yield line, "a fragment: begin with a verb or a noun, as a sentence that stands by itself."
        if _ERROR.search(" ".join(docstring.split())):
            yield (
                line,
                "a fragment about an error: write when it is raised, such as 'Raises FrameError if ...'.",
            )


def _name_faults(module: ast.Module) -> Iterator[tuple[int, str]]:
    for node in ast.walk(module):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            text = " ".join((ast.get_docstring(node) or "").split())
            described = {name for found in _DESCRIBED.finditer(text) for name in found[1].split(", ")}
            every = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
            every += [each for each in (node.args.vararg, node.args.kwarg) if each is not None]
            for name in sorted(described - {each.arg for each in every}):
                yield node.body[0].lineno, f"{name} is described, and {node.name} has no such parameter."


def main() -> int:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
    names = sys.argv[1:] or listed.stdout.split()
    paths = [ROOT / name for name in names if Path(name).suffix in OPENINGS]
    found = [fault for path in paths if path.exists() for fault in faults(path)]
    print("".join(f"{fault}\n" for fault in found), end="")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
