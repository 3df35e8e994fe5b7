#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Check that each room of the Python package imports only itself and the rooms that it may.

docs/architecture.md has their order. Imports within functions and for types alone count as well.

tools/check_python_rooms.py [PACKAGE]      (default python/ciphermote)
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = "ciphermote"
_UP_TO_FORMATS = ("base", "parameters", "formats")
_UP_TO_OWNER = (*_UP_TO_FORMATS, "ciphertext", "evaluate", "owner")
ROOMS: dict[str, tuple[str, ...]] = {
    "base": (),
    "parameters": ("base",),
    "formats": ("base", "parameters"),
    "ciphertext": _UP_TO_FORMATS,
    "rest": (*_UP_TO_FORMATS, "ciphertext", "evaluate", "compact"),
    "evaluate": (*_UP_TO_FORMATS, "ciphertext"),
    "owner": (*_UP_TO_FORMATS, "ciphertext", "evaluate"),
    "compact": _UP_TO_OWNER,
    "fleet": (*_UP_TO_OWNER, "compact", "rest"),
    "gateway": (*_UP_TO_FORMATS, "ciphertext", "evaluate", "compact", "rest"),
    "cli": (*_UP_TO_OWNER, "compact", "fleet", "gateway", "rest"),
}
"""Each room, and the others that it may import. evaluate and gateway compute without the owner's secrets, so
they may not import owner."""
NATIVE = ("_core", "_evaluator", "_owner")
"""The extension modules, which are below all rooms."""
WITHOUT_SECRETS = ("evaluate", "gateway")
"""May not import _owner, but for expanding public seeded keys, which EXPANDERS do."""
EXPANDERS = ("evaluate/native.py",)
DOORS = ("__init__.py", "__main__.py")
"""At the top of the package: they name what users import."""


def faults(package: Path) -> Iterator[str]:
    """A sentence for each import against the order, and for each file outside all rooms."""
    for path in sorted(package.rglob("*.py")):
        name = path.relative_to(package).as_posix()
        if name in DOORS:
            continue
        room = name.partition("/")[0].removesuffix(".py")
        if room not in ROOMS:
            yield f"{name}: it is in none of the rooms {', '.join(ROOMS)}."
            continue
        for line, other in _imports(path):
            if other in NATIVE:
                if other == "_owner" and room in WITHOUT_SECRETS and name not in EXPANDERS:
                    yield f"{name}:{line}: {room} may not import _owner, which computes with secrets."
            elif other not in ROOMS:
                yield f"{name}:{line}: {PACKAGE}.{other} is no room: import a module of one."
            elif other != room and other not in ROOMS[room]:
                yield f"{name}:{line}: {room} may not import {PACKAGE}.{other}."


def _imports(path: Path) -> Iterator[tuple[int, str]]:
    """The line of each import from the package, and the room."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        match node:
            case ast.ImportFrom(module=str(module), names=names) if module == PACKAGE:
                yield from ((node.lineno, each.name) for each in names if each.name != "__version__")
            case ast.ImportFrom(module=str(module)) if module.startswith(f"{PACKAGE}."):
                yield node.lineno, module.split(".")[1]
            case ast.Import(names=names):
                for each in names:
                    if each.name.startswith(f"{PACKAGE}."):
                        yield node.lineno, each.name.split(".")[1]


def main() -> int:
    package = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "python" / PACKAGE
    found = list(faults(package))
    print("".join(f"{fault}\n" for fault in found), end="")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
