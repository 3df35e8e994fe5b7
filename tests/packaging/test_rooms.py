# SPDX-License-Identifier: Apache-2.0
"""tools/check_rooms.py refuses includes that violate the order of the C library's folders."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from packaging_support import REPOSITORY

TOOL = REPOSITORY / "tools/check_rooms.py"


def check(core: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, str(TOOL), str(core)], capture_output=True, text=True, timeout=60)


def written(folder: Path, name: str, content: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
    return folder


def test_the_library_keeps_the_order() -> None:
    done = check(REPOSITORY / "core")
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        (
            "src/ring/ring.c",
            '#include "scheme/noise.h"\n',
            "ring/ring.c:1: ring may not include scheme/noise.h",
        ),
        (
            "src/encode/x.S",
            '\n#include "wire/frame.h"\n',
            "x.S:2: encode may not include wire/frame.h",
        ),
        (
            "src/arch/api.h",
            '#include "ring/ring.h"\n',
            "arch/api.h:1: arch may not include ring/ring.h",
        ),
        (
            "src/backends/avr_ring.c",
            '#include "protocol/aided.h"\n',
            "backends/avr_ring.c:1: backends may not include protocol/aided.h",
        ),
        (
            "src/protocol/aided.c",
            '#include "backends/word32/products.h"\n',
            "protocol/aided.c:1: protocol may not include backends/word32/products.h: it may only include",
        ),
        (
            "src/ring/ring.c",
            '#include "arch/avr.h"\n',
            "ring/ring.c:1: ring may not include arch/avr.h: it may only include arch/backends.h",
        ),
        ("src/common/bytes.h", '# include "params/p.h"\n', "common may not include params/p.h"),
        ("src/attic/a.c", "", "attic is none of the rooms"),
        ("src/ring/ring.c", '#include "tests/check.h"\n', "tests/check.h is in no room"),
        (
            "include/ciphermote/keys.h",
            '#include "ring/ring.h"\n',
            "a public header may not include ring/ring.h",
        ),
        (
            "src/common/bytes.h",
            '#include "ciphermote/decryptor.h"\n',
            "common/bytes.h:1: common may not include ciphermote/decryptor.h, which is for protocol",
        ),
        (
            "src/random/chacha20.c",
            '#include "ciphermote/bfv.h"\n',
            "random may not include ciphermote/bfv.h, which is for scheme",
        ),
        (
            "include/ciphermote/params.h",
            '#include "ciphermote/frame.h"\n',
            "a header for params may not include ciphermote/frame.h, which is for wire",
        ),
        ("include/ciphermote/new.h", "", "new.h: it has no place among the public headers"),
        ("src/ring/ring.c", '#include "ciphermote/new.h"\n', "ciphermote/new.h has no place"),
    ],
)
def test_an_include_against_the_order_is_refused(name: str, content: str, said: str, tmp_path: Path) -> None:
    done = check(written(tmp_path, name, content))
    assert done.returncode == 1
    assert said in done.stdout


def test_what_stands_before_a_room_may_be_included(tmp_path: Path) -> None:
    names = ("ciphermote/config.h", "common/bytes.h", "ring/ring.h", "wire/frame.h")
    content = "#include <string.h>\n" + "".join(f'#include "{name}"\n' for name in names)
    assert check(written(tmp_path, "src/wire/frame.c", content)).returncode == 0


def test_a_back_end_includes_the_rooms_that_it_serves(tmp_path: Path) -> None:
    content = "".join(
        f'#include "{name}"\n' for name in ("arch/avr.h", "backends/avr/words.inc", "random/sample.h")
    )
    assert check(written(tmp_path, "src/backends/avr_ring.c", content)).returncode == 0


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("evaluate/a.cpp", '#include "owner/keys.h"\n', "evaluate may not include owner/keys.h"),
        ("owner/a.cpp", '#include "evaluate/b.h"\n', "owner may not include evaluate/b.h"),
        ("evaluate/a.cpp", '#include "scheme/keys.h"\n', "evaluate may not include scheme/keys.h"),
        ("evaluate/a.cpp", '#include "random/sample.h"\n', "evaluate may not include random/sample.h"),
        ("rns/a.cpp", '#include "scheme/keys.h"\n', "rns may not include scheme/keys.h"),
        ("arch/a.cpp", '#include "rns/tables.h"\n', "arch may not include rns/tables.h"),
        (
            "evaluate/a.cpp",
            '#include "ciphermote/owner.h"\n',
            "evaluate may not include ciphermote/owner.h, which is owner's",
        ),
        ("owner/a.cpp", '#include "ciphermote/delivery.h"\n', "which is intake's"),
        ("rns/a.cpp", '#include "ciphermote/evaluate.h"\n', "which is evaluate's"),
        ("coprocessor/a.cpp", '#include "evaluate/b.h"\n', "coprocessor may not include evaluate/b.h"),
        ("rns/a.cpp", '#include "coprocessor/b.h"\n', "rns may not include coprocessor/b.h"),
        ("attic/a.cpp", "", "attic is none of the rooms"),
        ("a.cpp", "", "a.cpp is none of the rooms"),
    ],
)
def test_the_hosted_librarys_rooms_keep_apart(name: str, content: str, said: str, tmp_path: Path) -> None:
    done = check(written(tmp_path, f"host/src/{name}", content).joinpath("core"))
    assert done.returncode == 1
    assert said in done.stdout


def test_public_seeds_may_be_expanded_beside_the_arithmetic(tmp_path: Path) -> None:
    content = '#include "random/sample.h"\n'
    assert check(written(tmp_path, "host/src/rns/a.cpp", content).joinpath("core")).returncode == 0


def test_the_owners_room_may_use_the_rooms_with_a_secret_key(tmp_path: Path) -> None:
    content = '#include "scheme/keys.h"\n#include "rns/tables.h"\n#include "ciphermote/owner.h"\n'
    assert check(written(tmp_path, "host/src/owner/a.cpp", content).joinpath("core")).returncode == 0


CORE = REPOSITORY / "core"


def headers_of(source: Path) -> set[str]:
    """The project's headers that an object depends on."""
    command = ["gcc", "-MM", "-std=c11", f"-I{CORE / 'include'}", f"-I{CORE / 'src'}", str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    found = (Path(name) for name in done.stdout.replace("\\\n", " ").split())
    return {path.name for path in found if path.suffix == ".h"}


def test_objects_depend_on_the_headers_that_they_need() -> None:
    """A stream cipher does not compile anew for a field of a decryptor."""
    chacha20 = headers_of(CORE / "src/random/chacha20.c")
    assert not chacha20 & {"frame.h", "encryptor.h", "bfv.h", "decryptor.h", "params.h"}
    assert len(chacha20) <= 8
    on_frames = [path for path in (CORE / "src").rglob("*.c") if "frame.h" in headers_of(path)]
    assert len(on_frames) <= 20
