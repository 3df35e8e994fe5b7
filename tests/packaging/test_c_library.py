# SPDX-License-Identifier: Apache-2.0
"""The installed C library works for C and C++ programs, with CMake and with pkg-config."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from packaging_support import REPOSITORY, run

CONSUMER = Path(__file__).parent / "consumer"
FIRST_SET = "n1024_q26\n"


def test_cmake_finds_the_installed_library_for_c_and_cpp(prefix: Path, tmp_path: Path) -> None:
    run("cmake", "-S", CONSUMER, "-B", tmp_path, "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={prefix}")
    run("cmake", "--build", tmp_path)
    assert run(tmp_path / "consumer_c") == FIRST_SET
    assert run(tmp_path / "consumer_cpp") == FIRST_SET


def test_pkg_config_finds_the_installed_library(prefix: Path, tmp_path: Path) -> None:
    environment = os.environ | {
        "PKG_CONFIG_PATH": str(prefix / "lib" / "pkgconfig"),
        "LD_LIBRARY_PATH": str(prefix / "lib"),
    }
    flags = run("pkg-config", "--cflags", "--libs", "ciphermote", env=environment).split()
    run("gcc", CONSUMER / "consumer.c", "-o", tmp_path / "consumer", *flags)
    assert run(tmp_path / "consumer", env=environment) == FIRST_SET


def test_only_public_headers_are_installed(prefix: Path) -> None:
    public = {path.name for path in (REPOSITORY / "core/include/ciphermote").iterdir()}
    assert {path.name for path in (prefix / "include").rglob("*.h")} == public


@pytest.mark.parametrize("compiler", ["gcc -xc -std=c11", "clang -xc -std=c11", "g++ -xc++ -std=c++11"])
def test_each_public_header_compiles_alone(compiler: str, tmp_path: Path) -> None:
    for header in sorted((REPOSITORY / "core/include/ciphermote").glob("*.h")):
        source = tmp_path / f"{header.stem}.c"
        source.write_text(f'#include "ciphermote/{header.name}"\nint not_empty;\n')
        warnings = ("-Wall", "-Wextra", "-Wpedantic", "-Werror")
        run(*compiler.split(), *warnings, "-fsyntax-only", "-I", REPOSITORY / "core/include", source)


def test_each_internal_header_compiles_alone(tmp_path: Path) -> None:
    source_folder = REPOSITORY / "core/src"
    for header in sorted(source_folder.rglob("*.h")):
        if "#ifndef" not in header.read_text():
            continue  # a template: the file that includes it defines what it needs
        source = tmp_path / "alone.c"
        source.write_text(f'#include "{header.relative_to(source_folder)}"\n')
        includes = ("-I", REPOSITORY / "core/include", "-I", source_folder)
        run("gcc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", *includes, source)
