#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write the one-file build of the C library: ciphermote.c, its assembly, and the public headers.

First come the internal headers, once each, then the C files of the rooms in order of dependency. A header
without an include guard is a template, and is inlined wherever it is included. Nothing is renamed: what is
private to a C file has a name that no other file has, and the compiler refuses clashes.

Assembly stays in files of its own, assembly/*.S, each with what it includes in place.
"""

from __future__ import annotations

import argparse
import re
import shutil
import sys
from pathlib import Path

from check_rooms import ROOMS

REPOSITORY = Path(__file__).resolve().parent.parent
DEFAULT_OUTPUT = REPOSITORY / "build" / "one-file"
DEFAULT_CORE = REPOSITORY / "core"

INTERNAL_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+"(?!ciphermote/)([^"]+)".*\n', re.MULTILINE)
GUARD = re.compile(r"^#ifndef (\w+)\n#define \1$", re.MULTILINE)

OPENING = """\
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ciphermote's C library in one file, written by tools/amalgamate.py: edit core/src instead.
 * Compile it with the folder of its headers: cc -c ciphermote.c -Iinclude
 * For a Cortex-M4, M7 or M33 or an ATmega, compile the files in assembly/ in the same way.
 */
"""


class AmalgamationError(Exception):
    """The sources cannot be joined; the message says which, why and what to do."""


class Sources:
    """Reads C files under one folder, and gathers the internal headers they need, in order of dependency."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.headers: dict[str, str] = {}

    def read(self, name: str, includer: str) -> str:
        """The file with its templates in place; other internal headers are noted and taken out."""
        path = self.folder / name
        if not path.is_file():
            raise AmalgamationError(
                f'{includer} includes "{name}", which is not in {self.folder}: '
                "name internal headers by their path from there."
            )

        def replace(include: re.Match[str]) -> str:
            header = include[1]
            if header in self.headers:
                return ""
            text = self.read(header, name)
            if GUARD.search(text):
                self.headers[header] = text
                return ""
            return f"/* ---- {header} ---- */\n{text}"

        return INTERNAL_INCLUDE.sub(replace, path.read_text())

    def files(self) -> dict[str, str]:
        """All C files of the device's rooms, by name."""
        unknown = {path.parent.name for path in self.folder.glob("*/*.c")} - {*ROOMS}
        if unknown:
            raise AmalgamationError(
                f"{self.folder / min(unknown)} is in no known room: give it its place in "
                "tools/check_rooms.py."
            )
        names = [
            str(path.relative_to(self.folder))
            for room in ROOMS
            for path in sorted((self.folder / room).glob("*.c"))
        ]
        if not names:
            raise AmalgamationError(f"no C file found in {self.folder}: it should hold the rooms.")
        return {name: self.read(name, "the one-file build") for name in names}


def amalgamate(core: Path) -> str:
    """The text of ciphermote.c from core/src."""
    sources = Sources(core / "src")
    files = sources.files()
    parts = [f"\n/* ==== {name} ==== */\n{text}" for name, text in {**sources.headers, **files}.items()]
    return OPENING + "".join(parts)


def assembly(core: Path) -> dict[str, str]:
    """The text of each assembly file by its name, from core/src/backends."""
    found = sorted((core / "src" / "backends").glob("*.S"))
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
