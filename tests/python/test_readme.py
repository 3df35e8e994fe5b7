# SPDX-License-Identifier: Apache-2.0
"""The commands of README.md do what it says, in a copy of the tree."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from ciphermote.owner.key_store import KeyStore
from ciphermote.owner.provisioning import Identity, provision, to_c_header
from ciphermote.parameters import by_name

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench/m4"))
user = pytest.importorskip("user")
README = (ROOT / "README.md").read_text(encoding="utf-8")
ROUNDS = (ROOT / "docs/client-aided.md").read_text(encoding="utf-8")
ELSEWHERE = ("make ", "mkdir ", "pip install ", "python3 -m venv ")
"""What continuous integration and the packaging tests run."""


COMMANDS = [
    line.strip()
    for line in re.findall(
        r"^    (\S.*)", re.sub(r"^```.*?^```$", "", README, flags=re.DOTALL | re.MULTILINE), re.MULTILINE
    )
]
"""Its indented lines, outside blocks of code."""

READ_RESULT = r"""
#include <stdio.h>

#include "sensor.c"
%s
int main(void)
{
    static uint8_t received[65536];
    const float *scores = (const float *)(const void *)room;
    FILE *file = fopen("result.bin", "rb");
    const cm_status status = read_result(received, fread(received, 1, sizeof received, file));
    printf("%%d %%.1f %%.1f\n", (int)status, (double)scores[0], (double)scores[1]);
    return fclose(file);
}
"""
"""Decrypts what docs/client-aided.md makes of a result."""


def found(pattern: str) -> tuple[str, ...]:
    """The groups of a pattern that README.md holds once."""
    matches = list(re.finditer(pattern, README, re.DOTALL | re.MULTILINE))
    assert len(matches) == 1, f"README.md no longer holds {pattern!r} once"
    return matches[0].groups()


def shell(command: str, folder: Path, **variables: str) -> str:
    """The standard output of a shell command, with the tests' own Python first in PATH."""
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


def numbers_of(table: str) -> dict[str, float]:
    """The second column of a printed table, by the first."""
    return {name: float(number) for name, number in re.findall(r"(\w+)\s+│\s+(-?[\d.]+)", table)}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A copy of what the C library is built from."""
    for name in ("core", "cmake", "tools"):
        shutil.copytree(ROOT / name, tmp_path / name)
    shutil.copy(ROOT / "CMakeLists.txt", tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def walked(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """A folder in which all commands of the two walkthroughs ran in order, and what each printed."""
    house = tmp_path_factory.mktemp("walk")
    (house / "ciphermote").symlink_to(ROOT)  # the clone, beside the directory that README.md works in
    folder = house / "reading"
    folder.mkdir()
    for text, name in re.findall(r"^```c\n(/\* (\w+\.c) \*/\n.*?)^```$", README, re.DOTALL | re.MULTILINE):
        (folder / name).write_text(text)
    (model,) = found(r"^```json\n(.*?)^```$")
    (folder / "model.json").write_text(model)
    commands = (command for command in COMMANDS if not command.startswith(ELSEWHERE))
    return folder, {command: shell(command, folder) for command in commands}


def test_the_owner_reads_what_the_sensor_sent(walked: tuple[Path, dict[str, str]]) -> None:
    _, printed = walked
    names = [" ".join(command.split()[:2]) for command in printed]
    assert names[:6] == [
        *("ciphermote keygen", "ciphermote provision", "cc main.c", "./sensor >", "ciphermote adapt"),
        "ciphermote decrypt",
    ]
    readings = numbers_of(printed[list(printed)[5]])
    assert [readings["0"], readings["1"]] == pytest.approx([21.4, -27], abs=1e-3)  # sigma is 9e-6


def test_keys_for_other_values_suit_the_sensors_precision(tmp_path: Path) -> None:
    (command,) = found(r"`(ciphermote keygen keys --largest [^`]+)`")
    printed = shell(command, tmp_path)
    assert re.search(r"Readings of up to 5000 .* sums of up to [\d,]+ of them have room", printed), printed
    assert "a mean of 20 within" in printed
    shell("ciphermote provision keys -o provisioned_keys.h", tmp_path)
    header = (tmp_path / "provisioned_keys.h").read_text()
    (scale,) = re.findall(r"#define CM_PROVISIONED_LOG2_SCALE (\d+)", header)
    assert 5000 * 2 ** int(scale) < 2**29
    assert "#define CM_PROVISIONED_PRECISION CM_FIXED_31\n" in header


def test_the_sensor_sends_values_beyond_31_bits_too(tmp_path: Path) -> None:
    for name in ("sensor.c", "main.c"):
        (source,) = re.findall(
            rf"^```c\n(/\* {re.escape(name)} \*/.*?)^```$", README, re.DOTALL | re.MULTILINE
        )
        (tmp_path / name).write_text(source.replace("21.4f, -27.0f", "1e9f, 3.0f"))
    shell("ciphermote keygen keys --largest 1e9", tmp_path)
    shell("ciphermote provision keys -o provisioned_keys.h", tmp_path)
    core = ROOT / "core"
    shell(f"cc main.c {core}/src/*/*.c -I{core}/include -I{core}/src -o sensor", tmp_path)
    shell("./sensor > frames.bin && ciphermote adapt keys frames.bin -o reading.ct", tmp_path)
    readings = numbers_of(shell("ciphermote decrypt keys reading.ct --count 2", tmp_path))
    assert [readings["0"], readings["1"]] == pytest.approx([1e9, 3.0], abs=1e-3)


def test_the_sensor_encrypts_under_a_public_key_as_its_line_says(tmp_path: Path) -> None:
    (line,) = found(r"^\* (\*\*Public keys\*\*:.*?)^\* ")
    assert all(new.rstrip("(") in line for new in user.PUBLIC_KEY.values()), line
    (main,) = found(r"^```c\n(/\* main\.c \*/.*?)^```$")
    (tmp_path / "main.c").write_text(main)
    (tmp_path / "sensor.c").write_text(user.sensor("asymmetric"))
    shell("ciphermote keygen keys", tmp_path)
    shell("ciphermote provision keys --key asymmetric -o provisioned_keys.h", tmp_path)
    core = ROOT / "core"
    shell(f"cc main.c {core}/src/*/*.c -I{core}/include -I{core}/src -o sensor", tmp_path)
    shell("./sensor > frames.bin && ciphermote adapt keys frames.bin -o reading.ct", tmp_path)
    readings = numbers_of(shell("ciphermote decrypt keys reading.ct --count 2", tmp_path))
    # 15 standard deviations: under the public key an error's tails are exponential.
    assert [readings["0"], readings["1"]] == pytest.approx([21.4, -27], abs=4e-2)


def test_its_readings_are_scored(walked: tuple[Path, dict[str, str]]) -> None:
    folder, printed = walked
    scores = next(text for command, text in printed.items() if "decrypt keys score.ct" in command)
    assert re.search(r"rest.*highest", scores), scores
    shown = numbers_of(scores)
    assert [shown["rest"], shown["walk"]] == pytest.approx([44.7, 20.9], abs=1e-3)  # sigma is 2.4e-5
    (lines_of_python,) = re.findall(r"^```python\n(.*?)^```$", ROUNDS, re.DOTALL | re.MULTILINE)
    (folder / "frames.py").write_text(lines_of_python)
    shell("python frames.py", folder)
    read_result, _ = re.findall(r"^```c\n(.*?)^```$", ROUNDS, re.DOTALL | re.MULTILINE)
    (folder / "result.c").write_text(READ_RESULT % read_result)
    core = ROOT / "core"
    shell(f"cc -w result.c {core}/src/*/*.c -I{core}/include -I{core}/src -o result", folder)
    assert shell("./result", folder).split() == ["0", "44.7", "20.9"]


def test_tagged_rounds_compile_without_a_warning(tmp_path: Path) -> None:
    store = KeyStore.create(tmp_path / "keys", by_name("n1024_q26"), relin=False)
    given = provision(store, secret=True, identity=Identity(7, 1))
    (tmp_path / "provisioned_keys.h").write_text(to_c_header(given))
    _, tag_session = re.findall(r"^```c\n(.*?)^```$", ROUNDS, re.DOTALL | re.MULTILINE)
    includes = '#include "ciphermote/ciphermote.h"\n#include "provisioned_keys.h"\n'
    declared = "cm_status tag_session(cm_aided *aided, cm_frame_writer *writer);\n"
    (tmp_path / "session.c").write_text(includes + declared + tag_session)
    shell(f"cc -Wall -Wextra -Wconversion -Werror -c session.c -I{ROOT}/core/include -o /dev/null", tmp_path)


def test_its_c_compiles_without_a_warning(walked: tuple[Path, dict[str, str]]) -> None:
    folder, _ = walked
    flags = "-Wall -Wextra -Wconversion -Wshadow -Werror"
    shell(f"cc {flags} -c main.c -I{ROOT}/core/include -o /dev/null", folder)


def test_the_evaluators_lines_of_python_print_what_they_compute(tmp_path: Path) -> None:
    text = (ROOT / "docs/evaluator.md").read_text(encoding="utf-8")
    (lines,) = re.findall(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    (tmp_path / "compute.py").write_text(lines)
    x = [0.5, -1.25, 2.0]
    truth = [*(v * v - 3 * v for v in x), *(1 - v * v / 2 + v**3 / 4 for v in x), sum(x), 0.75, 2.0]
    truth += [4.0, -2.625, 0.0]
    assert numbers_in(shell("python compute.py", tmp_path)) == pytest.approx(truth, abs=0.011)


def numbers_in(printed: str) -> list[float]:
    return [float(number) for number in re.findall(r"-?\d+\.\d*", printed)]


def test_its_lines_of_python_print_the_sum(tmp_path: Path) -> None:
    (lines,) = found(r"^```python\n(.*?)^```$")
    (tmp_path / "sum.py").write_text(lines)
    numbers = shell("python sum.py", tmp_path).strip("[] \n").split()
    assert [round(float(number), 1) for number in numbers] == [42.3, -53.5]


def test_every_indented_line_is_a_command_that_something_runs() -> None:
    known = ("ciphermote ", "cc ", "./sensor ", *ELSEWHERE)
    assert all(command.startswith(known) for command in COMMANDS), COMMANDS


def test_the_cmake_line_builds_and_installs_the_library(tree: Path) -> None:
    command = " && ".join(re.findall(r"^      (cmake .*)$", README, re.MULTILINE))
    quick = {"CMAKE_BUILD_TYPE": "Debug", "CMAKE_BUILD_PARALLEL_LEVEL": "2"}
    shell(command, tree, DESTDIR=str(tree / "installed"), **quick)
    names = {path.name for path in (tree / "installed").rglob("*")}
    assert {"ciphermote.h", "libciphermote.a", "ciphermoteConfig.cmake"} <= names


def test_the_one_file_line_writes_what_compiles_as_it_says(tree: Path) -> None:
    command, file, option, assembly = found(
        r"^\* One file: `([^`]+)` writes `([^`]+)`; compile it with\s+`([^`]+)`,\s+and for[^`]+`([^`]+)`"
    )
    shell(command, tree)
    shell(f"cc -std=c11 -c {file} {option} -o one-file.o && rm one-file.o", tree)
    shell(f"{CORTEX_M4} -c {file} {assembly} {option}", tree)
    check_assembly_is_whole(tree)


CORTEX_M4 = "arm-none-eabi-gcc -mcpu=cortex-m4 -mthumb -std=c11"


def check_assembly_is_whole(folder: Path) -> None:
    """Objects in this folder call assembly, and all that they call is there."""
    shell("arm-none-eabi-ld -r *.o -o whole", folder)
    symbols = shell("arm-none-eabi-nm whole", folder)
    assert " t cmi_armv7em_two_levels_4" in symbols or " T cmi_armv7em_two_levels_4" in symbols
    assert not re.findall(r" U (cm_\w+|cmi_\w+)", symbols)


def test_the_copied_sources_compile_as_it_says(tree: Path) -> None:
    sources, options = found(r"^\* Copy `core/`; compile `([^`]+)` with `([^`]+)`")
    shell(f"cc -std=c11 -c {sources} {options} && rm *.o", tree)
    shell(f"{CORTEX_M4} -c {sources} {options}", tree)
    check_assembly_is_whole(tree)
