"""`pip install .` gives a package that works away from the source tree."""

from __future__ import annotations

import os
import sys
import zipfile
from pathlib import Path

from packaging_support import REPOSITORY, run

PIP = (sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check")


def build_wheel(folder: Path) -> Path:
    without_network = ("--no-deps", "--no-build-isolation", "--config-settings=build-dir=build/wheel")
    run(*PIP, "wheel", *without_network, "--wheel-dir", folder, REPOSITORY)
    (wheel,) = folder.glob("ciphermote-*.whl")
    return wheel


def test_the_wheel_holds_the_package_alone_and_works_when_installed(tmp_path: Path) -> None:
    wheel = build_wheel(tmp_path)
    version = wheel.name.split("-")[1]
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0] for name in names} == {"ciphermote", f"ciphermote-{version}.dist-info"}
    assert not [name for name in names if name.endswith((".c", ".h", ".cpp", ".a"))]

    target = tmp_path / "target"
    run(*PIP, "install", "--no-deps", "--target", target, wheel)
    code = (
        "import ciphermote, ciphermote._core as core; "
        "print(ciphermote.__file__, core.__file__, ciphermote.__version__)"
    )
    third_party = next(path for path in sys.path if path.endswith("site-packages"))
    environment = os.environ | {"PYTHONPATH": f"{target}{os.pathsep}{third_party}"}
    # -S: without it, the development install of this environment would hide the one under test.
    package, core, installed_version = run(
        sys.executable, "-S", "-c", code, cwd=tmp_path, env=environment
    ).split()
    assert Path(package).is_relative_to(target)
    assert Path(core).is_relative_to(target)
    assert installed_version == version
    assert (target / "bin" / "ciphermote").is_file()
