#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Check that each room of the C library and of the hosted library includes only itself and rooms before it:
docs/architecture.md.

arch/ has two places in the order. arch/backends.h, which the other rooms include, and the headers that it
includes come after params/. A back-end's own C files, arch/<target>.c, come after wire/.

In host/, evaluate/, owner/ and intake/ stand on rns/ and arch/, and never on each other. The C library's
rooms that have a secret key are open to owner/ alone; its random streams also to rns/ and intake/, which
expand public seeds.

tools/check_rooms.py [CORE]      (default core/; the hosted library's place is beside it)
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ROOMS = ("common", "params", "arch", "ring", "random", "encode", "scheme", "wire", "protocol")
HOST_ROOMS = {
    "arch": (),
    "rns": ("arch",),
    "evaluate": ("rns", "arch"),
    "owner": ("rns", "arch"),
    "intake": ("rns", "arch"),
}
OPEN_TO_HOST = ("common", "params", "ring")
CORE_ROOMS = {
    "arch": OPEN_TO_HOST,
    "rns": (*OPEN_TO_HOST, "random"),
    "evaluate": OPEN_TO_HOST,
    "owner": ROOMS,
    "intake": (*OPEN_TO_HOST, "random"),
}
BACK_ENDS = "arch/backends.h"
BACK_END = re.compile(r"arch/\w+\.c")
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"', re.MULTILINE)


def faults(core: Path) -> Iterator[str]:
    """A sentence for each include against the order, and for each folder or include outside all rooms."""
    for path in sorted((core / "src").rglob("*.[chS]")) + sorted((core / "src").rglob("*.inc")):
        name = path.relative_to(core / "src")
        room = name.parts[0]
        if room not in ROOMS:
            yield f"{name}: {room} is none of the rooms {', '.join(ROOMS)}."
            continue
        for line, included in _includes(path):
            other = included.partition("/")[0]
            if other == "ciphermote" or "/" not in included:
                continue
            if other not in ROOMS:
                yield f"{name}:{line}: {included} is in no room: name a file from core/src or ciphermote/."
            elif _place(included) > _place(name.as_posix()):
                yield f"{name}:{line}: {room} may not include {included}: {other} comes after it."
            elif other == "arch" != room and included != BACK_ENDS:
                yield f"{name}:{line}: {room} may not include {included}: it may only include {BACK_ENDS}."
    for path in sorted((core / "include").rglob("*.h")):
        for line, included in _includes(path):
            if not included.startswith("ciphermote/") and included != "arduino_config.h":
                yield f"{path.relative_to(core)}:{line}: a public header may not include {included}."


def host_faults(host: Path) -> Iterator[str]:
    """The same for the hosted library."""
    for path in sorted((host / "src").rglob("*.cpp")) + sorted((host / "src").rglob("*.h")):
        name = path.relative_to(host / "src")
        room = name.parts[0]
        if room not in HOST_ROOMS:
            yield f"host/{name}: {room} is none of the rooms {', '.join(HOST_ROOMS)}."
            continue
        for line, included in _includes(path):
            other, slash, _ = included.partition("/")
            if not slash or other in ("ciphermote", room):
                continue
            if other not in (*HOST_ROOMS[room], *CORE_ROOMS[room]):
                yield f"host/{name}:{line}: {room} may not include {included}."


def _place(name: str) -> float:
    """A file's place in the order of the rooms."""
    return ROOMS.index("wire") + 0.5 if BACK_END.fullmatch(name) else ROOMS.index(name.partition("/")[0])


def _includes(path: Path) -> Iterator[tuple[int, str]]:
    text = path.read_text(encoding="utf-8")
    for found in INCLUDE.finditer(text):
        yield text.count("\n", 0, found.start()) + 1, found[1]


def main() -> int:
    core = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "core"
    found = [*faults(core), *host_faults(core.parent / "host")]
    print("".join(f"{fault}\n" for fault in found), end="")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
