# SPDX-License-Identifier: Apache-2.0
"""tools/arduino_library.py replaces what it wrote itself, and nothing else."""

from __future__ import annotations

import sys
from pathlib import Path

import arduino_library
import pytest

ROOT = Path(__file__).resolve().parents[2]


def tree(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }


def run(folder: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(sys, "argv", ["arduino_library.py", str(folder)])
    return arduino_library.main()


@pytest.mark.parametrize(
    "content", ["letter.txt", "library.properties", "src/Ciphermote.h"], ids=["file", "library", "of ours"]
)
def test_a_folder_that_it_did_not_write_is_left_as_it_is(
    content: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "home" / content
    path.parent.mkdir(parents=True)
    path.write_text("name=Ciphermote\n")
    assert run(tmp_path / "home", monkeypatch) == 1
    assert path.relative_to(tmp_path).parts[1] in capsys.readouterr().err
    assert tree(tmp_path) == {f"home/{content}": b"name=Ciphermote\n"}


def test_a_file_is_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("mine")
    assert run(tmp_path / "file", monkeypatch) == 1
    assert tree(tmp_path) == {"file": b"mine"}


@pytest.mark.parametrize("name", ["src/arduino_config.h", "src/own.c", "examples/Own/Own.ino"])
def test_what_was_changed_or_added_since_is_kept(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = arduino_library.assemble(tmp_path / "Ciphermote")
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text("own options")
    before = tree(tmp_path)
    assert run(folder, monkeypatch) == 1
    assert name in capsys.readouterr().err
    assert tree(tmp_path) == before


def test_a_link_to_elsewhere_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = arduino_library.assemble(tmp_path / "Ciphermote")
    (tmp_path / "elsewhere").mkdir()
    (folder / "src/more").symlink_to(tmp_path / "elsewhere")
    assert run(folder, monkeypatch) == 1
    assert (folder / "src/more").is_symlink()


def test_its_own_folder_is_replaced_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = arduino_library.assemble(tmp_path / "libraries/Ciphermote")
    first = tree(tmp_path)
    (folder / "src/Ciphermote.h").unlink()  # nobody's work is lost with it
    assert run(folder, monkeypatch) == 0
    assert tree(tmp_path) == first
    assert [path.name for path in folder.parent.iterdir()] == ["Ciphermote"]


def test_an_empty_folder_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(tmp_path, monkeypatch) == 0
    assert (tmp_path / "library.properties").is_file()


def test_a_failure_leaves_the_old_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = arduino_library.assemble(tmp_path / "Ciphermote")
    before = tree(tmp_path)
    monkeypatch.setattr(arduino_library, "_version", lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        arduino_library.assemble(folder)
    assert tree(tmp_path) == before
