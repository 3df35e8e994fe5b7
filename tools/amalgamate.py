#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write the one-file build of the C library: ciphermote.c, its assembly, and the public headers.

First come the internal headers, once each, then the C files of the rooms in order of dependency. A header
without an include guard is a template, and is inlined wherever it is included. What is private to a C file
stays private: its macros are undefined after it, and macros rename names that several files define for
themselves. Sources in which that could change the meaning of the code are refused.

Assembly stays in files of its own, assembly/*.S, each with what it includes in place.
"""

from __future__ import annotations

import argparse
import re
import shutil
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from check_rooms import ROOMS

REPOSITORY = Path(__file__).resolve().parent.parent
DEFAULT_OUTPUT = REPOSITORY / "build" / "one-file"
DEFAULT_CORE = REPOSITORY / "core"

INTERNAL_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+"(?!ciphermote/)([^"]+)".*\n', re.MULTILINE)
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
GUARD = re.compile(r"\s*#\s*ifndef\s+(\w+)\s+#\s*define\s+\1\b")
DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)", re.MULTILINE)
# File-scope declarations start in the first column, as clang-format leaves them.
STATIC = re.compile(r"^static\b[^;={(\[]*?\b(\w+)\s*[(\[=;]", re.MULTILINE)
TYPE_NAME = re.compile(r"^(?:typedef\b[^;{(]*\b|\}\s*)(\w+)\s*;", re.MULTILINE)
TAG = re.compile(r"^(?:typedef\s+)?(?:struct|union|enum)\s+(\w+)\s*\{", re.MULTILINE)

OPENING = """\
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ciphermote's C library in one file, written by tools/amalgamate.py: edit core/src instead.
 * Compile it with the folder of its headers: cc -c ciphermote.c -Iinclude
 */
"""


class AmalgamationError(Exception):
    """The sources cannot be joined; the message says which, why and what to do."""


@dataclass(frozen=True)
class SourceFile:
    """One C file, with its templates inlined and its internal includes removed."""

    name: str
    text: str

    @property
    def code(self) -> str:
        return COMMENT.sub(" ", self.text)

    @property
    def macros(self) -> list[str]:
        return sorted(set(DEFINE.findall(self.code)))

    @property
    def private_names(self) -> set[str]:
        return {name for pattern in (STATIC, TYPE_NAME, TAG) for name in pattern.findall(self.code)}


class Sources:
    """Reads the C files of a folder, and collects the internal headers they need, in order of dependency."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.headers: dict[str, str] = {}

    def read(self, name: str, includer: str) -> str:
        path = self.folder / name
        if not path.is_file():
            raise AmalgamationError(
                f'{includer} includes "{name}", which is not in {self.folder}: '
                "name internal headers by their path from there."
            )
        return self.expand(path.read_text(), name)

    def expand(self, text: str, name: str) -> str:
        """The text with templates inlined; includes of other internal headers are recorded and removed."""

        def replace(include: re.Match[str]) -> str:
            header = include[1]
            if header in self.headers:
                return ""
            header_text = self.read(header, name)
            if GUARD.match(COMMENT.sub(" ", header_text)):
                self.headers[header] = header_text
                return ""
            return f"/* ---- {header} ---- */\n{header_text}"

        return INTERNAL_INCLUDE.sub(replace, text)

    def files(self) -> list[SourceFile]:
        """All C files of the rooms."""
        unknown = {path.parent.name for path in self.folder.glob("*/*.c")} - {*ROOMS}
        if unknown:
            raise AmalgamationError(
                f"{self.folder / min(unknown)} is in no known room: add its room to tools/check_rooms.py."
            )
        names = [
            str(path.relative_to(self.folder))
            for room in ROOMS
            for path in sorted((self.folder / room).glob("*.c"))
        ]
        if not names:
            raise AmalgamationError(f"no C file found in {self.folder}: it should hold the rooms.")
        return [SourceFile(name, self.read(name, "the one-file build")) for name in names]


def shared_private_names(files: list[SourceFile], headers: str) -> set[str]:
    """The names that several files define for themselves. Refuses those that no macro can rename."""
    uses = Counter(name for file in files for name in file.private_names)
    shared = {name for name, count in uses.items() if count > 1}
    for file in files:
        for name in sorted(shared & file.private_names):
            is_member = re.search(rf"(?:\.|->)\s*{name}\b", file.code)
            if is_member and re.search(rf"\b{name}\b", headers):
                others = " and ".join(f.name for f in files if f is not file and name in f.private_names)
                raise AmalgamationError(
                    f"{file.name} and {others} each define their own '{name}', and {file.name} also "
                    f"uses a member '{name}' that a header declares: rename the one defined in {file.name}."
                )
    return shared


def section(file: SourceFile, shared: set[str]) -> Iterator[str]:
    """The file's text, fenced so that nothing private affects the files after it."""
    stem = re.sub(r"\W", "_", file.name.removesuffix(".c"))
    renamed = sorted(shared & file.private_names)
    yield f"\n/* ==== {file.name} ==== */\n"
    yield from (f"#define {name} cm_{stem}_{name}\n" for name in renamed)
    yield file.text
    yield from (f"#undef {name}\n" for name in [*renamed, *file.macros])


def amalgamate(core: Path) -> str:
    """The text of ciphermote.c from core/src; core/include is read for the names of its members."""
    sources = Sources(core / "src")
    files = sources.files()
    headers = [*sources.headers.values()]
    public = [path.read_text() for path in sorted((core / "include").glob("*/*.h"))]
    shared = shared_private_names(files, COMMENT.sub(" ", "".join(headers + public)))
    parts = [OPENING]
    parts += (f"\n/* ==== {name} ==== */\n{text}" for name, text in sources.headers.items())
    for file in files:
        parts += section(file, shared)
    return "".join(parts)


def assembly(core: Path) -> dict[str, str]:
    """The text of each assembly file by its name, from core/src/arch."""
    found = sorted((core / "src" / "arch").glob("*.S"))
    return {path.name: _with_includes(path, core / "src") for path in found}


def _with_includes(path: Path, source: Path) -> str:
    return INTERNAL_INCLUDE.sub(lambda include: _with_includes(source / include[1], source), path.read_text())


def main() -> int:
    parser = argparse.ArgumentParser(description="Write the one-file build of the C library.")
    parser.add_argument("--output", type=Path, default=DEFAULT_OUTPUT, help="folder to write")
    parser.add_argument("--core", type=Path, default=DEFAULT_CORE, help="folder with include/ and src/")
    arguments = parser.parse_args()
    try:
        text = amalgamate(arguments.core)
    except AmalgamationError as error:
        print(f"amalgamate: {error}", file=sys.stderr)
        return 1
    arguments.output.mkdir(parents=True, exist_ok=True)
    (arguments.output / "ciphermote.c").write_text(text)
    (arguments.output / "assembly").mkdir(exist_ok=True)
    for name, content in assembly(arguments.core).items():
        (arguments.output / "assembly" / name).write_text(content)
    shutil.copytree(arguments.core / "include", arguments.output / "include", dirs_exist_ok=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
