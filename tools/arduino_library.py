#!/usr/bin/env python3
"""Puts the Arduino library together: the C library's sources, the class over them, examples.

    tools/arduino_library.py [FOLDER]      (default build/arduino/Ciphermote)

Copy the folder into the sketchbook's libraries folder. Nothing in it is edited: what Arduino needs to differ
stands in arduino_config.h.
"""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PORT = ROOT / "ports/arduino"
LEFT_OUT = ("arch/armv7em", "protocol")
"""Sources under core/src: other cores' assembly, and what a board with kilobytes cannot run."""


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


def assemble(folder: Path) -> Path:
    """Write the library's folder anew, and return it."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(PORT / "src", folder / "src")
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
    return folder


def main() -> int:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build/arduino/Ciphermote"
    print(f"The Arduino library is {assemble(folder)}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
