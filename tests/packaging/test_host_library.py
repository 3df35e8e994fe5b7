# SPDX-License-Identifier: Apache-2.0
"""The installed hosted library works for a program of its own: docs/evaluator.md's, by its commands."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest
from packaging_support import REPOSITORY, run

SECTION = (REPOSITORY / "docs/evaluator.md").read_text(encoding="utf-8").partition("## In C++\n")[2]
INSTALLING, USING = re.findall(r"(?:^    cmake .*\n)+", SECTION, re.MULTILINE)
CMAKE_LISTS = re.findall(r"^```cmake\n(.*?)^```$", SECTION, re.DOTALL | re.MULTILINE)[0]
PROGRAM = re.findall(r"^```cpp\n(.*?)^```$", SECTION, re.DOTALL | re.MULTILINE)[0]


def shell(commands: str, folder: Path, home: Path) -> str:
    quick = {"CMAKE_BUILD_TYPE": "Debug", "CMAKE_BUILD_PARALLEL_LEVEL": "2", "CMAKE_GENERATOR": "Ninja"}
    return run("bash", "-ec", commands, cwd=folder, env={**os.environ, "HOME": str(home), **quick})


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home directory with the library installed below it, whose sources are gone."""
    folder = tmp_path_factory.mktemp("home")
    tree = folder / "tree"
    for name in ("core", "host", "cmake"):
        shutil.copytree(REPOSITORY / name, tree / name)
    shutil.copy(REPOSITORY / "CMakeLists.txt", tree)
    shell(INSTALLING, tree, folder)
    shutil.rmtree(tree)
    return folder


def test_the_documents_program_finds_it_and_computes(home: Path, tmp_path: Path) -> None:
    (tmp_path / "CMakeLists.txt").write_text(CMAKE_LISTS)
    (tmp_path / "square.cpp").write_text(PROGRAM)
    printed = shell(USING, tmp_path, home).splitlines()[-1]
    assert printed == "0.25 1.56 4.00"
    assert f"prints {printed}:" in SECTION


def test_its_public_headers_are_installed_beside_the_device_librarys(home: Path) -> None:
    public = {
        path.name
        for room in ("core", "host")
        for path in (REPOSITORY / room / "include/ciphermote").iterdir()
    }
    assert {path.name for path in (home / ".local/include").rglob("*.h")} == public


def test_an_installation_without_it_says_so(prefix: Path, tmp_path: Path) -> None:
    (tmp_path / "CMakeLists.txt").write_text(CMAKE_LISTS)
    with pytest.raises(AssertionError, match=r"no hosted library:\s+build one"):
        run("cmake", "-S", tmp_path, "-B", tmp_path / "build", f"-DCMAKE_PREFIX_PATH={prefix}")


def test_a_shared_device_library_is_refused(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match=r"leave\s+BUILD_SHARED_LIBS off"):
        run("cmake", "-S", REPOSITORY, "-B", tmp_path, "-DCIPHERMOTE_BUILD_HOST=ON", "-DBUILD_SHARED_LIBS=ON")


@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_each_public_header_compiles_alone(compiler: str, tmp_path: Path) -> None:
    for header in sorted((REPOSITORY / "host/include/ciphermote").iterdir()):
        source = tmp_path / f"{header.stem}.cpp"
        source.write_text(f"#include <ciphermote/{header.name}>\nint not_empty;\n")
        warnings = ("-std=c++20", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only")
        rooms = (f"-I{REPOSITORY / room / 'include'}" for room in ("host", "core"))  # installed in one folder
        run(compiler, *warnings, *rooms, source)
