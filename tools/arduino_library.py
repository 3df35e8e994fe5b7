#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Assemble the Arduino library: the C library's sources, the C++ class around them, and examples.

    tools/arduino_library.py [FOLDER]      (default build/arduino/Ciphermote)

Copy the folder into the sketchbook's libraries folder, or name it there directly. The sources are not edited:
arduino_config.h has everything that Arduino needs to be different. A folder that this tool wrote is replaced;
one that holds anything else, or a file changed since, is left alone.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PORT = ROOT / "ports/arduino"
LEFT_OUT = ("backends/armv6m", "backends/armv7em", "backends/helium", "backends/word32", "protocol")
"""Sources under core/src: other cores' back-ends, and what a board with kilobytes cannot run."""
MANIFEST = ".arduino_library.sha256"
"""In the folder: the files that were written there, in sha256sum's format."""


class LibraryError(Exception):
    """One sentence for the user."""


def _version() -> str:
    text = (ROOT / "core/include/ciphermote/ciphermote.h").read_text(encoding="utf-8")
    return ".".join(
        re.search(rf"CM_VERSION_{part}\s+(\d+)", text)[1]  # type: ignore[index]
        for part in ("MAJOR", "MINOR", "PATCH")
    )


def _wanted(path: Path) -> bool:
    inside = path.relative_to(ROOT / "core/src").as_posix()
    left_out = any(part in inside for part in LEFT_OUT)
    return path.suffix in (".h", ".inc") or (path.suffix in (".c", ".S") and not left_out)


def _write(folder: Path) -> None:
    shutil.copytree(PORT / "src", folder / "src")
    shutil.copytree(ROOT / "ports/health", folder / "src", dirs_exist_ok=True)
    shutil.copytree(PORT / "examples", folder / "examples")
    shutil.copytree(ROOT / "core/include/ciphermote", folder / "src/ciphermote")
    for source in filter(_wanted, (ROOT / "core/src").rglob("*")):
        target = folder / "src" / source.relative_to(ROOT / "core/src")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, target)
    for name in ("keywords.txt", "README.md"):
        shutil.copy2(PORT / name, folder / name)
    shutil.copy2(ROOT / "LICENSE", folder / "LICENSE")
    properties = (PORT / "library.properties").read_text(encoding="utf-8")
    (folder / "library.properties").write_text(properties.replace("@VERSION@", _version()), encoding="utf-8")
    (folder / MANIFEST).write_text("".join(f"{line}\n" for line in _manifest(folder)), encoding="utf-8")


def _manifest(folder: Path) -> Iterator[str]:
    """A line for each file; links do not count."""
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_symlink():
            yield f"link  {name}"
        elif path.is_file() and name != MANIFEST:
            yield f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {name}"


def _refuse_foreign(folder: Path) -> None:
    """Raises LibraryError unless everything there was written by this tool."""
    if not folder.is_dir():
        raise LibraryError(f"{folder} is not a folder: name one for the library alone.")
    for name in _foreign(folder):
        raise LibraryError(
            f"{folder} would be replaced, but this tool did not write {name} in it, or it was changed since: "
            "name another folder, or move this one away."
        )


def _foreign(folder: Path) -> Iterator[str]:
    """Names of files that this tool did not write; if it wrote nothing there, of all at the top."""
    manifest = folder / MANIFEST
    if not manifest.is_file():
        yield from sorted(path.name for path in folder.iterdir())
        return
    written = set(manifest.read_text(encoding="utf-8").splitlines())
    yield from (line.split("  ", 1)[1] for line in _manifest(folder) if line not in written)


def assemble(folder: Path) -> Path:
    """Write the library's folder anew, and return it. Raises LibraryError, with nothing changed, if it holds
    anything else."""
    folder = folder.resolve()
    old = folder.exists()
    if old:
        _refuse_foreign(folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    # Beside it, so that the finished folder replaces the old one in one step.
    with tempfile.TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.parent) as beside:
        new = Path(beside) / "new"
        new.mkdir()
        _write(new)
        if old:
            folder.rename(Path(beside) / "old")
        new.rename(folder)
    return folder


def main() -> int:
    parser = argparse.ArgumentParser(description="Assemble the Arduino library.")
    parser.add_argument(
        "folder", type=Path, nargs="?", default=ROOT / "build/arduino/Ciphermote", help="where it shall lie"
    )
    try:
        print(f"The Arduino library is in {assemble(parser.parse_args().folder)}.")
    except LibraryError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
