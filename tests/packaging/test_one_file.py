# SPDX-License-Identifier: Apache-2.0
"""The one-file build compiles by itself, and the compiler refuses a name that two of its files have.

tools/test_matrix.py checks that the core tests pass with it.
"""

from __future__ import annotations

import os
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


ARMV7EM = "arm-none-eabi-gcc -mcpu=cortex-m4 -mthumb -DCM_CONFIG_ASM=1"
AVR = "avr-gcc -mmcu=atmega328p -DCM_CONFIG_ASM=1 -DCM_CONFIG_MAX_LOG2_N=10"


@pytest.mark.parametrize("compiler", ["gcc", "clang", ARMV7EM, AVR])
@pytest.mark.parametrize(
    "options",
    [
        "",
        "-DCM_CONFIG_PRECISION_31=0",
        "-DCM_CONFIG_PRECISION_63=0 -DCM_CONFIG_MAX_LOG2_N=10",
        "-DCM_CONFIG_PRESET=CM_CONFIG_PRESET_FAST -DCM_CONFIG_ACCELERATOR=1",
    ],
)
def test_the_one_file_build_compiles_with_nothing_beside_it_but_its_headers(
    compiler: str, options: str, tmp_path: Path
) -> None:
    """Without warnings: two macros of the same name would cause one."""
    assert amalgamate(REPOSITORY / "core", tmp_path).returncode == 0
    flags = ("-std=c11", "-Wall", "-Wextra", "-Wno-unused-function", "-Werror", "-Iinclude")
    run(*compiler.split(), *flags, *options.split(), "-c", "ciphermote.c", cwd=tmp_path)


@pytest.mark.parametrize(
    ("one", "two", "said"),
    [
        ("static int value(void)", "static int value(void)", "redefinition of 'value'"),
        ("struct value", "struct value", "redefinition of 'struct value'"),
        ("#define VALUE 1", "#define VALUE 2", '"VALUE" redefined'),
    ],
)
def test_a_name_that_two_files_keep_to_themselves_is_refused_by_the_compiler(
    one: str, two: str, said: str, tmp_path: Path
) -> None:
    body = {"static": "\n{\n    return 1;\n}\n", "struct": " {\n    int member;\n};\n", "#define": "\n"}
    core = write_core(
        tmp_path / "core",
        {
            "params/one.c": one + body[one.split()[0]] + "int one(void);\nint one(void) { return 1; }\n",
            "ring/two.c": two + body[two.split()[0]] + "int two(void);\nint two(void) { return 2; }\n",
        },
    )
    assert amalgamate(core, tmp_path).returncode == 0
    for name in ("params/one.c", "ring/two.c"):
        run("gcc", "-std=c11", "-Werror", "-c", core / "src" / name, "-o", tmp_path / "alone.o")
    command = ["gcc", "-std=c11", "-Werror", "-c", tmp_path / "ciphermote.c", "-o", tmp_path / "joined.o"]
    refused = subprocess.run(
        command, capture_output=True, text=True, timeout=60, env={**os.environ, "LC_ALL": "C"}
    )
    assert refused.returncode != 0
    assert said in refused.stderr


def test_a_template_stands_wherever_it_is_included_and_a_header_once(tmp_path: Path) -> None:
    including = '#include "params/once.h"\n#define NAME WHICH\n#include "ring/twice.h"\n#undef NAME\n'
    core = write_core(
        tmp_path / "core",
        {
            "params/once.h": "#ifndef ONCE_H\n#define ONCE_H\nenum { ONCE = 2 };\n#endif\n",
            "ring/twice.h": "int NAME(void);\nint NAME(void)\n{\n    return ONCE;\n}\n",
            "ring/one.c": including.replace("WHICH", "one"),
            "ring/two.c": including.replace("WHICH", "two"),
        },
    )
    assert amalgamate(core, tmp_path).returncode == 0
    joined = (tmp_path / "ciphermote.c").read_text()
    assert joined.count("ONCE = 2") == 1
    assert joined.count("int NAME(void);") == 2
    run("gcc", "-std=c11", "-Werror", "-c", tmp_path / "ciphermote.c", "-o", tmp_path / "joined.o")


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
