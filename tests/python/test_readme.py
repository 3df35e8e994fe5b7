# SPDX-License-Identifier: Apache-2.0
"""The commands of README.md do what it says, in a copy of the tree."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
ROUNDS = (ROOT / "docs/client-aided.md").read_text(encoding="utf-8")
ELSEWHERE = ("make ", "pip install ", "python3 -m venv ")
"""What continuous integration and the packaging tests run."""


EXAMPLES_MAIN = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint8_t sent[65536], received[65536];
static size_t length;

static int keep(void *context, const uint8_t *bytes, size_t count)
{
    (void)context;
    memcpy(sent + length, bytes, count);
    length += count;
    return 0;
}

static int draw(void *context, uint8_t *out, size_t count)
{
    (void)context;
    while (count-- > 0) {
        *out++ = (uint8_t)rand();
    }
    return 0;
}

static uint64_t stored;
static int get(void *context, uint64_t *value) { (void)context; *value = stored; return 0; }
static int put(void *context, uint64_t value) { (void)context; stored = value; return 0; }

static size_t file(const char *path, const char *mode, uint8_t *bytes, size_t count)
{
    FILE *opened = fopen(path, mode);
    count = mode[0] == 'r' ? fread(bytes, 1, count, opened) : fwrite(bytes, 1, count, opened);
    return fclose(opened) == 0 ? count : 0;
}

int main(int count, char **arguments)
{
    const float readings[] = {21.4f, -27.0f};
    const cm_platform platform = {draw, get, put, NULL};
    const float *values = (const float *)(const void *)arena;
    cm_device device;
    if (cm_device_init(&device, cm_provisioned_device_secret, &platform) != CM_OK ||
        set_up(&device, (cm_sink){keep, NULL}) != CM_OK || send_readings(readings, 2) != CM_OK) {
        return 1;
    }
    if (count > 1) {
        length = file(arguments[1], "rb", received, sizeof received);
    } else {
        memcpy(received, sent, length);
        file("frames.bin", "wb", sent, length);
    }
    if (read_result(received, length) != CM_OK) {
        return 1;
    }
    printf("%.1f %.1f %.1f\n", (double)values[0], (double)values[1], (double)values[2] + 0.01);
    return 0;
}
"""
"""Sends readings to frames.bin and reads them back, or reads the result in the file that it is given."""


def found(pattern: str) -> tuple[str, ...]:
    """The groups of a pattern that README.md holds once."""
    matches = list(re.finditer(pattern, README, re.DOTALL | re.MULTILINE))
    assert len(matches) == 1, f"README.md no longer holds {pattern!r} once"
    return matches[0].groups()


def shell(command: str, folder: Path, **variables: str) -> str:
    """Standard output of what the shell makes of a command, with the tests' own Python first in PATH."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        ["bash", "-ec", command],
        cwd=folder,
        env={**os.environ, "PATH": path, **variables},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A copy of what the C library is built from."""
    for name in ("core", "cmake", "tools"):
        shutil.copytree(ROOT / name, tmp_path / name)
    shutil.copy(ROOT / "CMakeLists.txt", tmp_path)
    return tmp_path


def test_a_reading_goes_the_way_that_the_readme_says_and_its_result_back(tmp_path: Path) -> None:
    (model,) = found(r"^```json\n(.*?)^```$")
    (tmp_path / "model.json").write_text(model)
    lines = [line.strip() for line in re.findall(r"^    (\S.*)", README, re.MULTILINE)]
    commands = [line for line in lines if line.startswith("ciphermote ")]
    names = [command.split()[1] for command in commands]
    assert names[:5] == ["keygen", "provision", "adapt", "infer", "decrypt"]
    shown = {}
    for name, command in zip(names, commands, strict=True):
        if name == "adapt":
            assert compiled(tmp_path) == ["21.4", "-27.0", "0.0"]
        shown[name] = shell(command, tmp_path)
    assert re.search(r"rest\D+44\.7\d*\D+highest", shown["decrypt"]), shown["decrypt"]
    assert re.search(r"walk\D+20\.9", shown["decrypt"]), shown["decrypt"]
    (lines_of_python,) = re.findall(r"^```python\n(.*?)^```$", ROUNDS, re.DOTALL | re.MULTILINE)
    (tmp_path / "frames.py").write_text(lines_of_python)
    shell("python frames.py", tmp_path)
    assert shell("./example result.bin", tmp_path).split()[:2] == ["44.7", "20.9"]


def test_its_lines_of_python_print_the_sum(tmp_path: Path) -> None:
    (lines,) = found(r"^```python\n(.*?)^```$")
    (tmp_path / "sum.py").write_text(lines)
    numbers = shell("python sum.py", tmp_path).strip("[] \n").split()
    assert [round(float(number), 1) for number in numbers] == [42.3, -53.5]


def compiled(tmp_path: Path) -> list[str]:
    """What the README's C prints, compiled with the provisioned header."""
    (example,) = found(r"^```c\n(.*?)^```$")
    (tmp_path / "example.c").write_text(example + EXAMPLES_MAIN)
    sources = " ".join(shlex.quote(str(path)) for path in (ROOT / "core/src").glob("*/*.c"))
    include = f"-I'{ROOT / 'core/include'}'"
    shell(f"cc -std=c11 -Wall -Wextra -Werror -c example.c {include}", tmp_path)
    shell(f"cc -std=c11 example.o {sources} {include} -I'{ROOT / 'core/src'}' -o example", tmp_path)
    return shell("./example", tmp_path).split()


def test_every_indented_line_is_a_command_that_something_runs() -> None:
    prose = re.sub(r"^```.*?^```$", "", README, flags=re.DOTALL | re.MULTILINE)
    lines = re.findall(r"^    (\S.*)", prose, re.MULTILINE)
    assert all(line.startswith(("ciphermote ", *ELSEWHERE)) for line in lines), lines


def test_the_cmake_line_builds_and_installs_the_library(tree: Path) -> None:
    (command,) = found(r"^\* CMake: `([^`]+)`")
    quick = {"CMAKE_BUILD_TYPE": "Debug", "CMAKE_BUILD_PARALLEL_LEVEL": "2"}
    shell(command, tree, DESTDIR=str(tree / "installed"), **quick)
    names = {path.name for path in (tree / "installed").rglob("*")}
    assert {"ciphermote.h", "libciphermote.a", "ciphermoteConfig.cmake"} <= names


def test_the_one_file_line_writes_what_compiles_as_it_says(tree: Path) -> None:
    command, file, option = found(r"^\* One file: `([^`]+)` writes `([^`]+)`; compile it with `([^`]+)`")
    shell(command, tree)
    shell(f"cc -std=c11 -c {file} {option} -o one-file.o", tree)


def test_the_copied_sources_compile_as_it_says(tree: Path) -> None:
    sources, options = found(r"^\* Copy `core/`; compile `([^`]+)` with `([^`]+)`")
    shell(f"cc -std=c11 -c {sources} {options}", tree)
