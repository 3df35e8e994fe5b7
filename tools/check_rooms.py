#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Check that each room of the C library and of the hosted library includes only itself and rooms before it:
docs/architecture.md.

A public header has the place of the first room that may include it (PUBLIC), for sources and other public
headers alike. Of arch/, rooms include arch/backends.h alone; backends/, which has their code, includes all of
it, and no other room includes backends/.

In host/, evaluate/, owner/ and intake/ stand on rns/ and arch/, and never on each other, public headers
included. The C library's
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
PUBLIC = {
    "common": ("config", "status"),
    "params": ("compact_key", "params"),
    "random": ("emitter", "receiver"),
    "encode": ("values",),
    "scheme": ("bfv", "ckks", "decryption", "device", "encryptor", "keygen", "keys"),
    "wire": ("accelerator", "compact", "expander", "frame", "receipt", "seal"),
    "protocol": ("aided", "ciphermote", "decryptor"),
}
"""The place of each public header: that of the first room that may include it. emitter.h names the expansions
of public seeds; the back-end for the accelerator, in backends/, comes after wire/."""
HOST_PUBLIC = {
    "rns": ("ciphertext", "context", "coprocessor", "seeded_key"),
    "evaluate": ("evaluate",),
    "owner": ("owner",),
    "intake": ("delivery",),
}
ROOMS = (
    *("common", "params", "arch", "ring", "random", "encode", "scheme", "wire"),
    *("backends", "protocol"),
)
HOST_ROOMS = {
    "arch": (),
    "rns": ("arch",),
    "coprocessor": ("rns", "arch"),
    "evaluate": ("coprocessor", "rns", "arch"),
    "owner": ("rns", "arch"),
    "intake": ("rns", "arch"),
}
OPEN_TO_HOST = ("common", "params", "ring")
CORE_ROOMS = {
    "arch": OPEN_TO_HOST,
    "rns": (*OPEN_TO_HOST, "random"),
    "coprocessor": OPEN_TO_HOST,
    "evaluate": OPEN_TO_HOST,
    "owner": ROOMS,
    "intake": (*OPEN_TO_HOST, "random"),
}
BACK_ENDS = "arch/backends.h"
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
            if other == "ciphermote":
                public = _public_room(included)
                if public is None:
                    yield f"{name}:{line}: {included} has no place among the public headers."
                elif ROOMS.index(public) > ROOMS.index(room):
                    yield f"{name}:{line}: {room} may not include {included}, which is for {public}."
                continue
            if "/" not in included:
                continue
            if other not in ROOMS:
                yield f"{name}:{line}: {included} is in no room: name a file from core/src or ciphermote/."
            elif ROOMS.index(other) > ROOMS.index(room):
                yield f"{name}:{line}: {room} may not include {included}: {other} comes after it."
            elif (
                other == "arch" and room not in ("arch", "backends") and included != BACK_ENDS
            ) or other == "backends" != room:
                yield f"{name}:{line}: {room} may not include {included}: it may only include {BACK_ENDS}."
    for path in sorted((core / "include").rglob("*.h")):
        name = path.relative_to(core)
        room = _public_room(f"ciphermote/{path.name}")
        if room is None and path.name != "arduino_config.h":
            yield f"{name}: it has no place among the public headers (tools/check_rooms.py)."
            continue
        for line, included in _includes(path):
            if included == "arduino_config.h":
                continue
            other = _public_room(included)
            if other is None:
                yield f"{name}:{line}: a public header may not include {included}."
            elif room is not None and ROOMS.index(other) > ROOMS.index(room):
                yield f"{name}:{line}: a header for {room} may not include {included}, which is for {other}."


def host_faults(host: Path) -> Iterator[str]:
    """Return the faults of the hosted library."""
    for path in sorted((host / "src").rglob("*.cpp")) + sorted((host / "src").rglob("*.h")):
        name = path.relative_to(host / "src")
        room = name.parts[0]
        if room not in HOST_ROOMS:
            yield f"host/{name}: {room} is none of the rooms {', '.join(HOST_ROOMS)}."
            continue
        for line, included in _includes(path):
            other, slash, header = included.partition("/")
            if other == "ciphermote":
                of = next(
                    (of for of, names in HOST_PUBLIC.items() if header.removesuffix(".h") in names), None
                )
                if of is not None and of not in (room, *HOST_ROOMS[room]):
                    yield f"host/{name}:{line}: {room} may not include {included}, which is {of}'s."
                continue
            if not slash or other == room:
                continue
            if other not in (*HOST_ROOMS[room], *CORE_ROOMS[room]):
                yield f"host/{name}:{line}: {room} may not include {included}."


def _public_room(included: str) -> str | None:
    """The place of a public header, ciphermote/NAME.h; None if it has none."""
    folder, _, header = included.partition("/")
    if folder != "ciphermote":
        return None
    return next((room for room, names in PUBLIC.items() if header.removesuffix(".h") in names), None)


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
