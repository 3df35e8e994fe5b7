# SPDX-License-Identifier: Apache-2.0
"""The package's metadata, and the documents' statements about it, are true."""

from __future__ import annotations

import importlib
import importlib.util
import re
import tomllib
from pathlib import Path

import ciphermote

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "python" / "ciphermote"
SAYS = [
    ROOT / "README.md",
    *(ROOT / "docs").glob("*.md"),
    *(ROOT / "core").rglob("*.h"),
    *(ROOT / "ports").rglob("*.md"),
    *PACKAGE.rglob("*.py"),
]
"""Where people are told of Python names."""


def test_the_version_is_the_public_headers_and_stands_nowhere_else_in_the_package() -> None:
    header = (ROOT / "core" / "include" / "ciphermote" / "ciphermote.h").read_text(encoding="utf-8")
    parts = re.findall(r"#define CM_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", header)
    version = ".".join(parts)
    assert len(parts) == 3
    assert ciphermote.__version__ == version
    assert not [path for path in PACKAGE.rglob("*.py") if f'"{version}"' in path.read_text(encoding="utf-8")]


def test_the_package_claims_types_only_if_it_ships_them() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert ("Typing :: Typed" in project["classifiers"]) == (PACKAGE / "py.typed").exists()


def test_free_threading_is_claimed_as_it_is_built() -> None:
    """nanobind's FREE_THREADED tells Python to leave the lock off: then each class guards its own state."""
    built = "FREE_THREADED" in (ROOT / "cmake" / "python_extension.cmake").read_text(encoding="utf-8")
    text = " ".join((ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8").split())
    assert ("The compiled modules need Python's global interpreter lock" in text) is not built


def test_the_demos_run_with_the_versions_that_the_tests_run_with() -> None:
    demo, every = (
        set((ROOT / "requirements" / name).read_text(encoding="utf-8").splitlines()[1:])
        for name in ("demo-lock.txt", "lock.txt")
    )
    assert demo < every


def test_every_python_name_that_documents_and_headers_mention_exists() -> None:
    mentioned = {
        (path, *names)
        for path in SAYS
        for names in re.findall(r"\bciphermote\.([a-z_]+)\.(\w+)", path.read_text(encoding="utf-8"))
        if names[1] not in ("h", "py")
    }
    assert len(mentioned) > 3
    untrue = [
        f"{path.relative_to(ROOT)}: ciphermote.{module}.{name}"
        for path, module, name in sorted(mentioned)
        if not _exists(module, name)
    ]
    assert untrue == []


def _exists(module: str, name: str) -> bool:
    try:
        found = importlib.import_module(f"ciphermote.{module}")
    except ModuleNotFoundError:
        return False
    if hasattr(found, name):
        return True
    return importlib.util.find_spec(f"ciphermote.{module}.{name}") is not None
