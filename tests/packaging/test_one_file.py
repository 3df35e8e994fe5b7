# SPDX-License-Identifier: Apache-2.0
"""The one-file build compiles by itself, keeps private names private, and refuses what it cannot join.

That the core tests pass with it is the business of tools/test_matrix.py.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from packaging_support import REPOSITORY, run

TOOL = REPOSITORY / "tools" / "amalgamate.py"


def write_core(folder: Path, files: dict[str, str]) -> Path:
    """A core/ folder with these files under src/ and an empty public header."""
    (folder / "include" / "ciphermote").mkdir(parents=True)
    (folder / "include" / "ciphermote" / "ciphermote.h").write_text("")
    for name, text in files.items():
        path = folder / "src" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def amalgamate(core: Path, output: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(TOOL), "--core", str(core), "--output", str(output)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize(
    "options", ["", "-DCM_CONFIG_PRECISION_31=0", "-DCM_CONFIG_PRECISION_63=0 -DCM_CONFIG_MAX_LOG2_N=10"]
)
def test_the_one_file_build_compiles_with_nothing_beside_it_but_its_headers(
    compiler: str, options: str, tmp_path: Path
) -> None:
    assert amalgamate(REPOSITORY / "core", tmp_path).returncode == 0
    run(compiler, "-std=c11", *options.split(), "-c", "ciphermote.c", "-Iinclude", cwd=tmp_path)


def test_names_that_two_files_keep_to_themselves_stay_apart(tmp_path: Path) -> None:
    core = write_core(
        tmp_path / "core",
        {
            "params/one.c": "#define VALUE 1\nstatic int value(void)\n{\n    return VALUE;\n}\n"
            "int one(void);\nint one(void)\n{\n    return value();\n}\n",
            "ring/two.c": "#define VALUE 2\nstatic int value(void)\n{\n    return VALUE;\n}\n"
            "int two(void);\nint two(void)\n{\n    return value();\n}\n",
        },
    )
    done = amalgamate(core, tmp_path)
    assert done.returncode == 0, done.stderr
    main = tmp_path / "main.c"
    main.write_text(
        "int one(void);\nint two(void);\nint main(void)\n{\n    return 10 * one() + two() - 12;\n}\n"
    )
    run("gcc", "-Wall", "-Werror", tmp_path / "ciphermote.c", main, "-o", tmp_path / "program")
    run(tmp_path / "program")


def test_a_private_name_that_is_also_a_member_is_refused_with_a_sentence(tmp_path: Path) -> None:
    core = write_core(
        tmp_path / "core",
        {
            "params/box.h": "#ifndef BOX_H\n#define BOX_H\nstruct box {\n    int value;\n};\n#endif\n",
            "params/one.c": "static int value;\n",
            "ring/two.c": '#include "params/box.h"\n'
            "static int value(struct box b)\n{\n    return b.value;\n}\n",
        },
    )
    done = amalgamate(core, tmp_path)
    assert done.returncode == 1
    assert "ring/two.c and params/one.c each define their own 'value'" in done.stderr
    assert "rename the one defined in ring/two.c" in done.stderr


def test_a_header_that_does_not_exist_is_named(tmp_path: Path) -> None:
    core = write_core(tmp_path / "core", {"ring/ring.c": '#include "ring/nowhere.h"\n'})
    done = amalgamate(core, tmp_path)
    assert done.returncode == 1
    assert 'ring/ring.c includes "ring/nowhere.h"' in done.stderr


def test_a_room_without_a_place_in_the_order_is_named(tmp_path: Path) -> None:
    core = write_core(tmp_path / "core", {"attic/old.c": "\n"})
    done = amalgamate(core, tmp_path)
    assert done.returncode == 1
    assert "attic is in no known room" in done.stderr
