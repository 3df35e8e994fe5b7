# SPDX-License-Identifier: Apache-2.0
"""Everything that messages and documents tell people to install exists today: the clone itself, or a
registry's package on which the project depends. Anybody may register an unused name, ours included."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from ciphermote.base.words import how_to_install

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
INSTALLER = re.compile(
    r"(?:pip3? install|uv (?:pip |tool )?(?:install|add)|pipx (?:install|run)|uvx|poetry add|conda install|"
    r"npm (?:install|i)|cargo add|arduino-cli lib install|pio pkg install|idf\.py add-dependency)"
    r"((?: +(?:-[\w-]+(?:=\S+)?|'[^'\n]+'|[\w./@=<>\[\]+-]+))+)"
)


def known() -> set[str]:
    """Names of the packages that the project depends on, and those that install others."""
    listed = [*PROJECT["dependencies"], *(name for names in EXTRAS.values() for name in names)]
    return {re.split(r"[\[<>=]", name)[0] for name in listed} | {"pip", "platformio"}


def texts() -> Iterator[tuple[str, str]]:
    names = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in names.splitlines():
        if name.startswith(("requirements/", "tests/", "rtl/")) or name == "CHANGELOG.md":
            continue
        if name.endswith((".py", ".md", ".sh", ".yml", ".toml", ".json", ".h", ".c", ".ino", ".properties")):
            yield name, (ROOT / name).read_text(encoding="utf-8", errors="replace")


def test_nothing_is_installed_by_a_name_that_nobody_has_registered() -> None:
    found = []
    for name, text in texts():
        for words in INSTALLER.findall(text):
            for word in words.split():
                plain = word.strip("'\"")
                path = plain.startswith((".", "/", "-", "$"))
                if not path and re.split(r"[\[<>=]", plain)[0] not in known():
                    found.append(f"{name}: {words.strip()}")
        found += [f"{name}: {each}" for each in re.findall(r"\bciphermote\[\w+\]", text)]
    assert found == []


def test_the_extras_that_are_named_are_there() -> None:
    named = {extra for _, text in texts() for extra in re.findall(r"'\.\[(\w+)\]'", text)}
    named |= {
        extra for _, text in texts() for extra in re.findall(r"how_to_install\(['\"](\w+)['\"]\)", text)
    }
    assert {"gateway", "owner", "serial"} <= named <= EXTRAS.keys()
    assert how_to_install("owner") == "run `pip install '.[owner]'` in a clone of Ciphermote's repository"


@pytest.mark.parametrize(
    ("missing", "extra", "act"),
    [
        ("httpx", "owner", "from ciphermote.cli.owner import _installed\nwith _installed(): pass"),
        ("matplotlib", "owner", "from ciphermote.fleet.plotting import plot\nplot([1], 'a.png')"),
        ("serial", "serial", "from ciphermote.cli.serial_port import pieces\nnext(pieces('x', 9600))"),
    ],
)
def test_what_is_missing_is_installed_from_the_clone(missing: str, extra: str, act: str) -> None:
    code = f"import sys\nsys.modules['{missing}'] = None\nsys.modules['{missing}.figure'] = None\n{act}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert how_to_install(extra) in done.stderr.splitlines()[-1], done.stderr


def test_a_server_without_the_gateways_packages_says_how_to_get_them(tmp_path: Path) -> None:
    without = "import sys; sys.modules.update(dict.fromkeys(('fastapi', 'uvloop')))"
    code = f"{without}; from ciphermote.cli import main; main()"
    command = [sys.executable, "-c", code, "serve", "--data", str(tmp_path)]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env={"COLUMNS": "300", "PATH": "/usr/bin"}
    )
    assert done.returncode == 1
    assert how_to_install("gateway") in " ".join(done.stderr.split())
