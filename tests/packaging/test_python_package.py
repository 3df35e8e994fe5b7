# SPDX-License-Identifier: Apache-2.0
"""`pip install .` gives a package that works outside the source tree, and whose types reach its users."""

from __future__ import annotations

import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from packaging_support import REPOSITORY, run

PIP = (sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check")
PACKAGE = REPOSITORY / "python" / "ciphermote"
USERS = Path(__file__).with_name("typed_users")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    without_network = ("--no-deps", "--no-build-isolation", "--config-settings=build-dir=build/python")
    run(*PIP, "wheel", *without_network, "--wheel-dir", folder, REPOSITORY)
    (built,) = folder.glob("ciphermote-*.whl")
    return built


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment with the wheel installed; other packages are the tests' own."""
    folder = tmp_path_factory.mktemp("environment")
    run(sys.executable, "-m", "venv", "--without-pip", folder)
    run(*PIP, "--python", folder / "bin" / "python", "install", "--no-deps", wheel)
    (packages,) = folder.glob("lib/python*/site-packages")
    third_party = next(path for path in sys.path if path.endswith("site-packages"))
    # The .pth files there are not read, so that the development install stays out.
    (packages / "third_party.pth").write_text(third_party + "\n", encoding="utf-8")
    return folder


def test_the_wheel_holds_the_package_alone(wheel: Path) -> None:
    version = wheel.name.split("-")[1]
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0] for name in names} == {"ciphermote", f"ciphermote-{version}.dist-info"}
    assert not [name for name in names if name.endswith((".c", ".h", ".cpp", ".a"))]
    files = (path for path in PACKAGE.rglob("*.*") if path.suffix in (".py", ".pyi", ".sql", ".typed"))
    sources = {str(path.relative_to(PACKAGE.parent)) for path in files}
    compiled = {name for name in names if name.endswith(".so")}
    assert {name.partition(".")[0] for name in compiled} == {
        "ciphermote/_core",
        "ciphermote/_evaluator",
        "ciphermote/_owner",
        "ciphermote/gateway/_broker",
    }
    assert {name for name in names if name.startswith("ciphermote/")} - compiled == sources


def test_no_demo_simulated_device_or_test_is_in_the_wheel(wheel: Path) -> None:
    names = " ".join(zipfile.ZipFile(wheel).namelist())
    assert not re.search("demo|testing|local_devices|smartwatch", names)
    with zipfile.ZipFile(wheel) as archive:
        text = b"".join(archive.read(name) for name in archive.namelist() if name.endswith(".py"))
    assert b"qemu" not in text.lower()


def test_the_installed_package_works(wheel: Path, environment: Path, tmp_path: Path) -> None:
    code = (
        "import ciphermote, ciphermote._core as core; "
        "print(ciphermote.__file__, core.__file__, ciphermote.__version__)"
    )
    package, core, version = run(environment / "bin" / "python", "-c", code, cwd=tmp_path).split()
    assert Path(package).is_relative_to(environment)
    assert Path(core).is_relative_to(environment)
    assert version == wheel.name.split("-")[1]
    assert (environment / "bin" / "ciphermote").is_file()


def test_the_installed_package_does_what_its_documentation_shows(environment: Path, tmp_path: Path) -> None:
    """Without what the wheel leaves out."""
    code = (
        "import ciphermote, doctest, sys\n"
        "sys.modules.update(dict.fromkeys(('ciphermote_testing', 'local_devices', 'demos')))\n"
        "failed, tried = doctest.testmod(ciphermote, extraglobs={'ciphermote': ciphermote})\n"
        "print(tried)\n"
        "sys.exit(failed)"
    )
    assert int(run(environment / "bin" / "python", "-c", code, cwd=tmp_path)) == 8
    assert "encrypt" in run(environment / "bin" / "ciphermote", "--help", cwd=tmp_path)


def errors_of(program: Path, environment: Path) -> set[tuple[int, str]]:
    """mypy's errors in a program that uses the installed package: line and kind."""
    options = ("--strict", "--config-file=", "--cache-dir", environment / "mypy", "--no-error-summary")
    command = (sys.executable, "-m", "mypy", *options, "--python-executable", environment / "bin" / "python")
    done = subprocess.run(
        [*map(str, command), program.name], cwd=program.parent, capture_output=True, text=True, timeout=300
    )
    found = re.findall(r"^(.+?):(\d+): error: .*\[([a-z-]+)\]$", done.stdout, re.M)
    assert done.returncode == bool(found), done.stdout + done.stderr
    assert {path for path, *_ in found} <= {program.name}, done.stdout
    return {(int(line), kind) for _, line, kind in found}


def test_a_type_checker_accepts_a_right_user_of_the_installed_package(environment: Path) -> None:
    assert errors_of(USERS / "right.py", environment) == set()


def test_a_type_checker_refuses_each_error_of_a_wrong_one(environment: Path) -> None:
    program = USERS / "wrong.py"
    lines = enumerate(program.read_text(encoding="utf-8").splitlines(), start=1)
    stated = {(number, line.partition("# error: ")[2]) for number, line in lines if "# error: " in line}
    assert len(stated) > 3
    assert errors_of(program, environment) == stated
